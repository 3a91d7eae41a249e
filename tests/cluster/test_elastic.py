"""Goal: an elastic Job grows and shrinks on a real Kubernetes: its further pods wait at their gate
until quota is there, the pods that run stay, and each pod is charged once.

Method: a separate control plane with kwok's nodes, Berth installed by the manifests."""

import json

from cluster_test import ClusterTest
from team_queues import plain_queues

QUEUES = plain_queues(4)
PRIORITY = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: p}
value: 10
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  namespace: default
  labels: {kueue.x-k8s.io/queue-name: q}
  annotations: {kueue.x-k8s.io/elastic-job: "true"}
spec:
  parallelism: 2
  completions: 100
  template:
    metadata:
      annotations: {test.berth.dev/run-for: 1h}
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: none, resources: {requests: {cpu: "1"}}}
"""


class ElasticTest(ClusterTest):
    SHARES_PLANE = True

    def scale(self, parallelism, job="train"):
        self.plane.kubectl("patch", "job", job, "--type=merge", "-p",
                           json.dumps({"spec": {"parallelism": parallelism}}))

    def pods(self):
        """(running, gated) names of pods that are not being deleted."""
        pods = [pod for pod in self.plane.items("pods")
                if "deletionTimestamp" not in pod["metadata"]]
        running = {pod["metadata"]["name"] for pod in pods
                   if pod.get("status", {}).get("phase") == "Running"}
        gated = {pod["metadata"]["name"] for pod in pods
                 if {"name": "kueue.x-k8s.io/elastic-job"} in pod["spec"].get("schedulingGates", [])}
        return running, gated

    def used(self):
        for queue in self.plane.items("clusterqueues"):
            flavors = queue.get("status", {}).get("flavorsReservation") or []
            for flavor in flavors:
                return flavor["resources"][0]["total"]
        return None

    def wait_for(self, running, gated, used):
        def reached():
            now = self.pods()
            return (len(now[0]), len(now[1]), self.used()) == (running, gated, used)
        try:
            self.plane.wait_until(reached, f"{running} run, {gated} wait, {used} used", seconds=180)
        except AssertionError as late:
            state = self.plane.kubectl("get", "jobs,workloads,pods", check=False).stdout
            raise AssertionError(
                f"{late}\n{self.pods()} {self.used()}\n{state}\n{self.controller.log()[-3000:]}") from None

    def test_a_complete_job_is_gated(self):
        """A Job that the review need not suspend and label gets the gate all the same."""
        self.apply_when_accepted(QUEUES, "--server-side", "--force-conflicts")
        self.plane.apply(PRIORITY)
        self.plane.apply(JOB.replace("name: train", "name: whole")
                         .replace("queue-name: q}", "queue-name: q, kueue.x-k8s.io/priority-class: p}")
                         .replace("spec:\n", "spec:\n  suspend: true\n", 1))
        self.wait_for(2, 0, "2")
        self.scale(6, job="whole")
        self.wait_for(2, 4, "2")
        self.scale(4, job="whole")
        self.wait_for(4, 0, "4")
        self.plane.kubectl("delete", "job", "whole")
        self.wait_for(0, 0, "0")

    def test_grows_and_shrinks(self):
        self.apply_when_accepted(QUEUES, "--server-side")
        self.plane.apply(JOB)
        self.wait_for(2, 0, "2")
        first = self.pods()[0]

        self.scale(4)
        self.wait_for(4, 0, "4")
        self.assertLessEqual(first, self.pods()[0])  # the pods that ran run on

        self.scale(6)
        self.wait_for(4, 2, "4")
        self.plane.wait_until(lambda: len(self.plane.items("workloads")) == 3, "three slices")
        slices = self.plane.items("workloads")
        reasons = sorted(condition["reason"] for each in slices
                         for condition in each.get("status", {}).get("conditions", [])
                         if condition["type"] == "Finished")
        self.assertEqual(reasons, ["WorkloadSliceReplaced"])
        self.assertEqual(len(slices), 3)

        self.plane.kubectl("patch", "clusterqueue", "team", "--type=json", "-p", json.dumps([
            {"op": "replace", "path": "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota",
             "value": "6"}]))
        self.wait_for(6, 0, "6")

        self.scale(1)
        self.wait_for(1, 0, "1")

    def test_rules_of_the_reviews(self):
        self.apply_when_accepted(QUEUES, "--server-side", "--force-conflicts")
        job = JOB.replace("annotations: {kueue.x-k8s.io/elastic-job: \"true\"}",
                          "annotations: {kueue.x-k8s.io/elastic-job: \"true\", "
                          "kueue.x-k8s.io/job-min-parallelism: \"1\"}", 1)
        done = self.plane.kubectl("create", "-f", "-", stdin=job, check=False)
        self.assertIn("partial admission and elastic job cannot be used together", done.stderr)
        self.plane.apply(JOB, "--force-conflicts")
        done = self.plane.kubectl("annotate", "job", "train", "kueue.x-k8s.io/elastic-job-", check=False)
        self.assertIn("field is immutable", done.stderr)
        template = self.plane.items("jobs")[0]["spec"]["template"]["spec"]
        self.assertIn({"name": "kueue.x-k8s.io/elastic-job"}, template["schedulingGates"])
