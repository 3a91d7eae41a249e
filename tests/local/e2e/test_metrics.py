"""Goal: /metrics of `berth controller` is for tokens that may get /metrics, over TLS with a
certificate of its Secret's CA; health needs no token; plain HTTP needs a flag.

Method: real processes, real TLS. A proxy plays an API server with several users: it answers
the reviews by a table, as RBAC would with the ClusterRole kueue-metrics-reader bound to one of them.
Another test uses the answers of `berth up`."""

import os
import re
import resource
import ssl

from api_proxy import ApiProxy
from berth_up import BerthUpTest
from replica import ANY_PORT, LISTEN, Replica, limit_files
from waiting import PATIENCE_SECONDS, wait_until

READER = "system:serviceaccount:monitoring:prometheus"
USERS = {"token-of-reader": READER, "token-of-stranger": "system:serviceaccount:default:default"}
WANTED_FILES = 65536
CONFIG = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
health: {healthProbeBindAddress: "127.0.0.1:0"}
metrics: {bindAddress: "%s"}
"""


class MetricsTest(BerthUpTest):
    def start_replica(self, cluster, *flags, **options):
        replica = Replica(cluster, "controller", *flags, **options)
        self.addCleanup(replica.kill)
        return replica

    def start_proxy(self, cluster):
        proxy = ApiProxy(cluster.kubeconfig)
        self.addCleanup(proxy.close)
        self.asked = []

        def review(body):
            self.asked.append(body)
            spec = body["spec"]
            if body["kind"] == "TokenReview":
                if spec["token"] == "token-without-answer":
                    return None
                user = USERS.get(spec["token"])
                status = {"authenticated": True, "user": {"username": user, "groups": ["g"]}}
                return {**body, "status": status if user else {"error": "invalid bearer token"}}
            allowed = (spec["user"] == READER and spec["groups"] == ["g"] and
                       spec["nonResourceAttributes"] == {"path": "/metrics", "verb": "get"})
            return {**body, "status": {"allowed": allowed}}

        proxy.reviews = review
        return proxy

    def test_the_api_server_says_who_reads(self):
        cluster = self.start_cluster(flags=["--no-controllers"])
        proxy = self.start_proxy(cluster)
        replica = self.start_replica(cluster, kubeconfig=proxy.kubeconfig)
        self.assertEqual(replica.metrics(), (401, "Unauthorized\n"))
        self.assertEqual(replica.metrics("wrong")[0], 401)
        self.assertEqual(replica.metrics(headers={"Authorization": "Basic YTpi"})[0], 401)
        status, body = replica.metrics("token-of-stranger")
        self.assertEqual((status, body), (403, "Authorization denied for user "
                                          "system:serviceaccount:default:default\n"))
        status, body = replica.metrics("token-of-reader")
        self.assertEqual(status, 200, body)
        self.assertIn("kueue_build_info{", body)
        self.assertEqual(replica.metrics("token-without-answer"), (500, "Authentication failed\n"))
        # The next scrape needs no review.
        asked = len(self.asked)
        self.assertEqual(replica.metrics("token-of-reader")[0], 200)
        self.assertEqual(len(self.asked), asked)

        # Probes have no token, and their port serves no other path.
        self.assertEqual(replica.ask("health", "/healthz"), (200, "ok\n"))
        wait_until(lambda: replica.ask("health", "/readyz") == (200, "ok\n"), "ready")
        self.assertEqual(replica.ask("health", "/metrics")[0], 404)
        # The certificate is for the Service, and the port accepts TLS only.
        with self.assertRaises(ssl.SSLCertVerificationError):
            replica.ask("metrics", "/metrics", tls="elsewhere.svc")
        status, body = replica.ask("metrics", "/metrics", token="token-of-reader")
        self.assertEqual(status, 400)
        self.assertNotIn("kueue_build_info", body)

    def test_berth_up_reviews_its_own_token(self):
        cluster = self.start_cluster(flags=["--no-controllers"])
        replica = self.start_replica(cluster)
        with open(cluster.kubeconfig, encoding="utf-8") as file:
            token = re.search(r"token: (\S+)", file.read()).group(1)
        self.assertEqual(replica.metrics()[0], 401)
        self.assertEqual(replica.metrics(token + "x")[0], 401)
        status, body = replica.metrics(token)
        self.assertEqual(status, 200, body)
        self.assertIn("kueue_build_info{", body)

        def can(*words):
            return cluster.kubectl("auth", "can-i", *words, check=False).stdout.strip()
        self.assertEqual(can("create", "jobs"), "yes")
        self.assertEqual(can("get", "/metrics"), "yes")
        self.assertEqual(can("impersonate", "users").split()[-1], "yes")
        self.assertEqual(can("create", "jobs", "--as", "jane"), "no")
        self.assertEqual(can("get", "/metrics", "--as", "jane"), "no")
        self.assertEqual(cluster.user(), "kubernetes-admin")

    def test_plain_where_a_flag_says_so(self):
        cluster = self.start_cluster(flags=["--no-controllers"])
        for flag in ("--metrics-secure=false", "--no-metrics-secure"):
            replica = self.start_replica(cluster, flag)
            status, body = replica.ask("metrics", "/metrics")
            self.assertEqual(status, 200, flag)
            self.assertIn("kueue_build_info{", body)
            self.assertEqual(replica.stop(), 0)

    def test_the_configuration_names_the_ports(self):
        cluster = self.start_cluster(flags=["--no-controllers"])
        webhooks = LISTEN[-4:]
        for address, served in ((ANY_PORT, True), ("0", False)):
            path = os.path.join(cluster.folder, "config.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(CONFIG % address)
            replica = self.start_replica(cluster, "--config", path, listen=webhooks)
            self.assertEqual(replica.port("metrics") != 0, served)
            self.assertEqual(replica.ask("health", "/healthz")[0], 200)
            if served:
                self.assertEqual(replica.metrics()[0], 401)
            self.assertEqual(replica.stop(), 0)
        with open(path, "w", encoding="utf-8") as file:
            file.write(CONFIG % "everywhere")
        replica = self.start_replica(cluster, "--config", path, listen=webhooks)
        self.assertEqual(replica.process.wait(timeout=PATIENCE_SECONDS), 1)
        self.assertIn("metrics.bindAddress", replica.log())

    def test_metrics_without_webhooks_have_a_certificate_too(self):
        cluster = self.start_cluster(flags=["--no-controllers"])
        replica = self.start_replica(cluster, listen=(*LISTEN[:4], "--webhook-listen", "", "--visibility-listen", ""))
        self.assertEqual(replica.metrics()[0], 401)
        self.assertEqual(replica.port("webhook"), 0)


class FileLimitTest(BerthUpTest):
    """Each connection is a file, and shells start programs with a soft limit of 1024."""

    def open_files(self, pid):
        with open(f"/proc/{pid}/limits", encoding="utf-8") as limits:
            line = next(line for line in limits if line.startswith("Max open files"))
        soft, hard = line.split()[3:5]
        return int(soft), int(hard)

    def test_both_programs_raise_their_limit(self):
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, before)
        limit_files(256)
        cluster = self.start_cluster(flags=["--no-controllers"])
        replica = Replica(cluster, "controller", files=128)
        self.addCleanup(replica.kill)
        replica.port("metrics")
        for pid in (cluster.process.pid, replica.process.pid):
            soft, hard = self.open_files(pid)
            self.assertEqual(hard, before[1])
            self.assertEqual(soft, min(hard, WANTED_FILES))
