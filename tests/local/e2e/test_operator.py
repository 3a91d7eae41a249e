"""Goal: `berth controller` is driven as operators drive Kueue's manager: ports, certificates, probes,
leader election and limits stand in the Configuration file; flags choose what runs; its end is quick
and its exit code says why.

Method: real processes; certificates of the test's own; an API that is stopped with SIGSTOP."""

import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time

from berth_up import BerthUpTest
from replica import LISTEN, Replica
from test_controller import HEAD, JOB, QUEUES
from waiting import PATIENCE_SECONDS, wait_until

END_SECONDS = 5
PROBES = "health: {healthProbeBindAddress: '127.0.0.1:0'}\nmetrics: {bindAddress: '127.0.0.1:0'}\n"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class OperatorTest(BerthUpTest):
    def setUp(self):
        super().setUp()
        self.cluster = self.start_cluster(flags=["--no-controllers"])

    def start_replica(self, name, *flags, config=None, listen=LISTEN):
        if config is not None:
            path = os.path.join(self.cluster.folder, name + ".yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(HEAD + config)
            flags = ("--config", path, *flags)
        replica = Replica(self.cluster, name, *flags, listen=listen)
        self.addCleanup(replica.kill)
        return replica

    def lease(self, name="c1f6bfd2.kueue.x-k8s.io"):
        return (self.cluster.get("lease", name, "-n", "kueue-system") or {}).get("spec")

    def holder(self, name="c1f6bfd2.kueue.x-k8s.io"):
        return (self.lease(name) or {}).get("holderIdentity", "")

    def wait_ready(self, replica, path="/readyz"):
        wait_until(lambda: replica.ask("health", path)[0] == 200, "the replica is ready")

    def make_certificate(self, folder, name):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
             "-nodes", "-days", "2", "-subj", "/CN=" + name, "-keyout", "tls.key", "-out", "tls.crt"],
            check=True, capture_output=True, cwd=folder, timeout=60)
        with open(os.path.join(folder, "tls.crt"), encoding="utf-8") as file:
            return file.read()

    def end(self, replica, number=signal.SIGTERM):
        """The exit code, and how long the end took."""
        begun = time.monotonic()
        replica.process.send_signal(number)
        code = replica.process.wait(timeout=PATIENCE_SECONDS)
        return code, time.monotonic() - begun

    def test_given_certificates_are_served_and_read_again(self):
        folder = os.path.join(self.cluster.folder, "certs")
        os.mkdir(folder)
        given = self.make_certificate(folder, "first")
        port = free_port()
        replica = self.start_replica("given", listen=(), config=f"""
webhook: {{host: 127.0.0.1, port: {port}, certDir: {folder}}}
visibilityServer: {{bindAddress: 127.0.0.1, bindPort: {free_port()}}}
internalCertManagement: {{enable: false}}
health: {{healthProbeBindAddress: '127.0.0.1:0', readinessEndpointName: ready, livenessEndpointName: live}}
metrics: {{bindAddress: '127.0.0.1:0'}}
""")
        self.wait_ready(replica, "/ready")
        self.assertEqual(replica.ask("health", "/live")[0], 200)
        self.assertEqual(replica.ask("health", "/readyz")[0], 404)
        self.assertEqual(replica.port("webhook"), port)
        served = lambda what: ssl.get_server_certificate(("127.0.0.1", replica.port(what))).strip()
        for what in ("webhook", "metrics"):
            self.assertEqual(served(what), given.strip(), what)
        self.assertIsNone(self.cluster.get("secret", "kueue-webhook-server-cert", "-n", "kueue-system"))
        crd = self.cluster.get("crd", "workloads.kueue.x-k8s.io")
        self.assertNotIn("caBundle", crd["spec"]["conversion"]["webhook"]["clientConfig"])
        renewed = self.make_certificate(folder, "second")
        for what in ("webhook", "metrics"):
            wait_until(lambda what=what: served(what) == renewed.strip(), what + " serves the new one")
        self.assertEqual(sorted(os.listdir(folder)), ["tls.crt", "tls.key"])

    def test_given_certificates_that_are_missing_are_named(self):
        replica = self.start_replica("missing", config="""
webhook: {certDir: /nowhere}
internalCertManagement: {enable: false}
""")
        self.assertEqual(replica.process.wait(timeout=PATIENCE_SECONDS), 1)
        self.assertIn("/nowhere/tls.crt", replica.log())

    def test_the_lease_of_the_file(self):
        config = PROBES + """
leaderElection: {resourceName: mine, leaseDuration: 30s, renewDeadline: 20s, retryPeriod: 500ms}
"""
        first = self.start_replica("first", config=config)
        wait_until(lambda: self.holder("mine"), "a replica leads")
        self.assertEqual(self.lease("mine")["leaseDurationSeconds"], 30)
        self.assertIsNone(self.lease())
        second = self.start_replica("second", config=config)
        second.port("metrics")
        # Handed over, not run out.
        leader = self.holder("mine")
        code, seconds = self.end(first)
        self.assertNotEqual(self.holder("mine"), leader)
        self.assertEqual(code, 0)
        self.assertLess(seconds, END_SECONDS)
        wait_until(lambda: self.holder("mine") not in ("", leader), "the other leads")
        # Taken by force.
        self.cluster.kubectl("patch", "lease", "mine", "-n", "kueue-system", "--type", "merge", "-p",
                             json.dumps({"spec": {"holderIdentity": "thief"}}))
        self.assertEqual(second.process.wait(timeout=PATIENCE_SECONDS), 1)
        self.assertIn("thief has it", second.log())

    def test_the_end_is_quick_though_the_api_does_not_answer(self):
        replica = self.start_replica("stalled")
        wait_until(self.holder, "it leads")
        self.cluster.process.send_signal(signal.SIGSTOP)
        try:
            code, seconds = self.end(replica)
            starting = self.start_replica("starting")
            wait_until(lambda: self.holds_signals(starting), "it takes signals")
            code_of_start, seconds_of_start = self.end(starting)
        finally:
            self.cluster.process.send_signal(signal.SIGCONT)
        self.assertEqual((code, code_of_start), (0, 0))
        self.assertLess(max(seconds, seconds_of_start), END_SECONDS)

    @staticmethod
    def holds_signals(replica):
        with open(f"/proc/{replica.process.pid}/status", encoding="utf-8") as status:
            line = next(line for line in status if line.startswith("SigBlk:"))
        return int(line.split()[1], 16) & (1 << (signal.SIGTERM - 1))

    def test_what_runs_is_chosen(self):
        self.cluster.apply(QUEUES)
        self.cluster.apply(JOB.format(name="one"))
        webhooks = self.start_replica("webhooks", "--controllers=")
        self.wait_ready(webhooks)
        self.assertNotEqual(webhooks.port("webhook"), 0)
        jobs = self.start_replica("jobs", "--controllers", "jobs/batch/job,core")
        wait_until(lambda: self.cluster.items("workloads"), "the job has a Workload")
        wait_until(lambda: (self.cluster.get("clusterqueue", "team").get("status") or {}).get("conditions"),
                   "the queue has a condition")
        workload = self.cluster.items("workloads")[0]
        self.assertNotIn("admission", workload.get("status", {}))
        self.assertEqual(self.end(jobs)[0], 0)
        self.start_replica("scheduler", "--controllers", "scheduler", "--requeue-interval", "100ms")
        wait_until(lambda: self.cluster.items("workloads")[0].get("status", {}).get("admission"),
                   "the workload holds quota")
        self.assertTrue(self.cluster.get("job", "one")["spec"]["suspend"], "nobody starts jobs here")

    def test_an_empty_list_takes_no_lease(self):
        replica = self.start_replica("webhooks", "--controllers=")
        self.wait_ready(replica)
        self.assertIsNone(self.lease())
        self.assertEqual(self.end(replica)[0], 0)

    def test_the_rules_of_decisions_are_named(self):
        """By the log of the controller and by `berth version`; the flag stands over the file, a rule that the file
        names over both."""
        config = PROBES + "berth: {decisions: Berth, rules: {hear-late-answers: true, wake-the-flavor: false}}\n"
        for flags, on in (((), None), (("--decisions", "kueue"), "hear-late-answers")):
            replica = self.start_replica("rules" + "".join(flags), *flags, config=config)
            replica.port("metrics")
            line = next(line for line in replica.log().splitlines() if "rules of decisions" in line)
            named = dict(re.findall(r'(\w+)="?([\w, -]+)"?(?: |$)', line))
            if on is None:
                self.assertEqual(named["off"], "wake-the-flavor")
                self.assertIn("preemptor-keeps-what-it-freed", named["on"].split(", "))
            else:
                self.assertEqual(named["on"], on)
                self.assertIn("preemptor-keeps-what-it-freed", named["off"].split(", "))
            replica.kill()
        path = os.path.join(self.cluster.folder, "rules.yaml")
        rules = json.loads(self.cluster.berth("version", "--config", path, "-o", "json").stdout)["ownRules"]
        self.assertEqual(rules["off"], "wake-the-flavor")
        text = self.cluster.berth("version", "--config", path).stdout
        self.assertRegex(text, r"(?m)^  off  wake-the-flavor$")
        self.assertRegex(self.cluster.berth("version").stdout, r"(?m)^  off  none$")
        self.assertRegex(self.cluster.berth("--version").stdout, r"\d+\.\d+")

    def test_bad_flags_are_named(self):
        for flags, text in ((("--controllers", "jobs/none"), '"jobs/none" is not one of core'),
                            (("--requeue-interval", "soon"), '--requeue-interval "soon"')):
            replica = self.start_replica("bad", *flags)
            self.assertEqual(replica.process.wait(timeout=PATIENCE_SECONDS), 1)
            self.assertIn(text, replica.log())

    def test_requests_are_limited_where_the_file_says_so(self):
        def seconds_to_ready(name, config):
            begun = time.monotonic()
            replica = self.start_replica(name, config=config)
            self.wait_ready(replica)
            taken = time.monotonic() - begun
            self.assertEqual(self.end(replica)[0], 0)
            return taken

        free = seconds_to_ready("free", PROBES)
        print(f"start to ready: {1000 * free:.0f} ms", file=sys.stderr)
        # More than twenty lists and watches, one at a time.
        limited = seconds_to_ready("limited", PROBES + "clientConnection: {qps: 10, burst: 1}\n")
        self.assertGreater(limited, 1.5)

    def test_pods_have_less_than_a_second(self):
        self.start_replica("impatient", config=PROBES + """
waitForPodsReady: {timeout: 500ms, requeuingStrategy: {backoffLimitCount: 0}}
""")
        self.cluster.apply(QUEUES)
        self.cluster.apply(JOB.format(name="one"))  # its image is unknown: its pod waits
        wait_until(lambda: any(condition["reason"].startswith("Deactivated") or
                               condition["reason"] == "PodsReadyTimeout"
                               for workload in self.cluster.items("workloads")
                               for condition in workload.get("status", {}).get("conditions", [])
                               if condition["type"] == "Evicted"), "the workload is evicted")
