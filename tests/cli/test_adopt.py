"""Goal: `berth adopt --check` says by object what Berth takes over, what would wait for something that Berth
lacks, and what is left alone; it reads and never writes.

Method: the program with a small API of the test, with objects as Kueue leaves them."""

import datetime
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from fake_api import FakeApi

BERTH = os.environ["BERTH"]
KUEUE = "/apis/kueue.x-k8s.io/v1beta2/"
SYSTEM = "/namespaces/kueue-system/"
LEASES = "/apis/coordination.k8s.io/v1" + SYSTEM + "leases"
LEASE = "c1f6bfd2.kueue.x-k8s.io"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PLURALS = ("workloads", "admissionchecks", "clusterqueues", "cohorts", "localqueues", "resourceflavors",
           "topologies", "workloadpriorityclasses", "provisioningrequestconfigs", "multikueueclusters",
           "multikueueconfigs")
CONFIG = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {frameworks: [batch/job, pod, workload.codeflare.dev/appwrapper]}
"""


def workload(name, *owners, conditions=("Admitted",), claims=()):
    references = [{"apiVersion": version, "kind": kind, "name": of, "controller": controls}
                  for version, kind, of, controls in owners]
    return {"metadata": {"name": name, "namespace": "default", "ownerReferences": references},
            "spec": {"podSets": [
                {"name": "main", "template": {"spec": {"resourceClaims": list(claims)}}}]},
            "status": {"conditions": [{"type": kind, "status": "True"} for kind in conditions]}}


def lease():
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {"metadata": {"name": LEASE},
            "spec": {"holderIdentity": "kueue-0", "leaseDurationSeconds": 15, "renewTime": now}}


def job_owner(name):
    return ("batch/v1", "Job", name, True)


class AdoptTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.api = FakeApi()
        self.addCleanup(self.api.close)
        for plural in PLURALS:
            self.api.objects[KUEUE + plural] = {}
        self.api.objects["/apis/batch/v1/jobs"] = {}
        self.api.objects["/api/v1/pods"] = {}
        self.api.objects["/apis/apps/v1" + SYSTEM + "deployments"] = {}
        self.api.objects[""] = {"version": {"gitVersion": "v1.36.3"}}
        self.api.add(LEASES, lease())
        self.posted = []
        self.api.post = lambda path, value: self.posted.append(path)
        self.configure(CONFIG)
        self.add("clusterqueues", {"metadata": {"name": "team-a"}})
        self.add("workloads", workload("job-runs-1", job_owner("runs")))
        self.add("workloads", workload("job-waits-1", job_owner("waits"), conditions=()))
        self.add("workloads", workload("pod-old-1", ("v1", "Pod", "old", True),
                                       conditions=("Admitted", "Finished")))

    def add(self, plural, value):
        self.api.add(KUEUE + plural, value)

    def configure(self, text):
        self.api.add("/api/v1" + SYSTEM + "configmaps", {
            "metadata": {"name": "kueue-manager-config"},
            "data": {"controller_manager_config.yaml": text}})

    def adopt(self, *flags):
        return subprocess.run([BERTH, "adopt", "--check", "--kubeconfig", self.api.kubeconfig, *flags],
                              text=True, capture_output=True, timeout=60, check=False,
                              env={"LANG": "C.UTF-8"})

    def findings(self, code):
        done = self.adopt("-o", "json")
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return [(one["grade"], one["object"]) for one in json.loads(done.stdout)["findings"]]

    def test_what_berth_takes_over(self):
        done = self.adopt("-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(report["takenOver"],
                         {"ClusterQueues": 1, "Workloads of Jobs": 2, "finished Workloads": 1})
        self.assertEqual(report["findings"], [])

    def test_other_kinds_stay_or_wait(self):
        group = [("v1", "Pod", f"group-{number}", False) for number in range(3)]
        self.add("workloads", workload("group", *group))
        self.add("workloads", workload("set", ("apps/v1", "StatefulSet", "db", True),
                                       ("v1", "Pod", "db-0", False), conditions=()))
        self.configure("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
                       "integrations: {frameworks: [batch/job]}\n")
        self.assertEqual(self.findings(1), [("missing", "workload default/set"),
                                            ("stays", "workload default/group")])

    def test_kinds_that_the_configuration_names_are_taken_over(self):
        self.add("workloads", workload("group", ("v1", "Pod", "group-0", False)))
        self.add("workloads", workload("set", ("jobset.x-k8s.io/v1alpha2", "JobSet", "set", True),
                                       conditions=()))
        self.configure("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
                       "integrations: {frameworks: [batch/job, pod, jobset.x-k8s.io/jobset]}\n"
                       "managedJobsNamespaceSelector:\n"
                       "  matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn,\n"
                       "                      values: [kube-system, kueue-system]}]\n")
        done = json.loads(self.adopt("-o", "json").stdout)
        self.assertEqual(done["takenOver"].get("Workloads of JobSets"), 1, done)
        self.assertEqual(done["takenOver"].get("Workloads of Pods"), 1, done)

    def test_pods_are_taken_over_with_their_framework_alone(self):
        for name, gates, managed in (("waits", ["kueue.x-k8s.io/admission"], "true"),
                                     ("runs", [], "true"), ("own", [], "false")):
            self.api.add("/api/v1/pods", {
                "metadata": {"name": name, "namespace": "default",
                             "labels": {"kueue.x-k8s.io/managed": managed},
                             "finalizers": ["kueue.x-k8s.io/managed"]},
                "spec": {"schedulingGates": [{"name": gate} for gate in gates]}})
        done = json.loads(self.adopt("-o", "json").stdout)
        self.assertEqual(done["takenOver"].get("Pods"), 2, done)  # those that Kueue manages
        self.configure("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
                       "integrations: {frameworks: [batch/job]}\n")
        found = [(grade, name) for grade, name in self.findings(1) if name.startswith("pod ")]
        self.assertEqual(found, [("missing", "pod default/waits"), ("differs", "pod default/waits"),
                                 ("differs", "pod default/runs")])

    def test_what_berth_does_not_have(self):
        self.add("admissionchecks", {"metadata": {"name": "remote"},
                                     "spec": {"controllerName": "kueue.x-k8s.io/multikueue"}})
        self.add("admissionchecks", {"metadata": {"name": "budget"},
                                     "spec": {"controllerName": "example.com/budget"}})
        self.add("multikueueclusters", {"metadata": {"name": "far"}})
        self.add("workloads", workload("job-claims-1", job_owner("claims"), claims=[{"name": "gpu"}]))
        self.configure("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
                       "integrations: {frameworks: [batch/job]}\n"
                       "resources: {deviceClassMappings: [{name: gpus, deviceClassNames: [a]}]}\n")
        self.assertEqual(self.findings(1), [
            ("missing", "workload default/job-claims-1"), ("missing", "admissioncheck remote"),
            ("missing", "multikueueclusters far"),
            ("stays", "admissioncheck budget")])

    def test_kueue_that_runs_is_to_be_stopped_first(self):
        deployment = {"metadata": {"name": "kueue-controller-manager", "namespace": "kueue-system"},
                      "spec": {"replicas": 1, "template": {"spec": {"containers": [
                          {"name": "manager", "args": ["--config=/controller_manager_config.yaml"]}]}}}}
        path = "/apis/apps/v1" + SYSTEM + "deployments"
        self.api.add(path, deployment)
        first = ("first", "deployment kueue-system/kueue-controller-manager")
        self.assertIn(first, self.findings(0))
        self.assertEqual(json.loads(self.adopt("-o", "json").stdout)["installation"], [], "it is said once")
        deployment["spec"]["replicas"] = 0
        self.assertNotIn(first, self.findings(0))

    def test_the_screen(self):
        self.add("workloads", workload("set", ("apps/v1", "StatefulSet", "db", True)))
        self.configure("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
                       "integrations: {frameworks: [batch/job]}\n")
        done = self.adopt()
        self.assertEqual(done.stdout, (
            "fake: Berth can take over\n"
            "\n"
            "OBJECTS  TAKEN OVER\n"
            "      1  ClusterQueues\n"
            "      2  Workloads of Jobs\n"
            "      1  finished Workloads\n"
            "\n"
            "GRADE  OBJECT                WHAT HAPPENS\n"
            "stays  workload default/set  of StatefulSet, which Berth does not queue: it runs on, its "
            "quota counts, and it is not preempted\n"))

    def test_it_has_the_findings_of_doctor(self):
        self.assertEqual(json.loads(self.adopt("-o", "json").stdout)["installation"], [])
        self.add("clusterqueues", {"metadata": {"name": "team-b"}, "status": {"conditions": [
            {"type": "Active", "status": "False", "reason": "FlavorNotFound", "message": "no flavor t4"}]}})
        self.api.add(CRDS, {"metadata": {"name": "workloads.kueue.x-k8s.io"},
                            "spec": {"versions": [{"name": "v1beta1", "served": True}]}})
        done = self.adopt("-o", "json")
        self.assertEqual(done.returncode, 0, "the exit code is that of the take-over")
        found = {(one["grade"], one["object"]): one for one in json.loads(done.stdout)["installation"]}
        self.assertEqual(found[("problem", "clusterqueue team-b")]["wrong"], "is not active: no flavor t4")
        self.assertIn("does not serve v1beta2", found[("problem", "crd workloads.kueue.x-k8s.io")]["wrong"])
        self.assertEqual(self.posted, [], "nothing is written, and the rights of Kueue are not asked for")
        self.assertIn("\nThe installation before the change:\n\nproblem  crd ", self.adopt().stdout)
        self.assertIn("\nproblem  clusterqueue team-b\n  is not active: no flavor t4\n  remedy: see FlavorNotFound in",
                      self.adopt().stdout)

    def test_an_installation_that_cannot_be_read(self):
        del self.api.objects[""]
        done = self.adopt("-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        (one,) = json.loads(done.stdout)["installation"]
        self.assertEqual((one["grade"], one["object"]), ("not read", "installation"))
        self.assertIn("/version not found", one["wrong"])

    def test_what_cannot_be_read_is_said(self):
        self.api.rights = lambda path: "jobs" not in path and "configmaps" not in path
        done = self.adopt()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("not read, so not checked", done.stdout)
        self.assertIn("name the namespace of Kueue with -n", done.stdout)
        self.api.rights = lambda path: "workloads" not in path
        done = self.adopt()
        self.assertEqual(done.returncode, 1)
        self.assertIn("no right to " + KUEUE + "workloads", done.stderr)
        del self.api.objects[KUEUE + "workloads"]
        self.api.rights = lambda path: True
        self.assertEqual(self.adopt().returncode, 1)

    def test_it_asks_for_the_check(self):
        done = subprocess.run([BERTH, "adopt", "--kubeconfig", self.api.kubeconfig], text=True,
                              capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--check", done.stderr)
        self.assertEqual(self.api.asked, [])


if __name__ == "__main__":
    unittest.main()
