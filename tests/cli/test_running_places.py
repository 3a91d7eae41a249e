"""Goal: `berth list` and `berth why` name the nodes of running workloads of every kind whose pods can be told, once each, and
go on where the caller may not list pods, or where somebody has chosen the name of an owner.

Method: the program against a small API of the test.
"""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from fake_api import FakeApi

BERTH = os.environ["BERTH"]
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
SPACE = "/namespaces/default"
PODS = f"/api/v1{SPACE}/pods"
JOB, SET, TRAINING, RAY = "batch.kubernetes.io/job-name", "jobset.sigs.k8s.io/jobset-name", "training.kubeflow.org/job-name", "ray.io/cluster"
GROUP, MANAGED = "kueue.x-k8s.io/pod-group-name", {"kueue.x-k8s.io/managed": "true"}
SINCE = "2026-11-20T08:00:00Z"
# By name: the owner (none: a pod group), the pod's labels and annotations, the place that is told by list and by why.
KINDS = {
    "job": ("batch/v1", "Job", {JOB: "job"}, {}, "t4: n-job", "n-job"),
    "set": ("jobset.x-k8s.io/v1alpha2", "JobSet", {JOB: "set-workers-0", SET: "set"}, {}, "t4: n-set", "n-set"),
    "torch": ("kubeflow.org/v1", "PyTorchJob", {TRAINING: "torch", "training.kubeflow.org/operator-name": "pytorchjob-controller"}, {}, "t4: n-torch", "n-torch"),
    "cluster": ("ray.io/v1", "RayCluster", {RAY: "cluster"}, {}, "t4: n-cluster", "n-cluster"),
    "ray": ("ray.io/v1", "RayJob", {RAY: "ray-x1"}, {}, "t4", "n-ray"),
    "single": ("v1", "Pod", MANAGED, {}, "t4: n-single", "n-single"),
    "group": (None, None, {**MANAGED, GROUP: "group"}, {}, "t4: n-group", "n-group"),
    "noted": (None, None, MANAGED, {GROUP: "noted"}, "t4: n-noted", "n-noted"),
    "../../nodes?x=": ("v1", "Pod", {}, {}, "t4", None),
}


class RunningPlacesTest(unittest.TestCase):
    def setUp(self):
        self.api = FakeApi()
        self.addCleanup(self.api.close)
        self.api.add(f"{KUEUE}/clusterqueues", {"metadata": {"name": "team"}, "spec": {}})
        self.api.add(f"{KUEUE}{SPACE}/localqueues", {"metadata": {"name": "q", "namespace": "default"}, "spec": {"clusterQueue": "team"}})
        for kind in ("cohorts", "resourceflavors", "admissionchecks"):
            self.api.objects[f"{KUEUE}/{kind}"] = {}
        self.api.objects[PODS] = {}
        for number, (name, (version, kind, labels, annotations, _, _)) in enumerate(KINDS.items()):
            self.add_workload(number, name, version, kind)
            if name == "single":
                self.add_pod("single", labels, annotations, "n-single")
            elif labels:
                self.add_pod(f"pod-of-{name}", labels, annotations, f"n-{name}")
        self.api.add(f"/apis/ray.io/v1{SPACE}/rayjobs", {"metadata": {"name": "ray", "namespace": "default"}, "status": {"rayClusterName": "ray-x1"}})

    def add_workload(self, number, name, version, kind):
        metadata = {"name": name if kind is None else f"w{number}", "namespace": "default", "uid": f"uid-{number}", "creationTimestamp": SINCE}
        if kind is not None:
            metadata["ownerReferences"] = [{"apiVersion": version, "kind": kind, "name": name, "uid": f"u{number}", "controller": True}]
        self.api.add(f"{KUEUE}{SPACE}/workloads", {
            "metadata": metadata, "spec": {"queueName": "q", "active": True, "podSets": [{"name": "main", "count": 1, "template": {"spec": {"containers": []}}}]},
            "status": {"admission": {"clusterQueue": "team", "podSetAssignments": [{"name": "main", "count": 1, "flavors": {"cpu": "t4"}, "resourceUsage": {"cpu": "1"}}]},
                       "conditions": [{"type": each, "status": "True", "reason": each, "message": "", "lastTransitionTime": SINCE} for each in ("QuotaReserved", "Admitted")]}})

    def add_pod(self, name, labels, annotations, node):
        self.api.add(PODS, {"metadata": {"name": name, "namespace": "default", "labels": labels, "annotations": annotations}, "spec": {"nodeName": node},
                            "status": {"phase": "Running"}})

    def run_berth(self, *words):
        environment = {"PATH": os.environ["PATH"], "KUBECONFIG": self.api.kubeconfig}
        done = subprocess.run([BERTH, *words], env=environment, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stderr}")
        return done.stdout

    def remarks(self):
        rows = json.loads(self.run_berth("list", "-o", "json"))["items"]
        return {row["workload"]: row["remark"] for row in rows}

    @staticmethod
    def workload_of(number, name):
        return name if KINDS[name][1] is None else f"w{number}"

    def test_each_kind(self):
        remarks = self.remarks()
        for number, (name, (*_, listed, told)) in enumerate(KINDS.items()):
            workload = self.workload_of(number, name)
            self.assertEqual(remarks[workload], listed, name)
            story = self.run_berth("why", f"workload/{workload}")
            self.assertIn(f"t4: {told}" if told else "t4", story, name)
        self.assertEqual([path for path in self.api.asked if "/nodes" in path.split("?")[0]], [], "the name of an owner is no path")

    def test_all_pods_that_queues_manage_are_read_for_groups_without_a_label_alone(self):
        for name, expected in (("group", 0), ("noted", 1), ("set", 0)):
            self.api.asked.clear()
            self.run_berth("why", f"workload/{self.workload_of(list(KINDS).index(name), name)}")
            self.assertEqual(len([path for path in self.api.asked if "managed" in path]), expected, (name, self.api.asked))

    def test_without_the_right_to_list_pods(self):
        self.api.rights = lambda path: not path.endswith("/pods") and "/pods/" not in path
        self.assertEqual(set(self.remarks().values()), {"t4"})
        for number, name in enumerate(KINDS):
            story = self.run_berth("why", f"workload/{self.workload_of(number, name)}")
            self.assertIn("t4", story, name)
            self.assertNotIn("n-", story.replace("admission", ""), name)

    def test_a_refused_pod_of_another_job_hides_no_nodes(self):
        self.api.add(f"/api/v1{SPACE}/events", {
            "metadata": {"name": "e", "namespace": "default"}, "reason": "FailedCreate", "message": "quota", "lastTimestamp": SINCE,
            "involvedObject": {"kind": "Job", "name": "other", "namespace": "default"}})
        for number, name in enumerate(KINDS):
            told = KINDS[name][-1]
            story = self.run_berth("why", f"workload/{self.workload_of(number, name)}")
            self.assertIn(f"t4: {told}" if told else "t4", story, name)


if __name__ == "__main__":
    unittest.main()
