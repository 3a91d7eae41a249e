"""Goal: steps in the life of a Workload that people and other controllers cause end on a real API
server as they do under Kueue: a backoff that is set or cleared by hand, a check that asks for a retry,
another priority class, the end, and objects that are deleted.

Method: kubectl writes what a person or a check's controller writes; the status of the Workload is read
until it is as expected. Each test has ClusterQueues and a namespace of its own."""

import datetime
import json
import time

from cluster_test import ClusterTest

QUEUES = """
apiVersion: v1
kind: Namespace
metadata: {name: NAME}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: NAME}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: NAME}
spec: {controllerName: test.berth.dev/budget}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: NAME}
spec:
  namespaceSelector: {}
CHECKS
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {name: NAME, resources: [{name: cpu, nominalQuota: "1"}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: NAME}
spec: {clusterQueue: NAME}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: JOB, namespace: NAME, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  template:
    metadata: {annotations: {test.berth.dev/run-for: TIME}}
    spec:
      restartPolicy: Never
      containers: [{name: main, image: none, resources: {requests: {cpu: "1"}}}]
"""
CLASSES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: low}
value: 10
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 30
"""


def instant(ahead=0.0):
    at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=ahead)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


class LifeTest(ClusterTest):
    SHARES_PLANE = True

    def set_up_queue(self, name, with_check=False):
        self.name = name
        checks = "  admissionChecksStrategy: {admissionChecks: [{name: NAME}]}" if with_check else ""
        self.apply_when_accepted(QUEUES.replace("CHECKS", checks).replace("NAME", name))

    def submit(self, job, run_for="1h", labels=""):
        text = JOB.replace("JOB", job).replace("NAME", self.name).replace("TIME", run_for)
        self.plane.apply(text.replace("queue-name: q}", "queue-name: q" + labels + "}"))

    def workload(self, job):
        for item in self.plane.items("workloads", "-n", self.name):
            if item["metadata"]["ownerReferences"][0]["name"] == job:
                return {"status": {}, **item}
        return {"status": {}}

    def condition(self, job, kind):
        found = self.workload(job)["status"].get("conditions", [])
        return next((each for each in found if each["type"] == kind), {"status": "", "reason": ""})

    def expect(self, condition, what, seconds=180):
        try:
            self.plane.wait_until(condition, what, seconds=seconds)
        except AssertionError as late:
            state = self.plane.kubectl("get", "workloads", "-A", "-o", "yaml", check=False).stdout
            raise AssertionError(f"{late}\n{state[-6000:]}\n{self.controller.log()[-2000:]}") from None

    def is_true(self, job, kind):
        return self.condition(job, kind)["status"] == "True"

    def patch_status(self, kind, name, status, *flags):
        self.plane.kubectl("patch", kind, name, *flags, "--subresource=status", "--type=merge",
                           "-p", json.dumps({"status": status}))

    def test_a_backoff_set_by_hand_is_kept_and_cleared(self):
        self.set_up_queue("backoff")
        self.submit("busy")
        self.expect(lambda: self.is_true("busy", "Admitted"), "the first job has the quota")
        self.submit("waits")
        self.expect(lambda: self.condition("waits", "QuotaReserved")["reason"] == "WaitingForQuota",
                    "the second job waits for quota")
        due = time.monotonic() + 8
        name = self.workload("waits")["metadata"]["name"]
        self.patch_status("workload", name, {"requeueState": {"count": 1, "requeueAt": instant(8)}},
                          "-n", self.name)
        self.plane.kubectl("delete", "job", "busy", "-n", self.name)
        self.expect(lambda: self.is_true("waits", "Admitted"), "the second job runs")
        self.assertGreater(time.monotonic(), due - 1.5, "not before its time")
        self.expect(lambda: self.workload("waits")["status"]["requeueState"] == {"count": 1},
                    "the instant is cleared")

    def test_a_retry_and_the_end_of_its_backoff(self):
        self.set_up_queue("retry", with_check=True)
        self.patch_status("admissioncheck", "retry", {"conditions": [{
            "type": "Active", "status": "True", "reason": "Active", "message": "",
            "lastTransitionTime": instant()}]})
        self.submit("asks")
        self.expect(lambda: self.is_true("asks", "QuotaReserved"), "the quota is reserved")
        name = self.workload("asks")["metadata"]["name"]
        self.patch_status("workload", name, {"admissionChecks": [{
            "name": "retry", "state": "Retry", "message": "no budget", "requeueAfterSeconds": 3600,
            "lastTransitionTime": instant()}]}, "-n", self.name)
        self.expect(lambda: self.condition("asks", "QuotaReserved")["reason"] == "PendingEvaluation",
                    "the quota is released")
        self.assertIn('Evicted due to AdmissionCheck in Retry state: "retry" (no budget)',
                      self.condition("asks", "Evicted")["message"])
        self.patch_status("workload", name, {"requeueState": None}, "-n", self.name)
        self.expect(lambda: self.is_true("asks", "QuotaReserved"), "it is tried again")
        # The check's controller answers; its fields and Berth's are in one list.
        self.patch_status("workload", name, {"admissionChecks": [{
            "name": "retry", "state": "Ready", "message": "", "lastTransitionTime": instant()}]},
            "-n", self.name)
        self.expect(lambda: self.is_true("asks", "Admitted"), "it is admitted")

    def test_a_running_job_gets_another_class(self):
        self.set_up_queue("classes")
        self.plane.apply(CLASSES)
        self.submit("runs", labels=", kueue.x-k8s.io/priority-class: low")
        self.expect(lambda: self.is_true("runs", "Admitted"), "the job runs")
        self.assertEqual(self.workload("runs")["spec"]["priority"], 10)
        label = ("label", "--overwrite", "job/runs", "-n", self.name)
        self.plane.kubectl(*label, "kueue.x-k8s.io/priority-class=high")
        self.expect(lambda: self.workload("runs")["spec"]["priority"] == 30, "the Workload follows")
        self.plane.kubectl(*label, "kueue.x-k8s.io/priority-class=nowhere")
        self.expect(lambda: any(each["reason"] == "WorkloadPriorityClassNotFound" for each in
                                self.plane.items("events.events.k8s.io", "-n", self.name)),
                    "an event names the missing class")
        self.assertTrue(self.is_true("runs", "Admitted"))

    def test_what_is_over_lets_go(self):
        self.set_up_queue("over")
        self.plane.apply("""
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: of-a-cohort}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: names-a-flavor}
spec:
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: of-a-cohort, resources: [{name: cpu, nominalQuota: "1"}]}]
""")
        self.submit("ends", run_for="300ms")
        self.expect(lambda: self.is_true("ends", "Finished"), "the job ends")
        self.expect(lambda: not self.workload("ends")["metadata"].get("finalizers"),
                    "nothing holds the Workload")
        self.assertIn("batch.kubernetes.io/job-name", json.dumps(self.workload("ends")["spec"]))
        self.plane.kubectl("delete", "resourceflavor", "of-a-cohort", seconds=120)
        self.plane.kubectl("delete", "clusterqueue", "over", seconds=120)
        self.expect(lambda: self.plane.get("localqueue", "q", "-n", self.name)["status"]["conditions"][0]
                    ["reason"] == "ClusterQueueDoesNotExist", "the LocalQueue follows")
        status = self.plane.get("localqueue", "q", "-n", self.name)["status"]
        self.assertFalse(status.get("flavorsUsage"), status)
