"""Goal: helm installs our chart on `berth up`, upgrades it, rolls back and uninstalls it, as on a real cluster.

Method: the helm of tools/helm, and what stands in the API after each step. Whether the controller works that the
chart's Deployment names is not looked at: tests/cluster/test_helm.py does. `berth up` runs without controllers
of its own."""

import json
import os
import unittest

from programs import CHART, HELM

from harness import ClusterTest, wait_until

NAMESPACE = "kueue-system"
RELEASE = ("kueue", CHART, "--namespace", NAMESPACE)
DEPLOYMENT = ("deployment", "kueue-controller-manager", "-n", NAMESPACE)
ROOM = {"cpu": "16", "memory": "64Gi", "pods": "110"}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "laptop"},
        "status": {"allocatable": ROOM, "capacity": ROOM}}
BUDGET = ("pdb", "kueue-controller-manager", "-n", NAMESPACE)


@unittest.skipUnless(os.path.exists(HELM), "no helm: build one with tools/helm")
class HelmTest(ClusterTest):
    def setUp(self):
        super().setUp()
        self.cluster = self.start_cluster(flags=["--no-controllers"])
        self.cluster.apply(json.dumps(NODE))

    def helm(self, *arguments):
        return self.cluster.run(HELM, *arguments, seconds=120)

    def releases(self):
        history = json.loads(self.helm("history", "kueue", "-n", NAMESPACE, "-o", "json").stdout)
        return [(item["revision"], item["status"]) for item in history]

    def replicas(self):
        return (self.cluster.get(*DEPLOYMENT) or {"spec": {}})["spec"].get("replicas")

    def test_life_of_a_release(self):
        # `berth up` has the CRDs and the namespace already.
        self.helm("install", *RELEASE, "--take-ownership", "--force-conflicts")
        self.assertEqual(self.releases(), [(1, "deployed")])
        self.assertEqual(self.replicas(), 1)

        self.helm("upgrade", *RELEASE, "--set", "controllerManager.replicas=2",
                  "--set", "controllerManager.podDisruptionBudget.enabled=true")
        self.assertEqual(self.replicas(), 2)
        self.assertIsNotNone(self.cluster.get(*BUDGET))

        self.helm("rollback", "kueue", "1", "--namespace", NAMESPACE)
        self.assertEqual(self.replicas(), 1)
        self.assertIsNone(self.cluster.get(*BUDGET))
        self.assertEqual(self.releases(), [(1, "superseded"), (2, "superseded"), (3, "deployed")])
        self.assertIn("STATUS: deployed", self.helm("status", "kueue", "-n", NAMESPACE).stdout)

        self.helm("uninstall", "kueue", "--namespace", NAMESPACE, "--wait")
        wait_until(lambda: self.cluster.get(*DEPLOYMENT) is None, "the Deployment is gone")
        self.assertIsNotNone(self.cluster.get("crd", "workloads.kueue.x-k8s.io"))  # the chart keeps its CRDs


if __name__ == "__main__":
    unittest.main()
