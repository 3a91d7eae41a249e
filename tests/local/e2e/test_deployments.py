"""Goal: people and clients that were not written for Berth find Deployments and Services of `berth up` as on a cluster.

Method: kubectl's rollout, scale, expose and wait on real processes; bash servers that say which version they are."""

import json
import socket

from berth_up import BerthUpTest
from waiting import wait_until

SERVER = """
import os, socket
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(("0.0.0.0", 7070))
server.listen()
while True:
    client, _ = server.accept()
    client.recv(4096)
    body = os.environ["VERSION"]
    client.sendall(f"HTTP/1.1 200 OK\\r\\nContent-Length: {len(body)}\\r\\nConnection: close\\r\\n\\r\\n{body}".encode())
    client.close()
"""


def deployment(replicas, version, **spec):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {
        "replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, **spec, "template": {
            "metadata": {"labels": {"app": "web"}}, "spec": {"terminationGracePeriodSeconds": 0, "containers": [{
                "name": "server", "image": "python", "args": ["-c", SERVER],
                "env": [{"name": "VERSION", "value": version}],
                "ports": [{"name": "http", "containerPort": 7070}],
                "readinessProbe": {"httpGet": {"port": "http", "path": "/"}, "periodSeconds": 1}}]}}}}


class DeploymentsTest(BerthUpTest):
    def setUp(self):
        self.cluster = self.start_cluster(images=["python=/usr/bin/python3", "sleep=/bin/sleep"])
        self.kubectl = self.cluster.kubectl
        room = {"cpu": "16", "memory": "64Gi", "pods": "110"}
        self.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "laptop"},
                    "status": {"allocatable": room, "capacity": room}})

    def apply(self, what):
        return self.kubectl("apply", "-f", "-", stdin=json.dumps(what))

    def rolled_out(self):
        return self.kubectl("rollout", "status", "deployment/web", "--timeout=180s", seconds=190).stdout

    def ask(self, port=80):
        """What the Service answers on the machine; "" if it refuses."""
        address = self.cluster.get("service", "web")["spec"]["clusterIP"]
        try:
            with socket.create_connection((address, port), timeout=5) as server:
                server.sendall(b"GET / HTTP/1.1\r\nHost: web\r\n\r\n")
                text = b""
                while piece := server.recv(4096):
                    text += piece
        except (ConnectionError, TimeoutError):
            return ""
        return text.decode().rsplit("\r\n", 1)[-1]

    def test_rollout_undo_and_service(self):
        self.apply(deployment(3, "one"))
        self.assertIn("successfully rolled out", self.rolled_out())
        self.kubectl("expose", "deployment", "web", "--port=80", "--target-port=http")
        wait_until(lambda: self.ask() == "one", "the Service answers")
        self.apply(deployment(3, "two"))
        self.rolled_out()
        wait_until(lambda: self.ask() == "two", "the Service leads to the new pods")
        self.assertEqual(self.ask(), "two")
        history = self.kubectl("rollout", "history", "deployment/web").stdout
        self.assertIn("1         <none>\n2         <none>", history)
        self.kubectl("rollout", "undo", "deployment/web")
        self.rolled_out()
        wait_until(lambda: self.ask() == "one", "the Service leads to the earlier version")
        self.assertIn("3         <none>", self.kubectl("rollout", "history", "deployment/web").stdout)
        self.kubectl("scale", "deployment", "web", "--replicas=5")
        self.rolled_out()
        scale = json.loads(self.kubectl("get", "--raw",
                                        "/apis/apps/v1/namespaces/default/deployments/web/scale").stdout)
        self.assertEqual((scale["spec"]["replicas"], scale["status"]),
                         (5, {"replicas": 5, "selector": "app=web"}))
        for replicas in (6, 3, 6, 3, 6, 5):  # while the controllers write too
            self.cluster.call("PATCH", "/apis/apps/v1/namespaces/default/deployments/web/scale", {"spec": {"replicas": replicas}})
        self.rolled_out()
        table = self.kubectl("get", "deployment", "web").stdout.splitlines()
        self.assertEqual(table[0].split(), ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"])
        self.assertEqual(table[1].split()[:4], ["web", "5/5", "5", "5"])
        self.kubectl("scale", "deployment", "web", "--replicas=0")
        wait_until(lambda: self.ask() == "", "nobody answers")
        self.kubectl("delete", "deployment,service", "web")
        wait_until(lambda: not [each for each in self.cluster.items("pods,replicasets,endpoints,endpointslices")
                                if each["metadata"]["name"] != "kubernetes"], "everything is gone")
        self.assertEqual(self.cluster.stop(), 0)

    def test_a_restart_keeps_services(self):
        self.apply(deployment(1, "one"))
        self.kubectl("expose", "deployment", "web", "--port=80", "--target-port=http")
        self.rolled_out()
        wait_until(lambda: self.ask() == "one", "the Service answers")
        before = self.cluster.get("service", "web")["spec"]["clusterIP"]
        self.cluster.kill()
        self.cluster.start()
        wait_until(lambda: self.ask() == "one", "a new pod answers")
        self.assertEqual(self.cluster.get("service", "web")["spec"]["clusterIP"], before)

    def test_liveness_restarts(self):
        probe = {"exec": {"command": ["/bin/sh", "-c", "exit 3"]}, "periodSeconds": 1, "failureThreshold": 2}
        self.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "sick"}, "spec": {
            "terminationGracePeriodSeconds": 1, "containers": [
                {"name": "c", "image": "sleep", "args": ["1000"], "livenessProbe": probe}]}})
        wait_until(lambda: self.cluster.get("pod", "sick")["status"].get(
            "containerStatuses", [{}])[0].get("restartCount", 0) > 0, "it is restarted")
        events = self.kubectl("get", "events", "-o", "json").stdout
        self.assertIn("Liveness probe failed: command ended with exit code 3", events)

    def test_nodes_have_what_models_need(self):
        node = self.cluster.get("node", "laptop")
        self.assertEqual(node["status"]["daemonEndpoints"], {"kubeletEndpoint": {"Port": 0}})
        version = self.kubectl("get", "--raw", "/version/").stdout
        self.assertIn("gitVersion", version)
