"""Goal: helm installs our chart on `berth up`, upgrades it, rolls back and uninstalls it, as on a real cluster; the
controller of the chart runs there as a pod, answers the webhooks by the name of its Service, and admits a Job.

Method: the helm of tools/helm, and what stands in the API after each step. `berth up` runs without controllers of its
own; the image of the chart is the berth that is tested."""

import json
import os
import unittest

from berth_up import BERTH, BerthUpTest
from programs import CHART, HELM
from waiting import wait_until

NAMESPACE = "kueue-system"
RELEASE = ("kueue", CHART, "--namespace", NAMESPACE)
DEPLOYMENT = ("deployment", "kueue-controller-manager", "-n", NAMESPACE)
ROOM = {"cpu": "16", "memory": "64Gi", "pods": "110"}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "laptop"},
        "status": {"allocatable": ROOM, "capacity": ROOM}}
QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: plain, resources: [{name: cpu, nominalQuota: 1}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: default}
spec: {clusterQueue: all}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: work, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: "true:1", resources: {requests: {cpu: 1}}}]
"""
BUDGET = ("pdb", "kueue-controller-manager", "-n", NAMESPACE)


@unittest.skipUnless(os.path.exists(HELM), "no helm: build one with tools/helm")
class HelmTest(BerthUpTest):
    def setUp(self):
        super().setUp()
        self.cluster = self.start_cluster(flags=["--no-controllers"],
                                          images=[f"berth:latest={BERTH}", "true:1=/bin/true"])
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

    def test_the_controller_works_as_a_pod(self):
        self.helm("install", *RELEASE, "--take-ownership", "--force-conflicts")
        self.wait_for("the controller is ready", lambda: (
            self.cluster.get(*DEPLOYMENT) or {}).get("status", {}).get("readyReplicas") == 1)
        # Its webhooks know their CA a moment later.
        self.wait_for("the queues are accepted", lambda: self.cluster.apply(QUEUES, check=False).returncode == 0)
        refused = self.cluster.apply(QUEUES.replace("nominalQuota: 1", "nominalQuota: -1"), check=False)
        self.assertIn("nominalQuota", refused.stderr)
        self.cluster.apply(JOB)  # the webhook suspends it
        self.wait_for("the Job is done", lambda: self.cluster.is_true("job", "work", "Complete"))
        workload, = self.cluster.items("workloads")
        self.assertIn("Admitted", [each["type"] for each in workload["status"]["conditions"]])

    def wait_for(self, what, condition):
        try:
            return wait_until(condition, what)
        except AssertionError as late:
            state = self.cluster.kubectl("get", "pods,events", "-n", NAMESPACE, check=False).stdout
            log = self.cluster.kubectl("logs", *DEPLOYMENT[2:], "deploy/" + DEPLOYMENT[1], check=False).stdout
            raise AssertionError(f"{late}\n{state[-4000:]}\n{log[-4000:]}") from None
