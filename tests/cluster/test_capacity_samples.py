"""Goal: the samples of capacity/, spot/ and time-slicing/ do on a real Kubernetes what their first lines say: each recipe
gets a machine for its job, a job that loses two machines of low priority ends on demand, and four pods share two GPUs.

Method: the files with shorter times; `berth cloud` plays the cloud, kwok the kubelets, the test a kubelet that ends its
pods when the cloud takes its machine back."""

import json
import os
import signal
import time

from cluster_test import ClusterTest
from control_plane import ROOT
from installation import Cloud

POOL = "kubernetes.azure.com/agentpool"
RECIPES = ("dws-only", "reservation-then-dws", "spot-flex-demand")
SHORTER = {"bootSeconds: 5": "bootSeconds: 1", "idleSeconds: 30": "idleSeconds: 2", "bootSeconds: 2": "bootSeconds: 1",
           "idleSeconds: 5": "idleSeconds: 2", "afterSeconds: 10, noticeSeconds: 2": "afterSeconds: 12, noticeSeconds: 6"}


def sample(folder, name):
    with open(os.path.join(ROOT, "manifests", "samples", folder, name + ".yaml"), encoding="utf-8") as file:
        text = file.read()
    for long, short in SHORTER.items():
        text = text.replace(long, short)
    return text


def runs_for(job, time):
    """The job with pods that kwok ends after the time."""
    return job.replace("  template:\n", f"  template:\n    metadata: {{annotations: {{test.berth.dev/run-for: {time}}}}}\n")


class CapacitySamplesTest(ClusterTest):
    NODES = 0
    SHOWN = ("jobs", "workloads", "provisioningrequests", "pods", "nodes", "nodepools")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cloud = Cloud(cls.plane)
        cls.addClassCleanup(cls.cloud.end, signal.SIGKILL)

    def apply(self, text):
        self.plane.kubectl("apply", "-f", "-", stdin=text)

    def is_complete(self, name):
        return (self.plane.get("job", name) or {}).get("status", {}).get("succeeded") == 1

    def machines(self, pool):
        return [node for node in self.plane.items("nodes") if node["metadata"]["labels"].get(POOL) == pool]

    def nodes_of_running(self):
        return [pod["spec"]["nodeName"] for pod in self.plane.items("pods", "-l", "job-name=shares")
                if pod["status"]["phase"] == "Running"]

    def end_pods_of_leaving_machines(self):
        leaving = {node["metadata"]["name"] for node in self.plane.items("nodes")
                   if any("impending" in taint["key"] for taint in node["spec"].get("taints", []))}
        failed = {"status": {"phase": "Failed", "conditions": [
            {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet",
             "message": "Pod was terminated in response to imminent node shutdown.",
             "lastTransitionTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}]}}
        for pod in self.plane.items("pods"):
            if pod["spec"].get("nodeName") in leaving and pod["status"]["phase"] == "Running":
                self.plane.kubectl("patch", "pod", pod["metadata"]["name"], "--subresource=status", "-p", json.dumps(failed),
                                   check=False)

    def test_each_recipe_gets_a_machine(self):
        for recipe in RECIPES:
            with self.subTest(recipe=recipe):
                self.apply_when_accepted(sample("capacity", recipe))
                self.apply(sample("capacity", "job").replace("name: train", f"name: {recipe}")
                           .replace("queue-name: spot-flex-demand", f"queue-name: {recipe}"))
                self.wait_until(lambda recipe=recipe: self.is_complete(recipe), f"the job of {recipe} completes")

    def test_a_job_that_loses_machines_of_low_priority_ends_on_demand(self):
        for name in ("nodepools", "queues"):
            self.apply_when_accepted(sample("spot", name))
        self.apply(runs_for(sample("spot", "job"), "20s"))
        pools = []

        def ends():
            for pod in self.plane.items("pods", "-l", "job-name=train"):
                pool = pod["spec"].get("nodeSelector", {}).get(POOL)
                if pod["status"].get("phase") == "Running" and (pod["metadata"]["uid"], pool) not in pools:
                    pools.append((pod["metadata"]["uid"], pool))
            self.end_pods_of_leaving_machines()
            return self.is_complete("train")
        self.wait_until(ends, "train is complete")
        self.assertEqual([pool for _, pool in pools], ["gpulow", "gpulow", "gpudemand"])
        self.wait_until(lambda: not self.machines("gpulow") and not self.machines("gpudemand"), "both pools are back at zero")

    def test_four_pods_share_two_gpus(self):
        self.apply_when_accepted(sample("time-slicing", "queues"))
        self.apply(sample("time-slicing", "nodepool"))
        self.apply(runs_for(sample("time-slicing", "job"), "1h"))
        self.wait_until(lambda: len(self.nodes_of_running()) == 4, "four pods run")
        self.assertEqual(len(set(self.nodes_of_running())), 2)
        self.plane.kubectl("delete", "job", "shares")
