"""Goal: the proxy subresource of pods and Services passes requests on to programs of pods, and to nothing else; the rights
are those of the verb, and the caller's token stays with the server.

Method: a real `berth up`; a pod's program answers with the request that it got; requests over HTTPS with tokens and with
a user's certificate."""

import http.client
import json
import threading
import unittest
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from berth_up import KUBECTLS, BerthUpTest
from object_reader import access_of
from waiting import wait_until

ROOM = {"cpu": "4", "memory": "4Gi", "pods": "50"}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "laptop"},
        "status": {"allocatable": ROOM, "capacity": ROOM}}
# Answers with what it gets; /moved redirects, /busy answers 503.
MIRROR = r"""
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Mirror(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        text = json.dumps({"method": self.command, "path": self.path, "body": body,
                           "headers": {k.lower(): v for k, v in self.headers.items()}}).encode()
        self.send_response(302 if self.path == "/moved" else 503 if self.path == "/busy" else 200)
        if self.path == "/moved":
            self.send_header("Location", "/there")
        self.send_header("X-Own", "yes")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer
    def log_message(self, *_): pass
server = ThreadingHTTPServer(("0.0.0.0", 8080), Mirror)
print("listening", flush=True)
server.serve_forever()
"""
PODS = "/api/v1/namespaces/default/pods/"
SERVICES = "/api/v1/namespaces/default/services/"


class ProxyTest(BerthUpTest):
    @classmethod
    def setUpClass(cls):
        if not KUBECTLS:
            raise unittest.SkipTest("no kubectl: tools/build and tools/kubectl make one")

    def setUp(self):
        super().setUp()
        self.cluster = self.start_cluster(images=["python=/usr/bin/python3"])
        self.cluster.apply(json.dumps(NODE))
        container = {"name": "c", "image": "python", "args": ["-u", "-c", MIRROR],
                     "ports": [{"containerPort": 8080, "name": "web"}]}
        self.cluster.apply(json.dumps({"apiVersion": "v1", "kind": "Pod",
                                       "metadata": {"name": "mirror", "labels": {"app": "mirror"}},
                                       "spec": {"terminationGracePeriodSeconds": 0, "containers": [container]}}))
        self.cluster.apply(json.dumps({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "front"},
                                       "spec": {"selector": {"app": "mirror"},
                                                "ports": [{"port": 80, "targetPort": 8080, "name": "web"}]}}))
        wait_until(lambda: "listening" in self.cluster.kubectl("logs", "mirror", check=False).stdout, "the program listens")
        self.access = access_of(self.cluster.kubeconfig)

    def ask(self, path, method="GET", body=None, headers=None, token=None):
        client = http.client.HTTPSConnection(urllib.parse.urlsplit(self.access.server).netloc, timeout=30, context=self.access.trust)
        self.addCleanup(client.close)
        token = token or self.access.token
        client.request(method, path, body, {"Authorization": "Bearer " + token, **(headers or {})})
        answer = client.getresponse()
        return answer.status, answer.headers, answer.read().decode()

    def seen(self, path, **options):
        status, _, text = self.ask(path, **options)
        self.assertEqual(status, 200, text)
        return json.loads(text)

    def test_requests_reach_the_program(self):
        got = self.seen(PODS + "mirror:8080/proxy/a/b%20c?x=1&timeout=soon", headers={"X-Mine": "1", "Cookie": "c=2"})
        self.assertEqual((got["method"], got["path"]), ("GET", "/a/b%20c?x=1&timeout=soon"))
        self.assertEqual((got["headers"]["x-mine"], got["headers"]["cookie"]), ("1", "c=2"))
        for hidden in ("authorization", "impersonate-user"):
            self.assertNotIn(hidden, got["headers"])
        self.assertEqual(self.seen(PODS + "mirror/proxy")["path"], "/")
        self.assertEqual(self.seen(PODS + "http:mirror:8080/proxy/?q")["path"], "/?q")
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            got = self.seen(PODS + "mirror/proxy/write", method=method, body="text of " + method)
            self.assertEqual((got["method"], got["body"]), (method, "text of " + method))
        for name in ("front", "front:80", "front:web", "http:front:80"):
            self.assertEqual(self.seen(f"{SERVICES}{name}/proxy/s")["path"], "/s", name)
        self.assertEqual(json.loads(self.cluster.kubectl("get", "--raw", SERVICES + "front/proxy/k").stdout)["path"], "/k")

    def test_answers_come_back(self):
        status, headers, _ = self.ask(PODS + "mirror/proxy/moved")
        self.assertEqual((status, headers["Location"], headers["X-Own"]), (302, PODS + "mirror/proxy/there", "yes"))
        self.assertEqual(self.ask(PODS + "mirror/proxy/busy")[0], 503)

    def test_refusals(self):
        def told(path, **options):
            status, _, text = self.ask(path, **options)
            return status, json.loads(text)["message"]
        self.assertEqual(told(PODS + "missing/proxy/")[0], 404)
        self.assertEqual(told(SERVICES + "missing/proxy/")[0], 404)
        self.assertEqual(told(SERVICES + "front:81/proxy/"), (503, 'no endpoints available for service "front"'))
        self.assertIn("https is not served", told(PODS + "https:mirror:8080/proxy/")[1])
        self.assertIn("no port", told(PODS + "mirror:70000/proxy/")[1])
        self.assertIn("write NAME", told(PODS + "a:b:c:d/proxy/")[1])
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket"}
        self.assertIn("is not passed on", told(PODS + "mirror/proxy/", headers=upgrade)[1])
        # A program of the machine that is none of the pod's listens on its address.
        address = self.cluster.get("pod", "mirror")["status"]["podIP"]

        class Silent(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass
        with ThreadingHTTPServer((address, 0), Silent) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            status, message = told(f"{PODS}mirror:{server.server_address[1]}/proxy/")
            server.shutdown()
        self.assertEqual(status, 503)
        self.assertIn("no program of pod mirror listens", message)

    def test_a_slice_leads_to_pods_of_its_namespace_alone(self):
        self.cluster.kubectl("create", "namespace", "other")
        uid = self.cluster.get("pod", "mirror")["metadata"]["uid"]
        self.cluster.apply(json.dumps({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "other"},
                                       "spec": {"ports": [{"port": 80, "name": "web"}]}}))
        address = self.cluster.get("pod", "mirror")["status"]["podIP"]
        self.cluster.apply(json.dumps({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": "s-1", "namespace": "other", "labels": {"kubernetes.io/service-name": "s"}},
            "ports": [{"name": "web", "port": 8080}], "endpoints": [
                {"addresses": [address], "targetRef": {"kind": "Pod", "name": "mirror", "namespace": "default", "uid": uid}},
                {"addresses": ["127.0.0.1"]}]}))
        status, _, text = self.ask("/api/v1/namespaces/other/services/s/proxy/")
        self.assertEqual((status, json.loads(text)["message"]), (503, 'no endpoints available for service "s"'))

    def test_rights(self):
        self.cluster.kubectl("create", "serviceaccount", "reader")
        self.cluster.kubectl("create", "role", "reader", "--verb=get", "--resource=pods,pods/proxy,services")
        self.cluster.kubectl("create", "rolebinding", "reader", "--role=reader", "--serviceaccount=default:reader")
        token = self.cluster.token("reader")
        self.assertEqual(self.ask(PODS + "mirror/proxy/deep/er", token=token)[0], 200)
        for path, method, verb in ((PODS + "mirror/proxy/deep/er", "POST", "create"), (PODS + "mirror/proxy/", "PUT", "update"),
                                   (PODS + "mirror/proxy", "DELETE", "delete"), (SERVICES + "front/proxy/x/y", "GET", "get")):
            status, _, text = self.ask(path, method=method, token=token)
            self.assertEqual(status, 403, path)
            self.assertIn(f'cannot {verb} resource "', json.loads(text)["message"])
            self.assertIn('/proxy"', json.loads(text)["message"])
        # An imposter's headers do not reach the program.
        got = self.seen(PODS + "mirror/proxy/", headers={"Impersonate-User": "admin", "Impersonate-Group": "system:masters",
                                                         "X-Remote-User": "root"})
        self.assertFalse([name for name in got["headers"] if name.startswith(("impersonate", "x-remote"))])
