"""Goal: the scheduler alone and the whole of Berth in virtual time take the same decisions on the same stories: who starts
when, in which flavors, who is preempted, who never starts.

Method: generated stories without admission checks and nodes: two or three ClusterQueues of a cohort that borrow, reclaim and
preempt, two flavors, priorities. `berth simulate` plays each story, and again with `--full`. Only stories count whose moments
lie APART seconds from one another: where two things happen within the seconds that controllers take, either order is right.
The scheduler alone looks at a woken Workload after a second, the controller at once when it is idle: a start may be a second
earlier with `--full` for each start before it, and is never more than LATE seconds later."""

import json
import os
import random
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "py"))
from scratch import ScratchTest  # noqa: E402

STORIES, JOBS = 10, 12
APART, LATE = 100, 1
SEEDS = range(1, 2000)

CLUSTER_QUEUE = """---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: %(name)s}
spec:
  namespaceSelector: {}
  cohortName: all
  queueingStrategy: %(strategy)s
  preemption: {withinClusterQueue: LowerPriority, reclaimWithinCohort: %(reclaim)s}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {name: first, resources: [{name: cpu, nominalQuota: %(first)d}]}
    - {name: second, resources: [{name: cpu, nominalQuota: %(second)d}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: %(name)s, namespace: default}
spec: {clusterQueue: %(name)s}
"""
FLAVOR = """---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: %s}
"""
NODE = """---
apiVersion: v1
kind: Node
metadata: {name: machine}
status: {allocatable: {cpu: "1000", memory: 1000Gi, pods: "1000"}, capacity: {cpu: "1000", memory: 1000Gi, pods: "1000"}}
"""


def make_story(seed):
    """Manifests, and rows of a CSV."""
    dice = random.Random(seed)
    names = ["a", "b", "c"][:dice.choice([2, 3])]
    queues = "".join(CLUSTER_QUEUE % {
        "name": name, "strategy": dice.choice(["BestEffortFIFO", "StrictFIFO"]), "first": dice.randint(1, 3),
        "second": dice.randint(0, 2), "reclaim": dice.choice(["Any", "LowerPriority", "Never"])} for name in names)
    rows, now = ["submit,queue,priority,cpu,run"], 0
    for _ in range(JOBS):
        now += dice.randint(APART, 900)
        rows.append(f"{now},default/{dice.choice(names)},{dice.choice([-5, 0, 0, 10])},{dice.randint(1, 4)},{dice.randint(APART, 4000)}")
    return FLAVOR % "first" + FLAVOR % "second" + queues + NODE, "\n".join(rows) + "\n"


class SameDecisionsTest(ScratchTest):
    def play(self, queues, jobs, *words):
        events = os.path.join(self.folder, "events.jsonl")
        done = subprocess.run([os.environ["BERTH"], "simulate", "-f", queues, "--workload", "-", "-o", "json", "--events", events,
                               *words], input=jobs, capture_output=True, text=True, timeout=200, check=False,
                              env={"PATH": os.environ["PATH"], "HOME": self.folder})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(events, encoding="utf-8") as file:
            told = [json.loads(line) for line in file]
        return [each for each in told if not each["event"].startswith("node")], json.loads(done.stdout)

    @staticmethod
    def is_clear(told):
        moments = sorted({each["seconds"] for each in told})
        # What follows at once is one moment: a wake-up comes a second after its cause.
        return all(after - before <= 2 or after - before >= APART for before, after in zip(moments, moments[1:]))

    @staticmethod
    def decisions(told):
        """By job: what became of it, in order, with the flavors."""
        lives = {}
        for each in told:
            lives.setdefault(each["line"], []).append((each["event"], tuple(each.get("flavors", ()))))
        return lives

    def compare(self, seed, alone, full):
        self.assertEqual(self.decisions(alone), self.decisions(full), f"story {seed}")
        starts = [[each["line"] for each in told if each["event"] == "started"] for told in (alone, full)]
        self.assertEqual(*starts, f"story {seed}: the order of starts")
        moments = []
        for told in (alone, full):
            lives = {}
            for each in told:
                lives.setdefault(each["line"], []).append(each["seconds"])
            moments.append(lives)
        for line, seconds in moments[0].items():
            for expected, seen in zip(seconds, moments[1][line]):
                before = sum(1 for each in alone if each["event"] == "started" and each["seconds"] <= expected)
                self.assertLessEqual(expected - seen, before, f"story {seed}, line {line}")
                self.assertLessEqual(seen - expected, LATE, f"story {seed}, line {line}")

    def test_generated_stories(self):
        played = preemptions = waits = 0
        for seed in SEEDS:
            manifests, jobs = make_story(seed)
            queues = self.write("queues.yaml", manifests)
            alone, report = self.play(queues, jobs)
            if not self.is_clear(alone):
                continue
            full, whole = self.play(queues, jobs, "--full")
            self.compare(seed, alone, full)
            self.assertEqual(report["total"]["unfinished"], whole["total"]["unfinished"])
            played += 1
            preemptions += report["total"]["preemptions"]
            waits += sum(1 for row in report["queues"] if row["waitP99"] > 0)
            if played == STORIES:
                break
        self.assertEqual(played, STORIES)
        self.assertGreater(preemptions, STORIES / 2, "the stories have little to decide")
        self.assertGreater(waits, STORIES)


if __name__ == "__main__":
    unittest.main()
