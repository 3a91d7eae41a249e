"""Goal: a day of a trace (tests/py/trace_day.py) is a cluster with its past: the read API tells the numbers, causes and quota
of the trace, and a preempted Workload stands where its queue's scheduler has it.

Method: `berth simulate` plays a small trace; a `berth up` is filled while it does not run."""

import datetime
import json
import os

from page_test import PageTest
from trace_day import TraceDay, play, rows_of
from waiting import wait_until

QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
""" + "".join("""---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: %(name)s}
spec:
  cohortName: both
  namespaceSelector: {}
  preemption: {reclaimWithinCohort: Any}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: any, resources: [{name: cpu, nominalQuota: 4}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: %(name)s, namespace: default}
spec: {clusterQueue: %(name)s}
""" % {"name": name} for name in ("first", "second"))
# `first` borrows all from the beginning; `second` takes its quota back after half an hour.
JOBS = [f"{i * 60},default/first,1,4000" for i in range(12)] + [f"{1800 + i},default/second,1,4000" for i in range(3)]
AT = 3000
QUARTER = 900


class TraceDayTest(PageTest):
    def fill(self):
        workload, queues = (os.path.join(self.cluster.folder, name) for name in ("trace.csv", "queues.yaml"))
        for path, text in ((workload, "submit,queue,cpu,run\n" + "\n".join(JOBS) + "\n"), (queues, QUEUES)):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        self.cluster.apply(QUEUES)
        ledger = os.path.join(self.cluster.folder, "data", "ledger.db")
        wait_until(lambda: rows_of(ledger, "quota") == 2, "the ledger has the quota of both queues")
        jobs = play(self.cluster.program, workload, queues, self.cluster.folder)
        self.cluster.stop()
        day = TraceDay(jobs, AT)
        day.fill_cluster(os.path.join(self.cluster.folder, "data", "state.db"))
        day.fill_ledger(ledger)
        self.cluster.start()
        return day

    def get(self, path):
        def answer():
            found = self.ask("GET", f"/api/v1/{path}", Authorization=f"Bearer {self.admin}")
            return json.loads(found.text) if found.status == 200 else None
        return wait_until(answer, f"an answer to {path}")

    def test_the_read_api_tells_the_day(self):
        day = self.fill()
        ends = {state: sum(1 for job in day.jobs if job.state == state) for state in ("waiting", "running")}
        self.assertGreater(ends["waiting"], 3)
        wait_until(lambda: {each["value"]: each["count"] for each in self.get("workloads?countBy=state")["counts"]} == ends, f"{ends} workloads")
        # Eight jobs of one CPU ran all the time of each quarter of an hour in which the first queue had borrowed, and later.
        states = self.get("history/workloads?days=1")
        seconds = [(datetime.datetime.fromisoformat(time["from"]).timestamp() - day.shift, part) for time, part in zip(states["times"], states["parts"])]
        whole = [part for since, part in seconds if 500 <= since <= AT - QUARTER]
        self.assertGreater(len(whole), 0)
        for part in whole:
            self.assertAlmostEqual(part["running"], 8, delta=0.1)
            self.assertGreater(part["waiting"]["quota"], 2)
        for queue in ("first", "second"):
            self.assertEqual(self.get(f"history?clusterQueue={queue}&days=1")["parts"][-1]["quota"], [{"resource": "cpu", "unit": "milliCPU", "amount": 4000}])
        self.assertEqual(states["parts"][-1]["quota"], [{"resource": "cpu", "unit": "milliCPU", "amount": 8000}])
        self.assertEqual(whole[-1]["used"], [{"resource": "cpu", "unit": "milliCPU", "amount": 8000}])

    def test_positions_are_those_of_the_scheduler(self):
        """Preempted Workloads come before those that were submitted later, as in Kueue's visibility API."""
        day = self.fill()
        preempted = [job.name for job in day.jobs if job.state == "waiting" and len(job.turns) > 1]
        self.assertGreater(len(preempted), 0)
        expected = [job.name for job in sorted((job for job in day.jobs if job.state == "waiting" and job.cluster_queue == "first"),
                                               key=lambda job: job.turns[0].queued)]
        self.assertNotEqual(expected[-len(preempted):], preempted, "the trace tells the orders apart")
        rows = lambda: [row["name"] for row in self.get("workloads?clusterQueue=first&state=waiting&sort=turn")["items"]]
        wait_until(lambda: rows() == expected, "the order of the queue in the read API")
        pending = "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/first/pendingworkloads"
        self.assertEqual([each["metadata"]["name"] for each in self.cluster.call("GET", pending)["items"]], expected)
        listed = json.loads(self.cluster.berth("list", "--waiting", "-o", "json").stdout)
        self.assertEqual([each["workload"] for each in listed["items"] if each["clusterQueue"] == "first"], expected)
