"""Goal: pods and pod groups live on a real API server as jobs do: gated by their review, queued, started with
their flavor's node selector, ended by a preemption, replaced, finished; pods of queued Jobs are left alone.

Method: the manifests of the component `pods`; kwok runs the pods, the test reports how they end. Rights: the manifests' alone."""

import json

from cluster_test import ClusterTest
from team_queues import team_queues

CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {frameworks: [batch/job, pod]}
"""
QUEUES = team_queues(2)
ADMISSION = "kueue.x-k8s.io/admission"


def pod(name, group=None, total=2, **labels):
    metadata = {"name": name, "namespace": "default",
                "labels": {"kueue.x-k8s.io/queue-name": "q", **labels}}
    if group:
        metadata["labels"]["kueue.x-k8s.io/pod-group-name"] = group
        metadata["annotations"] = {"kueue.x-k8s.io/pod-group-total-count": str(total)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "spec": {"restartPolicy": "Never", "containers": [
                {"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}]}}


class PodsTest(ClusterTest):
    SHOWN = ("workloads", "pods")
    COUNTED = "pods"

    @classmethod
    def start_first(cls):
        cls.berth.add_components("pods")
        path = cls.plane.write("configuration.yaml", CONFIGURATION)
        return cls.berth.start(flags=["--config", path])

    def create(self, *objects):
        for each in objects:
            self.plane.kubectl("create", "-f", "-", stdin=json.dumps(each))

    def pods(self):
        return {each["metadata"]["name"]: each for each in self.plane.items("pods")}

    def running(self, *names):
        found = self.pods()
        return all(found.get(name, {}).get("status", {}).get("phase") == "Running" for name in names)

    def end(self, name, phase="Succeeded"):
        self.plane.kubectl("patch", "pod", name, "--subresource=status", "--type=merge", "-p",
                           json.dumps({"status": {"phase": phase}}))

    def test_life(self):
        self.apply_when_accepted(QUEUES)
        self.create(pod("a", "g"))
        first = self.pods()["a"]
        self.assertIn({"name": ADMISSION}, first["spec"]["schedulingGates"])
        self.assertEqual(first["metadata"]["finalizers"], ["kueue.x-k8s.io/managed"])
        self.assertEqual(len(first["metadata"]["annotations"]["kueue.x-k8s.io/role-hash"]), 8)
        self.create(pod("b", "g"))
        self.wait_until(lambda: self.is_true("g", "Admitted"), "the group is admitted")
        self.wait_until(lambda: self.running("a", "b"), "its pods run")
        for each in self.pods().values():
            self.assertEqual(each["spec"]["nodeSelector"], {"kubernetes.io/hostname": "node-1"})

        # A pod of high priority ends them both; their successors wait.
        self.create(pod("high", **{"kueue.x-k8s.io/priority-class": "high"}))
        self.wait_until(lambda: self.running("high"), "the pod of high priority runs")
        self.assertFalse(self.is_true("g", "QuotaReserved"))
        self.end("a", "Failed")  # a kubelet ends a pod that is being deleted so
        self.end("b", "Failed")
        self.wait_until(lambda: self.is_true("g", "WaitingForReplacementPods"), "the group lacks pods")
        self.create(pod("c", "g"), pod("d", "g"))
        self.wait_until(lambda: set(self.pods()) == {"c", "d", "high"}, "the ended pods are released")
        self.assertFalse(self.running("c"))

        self.end("high")
        self.wait_until(lambda: self.condition("pod-high-", "Finished").get("reason") == "Succeeded",
                        "the pod of high priority has finished")
        self.wait_until(lambda: self.running("c", "d"), "the successors run")
        self.end("c")
        self.end("d")
        self.wait_until(lambda: self.is_true("g", "Finished"), "the group has finished")
        self.assertEqual(self.condition("g", "Finished")["message"], "Pods succeeded: 2/2.")
        self.wait_until(lambda: not any(each["metadata"].get("finalizers") for each in self.pods().values()),
                        "no pod is held")

        # The pods of a queued Job have no Workload of their own.
        self.create({"apiVersion": "batch/v1", "kind": "Job",
                     "metadata": {"name": "job", "namespace": "default",
                                  "labels": {"kueue.x-k8s.io/queue-name": "q"}},
                     "spec": {"template": {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}},
                                           "spec": pod("x")["spec"]}}})
        self.wait_until(lambda: self.is_true("job-job-", "Finished"), "the Job has finished")
        self.assertEqual([w["metadata"]["name"] for w in self.plane.items("workloads")
                          if w["metadata"]["name"].startswith("pod-job-")], [])

        bad = pod("bad", "g")
        del bad["metadata"]["annotations"]
        done = self.plane.kubectl("create", "-f", "-", stdin=json.dumps(bad), check=False)
        self.assertIn("label should be set", done.stderr)
