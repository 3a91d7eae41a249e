"""Goal: `berth up` keeps a history of jobs, which `berth history` and `berth report` read while the cluster
runs and while it is down; a killed cluster goes on with its history; `berth controller` refuses a ledger that it
does not know, `berth up` runs without it.

Method: a job that completes and one that waits; a SIGKILL; a file with a newer schema."""

import csv
import json
import os
import sqlite3
import subprocess

from berth_up import BERTH, BerthUpTest
from waiting import wait_until

POOL = """
apiVersion: cloud.berth.dev/v1alpha1
kind: NodePool
metadata: {name: machines}
spec: {machineType: n1-standard-2, zones: [z], minNodes: 1, maxNodes: 1, bootSeconds: 0, stock: 1}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: NAME, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "shell:1", args: ["-c", "true"], resources: {requests: {cpu: "CPU"}}}]
"""


class HistoryTest(BerthUpTest):
    def attempts(self, *arguments):
        done = self.cluster.berth("history", *arguments, *self.place, "-o", "json", check=False)
        return json.loads(done.stdout)["attempts"] if done.stdout.startswith("{") else []

    def ended(self, job):
        return [each["outcome"] for each in self.attempts(job)] == ["Succeeded"]

    def test_a_story(self):
        self.cluster = self.start_cluster(images=["shell:1=/bin/sh"], flags=["--ledger-users"])
        data = os.path.join(self.cluster.folder, "data")
        self.place = ("--data-dir", data)
        berth = self.cluster.berth
        self.cluster.apply(POOL)
        berth("create", "rf", "default")
        self.cluster.kubectl("annotate", "resourceflavor", "default", "berth.dev/price-per-hour=36")
        berth("create", "cq", "team", "--nominal-quota", "default:cpu=100m")
        berth("create", "lq", "q", "--clusterqueue", "team")
        self.cluster.apply(JOB.replace("NAME", "train").replace("CPU", "100m"))
        self.cluster.apply(JOB.replace("NAME", "big").replace("CPU", "9"))
        self.cluster.wait_complete("train")
        wait_until(lambda: self.ended("job/train"), "the end of the job is in the ledger")
        wait_until(lambda: self.attempts("job/big"), "the waiting job is in the ledger")

        train, = self.attempts("job/train")
        self.assertEqual((train["localQueue"], train["clusterQueue"], train["job"], train["attempt"]),
                         ("q", "team", "job/train", 1))
        self.assertEqual(train["resources"],
                         [{"resource": "cpu", "flavor": "default", "amount": 100, "unit": "milliCPU"}])
        user = self.cluster.user()
        self.assertTrue(user)
        self.assertEqual((train["user"], train["usdPerHour"]), (user, 36))
        by_user, = csv.DictReader(berth("report", "--by", "user", "-o", "csv", *self.place).stdout.splitlines())
        self.assertEqual((by_user["user"], by_user["workloads"], by_user["unpriced"]), (user, "2", "0"))
        self.assertEqual(sorted(each["job"] for each in self.attempts("queue/q")), ["job/big", "job/train"])
        self.assertEqual([each["job"] for each in self.attempts("queue/team")], ["job/train"])
        self.assertIn("waiting", berth("history", "job/big", *self.place).stdout)
        self.assertEqual(berth("history", "job/none", *self.place, check=False).returncode, 1)
        rows = list(csv.DictReader(berth("report", "-o", "csv", *self.place).stdout.splitlines()))
        self.assertEqual([(row["queue"], row["workloads"], row["succeeded"]) for row in rows],
                         [("default/q", "2", "1")])
        self.assertIn("end: Succeeded", berth("report", "--by", "cause", *self.place).stdout)

        self.cluster.kill()
        self.assertEqual(self.attempts("job/train"), [train])
        self.cluster.start()
        self.cluster.apply(JOB.replace("NAME", "second").replace("CPU", "100m"))
        wait_until(lambda: self.ended("job/second"), "the history goes on")
        self.assertEqual(self.attempts("job/train"), [train])
        self.assertEqual(len(self.attempts()), 3)
        for name in os.listdir(data):
            if name.startswith("ledger.db"):
                self.assertEqual(oct(os.stat(os.path.join(data, name)).st_mode & 0o7777), "0o600", name)
        self.cluster.stop()
        self.a_newer_file(data)

    def a_newer_file(self, data):
        file = os.path.join(data, "ledger.db")
        with sqlite3.connect(file) as ledger:
            ledger.execute("PRAGMA user_version=99")
        ledger.close()
        self.cluster.start()
        self.assertIn("schema version 99", self.cluster.log())
        refused = subprocess.run(
            [BERTH, "controller", "--kubeconfig", self.cluster.kubeconfig, "--ledger", file,
             "--metrics-listen", "", "--health-listen", "", "--webhook-listen", "", "--visibility-listen", ""],
            text=True, capture_output=True, timeout=60, check=False, env=self.cluster.environment())
        self.assertEqual(refused.returncode, 1)
        self.assertIn("use a newer berth, or name another file (--ledger)", refused.stderr)
