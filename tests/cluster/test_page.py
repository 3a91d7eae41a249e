"""Goal: on a real API server the page and the read API know people by their tokens and by the headers of a trusted proxy,
show and change what their own rights allow, and keep sessions over a restart of the controller.

Method: the controller with the rights of manifests/; ServiceAccounts and RBAC of kube-apiserver; the ClusterRole of
docs/guide/dashboard.md for the proxy."""

import http.client
import json
import os
import re
import signal
import ssl
import subprocess

from cluster_test import ClusterTest
from control_plane import ROOT
from installation import ANY_PORT
from team_queues import plain_queues

SECONDS = 60
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
QUEUES = plain_queues(1)
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: big, namespace: default, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "none:1", resources: {requests: {cpu: "2"}}}]
"""
KINDS = "workloads.kueue.x-k8s.io,localqueues.kueue.x-k8s.io,provisioningrequests.autoscaling.x-k8s.io"


def documented_role():
    """The ClusterRole and its binding that docs/guide/dashboard.md shows."""
    with open(os.path.join(ROOT, "docs", "guide", "dashboard.md"), encoding="utf-8") as file:
        return next(text for text in re.findall(r"```yaml\n(.*?)```", file.read(), re.S) if "impersonate" in text)


class PageTest(ClusterTest):
    @classmethod
    def start_first(cls):
        cls.certificate("proxies", "-subj", "/CN=proxies")
        cls.certificate("front", "-subj", "/CN=front", "-CA", cls.plane.file("proxies.crt"), "-CAkey", cls.plane.file("proxies.key"),
                        "-addext", "basicConstraints=critical,CA:FALSE", "-addext", "extendedKeyUsage=clientAuth")
        return cls.berth.start(flags=["--read-api-listen", ANY_PORT, "--read-api-actions", "--read-api-sessions", cls.plane.file("page-sessions"),
                                      "--read-api-proxy-ca", cls.plane.file("proxies.crt"), "--read-api-proxy-name", "front"])

    @classmethod
    def certificate(cls, name, *arguments):
        subprocess.run(["openssl", "req", "-x509", *KEY, *arguments, "-keyout", cls.plane.file(f"{name}.key"), "-out", cls.plane.file(f"{name}.crt")],
                       check=True, capture_output=True, timeout=SECONDS)

    def ask(self, path, method="GET", body=None, proxy=False, **headers):
        """Status, answer and headers. `proxy`: with the certificate of the proxy."""
        tls = ssl.create_default_context()
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        if proxy:
            tls.load_cert_chain(self.plane.file("front.crt"), self.plane.file("front.key"))
        connection = http.client.HTTPSConnection("localhost", self.controller.port("read_api"), context=tls, timeout=SECONDS)
        try:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            if body is not None:
                sent["Content-Type"] = "application/json"
            connection.request(method, f"/api/v1/{path}", None if body is None else json.dumps(body), sent)
            answer = connection.getresponse()
            text = answer.read().decode()
            return answer.status, json.loads(text) if text.startswith("{") else text, answer.headers
        finally:
            connection.close()

    def allow(self, name, verbs, *subject):
        self.plane.kubectl("create", "role", name, "-n", "default", f"--verb={verbs}", f"--resource={KINDS}")
        self.plane.kubectl("create", "rolebinding", name, "-n", "default", "--role", name, *subject)

    def reader_token(self):
        self.plane.kubectl("create", "serviceaccount", "reader", "-n", "default")
        return self.plane.kubectl("create", "token", "reader", "-n", "default").stdout.strip()

    def becomes(self, status, *path, **options):
        """The answer, when its status is this one: rights take a moment."""
        last = None

        def found():
            nonlocal last
            last = self.ask(*path, **options)
            return last[0] == status
        try:
            self.plane.wait_until(found, f"{path} is answered with {status}")
        except AssertionError as late:
            raise AssertionError(f"{late}: {last}") from None
        return last[1]

    def queued(self, **headers):
        def rows():
            status, answer, _ = self.ask("workloads?namespace=default", **headers)
            return status == 200 and answer["items"]
        return self.plane.wait_until(rows, "the workload is listed")

    def test_rights_are_those_of_the_person(self):
        self.apply_when_accepted(QUEUES)
        self.apply_when_accepted(JOB)
        token = self.reader_token()
        bearer = {"Authorization": f"Bearer {token}"}
        self.assertEqual(self.ask("workloads")[0], 401)
        self.assertEqual(self.ask("workloads", Authorization="Bearer forged")[0], 401)
        self.assertEqual(self.ask("workloads?namespace=default", **bearer)[0], 403)
        self.allow("readers", "list", "--serviceaccount", "default:reader")
        row, = self.queued(**bearer)
        self.assertEqual(self.ask("workloads", **bearer)[0], 403)
        self.becomes(200, "capacity?namespace=default", **bearer)
        action = {"action": "priority", "workload": row["id"], "priority": 7}
        self.assertEqual(self.ask("actions", "POST", action, **bearer)[0], 403)
        self.allow("editors", "patch", "--serviceaccount", "default:reader")
        self.becomes(200, "actions", "POST", action, **bearer)
        workload, = self.plane.items("workloads", "-n", "default")
        self.assertEqual(workload["spec"]["priority"], 7)
        self.a_session_outlives_the_controller(token)
        self.the_proxy_names_the_reader()

    def test_samples_of_an_ingress_are_accepted(self):
        done = self.plane.kubectl("apply", "--dry-run=server", "-f", os.path.join(ROOT, "manifests", "samples", "page-ingress"))
        self.assertEqual(done.stdout.count("created (server dry run)"), 2, done.stdout)

    def a_session_outlives_the_controller(self, token):
        status, answer, headers = self.ask("session", "POST", {"token": token})
        self.assertEqual(status, 200, answer)
        cookie = {"Cookie": headers["Set-Cookie"].split(";")[0]}
        self.queued(**cookie)
        # The cookie is of the port.
        place = self.controller.flags.index("--read-api-listen") + 1
        self.controller.flags[place] = f"127.0.0.1:{self.controller.port('read_api')}"
        self.controller.end(signal.SIGKILL)
        self.controller.start()
        self.berth.lead_webhooks_to(self.controller.port("webhook"))
        self.queued(**cookie)
        self.assertEqual(self.ask("session", "DELETE", X_Berth_CSRF=answer["csrf"], **cookie)[0], 200)
        self.assertEqual(self.ask("workloads?namespace=default", **cookie)[0], 401)
        self.assertEqual(os.listdir(self.plane.file("page-sessions")), [])

    def the_proxy_names_the_reader(self):
        jane = {"X_Forwarded_User": "jane@example.com", "X_Forwarded_Groups": "night,dev"}
        self.assertEqual(self.ask("workloads?namespace=default", **jane)[0], 401)
        self.assertEqual(self.ask("workloads?namespace=default", proxy=True, **jane)[0], 403)
        self.allow("dev", "list,patch", "--group", "dev")
        row, = self.queued(proxy=True, **jane)
        # The rights of manifests/ do not name users.
        status, answer, _ = self.ask("capacity?namespace=default", proxy=True, **jane)
        self.assertEqual(status, 403, answer)
        self.assertIn("the right to impersonate", json.dumps(answer))
        self.plane.apply(documented_role())
        self.becomes(200, "capacity?namespace=default", proxy=True, **jane)
        self.becomes(200, "actions", "POST", {"action": "priority", "workload": row["id"], "priority": 9}, proxy=True, **jane)
        status, answer, _ = self.ask("actions", "POST", {"action": "stop", "clusterQueue": "team"}, proxy=True, **jane)
        self.assertEqual(status, 403, answer)
        workload, = self.plane.items("workloads", "-n", "default")
        self.assertEqual(workload["spec"]["priority"], 9)
