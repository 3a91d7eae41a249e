"""Goal: on a real Kubernetes the second of two jobs runs on the idle node that the request of the first one brought,
and asks for no capacity; the lease of the node ends with the job. A node that stands by `prewarm` is kept until the
policy says otherwise, and a job uses it. Each right of the component `reuse` is used.

Method: the sample of queued provisioning with `reuse` in its policy; `berth cloud` plays the cloud, kwok the kubelets."""

import os
import signal

from cluster_test import ClusterTest
from control_plane import ROOT
from installation import Cloud

LEASE = "berth.dev/lease"
KEPT = "berth.dev/prewarm"


def sample(name):
    with open(os.path.join(ROOT, "manifests", "samples", "capacity", name + ".yaml"), encoding="utf-8") as file:
        return file.read().replace("bootSeconds: 5", "bootSeconds: 1").replace("idleSeconds: 30", "idleSeconds: 600")


class ReuseTest(ClusterTest):
    NODES = 0
    SHOWN = ("jobs", "workloads", "provisioningrequests", "pods", "nodes")
    COUNTED = "reuse"

    @classmethod
    def start_first(cls):
        cls.berth.add_components("reuse")
        return super().start_first()

    def run_job(self, name):
        job = sample("job").replace("name: train", f"name: {name}").replace("queue-name: spot-flex-demand", "queue-name: dws-only")
        self.plane.kubectl("apply", "-f", "-", stdin=job)

    def is_complete(self, name):
        return (self.plane.get("job", name) or {}).get("status", {}).get("succeeded") == 1

    def check_messages(self, name):
        return [check["message"] for workload in self.plane.items("workloads")
                if name in [owner["name"] for owner in workload["metadata"].get("ownerReferences", [])]
                for check in workload.get("status", {}).get("admissionChecks", [])]

    def leased(self):
        return [node["metadata"]["name"] for node in self.plane.items("nodes") if LEASE in node["metadata"]["labels"]]

    def test_a_an_idle_node_is_used_again(self):
        cloud = Cloud(self.plane)
        self.addCleanup(cloud.end, signal.SIGKILL)
        self.apply_when_accepted(sample("dws-only").replace("  runDuration: {}\n", "  runDuration: {}\n  reuse: {enabled: true}\n"))
        self.run_job("first")
        self.wait_until(lambda: self.is_complete("first"), "the first job completes")
        nodes = [node["metadata"]["uid"] for node in self.plane.items("nodes")]
        self.assertEqual(len(nodes), 1)
        self.run_job("second")
        self.wait_until(lambda: any("idle node" in message for message in self.check_messages("second")),
                        "the check says that the second job reuses a node")
        self.wait_until(lambda: self.is_complete("second"), "the second job completes")
        self.assertEqual([node["metadata"]["uid"] for node in self.plane.items("nodes")], nodes)
        self.wait_until(lambda: not self.leased(), "the lease of the node ends")

    def kept(self):
        return [node["metadata"]["name"] for node in self.plane.items("nodes")
                if KEPT in node["metadata"].get("annotations", {})]

    def test_b_a_node_that_stands_is_used_and_given_back(self):
        cloud = Cloud(self.plane)
        self.addCleanup(cloud.end, signal.SIGKILL)
        stands = "  prewarm: {namespace: default, localQueue: dws-only, minNodes: 2}\n"
        self.apply_when_accepted(sample("dws-only").replace("  runDuration: {}\n", "  reuse: {enabled: true}\n" + stands))
        self.wait_until(lambda: len(self.kept()) == 2, "two nodes stand")
        self.run_job("early")
        self.wait_until(lambda: any("idle node" in message for message in self.check_messages("early")),
                        "the check says that the job uses a node that stands")
        self.wait_until(lambda: self.is_complete("early"), "the job completes")
        asked = [request["metadata"]["name"] for request in self.plane.items("provisioningrequests")]
        self.assertEqual([name for name in asked if "early" in name], [])
        self.plane.kubectl("patch", "provisioningpolicy", "dws-only", "--type=merge", "-p", '{"spec": {"prewarm": null}}')
        self.wait_until(lambda: not self.kept(), "the nodes are given back to the autoscaler")
        self.wait_until(lambda: not [each for each in self.plane.items("workloads")
                                     if each["metadata"]["name"].startswith("berth-prewarm")], "its Workload goes")
