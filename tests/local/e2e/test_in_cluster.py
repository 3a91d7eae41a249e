"""Goal: programs of pods find the API as clients in a cluster do: by the names of the Service `kubernetes`, with the mounted authority and token.

Method: python3 in a pod, and in a pod of a Job, which has no ports."""

import json
import os

from berth_up import BerthUpTest
from waiting import wait_until

NAMES = ["kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "kubernetes.default"]
CLIENT = f"""
import json, ssl, urllib.request
folder = "/var/run/secrets/kubernetes.io/serviceaccount"
context = ssl.create_default_context(cafile=folder + "/ca.crt")
with open(folder + "/token") as file:
    headers = {{"Authorization": "Bearer " + file.read()}}
for name in {NAMES!r}:
    request = urllib.request.Request(f"https://{{name}}/apis", headers=headers)
    with urllib.request.urlopen(request, context=context) as answer:
        print(name, json.load(answer)["kind"])
"""
EXPECTED = "".join(f"{name} APIGroupList\n" for name in NAMES)


class InClusterTest(BerthUpTest):
    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("an ordinary user may not listen on port 443")
        self.cluster = self.start_cluster(images=["python=/usr/bin/python3"])
        room = {"cpu": "16", "memory": "64Gi", "pods": "110"}
        self.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "laptop"},
                    "status": {"allocatable": room, "capacity": room}})
        wait_until(lambda: self.has("endpoints"), "the Service is there")

    def has(self, kind):
        return "kubernetes" in [each["metadata"]["name"] for each in self.cluster.items(kind)]

    def apply(self, what):
        return self.cluster.kubectl("apply", "-f", "-", stdin=json.dumps(what))

    def spec(self):
        return {"restartPolicy": "Never", "containers": [{"name": "c", "image": "python", "args": ["-c", CLIENT]}]}

    def log(self, place):
        return self.cluster.kubectl("logs", place, check=False).stdout

    def test_pods_reach_the_api_by_its_name(self):
        self.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": self.spec()})
        self.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"},
                    "spec": {"backoffLimit": 0, "template": {"spec": self.spec()}}})
        for place in ("pod/pod", "job/job"):
            wait_until(lambda place=place: self.log(place) == EXPECTED, f"{place} reaches the API")

    def test_the_service_comes_back_and_follows_the_port(self):
        self.cluster.kubectl("delete", "service,endpoints,endpointslice", "kubernetes")
        wait_until(lambda: all(self.has(kind) for kind in ("services", "endpoints", "endpointslices")), "it is back")
        self.cluster.kill()
        self.cluster.start()
        wait_until(lambda: str(self.cluster.get("endpoints", "kubernetes")["subsets"][0]["ports"][0]["port"])
                   in self.cluster.log().split("berth is up at ")[-1].split()[0], "the port is the new one")
