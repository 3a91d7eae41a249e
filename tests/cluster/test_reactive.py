"""Goal: the check of reactive capacity works with the real Karpenter: jobs with shares of a GPU bring nodes, three
shares a node; a limit of the NodePool is told as the reason of the wait, by the Workload and by `berth why`, and
forgotten when it is raised; the policy protects the pods; a pool that brings nothing in time is left for the next flavor;
nodes go when they are not needed.

Method: Karpenter's core with its KWOK provider (karpenter.py), kube-scheduler, and kwok in place of kubelets, with
Berth installed."""

import json
import os
import subprocess
import unittest

import karpenter
from cluster_test import ClusterTest
from control_plane import ROOT
from installation import BERTH
from karpenter import GPU, NODE_POOL, Karpenter, node_pool

POOL, SPARE = "g4-nodepool", "spare-nodepool"
SAMPLE = os.path.join(ROOT, "manifests/samples/karpenter-shares/queues.yaml")


def job(name, pods):
    shares = {"cpu": "100m", GPU: "1"}
    return {"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "inference"}},
            "spec": {"parallelism": pods, "completions": pods, "suspend": True, "activeDeadlineSeconds": 10800,
                     "template": {"metadata": {"annotations": {"test.berth.dev/run-for": "1h"}},
                                  "spec": {"restartPolicy": "Never", "containers": [{
                                      "name": "c", "image": "none",
                                      "resources": {"requests": shares, "limits": shares}}]}}}}


@unittest.skipUnless(karpenter.is_built(), f"no Karpenter: build one with {karpenter.BUILD}")
class ReactiveTest(ClusterTest):
    SHOWN = ("workloads", "pods", "nodes", "nodepools", "nodeclaims")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.karpenter = Karpenter(cls.folder, cls.plane.kubeconfig, cls.plane.kubectl)
        cls.addClassCleanup(cls.karpenter.end)
        cls.karpenter.install()
        cls.karpenter.start()

    def create(self, *objects):
        for one in objects:
            self.plane.kubectl("create", "-f", "-", stdin=json.dumps(one))

    def delete(self, *jobs):
        self.plane.kubectl("delete", "jobs", *jobs, "--cascade=foreground", seconds=180)
        self.wait_until(lambda: not self.plane.items("nodeclaims"), "the nodes go")

    def pool(self, name, **limits):
        taint = {"key": GPU, "value": "true", "effect": "NoSchedule"}
        return node_pool(name, ["g4dn.xlarge"], labels={GPU: "true"}, taints=[taint], expire_after="120m",
                         limits=limits, budgets=[{"nodes": "100%"}])

    def pods(self, name):
        return self.plane.items("pods", "-l", f"batch.kubernetes.io/job-name={name}")

    def nodes_of(self, name):
        """The nodes of the job's pods that run."""
        return [pod["spec"]["nodeName"] for pod in self.pods(name) if pod["status"]["phase"] == "Running"]

    def check(self, name):
        for each in self.plane.items("workloads"):
            if each["metadata"]["ownerReferences"][0]["name"] == name:
                return next(iter(each.get("status", {}).get("admissionChecks", [])), {})
        return {}

    def why(self, name):
        return subprocess.run([BERTH, "why", "--kubeconfig", self.plane.kubeconfig, "job/" + name], text=True,
                              capture_output=True, timeout=90, check=False).stdout

    def patch_pool(self, spec):
        self.plane.kubectl("patch", "nodepool", POOL, "--type=merge", "-p", json.dumps({"spec": spec}))

    def set_queues(self, wait):
        with open(SAMPLE, encoding="utf-8") as queues:
            text = queues.read()
        self.assertIn("maxWaitSeconds: 600", text)
        self.apply_when_accepted(text.replace("maxWaitSeconds: 600", f"maxWaitSeconds: {wait}"))

    def test_shares_bring_nodes_and_a_limit_is_told(self):
        self.set_queues(600)
        # The KWOK provider counts what pods ask for, not what machines have: the limit is one of nodes.
        self.create(self.pool(POOL, nodes="2"), job("three", 3))
        self.wait_until(lambda: len(self.nodes_of("three")) == 3, "three pods run")
        first, = set(self.nodes_of("three"))
        self.assertEqual(self.pods("three")[0]["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"], "true")
        # 120 minutes of life are less than the three hours that the job may run.
        self.assertIn("replaces its nodes after 7200 s", self.check("three")["message"])
        self.create(job("fourth", 1))
        self.wait_until(lambda: self.nodes_of("fourth"), "the fourth pod runs")
        self.assertNotIn(first, self.nodes_of("fourth"), "three shares are one GPU")
        self.assertEqual(len(self.plane.items("nodeclaims", "-l", f"{NODE_POOL}={POOL}")), 2)

        self.create(job("more", 3))  # two shares are left
        told = "NodePoolLimitReached): NodePool g4-nodepool has reached its limit: nodes 2 of 2"
        self.wait_until(lambda: told in self.check("more").get("message", ""), "the limit is told")
        self.assertEqual(self.check("more")["state"], "Ready")
        self.assertIn(told, self.why("more"))
        self.patch_pool({"disruption": {"budgets": [{"nodes": "0"}]}})
        kept = "DisruptionBudgetKeepsNodes): NodePool g4-nodepool has reached its limit: nodes 2 of 2"
        self.wait_until(lambda: kept in self.check("more").get("message", ""), "the budget is told")
        self.assertIn(kept, self.why("more"))
        self.patch_pool({"limits": {"nodes": "9"}, "disruption": {"budgets": [{"nodes": "100%"}]}})
        self.wait_until(lambda: len(self.nodes_of("more")) == 3, "a third node comes")
        self.wait_until(lambda: "limit" not in self.check("more")["message"], "the reason is forgotten")
        self.delete("three", "fourth", "more")

    def test_a_pool_without_nodes_is_left_for_the_next_flavor(self):
        self.set_queues(15)
        self.create(self.pool(SPARE, nodes="9"))
        self.plane.kubectl("delete", "nodepool", POOL, "--ignore-not-found")
        self.create(job("moves", 1))
        self.wait_until(lambda: self.nodes_of("moves"), "the pod runs elsewhere")
        pod, = (pod for pod in self.pods("moves") if pod["status"]["phase"] == "Running")
        self.assertEqual(pod["spec"]["nodeSelector"][NODE_POOL], SPARE)
        self.assertIn("NodePoolNotFound", self.why("moves"))
        self.delete("moves")
