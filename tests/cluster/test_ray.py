"""Goal: a RayService and RayJobs live as units with KubeRay's operator as its makers publish it: held while
quota is missing, admitted, run, preempted, run again; a RayJob ends well or fails, a RayService goes with
its deletion.

Method: the real operator with its CRDs; pods by kwok; what Ray answers over HTTP is played
(played_ray.py). Rights: the manifests' alone."""

import json
import unittest

import operators
from cluster_test import ClusterTest
from played_ray import Ray
from team_queues import team_queues

CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
waitForPodsReady: {timeout: 5m}
integrations: {frameworks: [batch/job, ray.io/rayservice, ray.io/rayjob, ray.io/raycluster]}
"""
HIGH = {"kueue.x-k8s.io/priority-class": "high"}
ON_NODE_1 = {"kubernetes.io/hostname": "node-1"}


def pod(name, **annotations):
    return {"metadata": {"annotations": annotations},
            "spec": {"containers": [{"name": name, "image": "none",
                                     "resources": {"requests": {"cpu": "1"}}}]}}


def cluster_spec(workers=2):
    return {"rayVersion": "2.46.0",
            "headGroupSpec": {"rayStartParams": {}, "template": pod("head")},
            "workerGroupSpecs": [{"groupName": "workers", "replicas": workers, "minReplicas": 0, "maxReplicas": 4,
                                  "rayStartParams": {}, "template": pod("worker")}]}


@unittest.skipUnless(operators.are_built("kuberay"), "no operator: tools/operators builds it")
class RayTest(ClusterTest):
    SHOWN = ("workloads", "rayservices", "rayclusters", "rayjobs", "pods")

    @classmethod
    def start_first(cls):
        cls.ray = Ray()
        cls.addClassCleanup(cls.ray.stop)
        cls.operator = operators.kuberay(cls.plane, cls.berth)
        cls.operator.environment["HTTP_PROXY"] = cls.ray.proxy
        cls.addClassCleanup(cls.operator.stop)
        cls.operator.start()
        path = cls.plane.write("configuration.yaml", CONFIGURATION)
        return cls.berth.start(flags=["--config", path])

    def setUp(self):
        self.apply_when_accepted(team_queues(3))

    def wait_until(self, condition, what):
        try:
            return super().wait_until(condition, what)
        except AssertionError as late:
            raise AssertionError(f"{late}\n{self.operator.log()[-3000:]}") from None

    def create(self, api_version, kind, name, spec, **labels):
        return json.loads(self.plane.kubectl("create", "-f", "-", "-o", "json", stdin=json.dumps({
            "apiVersion": api_version, "kind": kind, "spec": spec,
            "metadata": {"name": name, "namespace": "default",
                         "labels": {"kueue.x-k8s.io/queue-name": "q", **labels}}})).stdout)

    def create_batch_job(self, name, **labels):
        """It needs the whole queue and runs until it is deleted."""
        template = pod("main", **{"test.berth.dev/run-for": "1h"})
        template["spec"]["restartPolicy"] = "Never"
        self.create("batch/v1", "Job", name, {"parallelism": 3, "completions": 3, "template": template},
                    **labels)

    def clusters(self):
        return self.plane.items("rayclusters")

    def pods(self):
        """Those of Ray that are not gone."""
        return self.plane.items("pods", "-l", "ray.io/cluster")

    def check_running(self, count=3):
        def running():
            pods = self.pods()
            return len(pods) == count and all(each["status"]["phase"] == "Running" and
                                          "deletionTimestamp" not in each["metadata"] for each in pods) and pods
        for each in self.wait_until(running, "the pods run"):
            self.assertEqual(each["spec"]["nodeSelector"], ON_NODE_1)

    def check_preempted_and_back(self, workload):
        """A job of higher priority takes its place; then it comes back."""
        self.create_batch_job("urgent", **HIGH)
        self.wait_until(lambda: self.is_true("job-urgent-", "Admitted"), "the urgent job takes its quota")
        self.wait_until(lambda: self.pods() == [], "the operator has ended the pods")
        self.assertFalse(self.is_true(workload, "QuotaReserved"))
        self.plane.kubectl("delete", "job", "urgent")
        self.wait_until(lambda: self.is_true(workload, "Admitted"), "it is admitted again")
        self.check_running()

    def check_owners(self, kind):
        """Nothing but the job itself has a Workload."""
        self.assertEqual([owner["kind"] for each in self.plane.items("workloads")
                          for owner in each["metadata"].get("ownerReferences", [])], [kind])

    def pod_sets(self, workload):
        found = [each for each in self.plane.items("workloads")
                 if each["metadata"]["name"].startswith(workload)]
        self.assertEqual(len(found), 1)
        return [(each["name"], each["count"]) for each in found[0]["spec"]["podSets"]]

    def is_ready(self, name):
        conditions = self.plane.get("rayservice", name).get("status", {}).get("conditions", [])
        return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)

    def test_ray_service(self):
        self.create_batch_job("first")
        self.wait_until(lambda: self.is_true("job-first-", "Admitted"), "the first job has the quota")
        made = self.create("ray.io/v1", "RayService", "serve", {
            "serveConfigV2": "applications:\n- {name: app, import_path: a.b}\n", "rayClusterConfig": cluster_spec()})
        self.assertEqual(made["spec"]["rayClusterConfig"]["suspend"], True)
        # The operator makes its RayCluster all the same, which is held as it is.
        self.wait_until(lambda: [each["spec"]["suspend"] for each in self.clusters()] == [True],
                        "the RayCluster is held")
        self.wait_until(lambda: self.condition("rayservice-serve-", "QuotaReserved").get("status") == "False",
                        "the service waits")
        self.assertEqual(self.pod_sets("rayservice-serve-"), [("head", 1), ("workers", 2)])
        self.assertEqual(self.pods(), [])

        self.plane.kubectl("delete", "job", "first")
        self.wait_until(lambda: self.is_true("rayservice-serve-", "Admitted"), "the service is admitted")
        self.check_running()
        self.wait_until(lambda: self.is_ready("serve"), "it serves")
        self.wait_until(lambda: self.is_true("rayservice-serve-", "PodsReady"), "Berth sees that")
        self.check_owners("RayService")

        self.check_preempted_and_back("rayservice-serve-")
        self.wait_until(lambda: self.is_ready("serve"), "it serves again")

        self.plane.kubectl("delete", "rayservice", "serve")
        self.wait_until(lambda: self.pods() == [] and self.plane.items("workloads") == [],
                        "its pods and its Workload go")

    def ray_job(self, name):
        self.create("ray.io/v1", "RayJob", name, {
            "entrypoint": "true", "shutdownAfterJobFinishes": True, "submissionMode": "HTTPMode",
            "rayClusterSpec": cluster_spec()})
        self.wait_until(lambda: self.is_true(f"rayjob-{name}-", "Admitted"), name + " is admitted")
        self.check_running()

    def submitted(self, name):
        status = self.plane.get("rayjob", name).get("status", {})
        return status.get("jobStatus") == "RUNNING" and status.get("jobDeploymentStatus") == "Running"

    def check_end(self, name, status, reason):
        self.wait_until(lambda: self.submitted(name), "the operator has submitted the job")
        self.ray.end_jobs(status, "so it ended")
        self.wait_until(lambda: self.condition(f"rayjob-{name}-", "Finished"), "it is finished")
        finished = self.condition(f"rayjob-{name}-", "Finished")
        self.assertEqual((finished["reason"], finished["message"]), (reason, "so it ended"))
        self.wait_until(lambda: self.pods() == [], "its cluster goes")
        self.plane.kubectl("delete", "rayjob", name)
        self.wait_until(lambda: self.plane.items("workloads") == [], "its Workload goes")

    def test_ray_job(self):
        self.ray_job("train")
        self.assertEqual(self.pod_sets("rayjob-train-"), [("head", 1), ("workers", 2)])
        self.check_owners("RayJob")
        self.wait_until(lambda: self.submitted("train"), "the operator has submitted the job")
        self.check_preempted_and_back("rayjob-train-")
        self.check_end("train", "SUCCEEDED", "Succeeded")
        self.ray_job("broken")
        self.check_end("broken", "FAILED", "Failed")

    def test_ray_job_with_a_submitter(self):
        """K8sJobMode: a pod beside the cluster submits the job; its template is the operator's default."""
        self.plane.apply(team_queues(3, "4Gi"))  # the default template asks for memory
        self.ray.submit("train-1", "true")  # by that pod, which is played
        self.create("ray.io/v1", "RayJob", "train", {
            "entrypoint": "true", "shutdownAfterJobFinishes": True, "submissionMode": "K8sJobMode",
            "jobId": "train-1", "rayClusterSpec": cluster_spec(workers=1)})
        self.wait_until(lambda: self.is_true("rayjob-train-", "Admitted"), "it is admitted")
        self.assertEqual(self.pod_sets("rayjob-train-"), [("head", 1), ("workers", 1), ("submitter", 1)])
        self.check_running(2)
        # The admission of the submitter is in the template that the operator makes its Job of.
        job = self.wait_until(lambda: self.plane.items("jobs"), "the operator makes the Job")[0]
        self.assertEqual(job["metadata"]["ownerReferences"][0]["kind"], "RayJob")
        self.assertEqual(job["spec"]["template"]["spec"]["nodeSelector"], ON_NODE_1)
        self.assertEqual(job["spec"]["template"]["metadata"]["labels"]["kueue.x-k8s.io/podset"], "submitter")
        self.assertEqual(self.plane.get("rayjob", "train")["spec"]["submitterPodTemplate"]["spec"]["nodeSelector"],
                         ON_NODE_1)
        self.wait_until(lambda: self.plane.items("jobs")[0].get("status", {}).get("succeeded") == 1,
                        "the Job is not queued by itself, and ends")
        self.check_owners("RayJob")
        self.check_end("train", "SUCCEEDED", "Succeeded")
