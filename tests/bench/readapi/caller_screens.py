#!/usr/bin/env python3
"""What the screens of a caller cost on a large cluster: tools/bench-readapi screens [NODES [PODS [ROUNDS]]].

A real `berth up` with NODES nodes in racks and PODS pods on them, which nothing runs. /api/v1/capacity and /api/v1/topology
are asked ROUNDS times each, further apart than an answer is kept: milliseconds to the whole answer, processor time of the
program (API server, caches and screens) and bytes of an answer, as medians.

Environment: BERTH (the program), KUBECTL."""

import base64
import concurrent.futures
import http.client
import json
import os
import ssl
import statistics
import sys
import threading
import time
import urllib.parse

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "py"))
from berth_up import BerthUp  # noqa: E402 (the folder is known only now)
from waiting import wait_until  # noqa: E402

KEPT_SECONDS = 2.2  # an answer is kept for two seconds (program/caller_screens.h)
WRITERS = 16
NODES_OF_RACK = 16
RACKS = """
apiVersion: cloud.berth.dev/v1alpha1
kind: NodePool
metadata: {name: a100}
spec: {machineType: a2-highgpu-8g, zones: [us-central1-a], maxNodes: 1000, bootSeconds: 1, idleSeconds: 86400}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: racks}
spec: {levels: [{nodeLabel: example.com/rack}, {nodeLabel: kubernetes.io/hostname}]}
"""


def node(i):
    return "/api/v1/nodes", {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": f"node-{i}", "labels": {
            "kubernetes.io/hostname": f"node-{i}", "example.com/rack": f"rack-{i // NODES_OF_RACK}",
            "cloud.google.com/gke-nodepool": "a100", **{f"example.com/label-{n}": "of-an-ordinary-length" for n in range(20)}}},
        "status": {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": "8"},
                   "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "fine"}]}}


def pod(i, nodes):
    return "/api/v1/namespaces/default/pods", {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"pod-{i}"},
        "spec": {"nodeName": f"node-{i % nodes}", "containers": [
            {"name": "main", "image": "none", "env": [{"name": f"NAME_{n}", "value": "a value"} for n in range(10)],
             "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]}}


class Client:
    """One connection for each thread."""

    def __init__(self, root, token, ca=None):
        self.address, self.token, self.mine = urllib.parse.urlsplit(root).netloc, token, threading.local()
        self.tls = ssl.create_default_context(cadata=ca) if ca else ssl._create_unverified_context()  # noqa: SLF001 (our own process)

    def ask(self, method, path, body=None):
        if not hasattr(self.mine, "connection"):
            self.mine.connection = http.client.HTTPSConnection(self.address, context=self.tls, timeout=120)
        self.mine.connection.request(method, path, None if body is None else json.dumps(body), {
            "Authorization": f"Bearer {self.token}", "Content-Type": "application/json", "Accept-Encoding": "gzip"})
        answer = self.mine.connection.getresponse()
        text = answer.read()
        assert answer.status in (200, 201), (path, answer.status, text[:300])
        return len(text)


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    nodes, pods, rounds = ([int(each) for each in sys.argv[1:]] + [1000, 20000, 10][len(sys.argv) - 1:])[:3]
    cluster = BerthUp(flags=["--dashboard"])
    try:
        cluster.start()
        config = json.loads(cluster.kubectl("config", "view", "--raw", "-o", "json").stdout)
        token = config["users"][0]["user"]["token"]
        api = Client(config["clusters"][0]["cluster"]["server"], token,
                     base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]).decode())
        with concurrent.futures.ThreadPoolExecutor(WRITERS) as writers:
            list(writers.map(lambda each: api.ask("POST", *each), [node(i) for i in range(nodes)]))
            list(writers.map(lambda each: api.ask("POST", *each), [pod(i, nodes) for i in range(pods)]))
        cluster.apply(RACKS)
        page = Client(cluster.log().rpartition("dashboard: ")[2].split("/sign-in")[0], token)
        print(f"{nodes} nodes, {pods} pods; median (greatest) of {rounds}")
        for path in ("/api/v1/capacity", "/api/v1/topology"):
            wait_until(lambda path=path: page.ask("GET", path) > 0, "the screen is served", 120)
            waits, costs, sizes = [], [], []
            for _ in range(rounds):
                time.sleep(KEPT_SECONDS)
                used, begun = processor_seconds(cluster.process.pid), time.monotonic()
                sizes.append(page.ask("GET", path))
                waits.append((time.monotonic() - begun) * 1000)
                costs.append((processor_seconds(cluster.process.pid) - used) * 1000)
            print(f"  {path:18} {statistics.median(waits):6.0f} ms ({max(waits):.0f}), {statistics.median(costs):6.0f} ms of processor time, "
                  f"{statistics.median(sizes) / 1000:7.0f} kB")
    finally:
        cluster.close()


if __name__ == "__main__":
    main()
