"""Goal: elastic clusters of Ray grow and shrink on a real Kubernetes with the operator as its makers publish it:
further workers wait at their gate until quota is there, those that run stay, and a RayJob follows the
workers that Ray's autoscaler gives its RayCluster.

Method: KubeRay's operator on a separate control plane, pods by kwok, rights of the manifests; the test
writes what the autoscaler of a cluster writes (the replicas of a worker group)."""

import json
import unittest

import operators
from cluster_test import ClusterTest
from team_queues import plain_queues

CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {frameworks: [ray.io/raycluster, ray.io/rayjob]}
"""
QUEUES = plain_queues(4)
GATE = {"name": "kueue.x-k8s.io/elastic-job"}


def template(name):
    return {"spec": {"containers": [{"name": name, "image": "none",
                                     "resources": {"requests": {"cpu": "1"}}}]}}


def cluster_spec(**more):
    return {"rayVersion": "2.46.0",
            "headGroupSpec": {"rayStartParams": {}, "template": template("head")},
            "workerGroupSpecs": [{"groupName": "workers", "replicas": 1, "minReplicas": 0,
                                  "maxReplicas": 9, "rayStartParams": {},
                                  "template": template("worker")}], **more}


@unittest.skipUnless(operators.are_built("kuberay"), "no operator: tools/operators builds it")
class ElasticRayTest(ClusterTest):
    SHOWN = ("workloads", "rayclusters", "rayjobs", "pods")

    @classmethod
    def start_first(cls):
        cls.operator = operators.kuberay(cls.plane, cls.berth).start()
        cls.addClassCleanup(cls.operator.stop)
        path = cls.plane.write("configuration.yaml", CONFIGURATION)
        return cls.berth.start(flags=["--config", path])

    def setUp(self):
        self.apply_when_accepted(QUEUES, "--server-side", "--force-conflicts")

    def create(self, kind, name, spec):
        self.plane.kubectl("create", "-f", "-", stdin=json.dumps({
            "apiVersion": "ray.io/v1", "kind": kind, "spec": spec,
            "metadata": {"name": name, "namespace": "default",
                         "labels": {"kueue.x-k8s.io/queue-name": "q"},
                         "annotations": {"kueue.x-k8s.io/elastic-job": "true"}}}))

    def scale(self, cluster, replicas):
        """As Ray's autoscaler: it names the workers that go."""
        workers = sorted(pod["metadata"]["name"] for pod in self.plane.items(
            "pods", "-l", f"ray.io/cluster={cluster},ray.io/node-type=worker"))
        self.plane.kubectl("patch", "raycluster", cluster, "--type=json", "-p", json.dumps([
            {"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": replicas},
            {"op": "add", "path": "/spec/workerGroupSpecs/0/scaleStrategy",
             "value": {"workersToDelete": workers[replicas:]}}]))

    def pods(self, cluster):
        """(running, gated) names of pods that are not being deleted."""
        running, gated = set(), set()
        for pod in self.plane.items("pods", "-l", "ray.io/cluster=" + cluster):
            name = pod["metadata"]["name"]
            if "deletionTimestamp" in pod["metadata"]:
                continue
            if GATE in pod["spec"].get("schedulingGates", []):
                gated.add(name)
            elif pod.get("status", {}).get("phase") == "Running":
                running.add(name)
        return running, gated

    def used(self):
        flavors = self.plane.get("clusterqueue", "team").get("status", {}).get("flavorsReservation")
        return flavors[0]["resources"][0]["total"] if flavors else None

    def wait_for(self, cluster, running, gated, used):
        def reached():
            now = self.pods(cluster)
            return (len(now[0]), len(now[1]), self.used()) == (running, gated, used)
        try:
            self.wait_until(reached, f"{cluster}: {running} run, {gated} wait, {used} used")
        except AssertionError as late:
            raise AssertionError(f"{late}\n{self.pods(cluster)} {self.used()}\n"
                                 f"{self.operator.log()[-2000:]}") from None

    def reasons_of_ends(self, prefix):
        return sorted(condition["reason"] for each in self.plane.items("workloads")
                      if each["metadata"]["name"].startswith(prefix)
                      for condition in each.get("status", {}).get("conditions", [])
                      if condition["type"] == "Finished")

    def check_growth(self, cluster, workload):
        """From a head and one worker."""
        first = self.pods(cluster)[0]
        self.scale(cluster, 3)
        self.wait_for(cluster, 4, 0, "4")
        self.assertLessEqual(first, self.pods(cluster)[0])  # the pods that ran run on
        self.wait_until(lambda: self.reasons_of_ends(workload) == ["WorkloadSliceReplaced"], "the first slice is replaced")
        self.scale(cluster, 5)
        self.wait_for(cluster, 4, 2, "4")
        self.scale(cluster, 1)
        self.wait_for(cluster, 2, 0, "2")

    def test_ray_cluster(self):
        self.create("RayCluster", "ray", cluster_spec())
        self.wait_for("ray", 2, 0, "2")
        self.check_growth("ray", "raycluster-ray-")
        self.plane.kubectl("delete", "raycluster", "ray")
        self.wait_for("ray", 0, 0, "0")

    def cluster_that_runs(self):
        """Its name; the operator has another one for the cluster that it gave up when it was held."""
        status = self.plane.get("rayjob", "job").get("status", {})
        return status.get("jobDeploymentStatus") == "Running" and status["rayClusterName"]

    def test_ray_job(self):
        small = {"requests": {"cpu": "0"}, "limits": {"cpu": "0"}}
        self.create("RayJob", "job", {
            "entrypoint": "true", "shutdownAfterJobFinishes": True, "submissionMode": "HTTPMode",
            "rayClusterSpec": cluster_spec(enableInTreeAutoscaling=True,
                                           autoscalerOptions={"resources": small})})
        cluster = self.wait_until(self.cluster_that_runs, "the cluster of the job runs")
        self.wait_for(cluster, 2, 0, "2")
        self.check_growth(cluster, "rayjob-job-")
        owners = {owner["kind"] for each in self.plane.items("workloads")
                  for owner in each["metadata"].get("ownerReferences", [])}
        self.assertNotIn("RayCluster", owners)
        self.plane.kubectl("delete", "rayjob", "job")
        self.wait_for(cluster, 0, 0, "0")
