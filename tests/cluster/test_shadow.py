"""Goal: `berth controller --shadow` beside the program that decides in a cluster writes nothing, with rights that
allow no write, and says where it would have decided otherwise. manifests/shadow installs it, gives it
the rights that it uses and no more, and touches nothing of the installation beside it.

Method: a `berth controller` is the incumbent on a real control plane. The shadow runs as the
ServiceAccount of manifests/shadow, behind a proxy that compares each request with the rights. A second
shadow has another Configuration than the incumbent, so that it decides otherwise."""

import json
import os
import signal
import ssl
import urllib.request

import rbac
from api_proxy import ApiProxy
from cluster_test import ClusterTest
from control_plane import ROOT
from installation import LISTEN, NAMESPACE, Controller
from test_queueing import JOB, QUEUES

MANIFESTS = os.path.join(ROOT, "manifests", "shadow")
SPACE = "berth-shadow"


class Witness(ApiProxy):
    """Records everything that is neither a read nor a review."""

    def __init__(self, kubeconfig, rights):
        self.writes = []
        super().__init__(kubeconfig, rights)

    def note(self, client, body, status):
        super().note(client, body, status)
        path = client.path.partition("?")[0]
        if client.command != "GET" and not path.endswith("reviews"):
            self.writes.append(f"{client.command} {path} -> {status}")


class ShadowTest(ClusterTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        installed = ("-n", NAMESPACE, "deployment,configmap,service,serviceaccount")
        before = cls.versions(*installed)
        assert len(before) == 6, before
        for _ in range(2):
            done = cls.plane.kubectl("apply", "--server-side", "-k", MANIFESTS)
            assert not done.stderr, done.stderr
        assert cls.versions(*installed) == before
        roles = rbac.read_roles(os.path.join(MANIFESTS, "rbac.yaml"))
        cls.witness = Witness(
            cls.berth.write_inline_kubeconfig("shadow-inline.kubeconfig", token=cls.token()),
            rbac.Rights(roles["berth-shadow-role"]))
        cls.addClassCleanup(cls.witness.close)

    @classmethod
    def versions(cls, *what):
        """{uid: version}; a Deployment, whose status changes with its pod, stands for itself without the status."""
        versions = {}
        for item in cls.plane.items(*what):
            meta = item["metadata"]
            if not meta["name"].startswith("kueue-"):
                continue  # Kubernetes' own, such as kube-root-ca.crt
            versions[meta["uid"]] = meta["resourceVersion"]
            if item["kind"] == "Deployment":
                meta.get("annotations", {}).pop("deployment.kubernetes.io/revision", None)
                meta = {key: value for key, value in meta.items() if key not in ("resourceVersion", "managedFields")}
                versions[meta["uid"]] = (meta, item["spec"])
        return versions

    @classmethod
    def token(cls):
        return cls.plane.kubectl("create", "token", "berth-shadow", "-n", SPACE).stdout.strip()

    def start_shadow(self, name, *flags):
        shadow = Controller(self.plane, name, self.witness.kubeconfig,
                            ["--shadow", *flags], listen=LISTEN[:4])
        self.addCleanup(shadow.end, signal.SIGKILL)
        return shadow.start()

    def get(self, shadow, path, token):
        url = f"https://127.0.0.1:{shadow.port('metrics')}{path}"
        request = urllib.request.Request(url, headers={"Authorization": "Bearer " + token})
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # the certificate lives as long as the process
        with urllib.request.urlopen(request, timeout=60, context=context) as answer:
            return answer.read().decode()

    def is_active(self, kind):
        return any(each["type"] == "Active" and each["status"] == "True"
                   for queue in self.plane.items(kind, "-A")
                   for each in queue.get("status", {}).get("conditions", []))

    def stop_queue(self, policy):
        self.plane.kubectl("patch", "localqueue", "q", "--type=merge", "-p",
                           json.dumps({"spec": {"stopPolicy": policy}}))

    def report(self, shadow):
        return json.loads(self.get(shadow, "/shadow", "admin"))

    def test_it_agrees_differs_and_writes_nothing(self):
        self.apply_when_accepted(QUEUES, "--server-side")
        self.plane.wait_until(lambda: self.is_active("clusterqueue") and self.is_active("localqueue"),
                              "the incumbent knows the queues")
        same = self.start_shadow("same")
        config = self.plane.write("other.yaml", "apiVersion: config.kueue.x-k8s.io/v1beta2\n"
                                  "kind: Configuration\nresources: {excludeResourcePrefixes: [cpu]}\n")
        other = self.start_shadow("other", "--config", config, "--shadow-window", "2s")
        for shadow in (same, other):
            self.plane.wait_until(lambda log=shadow.log: "decides, writes nothing" in log(),
                                  "the shadow decides")
        # The quota admits two at a time, and all know the jobs when the first is decided. A job that
        # ends before the shadow decides is not compared.
        self.stop_queue("Hold")
        for number in range(4):
            job = JOB.replace("NAME", f"job-{number}").replace("run-for: 300ms", "run-for: 10s")
            self.apply_when_accepted(job, "--server-side")
        self.plane.wait_until(lambda: len(self.plane.items("workloads", "-A")) == 4, "the jobs wait")
        self.stop_queue("None")

        try:
            self.plane.wait_until(
                lambda: self.report(same)["counts"]["admission"]["same"] >= 4,
                "four admissions are compared", seconds=180)
        except AssertionError as late:
            raise AssertionError(f"{late}\n{json.dumps(self.report(same), indent=1)}\n{same.log()}") from None
        report = self.report(same)
        self.assertEqual(report["agreement"], 1, json.dumps(report, indent=1))
        self.assertEqual(report["differences"], [])

        report = self.plane.wait_until(
            lambda: (found := self.report(other))["differences"] and found, "the other one differs")
        difference = report["differences"][0]
        self.assertIn(difference["result"], ("differs", "onlyBerth"), difference)
        self.assertIn("berth_shadow_comparisons_total", self.get(other, "/metrics", "admin"))
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.get(same, "/shadow", self.token())
        self.assertEqual(refused.exception.code, 403)

        for shadow in (same, other):
            log = shadow.log
            self.assertEqual(shadow.end(), 0)
            self.assertIn("shadow: compared with the incumbent", log())
        self.assertIn("shadow: difference", other.log())
        self.assertEqual(self.witness.writes, [])
        self.assertEqual(self.witness.forbidden, {})
        unused = [rbac.text_of(right) for right in self.witness.rights.all
                  if right not in self.witness.used and right.resource not in NEEDED_WITH_TOPOLOGIES]
        self.assertEqual(unused, [])


# Nodes and pods are read from the first Topology on.
NEEDED_WITH_TOPOLOGIES = ("nodes", "pods")
