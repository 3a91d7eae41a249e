"""Goal: Karpenter's core works on the control plane of the tests as in a cluster, for the tests that queue on it: a
pod without room brings a NodeClaim and a Node and is bound to it; three pods share a GPU in three shares, and the fourth
brings a second node; a pool's limit and a pod that fits nowhere are told; nodes that are not needed go.

Method: Karpenter with its KWOK provider, kube-scheduler, and kwok in place of kubelets (karpenter.py)."""

import json
import os
import shutil
import sys
import unittest

import karpenter
from control_plane import PROGRAMS, ControlPlane
from karpenter import GPU, NODE_POOL, Karpenter, node_pool
from scratch import scratch_folder

# How long a node may stand empty: a busy scheduler binds the pods later than Karpenter expects them.
BINDING = "20s"
BOUND_SECONDS = 40  # after which a pod without a node is created anew
TAINT = {"key": GPU, "value": "true", "effect": "NoSchedule"}


def pod(name, pool, **requests):
    """A pod for the pool; `requests` as cpu="1", gpu="1" (shares)."""
    amounts = {GPU if key == "gpu" else key: value for key, value in requests.items()}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
            "spec": {"nodeSelector": {NODE_POOL: pool}, "restartPolicy": "Never",
                     "tolerations": [{"key": GPU, "operator": "Exists"}],
                     "containers": [{"name": "c", "image": "none",
                                     "resources": {"requests": amounts, "limits": amounts}}]}}


def undisturbed(made):
    """The pod, which no consolidation moves: Karpenter may empty either of two nodes into the other."""
    made["metadata"]["annotations"] = {"karpenter.sh/do-not-disrupt": "true"}
    return made


@unittest.skipUnless(os.path.exists(os.path.join(PROGRAMS, "kwok")), "no control plane: build one with tools/kubernetes")
@unittest.skipUnless(karpenter.is_built(), f"no Karpenter: build one with {karpenter.BUILD}")
class KarpenterTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = scratch_folder("berth-karpenter-")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.plane = ControlPlane(folder, parent_ends_all=True)
        cls.addClassCleanup(cls.plane.stop)
        cls.plane.start()
        cls.karpenter = Karpenter(folder, cls.plane.kubeconfig, cls.plane.kubectl)
        cls.addClassCleanup(cls.karpenter.end)
        cls.karpenter.install()
        cls.karpenter.start()

    def describe_failure(self):
        """The pods with their conditions, the nodes, and the last lines of the programs; tests/py/run.py adds them to a failure."""
        pods = [{"name": pod["metadata"]["name"], "node": pod["spec"].get("nodeName"),
                 "nominated": pod["status"].get("nominatedNodeName"), "conditions": pod["status"].get("conditions")}
                for pod in self.plane.items("pods")]
        shown = [json.dumps(pod) for pod in pods]
        shown.append(self.plane.show_objects("nodepools,nodeclaims,nodes"))
        shown.append(self.plane.kubectl("get", "events", "-o", "custom-columns=TIME:.lastTimestamp,ABOUT:.involvedObject.name,"
                                        "REASON:.reason,MESSAGE:.message", check=False).stdout[-3000:])
        shown += [f"{name}:\n{self.plane.programs[name].tail()}" for name in ("kwok", "kube-scheduler")]
        return "\n".join([*shown, f"karpenter:\n{self.karpenter.log()[-3000:]}"])

    def wait_bound(self, made, attempts=3):
        """The node of the created pod.

        kube-scheduler may leave a pod that it judged while the node was not ready; Karpenter then removes the empty node.
        The pod is created anew."""
        name = made["metadata"]["name"]
        for _ in range(attempts - 1):
            try:
                return self.plane.wait_until(lambda: self.node_of(name), f"{name} is bound", BOUND_SECONDS)
            except AssertionError:
                print(f"{self.describe_failure()}\npod {name} has no node; it is created anew", file=sys.stderr)
                self.delete_pods(name)
                self.create(made)
        return self.plane.wait_until(lambda: self.node_of(name), f"{name} is bound")

    def create(self, *objects):
        self.plane.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def delete_pods(self, *names):
        self.plane.kubectl("delete", "pods", *names)

    def node_of(self, name):
        return (self.plane.get("pod", name) or {"spec": {}})["spec"].get("nodeName")

    def claims(self, pool):
        return self.plane.items("nodeclaims", "-l", f"{NODE_POOL}={pool}")

    def nodes(self, pool):
        return [node["metadata"]["name"] for node in self.plane.items("nodes", "-l", f"{NODE_POOL}={pool}")]

    def events_of(self, kind, name):
        return "\n".join(event["message"] for event in self.plane.items(
            "events", "--field-selector", f"involvedObject.kind={kind},involvedObject.name={name}"))

    def test_a_pending_pod_gets_a_node_that_goes_with_it(self):
        waits = pod("waits", "plain", cpu="2")
        self.create(node_pool("plain", ["m5.xlarge"]), waits)
        node = self.wait_bound(waits)
        claim, = self.plane.wait_until(lambda: [
            each for each in self.claims("plain") if each.get("status", {}).get("nodeName")], "the claim names its node")
        self.assertEqual(claim["status"]["nodeName"], node)
        self.assertEqual(len(self.claims("plain")), 1)
        self.assertEqual(self.nodes("plain"), [node])
        self.plane.wait_until(lambda: self.plane.get("pod", "waits")["status"]["phase"] == "Running", "the pod runs")
        self.delete_pods("waits")
        self.plane.wait_until(lambda: not self.claims("plain") and not self.nodes("plain"), "the empty node goes")

    def test_three_shares_are_one_gpu(self):
        self.create(node_pool("g4-nodepool", ["g4dn.xlarge"], labels={GPU: "true"}, taints=[TAINT],
                              expire_after="120m", limits={"cpu": "1000"}, after=BINDING))
        three = [undisturbed(pod(f"share-{number}", "g4-nodepool", cpu="100m", gpu="1")) for number in (1, 2, 3)]
        self.create(*three)
        first, *others = [self.wait_bound(share) for share in three]
        self.assertEqual(others, [first, first])
        self.assertEqual(len(self.claims("g4-nodepool")), 1)
        fourth = pod("share-4", "g4-nodepool", cpu="100m", gpu="1")
        self.create(fourth)
        second = self.wait_bound(fourth)
        self.assertNotEqual(second, first)
        self.plane.wait_until(lambda: sorted(self.nodes("g4-nodepool")) == sorted([first, second]), "there are two nodes")
        self.delete_pods("share-4")
        self.plane.wait_until(lambda: self.nodes("g4-nodepool") == [first], "the second node goes")
        self.assertEqual(self.plane.get("pod", "share-1")["status"]["phase"], "Running")
        self.delete_pods("share-1", "share-2", "share-3")

    def test_a_limit_that_is_reached_is_told(self):
        self.create(node_pool("small", ["m5.xlarge"], limits={"cpu": "4"}))
        fits = pod("fits", "small", cpu="3")
        self.create(fits)
        self.wait_bound(fits)
        self.create(pod("exceeds", "small", cpu="3"))
        self.plane.wait_until(lambda: "limits" in self.events_of("Pod", "exceeds"), "the limit is told")
        self.assertIsNone(self.node_of("exceeds"))
        self.assertEqual(len(self.claims("small")), 1)
        self.delete_pods("fits", "exceeds")
