"""Goal: Karpenter's core runs on `berth up`: its CRDs with their rules install, bad objects get the rules' messages,
its controllers start, and a pod without a node gets a NodeClaim and a node, where its program runs; both go with the pod.

Method: Karpenter with its provider that makes nodes without machines (tests/py/karpenter.py). The nodes are this
machine, as `berth up` reports."""

import json
import unittest

import karpenter
from berth_up import BerthUpTest
from karpenter import NODE_POOL, Karpenter, node_pool
from waiting import wait_until

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "waits", "namespace": "default"},
       "spec": {"nodeSelector": {NODE_POOL: "default"}, "restartPolicy": "Never",
                "containers": [{"name": "c", "image": "sleep:1", "args": ["600"],
                                "resources": {"requests": {"cpu": "2"}}}]}}


@unittest.skipUnless(karpenter.is_built(), f"no Karpenter: build one with {karpenter.BUILD}")
class KarpenterTest(BerthUpTest):
    def setUp(self):
        super().setUp()
        self.cluster = self.start_cluster(images=["sleep:1=/bin/sleep"])
        self.karpenter = Karpenter(self.cluster.folder, self.cluster.kubeconfig, self.cluster.kubectl)
        self.addCleanup(self.karpenter.end)
        self.karpenter.install()

    def wait_for(self, what, condition, seconds=90):
        try:
            return wait_until(condition, what, seconds)
        except AssertionError as late:
            state = self.cluster.kubectl("get", "nodepools,nodeclaims,nodes,pods,events", "-o", "wide", check=False).stdout
            raise AssertionError(f"{late}\n{state[-5000:]}\n{self.karpenter.log()[-6000:]}") from None

    def refusal(self, change):
        """What the server says to the pool with this change of its spec."""
        pool = node_pool("bad")
        change(pool["spec"])
        done = self.cluster.kubectl("create", "-f", "-", stdin=json.dumps(pool), check=False)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def test_rules(self):
        def bad_key(spec):
            spec["template"]["spec"]["requirements"][0]["key"] = "karpenter.sh/custom"
        self.assertIn('label domain "karpenter.sh" is restricted', self.refusal(bad_key))

        def no_values(spec):
            spec["template"]["spec"]["requirements"][0]["values"] = []
        self.assertIn("requirements with operator 'In' must have a value defined", self.refusal(no_values))

        def no_duration(spec):
            spec["disruption"]["budgets"] = [{"nodes": "10%", "schedule": "@daily"}]
        self.assertIn("'schedule' must be set with 'duration'", self.refusal(no_duration))

    def test_a_pending_pod_gets_a_node(self):
        self.karpenter.start()
        self.cluster.kubectl("create", "-f", "-", stdin=json.dumps(node_pool("default", ["m5.xlarge"])))
        self.wait_for("the NodePool is ready", lambda: self.cluster.is_true("nodepool", "default", "Ready"))
        self.cluster.kubectl("create", "-f", "-", stdin=json.dumps(POD))
        claim, = self.wait_for("a NodeClaim", lambda: self.cluster.items("nodeclaims"))
        name = claim["metadata"]["name"]
        self.wait_for("the NodeClaim is initialized", lambda: self.cluster.is_true("nodeclaim", name, "Initialized"))
        node = self.cluster.get("nodeclaim", name)["status"]["nodeName"]
        self.assertTrue(self.cluster.is_true("node", node, "Ready"))
        self.wait_for("the program runs", lambda: self.cluster.is_true("pod", "waits", "Ready"))
        self.assertEqual(self.cluster.get("pod", "waits")["spec"]["nodeName"], node)
        self.cluster.kubectl("delete", "pod", "waits", "--grace-period=1")
        self.wait_for("the empty node goes", lambda: not self.cluster.items("nodeclaims"))
        self.wait_for("its Node goes", lambda: self.cluster.get("node", node) is None)
