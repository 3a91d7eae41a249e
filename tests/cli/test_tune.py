"""Goal: `berth tune` proposes the policy that a workload gains by, says so where there is none, and changes nothing.

Method: the program, without any cluster, on one queue and small workloads."""

import json
import os
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "py"))
from scratch import ScratchTest  # noqa: E402

QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: default, resources: [{name: cpu, nominalQuota: 1}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: main, namespace: default}
spec: {clusterQueue: team}
"""
# A job of ten hours waits before twenty of a minute.
LONG_FIRST = "submit,queue,cpu,run,walltime\n0,main,1,60,60\n1,main,1,36000,36000\n" + "".join(
    f"{2 + i},main,1,60,60\n" for i in range(20))
ALONE = "submit,queue,cpu,run\n0,main,1,60\n1000,main,1,60\n"


class TuneTest(ScratchTest):
    def berth(self, *words):
        return subprocess.run([os.environ["BERTH"], *words], capture_output=True, text=True, timeout=120, check=False,
                              env={"PATH": os.environ["PATH"], "HOME": self.folder})

    def tune(self, workload, *flags):
        queues = self.write("queues.yaml", QUEUES)
        jobs = self.write("jobs.csv", workload)
        return self.berth("tune", "-f", queues, "--workload", jobs, *flags)

    def test_the_shortest_first_are_proposed(self):
        done = self.tune(LONG_FIRST)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("22 jobs on 13 policies", done.stdout)
        self.assertIn("Proposed: ShortestFirst, places off (mean wait ", done.stdout)
        self.assertIn("    berth.dev/order: ShortestFirst\n", done.stdout)
        with open(os.path.join(self.folder, "queues.yaml")) as file:
            self.assertEqual(file.read(), QUEUES)

    def test_json(self):
        done = self.tune(LONG_FIRST, "-o", "json")
        report = json.loads(done.stdout)
        self.assertEqual(report["proposed"], "ShortestFirst, places off")
        means = {trial["name"]: trial["waitMean"] for trial in report["trials"]}
        self.assertLess(means["ShortestFirst, places off"], means["as it is"] / 10)
        self.assertEqual(means["Fifo, places off"], means["as it is"])

    def test_nothing_is_proposed_where_nothing_waits(self):
        done = self.tune(ALONE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Nothing is proposed", done.stdout)

    def test_mistakes(self):
        done = self.tune("submit,queue,cpu,run\n0,nowhere,1,60\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("nowhere", done.stderr)
        done = self.berth("tune", "-f", os.path.join(self.folder, "absent.yaml"), "--workload", "x.csv")
        self.assertEqual(done.returncode, 1)
        self.assertIn("absent.yaml", done.stderr)


if __name__ == "__main__":
    unittest.main()
