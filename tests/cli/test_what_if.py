"""Goal: `berth what-if` says what a change does to each job, changes nothing, and its exit code says whether anybody is
worse off.

Method: the program on a small cluster (snapshots.py), in files and on an API of the test; the numbers follow from runs of
ten minutes each."""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import snapshots
from fake_api import FakeApi
from scratch import temporary_folder

BERTH = os.environ["BERTH"]
QUOTA = f"team/gpu/{snapshots.GPU}"
JOB = {
    "apiVersion": "batch/v1", "kind": "Job",
    "metadata": {"name": "train", "labels": {"kueue.x-k8s.io/queue-name": "main"}},
    "spec": {"parallelism": 1, "completions": 1, "template": {"spec": {"restartPolicy": "Never", "containers": [
        {"name": "c", "image": "model:1", "resources": {"requests": {snapshots.GPU: "8"}}}]}}}}


class WhatIfTest(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.folder = folder.__enter__()
        self.addCleanup(folder.__exit__, None, None, None)
        self.file = os.path.join(self.folder, "cluster.json")
        snapshots.write(self.file)

    def write(self, name, *documents):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n---\n".join(json.dumps(each) for each in documents))
        return path

    def what_if(self, *words, code=0, source=None):
        source = ["--from", self.file] if source is None else source
        answer = subprocess.run([BERTH, "what-if", *words, *source], capture_output=True, text=True, timeout=60,
                                check=False, env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"})
        if code is not None:
            self.assertEqual(answer.returncode, code, answer.stdout + answer.stderr)
        return answer.stdout if answer.returncode in (0, 3) else answer.stderr

    def effects(self, *words, code=0):
        view = json.loads(self.what_if(*words, "-o", "json", code=code))
        return {job["name"]: job["effect"] for job in view["jobs"]}, view

    def test_no_change_is_no_difference(self):
        queue = next(each for each in snapshots.objects() if each["kind"] == "ClusterQueue")
        for words in (["--add-quota", f"{QUOTA}=+0"], ["-f", self.write("same.json", queue)],
                      ["--priority", "job/train-101=0"]):
            effects, view = self.effects(*words)
            self.assertEqual((effects, view["worseOff"]), ({}, 0), words)
            self.assertIn("no difference: every job starts as before", self.what_if(*words))

    def test_the_order_of_files_and_objects_plays_no_part(self):
        known = set()
        for seed in range(4):
            paths = snapshots.shuffled(snapshots.crowd(), seed, self.folder)
            known.add(self.what_if("--add-quota", f"team-0/gpu/{snapshots.GPU}=-6", "--draws", "10", "-o", "json",
                                   source=["--from", *paths], code=None))
        self.assertEqual(len(known), 1)
        self.assertGreater(len(json.loads(known.pop())["jobs"]), 5)

    def test_files_have_a_time(self):
        view = self.effects("--add-quota", f"{QUOTA}=+8", "--now", "2026-11-23T12:04:00Z")[1]
        self.assertEqual({job["before"]["startSeconds"] for job in view["jobs"] if job["name"] == "train-101"}, {121})

    def test_what_cannot_be_read_has_file_and_line(self):
        path = os.path.join(self.folder, "queue.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: team}\n"
                       "spec:\n  stopPolicy: 3\n")
        self.assertIn(f"{path}:5: ClusterQueue team: spec.stopPolicy: ", self.what_if("-f", path, code=1))

    def test_kinds_that_no_forecast_knows_are_named(self):
        topology = {"apiVersion": snapshots.VERSION, "kind": "Topology", "metadata": {"name": "racks"},
                    "spec": {"levels": [{"nodeLabel": "rack"}]}}
        self.assertIn("the forecast uses no object of the files; left out: Topology racks", self.what_if(
            "-f", self.write("topology.json", topology), code=1))
        queue = next(each for each in snapshots.objects() if each["kind"] == "ClusterQueue")
        self.assertIn("left out: Topology racks of -f", self.what_if("-f", self.write("both.json", queue, topology)))

    def test_more_quota(self):
        effects, view = self.effects("--add-quota", f"{QUOTA}=+8")
        self.assertEqual(self.effects("--add-quota", "team/gpu/gpu=+8")[1], view)
        self.assertEqual(effects, {"big": "possible", "train-101": "earlier", "train-102": "earlier",
                                   "small": "earlier"})
        self.assertEqual(view["changes"], [f"ClusterQueue team: {snapshots.GPU} in gpu 8 → 16"])
        first = next(job for job in view["jobs"] if job["name"] == "train-101")
        self.assertEqual((first["before"]["startSeconds"], first["after"]["startSeconds"]), (361, 0))
        self.assertLess(first["shiftSeconds"], -300)
        self.assertEqual((first["namespace"], first["workload"], first["kind"]), ("default", "job-train-101", "Job"))

    def test_a_queue_that_keeps_places(self):
        queue = next(each for each in snapshots.objects() if each["kind"] == "ClusterQueue")
        queue["metadata"]["annotations"] = {"berth.dev/reserve-after": "1m"}
        queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] = "16"
        words = ["-f", self.write("places.json", queue)]
        _, view = self.effects(*words, code=3)
        sides = {job["name"]: (job["before"]["placeSeconds"], job["after"]["placeSeconds"]) for job in view["jobs"]}
        self.assertEqual([name for name, (before, after) in sides.items() if before is None and after], ["big"], sides)
        self.assertRegex(self.what_if(*words, code=3), r"default/big .*its place is kept: in \w+, none before")

    def test_less_quota_makes_jobs_impossible(self):
        effects, view = self.effects("--add-quota", f"{QUOTA}=4", code=3)
        self.assertEqual(effects["train-101"], "impossible")
        self.assertIn("maximum capacity (4)", next(
            job["after"]["reason"] for job in view["jobs"] if job["name"] == "train-101"))
        self.assertIn("worse off: 2 impossible", self.what_if("--add-quota", f"{QUOTA}=4", code=3))

    def test_a_priority_preempts_and_delays(self):
        effects, _ = self.effects("--priority", "job/train-102=100", code=3)
        self.assertEqual((effects["train-100"], effects["train-101"], effects["train-102"]),
                         ("preempted", "later", "earlier"))

    def test_new_jobs_delay_those_behind_them(self):
        job = self.write("job.json", JOB)
        effects, view = self.effects("--submit", job, "--times", "2")
        self.assertEqual(effects, {"train-1": "new", "train-2": "new"})
        self.assertEqual(view["changes"], ["new Job default/train, 2 times"])
        self.write("job.json", {**JOB, "metadata": {**JOB["metadata"], "labels": {
            **JOB["metadata"]["labels"], "kueue.x-k8s.io/priority-class": "none"}}})
        self.assertIn("WorkloadPriorityClass none does not exist", self.what_if("--submit", job, code=1))

    def test_a_deployment_is_as_many_workloads_as_pods(self):
        deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": JOB["metadata"],
                      "spec": {"replicas": 2, "template": JOB["spec"]["template"]}}
        effects, view = self.effects("--submit", self.write("deployment.json", deployment))
        self.assertEqual(effects, {"train-1": "new", "train-2": "new"})
        self.assertEqual(view["changes"], ["new Deployment default/train, 2 Workloads"])

    def test_every_object_that_cannot_be_read_is_named(self):
        path = os.path.join(self.folder, "jobs.yaml")
        with open(path, "w", encoding="utf-8") as file:
            for name in ("one", "two"):
                file.write(f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}}}\nspec:\n  parallelism: few\n---\n")
        text = self.what_if("--submit", path, code=1)
        self.assertIn(f"{path}:5: Job one: spec.parallelism: ", text)
        self.assertIn(f"{path}:11: Job two: spec.parallelism: ", text)

    def test_a_stopped_queue(self):
        effects, view = self.effects("--stop-queue", "team", code=3)
        self.assertEqual(effects["train-101"], "impossible")
        self.assertEqual(view["changes"], ["ClusterQueue team: stopped; running workloads continue"])
        self.assertEqual(self.effects("--stop-queue", "main", code=3)[0], effects)

    def test_a_node_that_goes(self):
        pod = {"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Running"}, "spec": {"nodeName": "n1"}, "metadata": {
            "name": "p", "namespace": "default", "labels": {"batch.kubernetes.io/job-name": "train-100"}}}
        snapshots.write(self.file, [*snapshots.objects(), pod])
        effects, _ = self.effects("--remove-node", "n1", code=3)
        self.assertEqual((effects["train-100"], effects["train-101"]), ("preempted", "later"))
        self.assertIn('on node "n2"', self.what_if("--remove-node", "n2", code=1))

    def test_nothing_is_written(self):
        api = FakeApi()
        self.addCleanup(api.close)
        snapshots.serve(api)
        before = json.dumps(api.objects)
        # The clock of the machine says how long train-100 has run: only the change itself is known.
        screen = self.what_if("--add-quota", f"{QUOTA}=+8", source=["--kubeconfig", api.kubeconfig], code=None)
        self.assertIn("possible  default/big", screen)
        self.assertEqual(json.dumps(api.objects), before)

    def test_what_cannot_be_answered(self):
        self.assertIn("name a change", self.what_if(code=2))
        self.assertIn("write QUEUE/FLAVOR/RESOURCE=+AMOUNT", self.what_if("--add-quota", "team", code=1))
        self.assertIn('no ClusterQueue "none"', self.what_if("--add-quota", f"none/gpu/{snapshots.GPU}=+1", code=1))
        self.assertIn("has no quota of cpu", self.what_if("--add-quota", "team/gpu/cpu=+1", code=1))
        self.assertIn("write job/NAME=NUMBER", self.what_if("--priority", "job/big", code=1))
        self.assertIn('no job "job/none"', self.what_if("--priority", "job/none=1", code=1))
        self.assertIn("no ClusterQueue", self.what_if("--stop-queue", "none", code=1))
        self.assertIn("controllers write Workloads", self.what_if(
            "-f", self.write("workload.json", snapshots.workload("x", 1, 0)), code=1))


if __name__ == "__main__":
    unittest.main()
