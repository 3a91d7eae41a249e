"""Goal: kubectl reaches an API that a pod serves behind an APIService, as the user who asks, while the server takes nobody
but `berth up` for the front proxy.

Method: a real `berth up`; a pod's program serves a group version over HTTPS under the name of its Service, and asks for
the certificate of the front proxy; openssl makes its own."""

import base64
import json
import os
import subprocess
import unittest

from berth_up import KUBECTLS, BerthUpTest
from waiting import wait_until

ROOM = {"cpu": "4", "memory": "4Gi", "pods": "50"}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "laptop"},
        "status": {"allocatable": ROOM, "capacity": ROOM}}
# One thing a namespace; its label `user` names who asks.
SERVER = r"""
import json, ssl
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
ROOT = "/apis/things.berth.dev/v1"
class Things(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        subject = dict(pair[0] for pair in (self.connection.getpeercert() or {}).get("subject", ()))
        if subject.get("commonName") != "front-proxy-client":
            return self.answer(401, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 401})
        path = self.path.split("?")[0]
        if path == ROOT:
            return self.answer(200, {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "things.berth.dev/v1",
                "resources": [{"name": "things", "singularName": "thing", "kind": "Thing", "namespaced": True,
                               "verbs": ["get", "list"]}]})
        if path != ROOT + "/namespaces/default/things":
            return self.answer(404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404})
        thing = {"apiVersion": "things.berth.dev/v1", "kind": "Thing", "metadata": {"name": "one", "namespace": "default",
                 "labels": {"user": self.headers["X-Remote-User"]}}}
        self.answer(200, {"kind": "ThingList", "apiVersion": "things.berth.dev/v1", "metadata": {}, "items": [thing]})
    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def log_message(self, *_): pass
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("/tls/tls.crt", "/tls/tls.key")
context.load_verify_locations("/tls/proxy.crt")
context.verify_mode = ssl.CERT_OPTIONAL
server = ThreadingHTTPServer(("0.0.0.0", 8443), Things)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""


def encoded(text):
    return base64.b64encode(text.encode()).decode()


class AggregationTest(BerthUpTest):
    @classmethod
    def setUpClass(cls):
        if not KUBECTLS:
            raise unittest.SkipTest("no kubectl: tools/build and tools/kubectl make one")

    def make_certificate(self, name):
        """A certificate that is its own authority, and its key."""
        paths = [os.path.join(self.cluster.folder, file) for file in ("tls.key", "tls.crt")]
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-subj", "/CN=things", "-addext", f"subjectAltName=DNS:{name}",
                        "-keyout", paths[0], "-out", paths[1]], check=True, capture_output=True, timeout=30)
        texts = []
        for path in paths:
            with open(path, encoding="utf-8") as file:
                texts.append(file.read())
        return texts

    def test_an_api_in_a_pod(self):
        self.cluster = self.start_cluster(images=["python=/usr/bin/python3"])
        key, certificate = self.make_certificate("things.default.svc")
        trust = self.cluster.get("configmap", "-n", "kube-system", "extension-apiserver-authentication")["data"]
        secret = {"tls.key": key, "tls.crt": certificate, "proxy.crt": trust["requestheader-client-ca-file"]}
        container = {"name": "c", "image": "python", "args": ["-u", "-c", SERVER], "ports": [{"containerPort": 8443}],
                     "volumeMounts": [{"name": "tls", "mountPath": "/tls"}]}
        objects = [
            NODE,
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "things"},
             "data": {name: encoded(text) for name, text in secret.items()}},
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "things", "labels": {"app": "things"}},
             "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container],
                      "volumes": [{"name": "tls", "secret": {"secretName": "things"}}]}},
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "things"},
             "spec": {"selector": {"app": "things"}, "ports": [{"port": 6443, "targetPort": 8443}]}},
            {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.things.berth.dev"},
             "spec": {"group": "things.berth.dev", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10,
                      "caBundle": encoded(certificate),
                      "service": {"namespace": "default", "name": "things", "port": 6443}}}]
        self.cluster.apply("\n---\n".join(json.dumps(each) for each in objects))
        self.cluster.kubectl("wait", "--for=condition=Available", "apiservice/v1.things.berth.dev", "--timeout=60s")
        self.assertIn("things.berth.dev/v1", self.cluster.kubectl("api-resources", "--api-group=things.berth.dev").stdout)
        things = self.cluster.get("things")["items"]
        self.assertEqual([thing["metadata"]["labels"]["user"] for thing in things], ["kubernetes-admin"])
        jane = self.cluster.kubectl("get", "things", "--as=jane", check=False)
        self.assertIn('cannot list resource "things" in API group "things.berth.dev"', jane.stderr)
        self.cluster.kubectl("create", "role", "things", "--verb=list", "--resource=things.things.berth.dev")
        self.cluster.kubectl("create", "rolebinding", "things", "--role=things", "--user=jane")
        shown = self.cluster.kubectl("get", "things", "--as=jane", "-o", "jsonpath={.items[0].metadata.labels.user}")
        self.assertEqual(shown.stdout, "jane")
        self.cluster.kubectl("delete", "pod", "things")
        self.cluster.kubectl("wait", "--for=condition=Available=false", "apiservice/v1.things.berth.dev", "--timeout=60s")
        gone = self.cluster.kubectl("get", "--raw", "/apis/things.berth.dev/v1/namespaces/default/things", check=False)
        self.assertIn("not available", gone.stderr)
        wait_until(lambda: self.cluster.get("pods") is not None, "the other groups answer")
