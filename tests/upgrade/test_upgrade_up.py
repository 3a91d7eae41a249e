"""Goal: the data folder of `berth up` of an earlier version is that of this version and back: no object is lost, jobs that ran
run again, what waited starts, and the ledger keeps what it has.

Method: real processes in one data folder, with the program of either version. OTHER_BERTH is the folder of the earlier
version's sources, with its program in build/release (tools/soak --upgrade makes it)."""

import json
import os

from berth_up import BERTH, BerthUpTest, read_sample
from waiting import wait_until

OTHER = os.path.join(os.environ.get("OTHER_BERTH", ""), "build", "release", "berth")
# The earlier version has no node of its own, and no flag for it.
NO_NODE = {BERTH: ["--no-node"], OTHER: []}
QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: machine}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: machine, resources: [{name: cpu, nominalQuota: "1"}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: default}
spec: {clusterQueue: team}
"""
NODE = """
apiVersion: v1
kind: Node
metadata: {name: machine}
status:
  allocatable: {cpu: "4", memory: 8Gi, pods: "20"}
  capacity: {cpu: "4", memory: 8Gi, pods: "20"}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: NAME, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  suspend: true
  backoffLimit: 10
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "shell:1", args: ["-c", "SCRIPT"], resources: {requests: {cpu: "1"}}}]
"""


class UpgradeUpTest(BerthUpTest):
    def submit(self, name, script="sleep 3600"):
        self.cluster.apply(JOB.replace("NAME", name).replace("SCRIPT", script))

    def runs(self, name):
        return (self.cluster.get("job", name)["status"]).get("active") == 1

    def known(self):
        """UID of each object that people or controllers made and keep."""
        return {(each["kind"], each["metadata"]["name"]): each["metadata"]["uid"]
                for kind in ("jobs", "workloads", "clusterqueues", "localqueues", "resourceflavors", "provisioningrequests",
                             "admissionchecks", "nodepools.cloud.berth.dev")
                for each in self.cluster.items(kind, "-A")}

    def history(self):
        done = self.cluster.berth("history", "--data-dir", os.path.join(self.cluster.folder, "data"), "-o", "json", check=False)
        return {each["job"]: each["outcome"] for each in json.loads(done.stdout)["attempts"]}

    def change_to(self, program):
        before = self.known()
        self.assertEqual(self.cluster.stop(), 0)
        wait_until(lambda: not self.cluster.left_over(), "no process of a pod is left")
        self.cluster.program, self.cluster.no_node = program, NO_NODE[program]
        self.cluster.start()
        after = self.known()
        self.assertEqual({key: after.get(key) for key in before}, before)

    def next_of(self, ended):
        """The end of a job admits one that waits; returns its name. The order of jobs of one second is that of their UIDs."""
        self.cluster.kubectl("delete", "job", ended)
        self.jobs -= {ended}
        return wait_until(lambda: next(filter(self.runs, sorted(self.jobs)), None), f"a job starts after the end of {ended}")

    def test_upgrade_and_back(self):
        self.cluster = self.start_cluster(images=["shell:1=/bin/sh"], program=OTHER, no_node=NO_NODE[OTHER])
        self.cluster.kubectl("create", "-f", "-", stdin=NODE)
        self.cluster.apply(QUEUES)
        self.cluster.apply_dws()
        self.submit("ended", "true")
        self.cluster.wait_complete("ended")
        self.jobs = {"first", "second", "third", "fourth"}
        for name in sorted(self.jobs):
            self.submit(name)
        running = wait_until(lambda: next(filter(self.runs, sorted(self.jobs)), None), "the first job runs")
        # A request for capacity that has no machine yet.
        self.cluster.apply(read_sample("dws", "job-h100.yaml"))
        wait_until(lambda: self.cluster.items("provisioningrequests"), "a request for capacity waits")

        self.change_to(BERTH)
        wait_until(lambda: self.runs(running), "the job that ran runs again")
        running = self.next_of(running)
        wait_until(lambda: self.history().get("job/ended") == "Succeeded", "this version reads the earlier version's ledger")
        self.cluster.kubectl("annotate", "clusterqueue", "team", "berth.dev/order=ShortestFirst", "berth.dev/deadlines=1h")
        self.cluster.kubectl("annotate", "job", *sorted(self.jobs), "berth.dev/deadline=2100-01-01T00:00:00Z")

        self.change_to(OTHER)
        wait_until(lambda: self.runs(running), "the job that ran runs again in the earlier version")
        running = self.next_of(running)

        self.change_to(BERTH)
        wait_until(lambda: self.runs(running), "the job runs a third time")
        self.next_of(running)
        self.assertEqual(self.history().get("job/ended"), "Succeeded")
