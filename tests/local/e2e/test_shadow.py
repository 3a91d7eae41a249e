"""Goal: `berth controller --shadow` beside `berth up` sends reads alone, agrees with what `berth up` decides, and
says what a person's admission by hand has that Berth would not have done.

Method: real processes; a proxy between shadow and server records everything but reads."""

import json
import os
import subprocess

from api_proxy import ApiProxy
from berth_up import BERTH, BerthUpTest
from replica import ANY_PORT, Replica
from test_controller import JOB, QUEUES
from waiting import wait_until

PLAIN = ("--metrics-listen", ANY_PORT, "--no-metrics-secure", "--health-listen", ANY_PORT)


class Witness(ApiProxy):
    def __init__(self, kubeconfig):
        self.requests = 0
        self.others = []
        super().__init__(kubeconfig)

    def note(self, client, body, status):
        self.requests += 1
        if client.command != "GET":
            self.others.append(f"{client.command} {client.path} -> {status}")


class ShadowTest(BerthUpTest):
    def start_shadow(self, cluster, *flags):
        self.witness = Witness(cluster.kubeconfig)
        self.addCleanup(self.witness.close)
        shadow = Replica(cluster, "shadow", "--shadow", *flags, kubeconfig=self.witness.kubeconfig,
                         listen=PLAIN)
        self.addCleanup(shadow.kill)
        wait_until(lambda: "decides, writes nothing" in shadow.log(), "the shadow decides")
        self.assertEqual(shadow.ask("health", "/readyz"), (200, "ok\n"))
        return shadow

    def report(self, shadow):
        status, body = shadow.ask("metrics", "/shadow")
        self.assertEqual(status, 200)
        return json.loads(body)

    def test_beside_berth_up(self):
        cluster = self.start_cluster()
        cluster.apply(QUEUES)
        shadow = self.start_shadow(cluster)
        for name in ("one", "two"):
            cluster.apply(JOB.format(name=name))
        report = wait_until(
            lambda: (found := self.report(shadow))["counts"]["admission"]["same"] == 2 and found,
            "both admissions are compared")
        self.assertEqual((report["agreement"], report["differences"]), (1, []))
        self.assertIn("berth_shadow_agreement_ratio", shadow.ask("metrics", "/metrics")[1])
        self.assertEqual(shadow.stop(), 0)
        self.assertRegex(shadow.log(), r"compared with the incumbent agreement=100\S* same=2")
        self.assertGreater(self.witness.requests, 5)
        self.assertEqual(self.witness.others, [])

    def test_an_admission_by_hand_is_a_difference(self):
        cluster = self.start_cluster(flags=["--no-controllers"])
        cluster.apply(QUEUES)
        cluster.apply("""
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: large, namespace: default}
spec:
  queueName: q
  podSets:
  - name: main
    count: 1
    template:
      spec: {containers: [{name: main, resources: {requests: {cpu: "1000"}}}], restartPolicy: Never}
""")
        shadow = self.start_shadow(cluster, "--shadow-window", "5s")
        queue = cluster.items("clusterqueues")[0]
        flavor = queue["spec"]["resourceGroups"][0]["flavors"][0]["name"]
        now = "2026-01-01T00:00:00Z"
        status = {
            "admission": {"clusterQueue": queue["metadata"]["name"], "podSetAssignments": [
                {"name": "main", "count": 1, "flavors": {"cpu": flavor}, "resourceUsage": {"cpu": "1000"}}]},
            "conditions": [{"type": "QuotaReserved", "status": "True", "reason": "ByHand", "message": "",
                            "lastTransitionTime": now}]}
        cluster.patch_status("/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads/large", status)
        report = wait_until(lambda: (found := self.report(shadow))["differences"] and found,
                            "the difference is reported")
        difference = report["differences"][0]
        self.assertEqual((difference["result"], difference["workload"]), ("onlyIncumbent", "default/large"))
        self.assertEqual(difference["berth"]["verdict"], "waiting")
        self.assertEqual(difference["berth"]["reason"], "ExceedsMaxQuota")
        self.assertEqual(report["agreement"], 0)
        self.assertEqual(self.witness.others, [])

    def test_wrong_use_is_refused(self):
        def refusal(*flags):
            return subprocess.run([BERTH, "controller", "--kubeconfig", os.devnull, *flags], text=True,
                                  capture_output=True, timeout=60, check=False)
        cluster = self.start_cluster(flags=["--no-controllers"])
        flags = ("controller", "--kubeconfig", cluster.kubeconfig, "--shadow")
        for more, words in ((("--webhook-listen", ANY_PORT), "--webhook-listen"),
                            (("--shadow-window", "soon"), "--shadow-window"),
                            (("--shadow-window", "0s"), "above zero")):
            done = cluster.berth(*flags, *more, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr + done.stdout)
        self.assertEqual(refusal("--shadow-window", "1s").returncode, 2)
        self.assertEqual(refusal("--shadow", "--controllers", "core").returncode, 2)
