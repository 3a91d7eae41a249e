"""Goal: `kubectl top` shows on `berth up` what programs of pods use: of pods, containers and nodes, by selector,
with rights; discovery names the group.

Method: a pod that computes and holds memory, beside one that sleeps; both kubectls."""

import json
import sys

from berth_up import KUBECTLS, BerthUpTest
from waiting import wait_until

ROOT = "/apis/metrics.k8s.io/v1beta1"
MEBI = 1 << 20
HELD = 64  # MiB
NODE = """
apiVersion: v1
kind: Node
metadata: {name: laptop, labels: {rack: a}}
status:
  allocatable: {cpu: "4", memory: 8Gi, pods: "20"}
  capacity: {cpu: "4", memory: 8Gi, pods: "20"}
"""
BUSY = f"held = bytearray({HELD * MEBI})\nwhile True: pass"
PODS = """
apiVersion: v1
kind: Pod
metadata: {name: busy, labels: {app: busy}}
spec:
  containers:
  - {name: computes, image: "python:1", args: ["-c", %s]}
  - {name: rests, image: "sleep:1", args: ["600"]}
---
apiVersion: v1
kind: Pod
metadata: {name: idle, labels: {app: idle}}
spec:
  containers: [{name: c, image: "sleep:1", args: ["600"]}]
---
apiVersion: v1
kind: Pod
metadata: {name: waits}
spec:
  nodeSelector: {rack: b}
  containers: [{name: c, image: "sleep:1", args: ["600"]}]
""" % json.dumps(BUSY)


def milli(quantity):
    return int(quantity[:-1]) / 1e6


def mebi(quantity):
    return int(quantity[:-2]) / 1024


class TopTest(BerthUpTest):
    def setUp(self):
        super().setUp()
        self.cluster = self.start_cluster(flags=["--no-controllers"],
                                          images=[f"python:1={sys.executable}", "sleep:1=/bin/sleep"])
        self.cluster.apply(NODE)
        self.cluster.apply(PODS)
        for pod in ("busy", "idle"):
            wait_until(lambda pod=pod: self.cluster.is_true("pod", pod, "Ready"), f"{pod} runs")

    def raw(self, path, check=True):
        done = self.cluster.kubectl("get", "--raw", ROOT + path, check=check)
        return json.loads(done.stdout) if done.returncode == 0 else done.stderr

    def usage(self, pod):
        return {c["name"]: c["usage"] for c in self.raw(f"/namespaces/default/pods/{pod}")["containers"]}

    def test_what_programs_use(self):
        busy = wait_until(lambda: (lambda found: mebi(found["computes"]["memory"]) >= HELD and found)(
            self.usage("busy")), "the program holds its memory")
        self.assertLess(mebi(busy["computes"]["memory"]), HELD + 64)
        # A busy machine gives one program a small part of a processor, and never more than one.
        wait_until(lambda: milli(self.usage("busy")["computes"]["cpu"]) > 30, "the program computes")
        self.assertLess(milli(self.usage("busy")["computes"]["cpu"]), 1100)
        self.assertLess(milli(self.usage("busy")["rests"]["cpu"]), 20)
        self.assertLess(milli(self.usage("idle")["c"]["cpu"]), 20)
        node = self.raw("/nodes/laptop")
        self.assertEqual(node["metadata"]["labels"]["rack"], "a")
        self.assertGreater(milli(node["usage"]["cpu"]), 30)
        self.assertGreaterEqual(mebi(node["usage"]["memory"]), HELD)

    def test_lists_and_selectors(self):
        def names(path):
            return [item["metadata"]["name"] for item in self.raw(path)["items"]]
        self.assertEqual(names("/pods"), ["busy", "idle"])  # a pod that waits has no program
        self.assertEqual(names("/namespaces/kube-system/pods"), [])
        self.assertEqual(names("/namespaces/default/pods?labelSelector=app%3Didle"), ["idle"])
        self.assertEqual(names("/pods?fieldSelector=metadata.name%3Dbusy"), ["busy"])
        self.assertEqual(names("/nodes"), ["laptop"])
        self.assertIn("not found", self.raw("/namespaces/default/pods/waits", check=False))
        self.assertIn("unable to parse", self.raw("/pods?labelSelector=a%20b%20c", check=False))
        self.assertIn("not supported for PodMetrics", self.raw("/pods?fieldSelector=spec.x%3D1", check=False))

    def test_kubectl_top(self):
        for kubectl in KUBECTLS:
            with self.subTest(kubectl=kubectl):
                pods = self.cluster.run(kubectl, "top", "pods").stdout.splitlines()
                self.assertRegex(pods[0], r"^NAME +CPU\(cores\) +MEMORY\(bytes\)")
                self.assertEqual([line.split()[0] for line in pods[1:]], ["busy", "idle"])
                containers = self.cluster.run(kubectl, "top", "pod", "busy", "--containers").stdout
                self.assertRegex(containers, r"busy +computes +\d+m +\d+Mi")
                self.assertIn("idle", self.cluster.run(kubectl, "top", "pods", "-A", "-l", "app=idle").stdout)
                nodes = self.cluster.run(kubectl, "top", "nodes").stdout
                self.assertRegex(nodes, r"laptop +\d+m +\d+% +\d+Mi +\d+%")

    def test_discovery(self):
        for kubectl in KUBECTLS:
            known = self.cluster.run(kubectl, "api-resources", "--api-group=metrics.k8s.io", "-o", "wide").stdout
            self.assertRegex(known, r"nodes .*false +NodeMetrics")
            self.assertRegex(known, r"pods .*true +PodMetrics")
        plain = json.loads(self.cluster.kubectl("get", "--raw", "/apis/metrics.k8s.io").stdout)
        self.assertEqual(plain["preferredVersion"]["groupVersion"], "metrics.k8s.io/v1beta1")
        self.assertTrue(self.cluster.is_true("apiservice", "v1beta1.metrics.k8s.io", "Available"))
        # The names of Kubernetes' own kinds mean those still.
        self.assertEqual(self.cluster.get("pod", "idle")["kind"], "Pod")

    def test_rights(self):
        def top(*arguments):
            return self.cluster.kubectl("top", *arguments, "--as=viewer", check=False)
        self.assertIn('cannot list resource "pods" in API group "metrics.k8s.io"', top("pods", "-n", "default").stderr)
        self.cluster.kubectl("create", "rolebinding", "view", "--clusterrole=view", "--user=viewer")
        wait_until(lambda: "busy" in top("pods", "-n", "default").stdout, "a viewer sees what pods use")
        self.assertIn("forbidden", top("pods", "-A").stderr.lower())
        self.assertIn("forbidden", top("nodes").stderr.lower())
