"""Goal: jobs of described kinds live on a real API server as batch Jobs do: reviewed on creation, queued,
started with their flavor's node selector, preempted and restored, finished; their children are not queued
by themselves.

Method: JobSets run by the test's own operator, whose Jobs are real; PyTorchJobs whose operator only
reports. The kinds' CRDs come after the controller has started. Rights: the manifests' alone."""

import json
import os

from cluster_test import ClusterTest
from control_plane import ROOT
from established import wait_established
from played_operator import JobSetOperator, SweepOperator, TrainingOperator, definition
from team_queues import team_queues

CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset, kubeflow.org/pytorchjob]}
"""
QUEUES = team_queues(4) + """
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: less}
value: -1
"""
POD = {"restartPolicy": "Never",
       "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}]}


def job_set(name, **labels):
    def part(part_name, replicas, pods):
        return {"name": part_name, "replicas": replicas,
                "template": {"spec": {"parallelism": pods, "completions": pods, "template": {
                    "metadata": {"annotations": {"test.berth.dev/run-for": "1h"}}, "spec": POD}}}}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
            "metadata": {"name": name, "namespace": "default",
                         "labels": {"kueue.x-k8s.io/queue-name": "q", **labels}},
            "spec": {"replicatedJobs": [part("leader", 1, 1), part("workers", 1, 2)]}}


def training_job(name, workers, **labels):
    def role(replicas):
        return {"replicas": replicas, "template": {"spec": POD}}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
            "metadata": {"name": name, "namespace": "default",
                         "labels": {"kueue.x-k8s.io/queue-name": "q", **labels}},
            "spec": {"pytorchReplicaSpecs": {"Master": role(1), "Worker": role(workers)}}}


SWEEP = """
apiVersion: science.example/v1
kind: Sweep
metadata: {name: sweep, namespace: default, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  paused: false
  parallelTrials: 2
  trialTemplate: {spec: {containers: [{name: main, image: none, resources: {requests: {cpu: "1"}}}]}}
"""


def declared_kind():
    """The JobKind and the ClusterRole of docs/guide/job-kinds.md."""
    with open(os.path.join(ROOT, "docs", "guide", "job-kinds.md"), encoding="utf-8") as page:
        text = page.read()
    begin = text.index("apiVersion: integrations.berth.dev")
    return text[begin:text.index("```", begin)]


class KindsTest(ClusterTest):
    SHARES_PLANE = True

    @classmethod
    def start_first(cls):
        path = cls.plane.write("configuration.yaml", CONFIGURATION)
        return cls.berth.start(flags=["--config", path])

    def operate(self, operator):
        operator.start()
        self.addCleanup(operator.stop)

    def setUp(self):
        for group, version, kind in (("jobset.x-k8s.io", "v1alpha2", "JobSet"),
                                     ("kubeflow.org", "v1", "PyTorchJob")):
            self.plane.kubectl("apply", "-f", "-", stdin=definition(group, version, kind))
        wait_established(self.plane.kubectl, "jobsets.jobset.x-k8s.io", "pytorchjobs.kubeflow.org")
        self.apply_when_accepted(QUEUES)
        self.operate(JobSetOperator(self.plane))
        self.operate(TrainingOperator(self.plane, "pytorchjobs.kubeflow.org", "pytorchReplicaSpecs"))

    def create(self, job):
        return json.loads(self.plane.kubectl("create", "-f", "-", "-o", "json",
                                             stdin=json.dumps(job)).stdout)

    def end_pods(self, count):
        """Waits until `count` pods run, and makes them succeed."""
        def running():
            return [pod["metadata"]["name"] for pod in self.plane.items("pods", "-n", "default")
                    if pod["status"].get("phase") == "Running"]
        for pod in self.wait_until(lambda: len(names := running()) == count and names, f"{count} pods run"):
            self.plane.kubectl("patch", "pod", pod, "--subresource=status", "--type=merge", "-p",
                               json.dumps({"status": {"phase": "Succeeded"}}))

    def test_life(self):
        made = self.create(job_set("set"))
        self.assertEqual(made["spec"]["suspend"], True)  # by the review
        self.wait_until(lambda: self.is_true("jobset-set-", "Admitted"), "the JobSet is admitted")
        self.wait_until(lambda: len(self.plane.items("jobs")) == 2, "its Jobs are made")
        for child in self.plane.items("jobs"):
            self.assertEqual(child["spec"]["template"]["spec"]["nodeSelector"],
                             {"kubernetes.io/hostname": "node-1"})
            self.assertFalse(child["spec"].get("suspend"))  # its parent is admitted
        workloads = [each for each in self.plane.items("workloads")
                     if each["metadata"]["ownerReferences"][0]["kind"] in ("Job", "JobSet")]
        self.assertEqual(len(workloads), 1, "a child has no Workload")
        self.assertEqual([(p["name"], p["count"]) for p in workloads[0]["spec"]["podSets"]],
                         [("leader", 1), ("workers", 2)])

        # Three of four CPUs are used: a job of two waits, one of high priority preempts. Jobs of one second and one
        # priority are ordered by UID: the JobSet is before the job of two by its priority.
        self.create(training_job("low", 1, **{"kueue.x-k8s.io/priority-class": "less"}))
        self.wait_until(lambda: self.condition("pytorchjob-low-", "QuotaReserved"), "it is seen")
        self.assertFalse(self.is_true("pytorchjob-low-", "QuotaReserved"))
        self.create(training_job("high", 3, **{"kueue.x-k8s.io/priority-class": "high"}))
        self.wait_until(lambda: self.is_true("pytorchjob-high-", "Admitted"), "high is admitted")
        stopped = self.plane.get("jobset", "set")
        self.assertEqual(stopped["spec"], {**job_set("set")["spec"], "suspend": True})
        high = self.wait_until(lambda: not (spec := self.plane.get("pytorchjob", "high")["spec"])["runPolicy"]["suspend"]
                               and spec, "high is started")
        for role in ("Master", "Worker"):
            self.assertEqual(high["pytorchReplicaSpecs"][role]["template"]["spec"]["nodeSelector"],
                             {"kubernetes.io/hostname": "node-1"})

        # It ends: the JobSet and the other job run in turn, the JobSet to its end.
        self.plane.kubectl("patch", "pytorchjob", "high", "--subresource=status", "--type=merge", "-p",
                           json.dumps({"status": {"conditions": [
                               {"type": "Failed", "status": "True", "reason": "R", "message": "broken",
                                "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}))
        self.wait_until(lambda: self.condition("pytorchjob-high-", "Finished").get("reason") == "Failed",
                        "high has failed")
        self.wait_until(lambda: self.is_true("jobset-set-", "Admitted"), "the JobSet is back")
        self.plane.kubectl("delete", "pytorchjob", "low")
        self.end_pods(3)
        self.wait_until(lambda: self.condition("jobset-set-", "Finished"), "the JobSet is finished")
        self.assertEqual(self.condition("jobset-set-", "Finished")["message"],
                         "jobset completed successfully")
        self.wait_until(lambda: not any(w["metadata"]["name"].startswith("pytorchjob-low-")
                                        for w in self.plane.items("workloads")), "low is gone")

    def test_a_declared_kind(self):
        self.plane.apply(declared_kind())

        def reason():
            conditions = self.plane.get("jobkind", "sweeps").get("status", {}).get("conditions", [{}])
            return conditions[0].get("reason")
        self.wait_until(lambda: reason() == "NotServed", "its CRD is missing")
        self.plane.kubectl("apply", "-f", "-", stdin=definition("science.example", "v1", "Sweep"))
        self.wait_until(lambda: reason() == "Managed", "its jobs are queued")
        self.operate(SweepOperator(self.plane))
        # From now on its objects are reviewed.
        self.wait_until(lambda: all(
            len(self.plane.get(kind, f"kueue-job-kinds-{word}-webhook-configuration").get("webhooks", [])) == 1
            for word, kind in (("mutating", "mutatingwebhookconfiguration"),
                               ("validating", "validatingwebhookconfiguration"))), "it has its webhooks")

        def is_refused():
            bad = SWEEP.replace("queue-name: q", "queue-name: q, kueue.x-k8s.io/max-exec-time-seconds: '0'")
            done = self.plane.kubectl("create", "--dry-run=server", "-f", "-", stdin=bad, check=False)
            return "should be greater than 0" in done.stderr
        self.wait_until(is_refused, "the API server calls them")
        made = json.loads(self.plane.kubectl("create", "-f", "-", "-o", "json", stdin=SWEEP).stdout)
        self.assertEqual(made["spec"]["paused"], True)
        self.wait_until(lambda: self.is_true("sweep-sweep-", "Admitted"), "the job is admitted")
        workload = next(each["metadata"]["name"] for each in self.plane.items("workloads")
                        if each["metadata"]["name"].startswith("sweep-sweep-"))
        self.wait_until(lambda: self.plane.get("sweep", "sweep")["spec"] == {
            "paused": False, "parallelTrials": 2, "trialTemplate": {
                "metadata": {"annotations": {"kueue.x-k8s.io/workload": workload},
                             "labels": {"kueue.x-k8s.io/cluster-queue-name": "team",
                                        "kueue.x-k8s.io/local-queue-name": "q",
                                        "kueue.x-k8s.io/podset": "trial"}},
                "spec": {"containers": [{"name": "main", "image": "none",
                                         "resources": {"requests": {"cpu": "1"}}}],
                         "nodeSelector": {"kubernetes.io/hostname": "node-1"}}}}, "it runs")
        # A job of a declared kind gives way to a job of higher priority.
        self.create(training_job("urgent", 3, **{"kueue.x-k8s.io/priority-class": "high"}))
        self.wait_until(lambda: self.is_true("pytorchjob-urgent-", "Admitted"), "the urgent job runs")
        self.assertEqual(self.plane.get("sweep", "sweep")["spec"]["paused"], True)
        self.plane.kubectl("delete", "pytorchjob", "urgent")
        self.wait_until(lambda: self.is_true("sweep-sweep-", "Admitted"), "the job is back")
        self.plane.kubectl("patch", "sweep", "sweep", "--subresource=status", "--type=merge", "-p",
                           json.dumps({"status": {"conditions": [
                               {"type": "Failed", "status": "True", "reason": "R", "message": "no luck",
                                "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}))
        self.wait_until(lambda: self.condition("sweep-sweep-", "Finished").get("message") == "no luck",
                        "it has failed")

    def test_reviews(self):
        bad = job_set("bad", **{"kueue.x-k8s.io/max-exec-time-seconds": "0"})
        done = self.plane.kubectl("create", "-f", "-", stdin=json.dumps(bad), check=False)
        self.assertIn("should be greater than 0", done.stderr)
        # Rules of changes hold for a job that runs, and a change of nothing that they read is allowed.
        self.create(job_set("queued"))
        self.wait_until(lambda: self.is_true("jobset-queued-", "Admitted"), "it runs")
        moved = self.plane.kubectl("label", "jobset", "queued", "--overwrite", "kueue.x-k8s.io/queue-name=other",
                                   check=False)
        self.assertIn("field is immutable", moved.stderr)
        self.plane.kubectl("annotate", "jobset", "queued", "example.com/note=x")
        self.plane.kubectl("delete", "jobset", "queued")
        elastic = job_set("elastic")
        elastic["metadata"]["annotations"] = {"kueue.x-k8s.io/elastic-job": "true"}
        done = self.plane.kubectl("create", "-f", "-", stdin=json.dumps(elastic), check=False)
        self.assertIn('elastic job is not supported for "jobset.x-k8s.io/v1alpha2, Kind=JobSet"',
                      done.stderr)
        wrong = job_set("wrong")
        wrong["spec"]["replicatedJobs"][1]["template"]["spec"]["template"] = {
            "metadata": {"annotations": {"kueue.x-k8s.io/podset-required-topology": "rack",
                                         "kueue.x-k8s.io/podset-preferred-topology": "rack"}},
            "spec": POD}
        done = self.plane.kubectl("create", "-f", "-", stdin=json.dumps(wrong), check=False)
        self.assertIn("spec.replicatedJobs[1].template.spec.template.metadata.annotations: Invalid value",
                      done.stderr)
