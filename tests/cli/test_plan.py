"""Goal: `berth plan` reads a job from a file, and creates nothing.

Method: the program against a small API of the test, with a queue, a check and a policy.
"""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from fake_api import FakeApi
from scratch import temporary_folder

BERTH = os.environ["BERTH"]
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
CLASS = "queued-provisioning.gke.io"

JOB = {
    "apiVersion": "batch/v1", "kind": "Job",
    "metadata": {"name": "train", "labels": {"kueue.x-k8s.io/queue-name": "user-queue"}},
    "spec": {"parallelism": 2, "completions": 2, "activeDeadlineSeconds": 3600, "template": {"spec": {
        "restartPolicy": "Never",
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"nvidia.com/gpu": "1"}}}]}}}}


class PlanTest(unittest.TestCase):
    def setUp(self):
        self.api = FakeApi()
        self.addCleanup(self.api.close)
        for path in ("cohorts", "workloads"):
            self.api.objects[f"{KUEUE}/{path}"] = {}
        self.api.objects["/apis/autoscaling.x-k8s.io/v1/provisioningrequests"] = {}
        self.api.objects["/api/v1/configmaps"] = {}
        self.api.add("/api/v1/namespaces", {"metadata": {"name": "default"}})
        self.api.add(f"{KUEUE}/localqueues", {
            "metadata": {"name": "user-queue", "namespace": "default"}, "spec": {"clusterQueue": "team"}})
        self.api.add(f"{KUEUE}/clusterqueues", {"metadata": {"name": "team"}, "spec": {
            "namespaceSelector": {},
            "resourceGroups": [{"coveredResources": ["nvidia.com/gpu"], "flavors": [
                {"name": name, "resources": [{"name": "nvidia.com/gpu", "nominalQuota": "8"}]}
                for name in ("spot", "demand")]}],
            "admissionChecksStrategy": {"admissionChecks": [{"name": "capacity"}]}}})
        for name, price in (("spot", "0.26"), ("demand", "0.89")):
            self.api.add(f"{KUEUE}/resourceflavors", {
                "metadata": {"name": name, "annotations": {"berth.dev/price-per-hour": price}}})
        self.api.add(f"{KUEUE}/admissionchecks", {
            "metadata": {"name": "capacity", "annotations": {"berth.dev/provisioning-policy": "chain"}},
            "spec": {"controllerName": "kueue.x-k8s.io/provisioning-request", "parameters": {
                "apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "config"}}})
        self.api.add(f"{KUEUE}/provisioningrequestconfigs", {
            "metadata": {"name": "config"},
            "spec": {"provisioningClassName": CLASS, "managedResources": ["nvidia.com/gpu"]}})
        self.api.add("/apis/provisioning.berth.dev/v1alpha1/provisioningpolicies", {
            "metadata": {"name": "chain"}, "spec": {"maxPricePerHour": "0.5", "steps": [
                {"name": "cheap", "flavor": "spot"}, {"name": "dear", "flavor": "demand"}]}})

    def plan(self, *documents, words=()):
        with temporary_folder() as folder:
            path = os.path.join(folder, "job.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n---\n".join(json.dumps(each) for each in documents))
            return subprocess.run([BERTH, "plan", "-f", path, *words], capture_output=True, text=True,
                                  timeout=60, check=False,
                                  env={"PATH": os.environ["PATH"], "KUBECONFIG": self.api.kubeconfig})

    def test_a_job(self):
        answer = self.plan(JOB, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}},
                           words=["-o", "json"])
        self.assertEqual(answer.returncode, 0, answer.stderr)
        (job,) = json.loads(answer.stdout)["jobs"]
        self.assertEqual((job["namespace"], job["name"], job["pods"], job["clusterQueue"]),
                         ("default", "train", 2, "team"))
        cheap, dear = job["checks"][0]["steps"]
        self.assertEqual((cheap["usdPerHour"], cheap["usd"], cheap["asksFirst"]), ("0.52", "0.52", True))
        self.assertEqual(dear["passedOver"]["reason"], "PriceLimitExceeded")

    def test_the_screen(self):
        answer = self.plan(JOB)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("Job default/train, 2 pods: LocalQueue user-queue, ClusterQueue team", answer.stdout)
        self.assertRegex(answer.stdout, r"(?m)^cheap .* first$")

    def test_a_deployment_and_a_cron_job(self):
        template = JOB["spec"]["template"]
        labels = JOB["metadata"]["labels"]
        answer = self.plan({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "serve", "labels": labels},
                            "spec": {"replicas": 3, "template": template}},
                           {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"},
                            "spec": {"jobTemplate": {"metadata": {"labels": labels}, "spec": {"template": template}}}})
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("Deployment default/serve, 3 pods in 3 Workloads, each admitted by itself: LocalQueue user-queue",
                      answer.stdout)
        self.assertRegex(answer.stdout, r"(?m)^spot +nvidia.com/gpu +3 ")
        self.assertIn("CronJob default/nightly, 1 pod: LocalQueue user-queue", answer.stdout)

    def test_one_job_that_cannot_be_read_leaves_the_others(self):
        wrong = json.loads(json.dumps(JOB))
        wrong["metadata"]["name"] = "wrong"
        wrong["spec"]["parallelism"] = "few"
        lost = json.loads(json.dumps(JOB))
        lost["metadata"] = {"name": "lost", "labels": {"kueue.x-k8s.io/queue-name": "nobody"}}
        answer = self.plan(wrong, lost, JOB)
        self.assertEqual(answer.returncode, 1)
        self.assertRegex(answer.stderr, r"job.yaml:1: error: Job wrong: spec.parallelism: .* \[not-readable\]")
        self.assertIn('no LocalQueue "nobody"', answer.stderr)
        self.assertIn("Job default/train, 2 pods", answer.stdout)

    def test_the_start_by_forecast(self):
        self.assertNotIn("start by forecast", self.plan(JOB).stdout)
        answer = self.plan(JOB, words=["--eta"])
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertRegex(answer.stdout, r"start by forecast: \S+; in 8 of 10 cases from \S+ to \S+\n")
        for deadline, kept in (("2030-01-01T00:00:00Z", 100), ("2020-01-01T00:00:00Z", 0)):
            job = json.loads(json.dumps(JOB))
            job["metadata"]["annotations"] = {"berth.dev/deadline": deadline}
            answer = self.plan(job)
            self.assertIn(f"deadline {deadline}: kept in {kept} of 100 cases\n", answer.stdout)
            (planned,) = json.loads(self.plan(job, words=["-o", "json"]).stdout)["jobs"]
            self.assertEqual((planned["start"]["deadline"], planned["start"]["inTime"]), (deadline, kept / 100))

    def test_another_queue(self):
        answer = self.plan(JOB, words=["--queue", "nobody"])
        self.assertEqual(answer.returncode, 1)
        self.assertIn('no LocalQueue "nobody" in namespace default: there are user-queue', answer.stderr)

    def test_what_is_no_job(self):
        answer = self.plan({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}})
        self.assertEqual(answer.returncode, 1)
        self.assertIn("no job among the files", answer.stderr)
        answer = self.plan("no object", words=["-f", "/nowhere"])
        self.assertEqual(answer.returncode, 1)
        self.assertIn("cannot read /nowhere", answer.stderr)


if __name__ == "__main__":
    unittest.main()
