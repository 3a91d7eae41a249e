"""Goal: behind a proxy that signs people in, its headers name the reader of the read API: with the reader's own rights, for
reads, the caller's screens and writes; from any other client the headers are nothing.

Method: a real `berth up` that trusts an authority of the test; clients with certificates of this authority and of none."""

import http.client
import json
import os
import ssl
import subprocess

from berth_up import BERTH
from test_read_api import JOB, SECONDS, ReadApiCluster

KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")


class PageProxyTest(ReadApiCluster):
    def setUp(self):
        super().setUp()
        self.authority("proxies")
        for name in ("front", "other"):
            self.issue(name, "proxies")
        self.cluster.stop()
        self.cluster.flags += ["--read-api-proxy-ca", self.file("proxies.crt"), "--read-api-proxy-name", "front"]
        self.cluster.start()
        self.cluster.apply(JOB % ("mine", "team-a", 2) + "---" + JOB % ("unseen", "team-b", 2))
        self.wait_for_jobs("mine", "unseen")

    def file(self, name):
        return os.path.join(self.cluster.folder, name)

    def openssl(self, *arguments):
        subprocess.run(["openssl", "req", "-x509", *KEY, *arguments], check=True, capture_output=True, timeout=SECONDS)

    def authority(self, name):
        self.openssl("-subj", f"/CN={name}", "-keyout", self.file(f"{name}.key"), "-out", self.file(f"{name}.crt"))

    def issue(self, name, authority):
        self.openssl("-subj", f"/CN={name}", "-CA", self.file(f"{authority}.crt"), "-CAkey", self.file(f"{authority}.key"),
                     "-addext", "basicConstraints=critical,CA:FALSE", "-addext", "extendedKeyUsage=clientAuth",
                     "-keyout", self.file(f"{name}.key"), "-out", self.file(f"{name}.crt"))

    def through(self, certificate, path, method="GET", body=None, **headers):
        """Status and text of a request by the holder of a certificate; None: of nobody."""
        tls = ssl.create_default_context(cadata=self.authority_pem())
        if certificate:
            tls.load_cert_chain(self.file(f"{certificate}.crt"), self.file(f"{certificate}.key"))
        connection = http.client.HTTPSConnection("localhost", self.port(), context=tls, timeout=SECONDS)
        try:
            connection.request(method, f"/api/v1/{path}", None if body is None else json.dumps(body),
                               {name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def authority_pem(self):
        return "\n".join(ssl.DER_cert_to_PEM_cert(each) for each in self.tls.get_ca_certs(binary_form=True))

    def test_headers_of_the_proxy_name_the_reader(self):
        kubectl = self.cluster.kubectl
        kubectl("create", "role", "reader", "-n", "team-a", "--verb=list,patch", "--resource=workloads.kueue.x-k8s.io,provisioningrequests.autoscaling.x-k8s.io")
        kubectl("create", "rolebinding", "dev", "-n", "team-a", "--role", "reader", "--group", "dev")
        jane = {"X_Forwarded_User": "jane@example.com", "X_Forwarded_Groups": "night,dev"}
        self.assertEqual(json.loads(self.through("front", "session", **jane)[1]), {"signedIn": True, "user": "jane@example.com", "csrf": "", "actions": True})
        status, text = self.through("front", "workloads?namespace=team-a", **jane)
        self.assertEqual((status, [row["name"] for row in json.loads(text)["items"]]), (200, ["mine"]))
        mine = json.loads(text)["items"][0]["id"]
        # The rights are those of the reader, also where the API server is asked.
        for path, expected in (("workloads", 403), ("workloads?namespace=team-b", 403), ("topology?namespace=team-a", 403), ("capacity?namespace=team-a", 200)):
            status, text = self.through("front", path, **jane)
            self.assertEqual(status, expected, f"{path}: {text}")
            self.assertNotIn("unseen", text)
        action = {"action": "priority", "workload": mine, "priority": 7}
        self.assertEqual(self.through("front", "actions", "POST", action, Content_Type="application/json", **jane)[0], 200)
        self.assertEqual(self.through("front", "actions", "POST", {"action": "stop", "clusterQueue": "shared"}, Content_Type="application/json", **jane)[0], 403)
        self.assertEqual(self.through("front", "actions", "POST", action, Content_Type="application/json", Origin="https://evil.example", **jane)[0], 403)
        # Nobody else names anybody; groups and users of Kubernetes are not the proxy's to name.
        for certificate, headers, expected in ((None, jane, 401), ("other", jane, 401), ("front", {}, 401), ("front", {"X_Remote_User": "jane@example.com"}, 401),
                                               ("front", {"X_Forwarded_User": "system:admin"}, 401),
                                               ("front", {"X_Forwarded_User": "eve", "X_Forwarded_Groups": "system:masters"}, 403),
                                               ("front", {**jane, "Sec_Fetch_Site": "same-site"}, 401)):
            status, text = self.through(certificate, "workloads", **headers)
            self.assertEqual(status, expected, f"{certificate} {headers}: {text}")
        # Tokens go on, with and without the proxy.
        for certificate in (None, "front", "other"):
            self.assertEqual(self.through(certificate, "workloads", Authorization=f"Bearer {self.admin}", **jane)[0], 200)

    def test_a_proxy_without_a_name_is_refused(self):
        done = subprocess.run([BERTH, "up", "--data-dir", self.file("none"), "--listen", "127.0.0.1:0", "--dashboard", "--read-api-proxy-ca",
                               self.file("proxies.crt")], capture_output=True, text=True, timeout=SECONDS, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("--read-api-proxy-name", done.stderr)
