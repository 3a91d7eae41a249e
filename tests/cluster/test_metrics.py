"""Goal: on a real Kubernetes the controller's metrics are for the ServiceAccounts to which the
ClusterRole kueue-metrics-reader is bound, and for no other user.

Method: tokens of ServiceAccounts, reviewed by a real API server; TLS with the CA that the controller's
Secret has, for the name of the metrics' Service."""

import base64
import http.client
import json
import socket
import ssl

from cluster_test import ClusterTest
from installation import NAMESPACE

SERVICE = f"kueue-controller-manager-metrics-service.{NAMESPACE}.svc"


class MetricsTest(ClusterTest):
    SHARES_PLANE = True
    NODES = 0

    def scrape(self, token=None):
        """GET /metrics; returns status and body."""
        secret = json.loads(self.plane.kubectl("get", "secret", "kueue-webhook-server-cert", "-n",
                                               NAMESPACE, "-o", "json").stdout)
        trusted = ssl.create_default_context(
            cadata=base64.b64decode(secret["data"]["ca.crt"]).decode())
        port = self.controller.port("metrics")
        with socket.create_connection(("127.0.0.1", port), timeout=20) as plain:
            connection = http.client.HTTPConnection("127.0.0.1")
            connection.sock = trusted.wrap_socket(plain, server_hostname=SERVICE)
            connection.request("GET", "/metrics",
                               headers={"Authorization": "Bearer " + token} if token else {})
            answer = connection.getresponse()
            body = answer.read().decode()
            connection.close()
            return answer.status, body

    def token_of(self, account):
        return self.plane.kubectl("create", "token", account, "--duration=10m").stdout.strip()

    def test_a_service_account_needs_the_role(self):
        for account in ("prometheus", "stranger"):
            self.plane.kubectl("create", "serviceaccount", account)
        self.plane.kubectl("create", "clusterrolebinding", "scrape", "--clusterrole",
                           "kueue-metrics-reader", "--serviceaccount=default:prometheus")
        self.assertEqual(self.scrape()[0], 401)
        self.assertEqual(self.scrape("wrong")[0], 401)
        self.assertEqual(self.scrape(self.token_of("stranger")),
                         (403, "Authorization denied for user "
                               "system:serviceaccount:default:stranger\n"))
        token = self.token_of("prometheus")
        # RBAC reads its bindings from a cache of the API server.
        self.plane.wait_until(lambda: self.scrape(token)[0] == 200, "the reader is let in")
        self.assertIn("kueue_build_info{", self.scrape(token)[1])
