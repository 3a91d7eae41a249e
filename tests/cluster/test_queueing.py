"""Goal: a Job that names a queue passes all steps on a real Kubernetes: review, Workload, quota,
start, pods, end; and a review's denial is effective.

Method: a separate control plane with kwok's nodes, Berth installed by the manifests."""

from cluster_test import ClusterTest
from team_queues import plain_queues

QUEUES = plain_queues(2)
JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  name: NAME
  namespace: default
  labels: {kueue.x-k8s.io/queue-name: q}
spec:
  parallelism: 1
  completions: 1
  template:
    metadata:
      annotations: {test.berth.dev/run-for: 300ms}
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: none, resources: {requests: {cpu: "1"}}}
"""


class QueueingTest(ClusterTest):
    SHARES_PLANE = True

    def test_jobs_take_turns(self):
        self.apply_when_accepted(QUEUES, "--server-side")
        for name in ("a", "b", "c", "d"):
            self.plane.apply(JOB.replace("NAME", name))

        def complete():
            jobs = self.plane.items("jobs")
            return len(jobs) == 4 and all(job.get("status", {}).get("succeeded") == 1 for job in jobs)
        try:
            self.plane.wait_until(complete, "four jobs complete", seconds=180)
        except AssertionError as late:
            state = self.plane.kubectl("get", "jobs,workloads,pods,nodes", check=False).stdout
            raise AssertionError(f"{late}\n{state}\n{self.controller.log()[-3000:]}") from None

        def finished(workload):
            return any(each["type"] == "Finished" and each["status"] == "True"
                       for each in workload.get("status", {}).get("conditions", []))
        # A Job counts its pods first, and is complete a moment later.
        self.wait_until(lambda: len(found := self.plane.items("workloads")) == 4 and all(map(finished, found)),
                        "every Workload is finished")

    def test_a_released_queue_starts_its_jobs_without_a_refused_write(self):
        """Reconcilers meet caches that lag behind the writes of others: they try again, in silence."""
        held = QUEUES.replace("spec:\n  namespaceSelector", "spec:\n  stopPolicy: Hold\n  namespaceSelector")
        self.assertIn("stopPolicy", held)
        self.apply_when_accepted(held, "--server-side")
        names = [f"held-{i}" for i in range(12)]
        self.plane.apply("---".join(JOB.replace("NAME", name) for name in names))
        self.wait_until(lambda: len(self.plane.items("workloads")) == len(names), "a Workload of each Job")
        before = len(self.controller.log())
        self.plane.kubectl("patch", "clusterqueue", "team", "--type=merge", "-p", '{"spec":{"stopPolicy":"None"}}')
        self.wait_until(lambda: all(job.get("status", {}).get("succeeded") == 1 for job in self.plane.items("jobs")),
                        "every Job completes")
        said = [line for line in self.controller.log()[before:].splitlines() if "reconcile " in line]
        self.assertEqual(said, [])
        self.plane.kubectl("delete", "jobs", "--all")  # other tests count the Jobs
        self.wait_until(lambda: not self.plane.items("workloads"), "their Workloads are gone")

    def test_a_review_refuses(self):
        self.apply_when_accepted(QUEUES, "--server-side")
        broken = QUEUES.replace("namespaceSelector: {}", "namespaceSelector: {}\n  cohortName: 'no cohort!'")
        done = self.plane.kubectl("apply", "--server-side", "-f", "-", stdin=broken, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("cohort", done.stderr)
