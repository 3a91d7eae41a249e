"""Goal: LeaderWorkerSets are queued with the operator as its makers publish it: one Workload for each group, a
group runs whole or not at all.

Method: the real operator with its CRD and webhooks, Kubernetes' own StatefulSet controller, pods by kwok.
Rights: those of the manifests with the components pods and serving."""

import json
import unittest

import operators
from cluster_test import ClusterTest
from team_queues import team_queues

CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {frameworks: [batch/job, leaderworkerset.x-k8s.io/leaderworkerset]}
"""


def template():
    return {"spec": {"containers": [{"name": "c", "image": "none",
                                     "resources": {"requests": {"cpu": "1"}}}]}}


@unittest.skipUnless(operators.are_built("lws"), "no operator: tools/operators builds it")
class LeaderWorkerSetTest(ClusterTest):
    SHOWN = ("workloads", "pods", "statefulsets", "leaderworkersets")

    @classmethod
    def start_first(cls):
        cls.berth.add_components("pods", "serving")
        operator = operators.lws(cls.plane, cls.berth).start()
        cls.addClassCleanup(operator.stop)
        operator.register_webhooks()
        path = cls.plane.write("configuration.yaml", CONFIGURATION)
        return cls.berth.start(flags=["--config", path])

    def pods(self, running):
        """Names of the pods that run, or of those that wait."""
        return sorted(each["metadata"]["name"] for each in self.plane.items("pods")
                      if (each.get("status", {}).get("phase") == "Running") == running)

    def workloads(self):
        return [each for each in self.plane.items("workloads")
                if each["metadata"]["name"].startswith("leaderworkerset-serve-")]

    def test_groups(self):
        self.apply_when_accepted(team_queues(3))
        self.plane.kubectl("create", "-f", "-", stdin=json.dumps({
            "apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
            "metadata": {"name": "serve", "namespace": "default",
                         "labels": {"kueue.x-k8s.io/queue-name": "q"}},
            "spec": {"replicas": 2, "leaderWorkerTemplate": {
                "size": 2, "leaderTemplate": template(), "workerTemplate": template()}}}))
        self.wait_until(lambda: len(self.workloads()) == 2, "each group has a Workload")
        for each in self.workloads():
            self.assertEqual([(p["name"], p["count"]) for p in each["spec"]["podSets"]],
                             [("leader", 1), ("worker", 1)])
        # Quota for three pods: one group runs, the other waits whole.
        self.wait_until(lambda: len(self.pods(running=True)) == 2, "one group runs")
        group = self.pods(running=True)[0]
        self.assertEqual(self.pods(running=True), [group, group + "-1"])
        for each in self.plane.items("pods"):
            if each["metadata"]["name"] in self.pods(running=True):
                self.assertEqual(each["spec"]["nodeSelector"], {"kubernetes.io/hostname": "node-1"})
        self.plane.kubectl("patch", "clusterqueue", "team", "--type=json", "-p", json.dumps([
            {"op": "replace", "path": "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota",
             "value": "4"}]))
        self.wait_until(lambda: self.pods(running=True) == ["serve-0", "serve-0-1", "serve-1", "serve-1-1"],
                        "both groups run")
        self.plane.kubectl("scale", "leaderworkerset", "serve", "--replicas=1")
        self.wait_until(lambda: len(self.workloads()) == 1, "the Workload of the second group goes")
        self.wait_until(lambda: self.pods(running=True) == ["serve-0", "serve-0-1"], "its pods go")
        self.plane.kubectl("delete", "leaderworkerset", "serve", "--wait=false")
        self.wait_until(lambda: not self.workloads() and not self.plane.items("pods"), "all is gone")
