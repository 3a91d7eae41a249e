"""Goal: `berth doctor` finds each fault of an installation, names the object and the remedy, and is silent about one that works.

Method: the program with a small API of the test. An installation without a fault; each row breaks one object of it."""

import base64
import copy
import datetime
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from fake_api import FakeApi

BERTH = os.environ["BERTH"]
SPACE = "/namespaces/kueue-system/"
KUEUE = "/apis/kueue.x-k8s.io/v1beta2/"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HOOKS = "/apis/admissionregistration.k8s.io/v1/"
DEPLOYMENTS = "/apis/apps/v1" + SPACE + "deployments"
SLICES = "/apis/discovery.k8s.io/v1" + SPACE + "endpointslices"
LEASES = "/apis/coordination.k8s.io/v1" + SPACE + "leases"
SECRETS = "/api/v1" + SPACE + "secrets"
LEASE = "c1f6bfd2.kueue.x-k8s.io"
SECRET = "kueue-webhook-server-cert"
MANAGER = "kueue-controller-manager"
KINDS = ("admissionchecks", "clusterqueues", "cohorts", "localqueues", "provisioningrequestconfigs", "resourceflavors",
         "topologies", "workloadpriorityclasses", "workloads")
AUTHORITY = base64.b64encode(b"ca").decode()


def stamp(**ago):
    return (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(**ago)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def named(name, space=None, **more):
    return {"metadata": {"name": name, **({"namespace": space} if space else {})}, **more}


def definition(name):
    return named(name, spec={"versions": [{"name": "v1beta2", "served": True}]},
                 status={"conditions": [{"type": "Established", "status": "True"}]})


def deployment(name, space, arguments, image="berth:latest", ready=1, wanted=1):
    return named(name, space, status={"readyReplicas": ready}, spec={
        "replicas": wanted, "template": {"spec": {"containers": [{"image": image, "args": arguments}]}}})


def hooks(name, bundle=AUTHORITY, policy="Fail"):
    return named(f"kueue-{name}-webhook-configuration", webhooks=[
        {"name": "vjob.kb.io", "failurePolicy": policy, "clientConfig": {"caBundle": bundle}}])


def slice_of(*ready):
    return {"metadata": {"name": "hooks", "labels": {"kubernetes.io/service-name": "kueue-webhook-service"}},
            "endpoints": [{"conditions": {"ready": each}} for each in ready]}


def queue(name, cpu, checks=()):
    return named(name, spec={
        "namespaceSelector": {}, "admissionChecksStrategy": {"admissionChecks": [{"name": check} for check in checks]},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [
            {"name": "plain", "resources": [{"name": "cpu", "nominalQuota": cpu}]}]}]})


def inactive(item, reason, message):
    return {**copy.deepcopy(item), "status": {"conditions": [
        {"type": "Active", "status": "False", "reason": reason, "message": message}]}}


def lease(**ago):
    return named(LEASE, spec={"holderIdentity": "berth-0", "leaseDurationSeconds": 15, "renewTime": stamp(**ago)})


PLAIN = named("plain", spec={"nodeLabels": {"pool": "plain"}})
DEFAULTS = {
    CRDS: [definition(f"{kind}.kueue.x-k8s.io") for kind in KINDS],
    HOOKS + "mutatingwebhookconfigurations": [hooks("mutating")],
    HOOKS + "validatingwebhookconfigurations": [hooks("validating")],
    DEPLOYMENTS: [deployment(MANAGER, "kueue-system", ["controller"])],
    SLICES: [slice_of(True)],
    SECRETS: [named(SECRET, data={"ca.crt": AUTHORITY})],
    KUEUE + "clusterqueues": [queue("team", "4")],
    KUEUE + "resourceflavors": [PLAIN],
    KUEUE + "localqueues": [], KUEUE + "cohorts": [], KUEUE + "admissionchecks": [],
    KUEUE + "provisioningrequestconfigs": [],
    "/api/v1/nodes": [{"metadata": {"name": "n", "labels": {"pool": "plain"}}, "status": {"allocatable": {"cpu": "4"}}}],
}
# (what is broken, the list, its items, the grade and object, part of the text)
ROWS = [
    ("a definition is missing", CRDS, DEFAULTS[CRDS][1:], "problem", "crd admissionchecks.kueue.x-k8s.io", "is missing"),
    ("a definition of an older Kueue", CRDS, [named(item["metadata"]["name"], spec={"versions": [
        {"name": "v1beta1", "served": True}]}) for item in DEFAULTS[CRDS]], "problem", "crd workloads.kueue.x-k8s.io", "v1beta2"),
    ("a definition is not established", CRDS, [{**item, "status": {}} for item in DEFAULTS[CRDS]], "problem",
     "crd workloads.kueue.x-k8s.io", "is not established"),
    ("no replica is ready", DEPLOYMENTS, [deployment(MANAGER, "kueue-system", ["controller"], ready=0)],
     "problem", f"deployment kueue-system/{MANAGER}", "0 of 1 replicas"),
    ("one of two replicas is ready", DEPLOYMENTS, [deployment(MANAGER, "kueue-system", ["controller"], wanted=2)],
     "warning", f"deployment kueue-system/{MANAGER}", "1 of 2 replicas"),
    ("Kueue runs too", "/apis/apps/v1/namespaces/other/deployments", [deployment(
        "kueue", "other", ["--config=x"], image="registry.k8s.io/kueue/kueue:v0.19.0")],
     "problem", "deployment other/kueue", "runs beside Berth"),
    ("Berth runs twice", "/apis/apps/v1/namespaces/other/deployments", [deployment(MANAGER, "other", ["controller"])],
     "warning", f"deployment other/{MANAGER}", "second installation"),
    ("nobody has led", LEASES, [], "problem", f"lease kueue-system/{LEASE}", "is missing"),
    ("nobody leads", LEASES, [lease(minutes=5)], "problem", f"lease kueue-system/{LEASE}", "berth-0 renewed the lease 5m"),
    ("a clock is ahead", LEASES, [lease(minutes=-5)], "warning", f"lease kueue-system/{LEASE}", "in the future"),
    ("the webhooks are missing", HOOKS + "mutatingwebhookconfigurations", [], "problem",
     "mutatingwebhookconfiguration kueue-mutating-webhook-configuration", "not suspended"),
    ("the reviews are missing", HOOKS + "validatingwebhookconfigurations", [], "problem",
     "validatingwebhookconfiguration kueue-validating-webhook-configuration", "objects that cannot work are accepted"),
    ("webhooks without a CA", HOOKS + "validatingwebhookconfigurations", [hooks("validating", "")], "problem",
     "validatingwebhookconfiguration kueue-validating-webhook-configuration", "caBundle"),
    ("webhooks with another CA", HOOKS + "validatingwebhookconfigurations", [hooks("validating", "b3RoZXI=")], "warning",
     "validatingwebhookconfiguration kueue-validating-webhook-configuration", "1 webhook with another CA"),
    ("webhooks that may fail", HOOKS + "mutatingwebhookconfigurations", [hooks("mutating", policy="Ignore")], "warning",
     "mutatingwebhookconfiguration kueue-mutating-webhook-configuration", "Ignore"),
    ("nobody answers the webhooks", SLICES, [slice_of(False)], "problem", "service kueue-system/kueue-webhook-service",
     "no pod answers"),
    ("a queue is inactive", KUEUE + "clusterqueues", [inactive(queue("team", "4"), "FlavorNotFound", "no flavor x")],
     "problem", "clusterqueue team", "no flavor x"),
    ("a LocalQueue is inactive", KUEUE + "localqueues", [inactive(named("q", "default"), "ClusterQueueDoesNotExist", "none")],
     "problem", "localqueue default/q", "none"),
    ("a check is inactive", KUEUE + "admissionchecks", [inactive(named("capacity"), "BadParametersRef", "no config")],
     "problem", "admissioncheck capacity", "no config"),
    ("no ProvisioningRequests", KUEUE + "provisioningrequestconfigs", [named("dws", spec={
        "provisioningClassName": "queued-provisioning.gke.io"})], "problem", "provisioningrequestconfig dws", "does not have the kind ProvisioningRequest"),
    ("a flavor without nodes", "/api/v1/nodes", [{"metadata": {"name": "n", "labels": {}}, "status": {}}],
     "warning", "resourceflavor plain", "no node has pool=plain"),
    ("more quota than nodes", KUEUE + "clusterqueues", [queue("team", "3"), queue("other", "2")],
     "warning", "resourceflavor plain", "a quota of 5 cpu, its nodes have 4"),
]
# (what is wrong, the days that the certificate and its CA last from now on, the grade, the text)
CERTIFICATES = [
    ("nothing", 30, 365, None, None),
    ("the certificate has expired", 0, 365, "problem", "the certificate of the webhooks has expired"),
    ("the certificate was not renewed", 3, 365, "warning", "the certificate of the webhooks expires in 2d"),
    ("the CA has expired", 30, 0, "problem", "the CA of the webhooks has expired"),
    ("the CA was not renewed", 30, 3, "warning", "the CA of the webhooks expires in 2d"),
]


class DoctorTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.api = FakeApi()
        self.addCleanup(self.api.close)
        self.api.objects[""] = {"version": {"gitVersion": "v1.36.3"}}
        for path, items in DEFAULTS.items():
            self.put(path, items)
        self.put(LEASES, [lease(seconds=2)])
        self.api.post = lambda path, review: {"status": {"allowed": True}}

    def put(self, path, items):
        self.api.objects[path] = {}
        for item in items:
            self.api.add(path, item)

    def doctor(self, *flags):
        return subprocess.run([BERTH, "doctor", "--kubeconfig", self.api.kubeconfig, *flags], text=True, capture_output=True,
                              timeout=60, check=False, env={"LANG": "C.UTF-8"})

    def findings(self, code):
        done = self.doctor("-o", "json")
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return json.loads(done.stdout)["findings"]

    def test_an_installation_that_works(self):
        self.assertEqual(self.findings(0), [])
        self.assertEqual(self.doctor().stdout, "fake: nothing is wrong with Berth in namespace kueue-system\n")

    def test_each_fault_is_found_and_nothing_else(self):
        for what, path, items, grade, thing, text in ROWS:
            with self.subTest(what):
                before = self.api.objects.get(path)
                self.put(path, items)
                found = self.findings(1 if grade == "problem" else 0)
                if before is None:
                    del self.api.objects[path]
                else:
                    self.api.objects[path] = before
                self.assertIn((grade, thing), [(one["grade"], one["object"]) for one in found])
                self.assertLessEqual({one["grade"] for one in found}, {grade})
                one = next(one for one in found if one["object"] == thing)
                self.assertIn(text, one["wrong"])
                self.assertTrue(one["remedy"])

    def certificate(self, days):
        """The data of a Secret: a certificate that is valid for `days` from now on."""
        key, made = (os.path.join(self.api.folder, name) for name in ("key", "certificate"))
        for command in (("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=webhooks",
                         "-keyout", key, "-out", made),
                        ("x509", "-in", made, "-signkey", key, "-days", str(days), "-out", made)):
            subprocess.run(["openssl", *command], check=True, capture_output=True, timeout=60)
        with open(made, "rb") as file:
            return base64.b64encode(file.read()).decode()

    def test_certificates_that_end(self):
        made = {days: self.certificate(days) for days in (0, 3, 30, 365)}
        for what, days, authority_days, grade, text in CERTIFICATES:
            with self.subTest(what):
                authority = made[authority_days]
                self.put(SECRETS, [named(SECRET, data={"tls.crt": made[days], "ca.crt": authority})])
                for name in ("mutating", "validating"):
                    self.put(HOOKS + name + "webhookconfigurations", [hooks(name, authority)])
                found = self.findings(1 if grade == "problem" else 0)
                self.assertEqual([(one["grade"], one["object"]) for one in found],
                                 [(grade, f"secret kueue-system/{SECRET}")] if grade else [])
                for one in found:
                    self.assertTrue(one["wrong"].startswith(text), one)
                    self.assertIn(f"rollout restart deployment {MANAGER}", one["remedy"])

    def test_a_class_that_no_autoscaler_answers(self):
        self.put(CRDS, [*DEFAULTS[CRDS], definition("provisioningrequests.autoscaling.x-k8s.io")])
        self.put(KUEUE + "provisioningrequestconfigs", [
            named("dws", spec={"provisioningClassName": "queued-provisioning.gke.io"}),
            named("mistyped", spec={"provisioningClassName": "queued-provisoning.gke.io"})])
        (one,) = self.findings(0)
        self.assertEqual((one["grade"], one["object"]), ("warning", "provisioningrequestconfig mistyped"))
        self.assertEqual(one["wrong"], 'no known autoscaler answers the class "queued-provisoning.gke.io"')
        self.assertIn("queued-provisioning.gke.io", one["remedy"])

    def test_rights_that_the_controller_lacks(self):
        def answer(_, review):
            asked = review["spec"]["resourceAttributes"]
            return {"status": {"allowed": asked["resource"] != "jobs" and asked.get("subresource") != "status"}}
        self.api.post = answer
        self.assertEqual([one["wrong"] for one in self.findings(1)],
                         ["may not patch workloads/status.kueue.x-k8s.io", "may not patch jobs.batch"])

    def test_flavors_whose_nodes_are_asked_for_need_none(self):
        self.put(KUEUE + "clusterqueues", [queue("team", "400", checks=["capacity"])])
        self.put("/api/v1/nodes", [])
        self.assertEqual(self.findings(0), [])

    def test_what_may_not_be_read_is_listed(self):
        self.api.rights = lambda path: "secrets" not in path and "nodes" not in path
        self.assertEqual([(one["grade"], one["object"]) for one in self.findings(0)],
                         [("not read", "nodes"), ("not read", "secret")])

    def test_the_screen(self):
        self.put(SLICES, [])
        self.put(KUEUE + "clusterqueues", [queue("team", "5")])
        done = self.doctor()
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.startswith("fake: 1 problem, 1 warning\n\nproblem  service kueue-system/kueue-webhook-service\n"
                                               "  no pod answers the webhooks"), done.stdout)
        self.assertIn("\nwarning  resourceflavor plain\n  queues have a quota of 5 cpu, its nodes have 4: admitted jobs may stay "
                      "Pending\n  remedy: lower nominalQuota, or add nodes\n", done.stdout)


if __name__ == "__main__":
    unittest.main()
