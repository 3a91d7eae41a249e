"""Goal: jobs of JobSet, Kubeflow Trainer, KubeRay and AppWrapper are queued, started, preempted and finished
with the operators as their makers publish them.

Method: the real operators with their CRDs and webhooks on one control plane; pods by kwok. Rights:
the manifests' alone."""

import json
import unittest

import operators
from cluster_test import ClusterTest
from team_queues import team_queues

CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
waitForPodsReady: {timeout: 5m}
integrations:
  frameworks: [batch/job, jobset.x-k8s.io/jobset, trainer.kubeflow.org/trainjob, ray.io/raycluster,
               ray.io/rayjob, workload.codeflare.dev/appwrapper]
"""
ON_NODE_1 = {"kubernetes.io/hostname": "node-1"}
RUNTIME = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata:
  name: plain
  labels: {trainer.kubeflow.org/framework: torch}
spec:
  mlPolicy: {numNodes: 1}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec: {containers: [{name: node, image: none}]}
"""


def pod(seconds=1):
    return {"metadata": {"annotations": {"test.berth.dev/run-for": f"{seconds}s"}},
            "spec": {"restartPolicy": "Never",
                     "containers": [{"name": "main", "image": "none",
                                     "resources": {"requests": {"cpu": "1"}}}]}}


def queued(api_version, kind, name, spec, **labels):
    return {"apiVersion": api_version, "kind": kind,
            "metadata": {"name": name, "namespace": "default",
                         "labels": {"kueue.x-k8s.io/queue-name": "q", **labels}}, "spec": spec}


def job_set(name, seconds=1, **labels):
    def part(part_name, pods):
        return {"name": part_name, "template": {"spec": {
            "parallelism": pods, "completions": pods, "template": pod(seconds)}}}
    return queued("jobset.x-k8s.io/v1alpha2", "JobSet", name,
                  {"replicatedJobs": [part("leader", 1), part("workers", 2)]}, **labels)


def ray_cluster_spec():
    def template(name):
        return {"spec": {"containers": [{"name": name, "image": "none",
                                         "resources": {"requests": {"cpu": "1"}}}]}}
    return {"rayVersion": "2.46.0",
            "headGroupSpec": {"rayStartParams": {}, "template": template("head")},
            "workerGroupSpecs": [{"groupName": "workers", "replicas": 2, "minReplicas": 0,
                                  "maxReplicas": 4, "rayStartParams": {},
                                  "template": template("worker")}]}


@unittest.skipUnless(operators.are_built("jobset", "trainer", "kuberay", "appwrapper"),
                     "no operators: tools/operators builds them")
class OperatorsTest(ClusterTest):
    SHOWN = ("workloads", "jobsets", "trainjobs", "rayclusters", "appwrappers", "jobs")

    @classmethod
    def start_first(cls):
        cls.operators = [make(cls.plane, cls.berth).start() for make in (
            operators.jobset, operators.trainer, operators.kuberay, operators.appwrapper)]
        for operator in cls.operators:
            cls.addClassCleanup(operator.stop)
            operator.register_webhooks()
        path = cls.plane.write("configuration.yaml", CONFIGURATION)
        return cls.berth.start(flags=["--config", path])

    def setUp(self):
        self.apply_when_accepted(team_queues(3))

    def wait_until(self, condition, what):
        try:
            return super().wait_until(condition, what)
        except AssertionError as late:
            logs = "\n".join(f"{each.name}:\n{each.log()[-1500:]}" for each in self.operators)
            raise AssertionError(f"{late}\n{logs}") from None

    def create(self, job):
        return json.loads(self.plane.kubectl("create", "-f", "-", "-o", "json",
                                             stdin=json.dumps(job)).stdout)

    def workload(self, name):
        """The Workload whose name begins so, the only one of its family."""
        found = [w for w in self.plane.items("workloads") if w["metadata"]["name"].startswith(name)]
        self.assertEqual(len(found), 1)
        return found[0]

    def check_no_workload_of(self, kind, name):
        """A child of a queued job is not queued itself."""
        owners = {(owner["kind"], owner["name"]) for workload in self.plane.items("workloads")
                  for owner in workload["metadata"].get("ownerReferences", [])}
        self.assertFalse([owner for owner in owners
                          if owner[0] == kind and owner[1].startswith(name)])

    def pod_sets(self, name):
        return [(p["name"], p["count"]) for p in self.workload(name)["spec"]["podSets"]]

    def check_pods(self, selector, count):
        def running():
            pods = self.plane.items("pods", "-l", selector)
            return len(pods) == count and all(p["status"]["phase"] != "Pending" for p in pods) and pods
        for each in self.wait_until(running, "the pods run"):
            self.assertEqual(each["spec"]["nodeSelector"], ON_NODE_1)

    def test_job_set(self):
        made = self.create(job_set("set", seconds=3600))
        self.assertEqual(made["spec"]["suspend"], True)
        self.wait_until(lambda: self.is_true("jobset-set-", "Admitted"), "the JobSet is admitted")
        self.assertEqual(self.pod_sets("jobset-set-"), [("leader", 1), ("workers", 2)])
        self.check_pods("jobset.sigs.k8s.io/jobset-name=set", 3)
        self.wait_until(lambda: self.is_true("jobset-set-", "PodsReady"), "its pods are ready")
        self.check_no_workload_of("Job", "set-")
        # A JobSet of higher priority takes its place; then the first one comes back.
        self.create(job_set("high", **{"kueue.x-k8s.io/priority-class": "high"}))
        self.wait_until(lambda: self.is_true("jobset-high-", "Admitted"), "high preempts it")
        stopped = self.plane.get("jobset", "set")
        self.assertEqual(stopped["spec"]["replicatedJobs"], made["spec"]["replicatedJobs"])
        self.wait_until(lambda: self.condition("jobset-high-", "Finished"), "high is finished")
        self.wait_until(lambda: self.is_true("jobset-set-", "Admitted"), "it is back")
        self.check_pods("jobset.sigs.k8s.io/jobset-name=set", 3)
        self.plane.kubectl("delete", "jobset", "set")
        self.wait_until(lambda: not self.condition("jobset-set-", "Admitted"), "its Workload goes")

    def test_train_job(self):
        self.plane.apply(RUNTIME)
        made = self.create(queued("trainer.kubeflow.org/v1alpha1", "TrainJob", "train", {
            "runtimeRef": {"name": "plain"},
            "trainer": {"image": "none", "numNodes": 2, "resourcesPerNode": {"requests": {"cpu": "1"}}}}))
        self.assertEqual(made["spec"]["suspend"], True)
        self.wait_until(lambda: self.is_true("trainjob-train-", "Admitted"), "the TrainJob is admitted")
        self.assertEqual(self.pod_sets("trainjob-train-"), [("node", 2)])
        self.check_pods("jobset.sigs.k8s.io/jobset-name=train", 2)
        self.check_no_workload_of("JobSet", "train")
        self.wait_until(lambda: self.condition("trainjob-train-", "Finished"), "it is finished")
        self.assertEqual(self.condition("trainjob-train-", "Finished")["reason"], "Succeeded")

    def test_ray_cluster(self):
        self.create(queued("ray.io/v1", "RayCluster", "ray", ray_cluster_spec()))
        self.wait_until(lambda: self.is_true("raycluster-ray-", "Admitted"), "the cluster is admitted")
        self.assertEqual(self.pod_sets("raycluster-ray-"), [("head", 1), ("workers", 2)])
        self.check_pods("ray.io/cluster=ray", 3)
        self.wait_until(lambda: self.is_true("raycluster-ray-", "PodsReady"), "the cluster is ready")
        # A JobSet of higher priority stops it.
        self.create(job_set("urgent", **{"kueue.x-k8s.io/priority-class": "high"}))
        self.wait_until(lambda: self.plane.items("pods", "-l", "ray.io/cluster=ray") == [],
                        "the operator ends its pods")
        self.wait_until(lambda: self.condition("jobset-urgent-", "Finished"), "the other is finished")
        self.check_pods("ray.io/cluster=ray", 3)
        self.plane.kubectl("delete", "raycluster", "ray")
        self.wait_until(lambda: not self.condition("raycluster-ray-", "Admitted"), "its Workload goes")

    def cluster_that_runs(self):
        """Its name; the operator has another one for the cluster that it gave up when it was held."""
        name = self.plane.get("rayjob", "job").get("status", {}).get("rayClusterName")
        return name and len(self.plane.items("pods", "-l", "ray.io/cluster=" + name)) == 3 and name

    def test_ray_job(self):
        self.create(queued("ray.io/v1", "RayJob", "job", {
            "entrypoint": "true", "shutdownAfterJobFinishes": True, "submissionMode": "HTTPMode",
            "rayClusterSpec": ray_cluster_spec()}))
        self.wait_until(lambda: self.is_true("rayjob-job-", "Admitted"), "the RayJob is admitted")
        self.assertEqual(self.pod_sets("rayjob-job-"), [("head", 1), ("workers", 2)])
        name = self.wait_until(self.cluster_that_runs, "the operator makes its cluster")
        self.check_pods("ray.io/cluster=" + name, 3)
        self.check_no_workload_of("RayCluster", "job")
        self.plane.kubectl("delete", "rayjob", "job")
        self.wait_until(lambda: not self.condition("rayjob-job-", "Admitted"), "its Workload goes")

    def test_app_wrapper(self):
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "inner"},
               "spec": {"parallelism": 2, "completions": 2, "template": pod()}}
        self.create(queued("workload.codeflare.dev/v1beta2", "AppWrapper", "wrapped",
                           {"components": [{"template": job}]}))
        self.wait_until(lambda: self.is_true("appwrapper-wrapped-", "Admitted"), "it is admitted")
        self.assertEqual(self.pod_sets("appwrapper-wrapped-"), [("wrapped-0", 2)])
        self.check_pods("batch.kubernetes.io/job-name=inner", 2)
        self.check_no_workload_of("Job", "inner")
        self.wait_until(lambda: self.condition("appwrapper-wrapped-", "Finished"), "it is finished")
        self.assertEqual(self.condition("appwrapper-wrapped-", "Finished")["message"],
                         "AppWrapper finished successfully")
