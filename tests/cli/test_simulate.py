"""Goal: `berth simulate` runs a workload of a file on manifests, tells what came of it in four formats, and names the
line of what does not fit.

Method: the program, without any cluster, with the sample of two teams and small workloads."""

import csv
import gzip
import hashlib
import io
import json
import os
import pty
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "py"))
from scratch import ScratchTest, die_with_parent  # noqa: E402
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import snapshots  # noqa: E402
from fake_api import FakeApi  # noqa: E402

GPU = "nvidia.com/gpu"
TEAMS = os.path.join(ROOT, "manifests", "samples", "two-teams", "queues.yaml")

# Team b's urgent job takes back what team a borrowed: 4 GPUs for 10 minutes are lost.
DAY = """submit,queue,class,pods,gpu,run
0,a-queue,,3,4,1h
600,b-queue,urgent,1,8,30m
601,b-queue,,1,1,60
700,a-queue,,1,999,60
"""

V1BETA1 = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: default}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: team}
spec:
  cohort: org
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: default, resources: [{name: cpu, nominalQuota: 8}]}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: main}
spec: {clusterQueue: team}
"""

GENERATOR = """kind: JobGenerator
sources:
- queue: a-queue
  count: 30
  every: {exponential: {mean: 30s}}
  run: {lognormal: {median: 10m, sigma: 1}}
  gpu: 2
- queue: b-queue
  stages: [{stages: 5, min: 2, max: 2}]
  run: 60
  linger: 20
  gpu: 1
"""

# The digest that test_the_same_bytes_on_every_machine expects.
DIGEST = "913a729eb819a2d1f127260ba7c094bbd50d7065ef4020194409ef57206abc07"

PODS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
openb-pod-1,1000,1024,1,1000,,LS,Succeeded,100,200,100
openb-pod-2,1000,1024,1,1000,,BE,Succeeded,100,200,100
"""

SWF = """; Computer: a test
1 0 -1 100 8 -1 -1 8 200 -1 1 1 1 -1 1 -1 -1 -1
2 10 -1 50 4 -1 -1 -1 -1 -1 1 1 1 -1 1 -1 -1 -1
3 20 -1 -1 -1 -1 -1 4 100 -1 5 1 1 -1 1 -1 -1 -1
"""


class SimulateTest(ScratchTest):
    def run_berth(self, *words, given=None):
        return subprocess.run([os.environ["BERTH"], "simulate", *words], capture_output=True, text=True, timeout=120,
                              check=False, input=given, env={"PATH": os.environ["PATH"], "HOME": self.folder,
                                                             "KUBECONFIG": os.path.join(self.folder, "none")})

    def answer(self, *words, given=None):
        done = self.run_berth(*words, given=given)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def complaint(self, *words, given=None):
        done = self.run_berth(*words, given=given)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        return done.stderr

    def test_a_day_in_json(self):
        day = self.write("day.csv", DAY)
        report = json.loads(self.answer("-f", TEAMS, "--workload", day, "-o", "json"))
        rows = {(row["localQueue"], row["priorityClass"]): row for row in report["queues"]}
        team_a, urgent, team_b = (rows["team-a/a-queue", ""], rows["team-b/b-queue", "urgent"],
                                  rows["team-b/b-queue", ""])
        self.assertEqual([team_a[key] for key in ("jobs", "finished", "unfinished", "preemptions")], [2, 1, 1, 1])
        self.assertEqual(team_a["destroyedHours"], {"nvidia.com/gpu": 2})
        self.assertEqual((urgent["waitP99"], urgent["usedHours"]), (0, {"nvidia.com/gpu": 4}))
        self.assertEqual(team_b["waitP50"], 0)  # the other team waits for 12 GPUs, and lends one of 8
        # Team a starts anew a second after the urgent job has ended at 2400 s.
        self.assertAlmostEqual(report["hours"] * 3600, 2401 + 3600)
        self.assertEqual(report["total"]["jobs"], 4)
        self.assertEqual([(row["localQueue"], row["jobs"], row["firstLine"]) for row in report["unfinished"]],
                         [("team-a/a-queue", 1, 5)])
        self.assertIn("maximum capacity", report["unfinished"][0]["why"])
        whole = json.loads(self.answer("-f", os.path.dirname(TEAMS), "--workload", day, "-o", "json"))
        self.assertEqual(whole.pop("leftOut"), ["1 Job of the manifests: --workload has the jobs"])
        del report["leftOut"]
        self.assertEqual(whole, report)

    def test_the_same_in_a_table_and_in_csv(self):
        day = self.write("day.csv", DAY)
        text = self.answer("-f", TEAMS, "--workload", day)
        self.assertRegex(text, r"^4 jobs in \d+m of virtual time: 3 finished, 1 did not\n")
        self.assertRegex(text, r"(?m)^team-b/b-queue +urgent +1 +1 +0 +0s +0s +0s +0s +1\.0 +0 +0 +0 +4\.0 +0\.0 +[\d.]+ %$")
        self.assertRegex(text, r"(?m)^never finished: 1 of team-a/a-queue, first in line 5: ")
        rows = list(csv.DictReader(io.StringIO(self.answer("-f", TEAMS, "--workload", day, "-o", "csv"))))
        self.assertEqual(len(rows), 4)
        self.assertEqual((rows[-1]["localQueue"], rows[-1]["jobs"], rows[-1]["destroyedHours"]), ("", "4", "2"))
        # Without nodes every queue is charged for what ran.
        self.assertEqual([float(row["chargedHours"]) for row in rows],
                         [float(row["usedHours"]) + float(row["destroyedHours"]) for row in rows])
        self.assertEqual({row["cost"] for row in rows}, {"0"})

    def test_a_packed_trace_with_columns_of_its_own(self):
        text = DAY.replace("run\n", "run,exit code\n").replace("1h\n", "01:00:00,0\n").replace("30m\n", "1800,0\n").replace("60\n", "60,1\n")
        plain = self.write("day.csv", DAY)
        packed = os.path.join(self.folder, "day.csv.gz")
        with open(packed, "wb") as file:  # two members, as `cat a.gz b.gz` makes them
            file.write(gzip.compress(text[:40].encode()) + gzip.compress(text[40:].encode()))
        report = json.loads(self.answer("-f", TEAMS, "--workload", packed, "-o", "json"))
        self.assertEqual(report["leftOut"], ["columns of the trace that are not read: exit code"])
        report["leftOut"] = []
        self.assertEqual(report, json.loads(self.answer("-f", TEAMS, "--workload", plain, "-o", "json")))
        with open(packed, "rb+") as file:
            file.truncate(80)
        self.assertIn("the gzip data is damaged or cut off", self.complaint("-f", TEAMS, "--workload", packed))

    def test_flavors_have_prices(self):
        priced = self.write("queues.yaml", V1BETA1.replace(
            "metadata: {name: default}", 'metadata: {name: default, annotations: {berth.dev/price-per-hour: "3"}}'))
        text = self.answer("-f", priced, "--workload", "-", given="submit,cpu,run\n0,1,1h\n")
        self.assertRegex(text, r"(?m) USD$")
        self.assertRegex(text, r"(?m)^all .* 3\.00$")
        self.assertNotIn("CHARGED", text)

    def test_a_generator_and_its_seeds(self):
        day = self.write("day.yaml", GENERATOR)
        once = self.answer("-f", TEAMS, "--workload", day, "-o", "json")
        self.assertEqual(json.loads(once)["total"]["jobs"], 40)
        self.assertEqual(self.answer("-f", TEAMS, "--workload", day, "-o", "json", "--seed", "1"), once)
        self.assertNotEqual(self.answer("-f", TEAMS, "--workload", day, "-o", "json", "--seed", "2"), once)
        spread = json.loads(self.answer("-f", TEAMS, "--workload", day, "--seeds", "5", "-o", "json"))
        self.assertEqual((spread["runs"], spread["total"]["jobs"]["mean"], spread["total"]["jobs"]["deviation"]), (5, 40, 0))
        self.assertGreater(spread["total"]["waitMean"]["deviation"], 0)
        same = json.loads(self.answer("-f", TEAMS, "--compare", TEAMS, "--workload", day, "--seeds", "3", "-o", "json"))
        zero = {"mean": 0, "deviation": 0, "least": 0, "most": 0}
        for name, figure in same["total"].items():
            figures = figure.values() if name.endswith("Hours") or name == "utilisation" else [figure]
            self.assertEqual([each for each in figures if each != zero], [], name)
        used, charged = spread["total"]["usedHours"][GPU], spread["total"]["chargedHours"][GPU]
        self.assertGreater(used["deviation"], 0)
        self.assertEqual(used, charged)  # without nodes and preemptions
        self.assertGreater(spread["total"]["utilisation"][GPU]["mean"], 0.1)
        table = self.answer("-f", TEAMS, "--workload", day, "--seeds", "5", "--ascii")
        self.assertRegex(table, r"(?m)^all +40\.0 \+-0\.0 ")
        self.assertRegex(table, r"(?m) USD +GPU-H USED +GPU-H LOST +GPU-H CHARGED +OF QUOTA %$")
        self.assertRegex(self.answer("-f", TEAMS, "--workload", day, "--seeds", "2", "-o", "csv"), r"(?m)^,,jobs,40,0,40,40$")
        self.assertRegex(self.answer("-f", TEAMS, "--workload", day, "--seeds", "2", "-o", "csv"), r"(?m)^,,usedHours:nvidia.com/gpu,\d")

    def test_the_same_bytes_on_every_machine(self):
        # Another compiler, library of mathematics or order of work would give another digest. It changes with the output.
        day = self.write("day.yaml", GENERATOR)
        text = self.answer("-f", TEAMS, "--workload", day, "--seed", "7", "-o", "json")
        self.assertEqual(hashlib.sha256(text.encode()).hexdigest(), DIGEST, text)

    def test_yaml_has_the_figures_of_json(self):
        day = self.write("day.csv", DAY)
        text = self.answer("-f", TEAMS, "--workload", day, "-o", "yaml")
        total = json.loads(self.answer("-f", TEAMS, "--workload", day, "-o", "json"))["total"]
        shown = text.partition("\ntotal:\n")[2].split("\nunfinished:")[0].splitlines()
        for name in ("jobs", "finished", "unfinished", "failed", "waitP99", "preemptions"):
            self.assertIn(f"  {name}: {total[name]}", shown)
        self.assertIn(f"    {GPU}: {total['usedHours'][GPU]}", shown)

    def test_a_generator_has_jobs_and_no_lines(self):
        day = self.write("day.yaml", GENERATOR.replace("- queue: a-queue\n  count", "- count"))
        self.assertIn("job 1: the job names no queue", self.complaint("-f", TEAMS, "--workload", day))
        day = self.write("day.yaml", GENERATOR.replace("gpu: 1\n", "gpu: 999\n"))
        page = os.path.join(self.folder, "day.html")
        text = self.answer("-f", TEAMS, "--workload", day, "--html", page)
        self.assertRegex(text, r"(?m)^never finished: \d+ of team-b/b-queue, first is job 31: ")
        with open(page, encoding="utf-8") as file:
            self.assertIn("job 1 of team-a/a-queue", file.read())
        self.assertIn("workloadUnit: job\n", self.answer("-f", TEAMS, "--workload", day, "-o", "yaml"))

    def test_seeds_need_a_generator(self):
        day = self.write("day.csv", DAY)
        self.assertIn("is a recorded workload", self.complaint("-f", TEAMS, "--workload", day, "--seeds", "3"))

    def test_progress_on_a_terminal(self):
        day = self.write("day.csv", DAY)
        words = [os.environ["BERTH"], "simulate", "-f", TEAMS, "--compare", TEAMS, "--workload", day, "-o", "csv"]

        def drawn(terminal_kind):
            terminal, end = pty.openpty()
            with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=end, preexec_fn=die_with_parent,
                                  env={"HOME": self.folder, "TERM": terminal_kind}) as run:
                os.close(end)
                text = b""
                try:
                    while part := os.read(terminal, 4096):
                        text += part
                except OSError:  # the program has ended
                    pass
                answer = run.stdout.read().decode()
                self.assertEqual(run.wait(timeout=60), 0)
            os.close(terminal)
            return text.decode(), answer

        shown, answer = drawn("xterm")
        erase = "\r\x1b[K"
        # Three of the four jobs finish, on both sides.
        self.assertTrue(shown.startswith(erase + "[" + 20 * "-" + "] 0 %  0 of 8 jobs" + erase), repr(shown))
        self.assertIn(erase + "[###############-----] 75 %  6 of 8 jobs", shown)
        self.assertTrue(shown.endswith(erase))
        self.assertEqual(drawn("dumb"), ("", answer))
        self.assertEqual(self.answer(*words[2:]), answer)

    def test_public_traces_go_where_they_are_mapped(self):
        pods = self.write("openb.csv", PODS)
        self.assertIn("choose one with --queue", self.complaint("-f", TEAMS, "--workload", pods))
        report = json.loads(self.answer("-f", TEAMS, "--workload", pods, "--map", "LS=a-queue", "--queue", "b-queue", "-o",
                                        "json"))
        self.assertEqual({row["localQueue"]: row["jobs"] for row in report["queues"]},
                         {"team-a/a-queue": 1, "team-b/b-queue": 1})
        # The queue of a log counts before its user; CSV has users.
        log = SWF.replace(" 1 1 -1 1 -1 -1 -1", " 7 1 -1 3 -1 -1 -1", 1)
        cpus = self.write("cpus.yaml", V1BETA1 + V1BETA1.split("---")[-1].replace("main", "other").join(["---", ""]))
        words = ("-f", cpus, "--queue", "main", "--workload")
        for mapped, jobs in (("queue:3", {"default/main": 1, "default/other": 1}), ("user:7", {"default/main": 1, "default/other": 1}),
                             ("user:1", {"default/main": 1, "default/other": 1}), ("user:9", {"default/main": 2})):
            report = json.loads(self.answer(*words, self.write("log.swf", log), "--map", mapped + "=other", "-o", "json"))
            self.assertEqual({row["localQueue"]: row["jobs"] for row in report["queues"]}, jobs)
        users = self.write("users.csv", "submit,cpu,run,user\n0,1,60,ann\n0,1,60,bob\n")
        report = json.loads(self.answer(*words, users, "--map", "bob=other", "-o", "json"))
        self.assertEqual({row["localQueue"]: row["jobs"] for row in report["queues"]}, {"default/main": 1, "default/other": 1})
        self.assertIn("write ORIGIN=QUEUE", self.complaint("-f", TEAMS, "--workload", pods, "--map", "LS"))

    def test_compare_with_itself_is_zero(self):
        day = self.write("day.csv", DAY)
        same = json.loads(self.answer("-f", TEAMS, "--compare", TEAMS, "--workload", day, "-o", "json"))
        self.assertEqual(same["before"], same["after"])
        numbers = []

        def collect(value):
            if isinstance(value, dict):
                for inner in value.values():
                    collect(inner)
            elif isinstance(value, list):
                for inner in value:
                    collect(inner)
            elif not isinstance(value, str):
                numbers.append(value)

        collect(same["difference"])
        self.assertGreater(len(numbers), 40)
        self.assertEqual(set(numbers), {0})

    def test_compare_with_more_quota(self):
        day = self.write("day.csv", DAY)
        with open(TEAMS, encoding="utf-8") as file:
            larger = self.write("larger/queues.yaml", file.read().replace("nominalQuota: 8\n", "nominalQuota: 16\n"))
        change = json.loads(self.answer("-f", TEAMS, "--compare", larger, "--workload", day, "-o", "json"))
        self.assertEqual(change["difference"]["total"]["preemptions"], -1)
        self.assertIn("after less before:", self.answer("-f", TEAMS, "--compare", larger, "--workload", day))
        # Manifests may be named without -f.
        self.assertEqual(json.loads(self.answer(TEAMS, "--compare", larger, "--workload", day, "-o", "json")), change)

    def test_swf_on_v1beta1(self):
        queues = self.write("queues.yaml", V1BETA1)
        report = json.loads(self.answer("-f", queues, "--workload", "-", "-o", "json", given=SWF))
        self.assertEqual(report["skippedRows"], 1)
        row = report["queues"][0]
        self.assertEqual((row["localQueue"], row["finished"], row["waitP99"]), ("default/main", 2, 91))
        self.assertEqual(report["quota"][0]["nominal"], 8)

    def test_lists_of_kubectl(self):
        with open(TEAMS, encoding="utf-8") as file:
            count = file.read().count("\n---\n") + 1
        self.assertEqual(count, 8)
        queue = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue",
                 "metadata": {"name": "q", "namespace": "team-a"}, "spec": {"clusterQueue": "team-a"}}
        more = self.write("more.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": [queue]}))
        report = json.loads(self.answer("-f", TEAMS, "-f", more, "--queue", "q", "--workload", "-", "-o", "json",
                                        given="submit,gpu,run\n0,1,1\n"))
        self.assertEqual(report["queues"][0]["localQueue"], "team-a/q")

    def test_the_queues_of_a_cluster(self):
        api = FakeApi()
        self.addCleanup(api.close)
        snapshots.serve(api)
        day = self.write("day.csv", "submit,gpu,run\n0,8,60\n1,8,60\n")
        report = json.loads(self.answer("--from-cluster", "--kubeconfig", api.kubeconfig, "--workload", day, "-o", "json"))
        self.assertEqual([(row["localQueue"], row["finished"], row["waitP99"]) for row in report["queues"]],
                         [("default/main", 2, 60)])
        self.assertFalse([path for path in api.asked if "/workloads" in path])
        for words in ([], ["--from-cluster", "-f", TEAMS]):
            done = self.run_berth("--workload", day, *words)
            self.assertEqual((done.returncode, done.stderr),
                             (2, "berth: name the queues: -f FILE, or --from-cluster\n"))
        api.rights = lambda path: "clusterqueues" not in path
        self.assertIn("no right to list clusterqueues",
                      self.complaint("--from-cluster", "--kubeconfig", api.kubeconfig, "--workload", day))

    def test_jobs_wait_for_nodes_of_pools(self):
        pools = os.path.join(ROOT, "manifests", "samples", "dws", "nodepools.yaml")
        queues = self.write("queues.yaml", V1BETA1.replace("[cpu]", "[nvidia.com/gpu]")
                            .replace("name: cpu", "name: nvidia.com/gpu"))
        words = ("-f", queues, "--pools", pools, "--workload", "-")
        # Two pools of one machine with a GPU, which boots for 60 s.
        day = "submit,gpu,run\n0,1,100\n0,1,200\n0,1,50\n"
        report = json.loads(self.answer(*words, "-o", "json", given=day))
        self.assertEqual([report["total"][key] for key in ("finished", "waitP50", "waitP99")], [3, 60, 160])
        by_name = {row["pool"]: row for row in report["pools"]}
        self.assertEqual(by_name["dws-t4-nodepool"]["peakNodes"], 1)
        self.assertAlmostEqual(by_name["dws-t4-nodepool"]["nodeHours"], (210 + 600) / 3600)
        self.assertRegex(self.answer(*words, given=day), r"(?m)^dws-a100-nodepool +1 +0\.2 +30\.2 % +0\.88$")
        report = json.loads(self.answer(*words, "-o", "json", given="submit,gpu,run\n0,2,100\n"))
        self.assertEqual(report["unfinished"][0]["why"], "has quota, and no node pool has room for its pods, ever")
        same = json.loads(self.answer("-f", queues, "--compare", queues, *words[2:], "-o", "json", given=day))
        self.assertEqual({(row["nodeHours"], row["cost"]) for row in same["difference"]["pools"]}, {(0, 0)})
        with open(pools, encoding="utf-8") as file:
            text = file.read()
        taken = self.write("pools.yaml", text.replace("  maxNodes: 1", "  maxNodes: 1\n  eviction: {afterSeconds: 50}"))
        total = json.loads(self.answer("-f", queues, "--pools", taken, "--workload", "-", "-o", "json", given=day))["total"]
        self.assertEqual([total[key] for key in ("finished", "evictions")], [1, 200])  # the job of 50 s
        for old, new, words in (("n1-standard-2", "n9", 'NodePool dws-t4-nodepool: spec.machineType: "n9" is none of'),
                                ("maxNodes: 1", "maxNodes: one", "dws-t4-nodepool: spec.maxNodes: expected a whole"),
                                ("minNodes: 0", "minNodes: 2", "dws-t4-nodepool: spec.minNodes, spec.maxNodes: "),
                                ("metadata:\n", "metadata:\n  annotations: {berth.dev/price-per-hour: cheap}\n",
                                 'berth.dev/price-per-hour: expected USD, such as "0.89"'),
                                ("kind: NodePool", "kind: Pool", "--pools: no NodePool and no Node among the files")):
            with self.subTest(words=words):
                wrong = self.write("pools.yaml", text.replace(old, new))
                self.assertIn(words, self.complaint("-f", queues, "--pools", wrong, "--workload", "-", given=day))

    def test_fixed_nodes_are_pools(self):
        queues = self.write("queues.yaml", V1BETA1)
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "annotations": {
            "berth.dev/price-per-hour": "3"}}, "status": {"allocatable": {"cpu": "4", "pods": "110"}}}
        other = {**node, "metadata": {"name": "n2"}}
        off = {**node, "metadata": {"name": "n3"}, "spec": {"unschedulable": True}}
        pools = self.write("nodes.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": [node, other, off]}))
        events = os.path.join(self.folder, "events.jsonl")
        words = ("-f", queues, "--pools", pools, "--workload", "-", "-o", "json")
        # The quota is 8 CPUs, and two nodes have four each: the third job waits for a node.
        report = json.loads(self.answer(*words, "--events", events, given="submit,cpu,run\n0,3,60\n0,3,3600\n0,2,60\n"))
        self.assertEqual([report["total"][key] for key in ("finished", "waitP50", "waitP99")], [3, 0, 60])
        self.assertEqual([(row["pool"], row["peakNodes"]) for row in report["pools"]], [("n1", 1), ("n2", 1), ("n3", 0)])
        self.assertAlmostEqual(report["total"]["cost"], 3 * report["pools"][0]["nodeHours"])
        with open(events, encoding="utf-8") as file:
            started = [each["nodes"] for each in map(json.loads, file) if each["event"] == "started"]
        self.assertEqual(started, [["n1"], ["n2"], ["n1"]])
        twice = self.write("twice.json", json.dumps({"kind": "List", "items": [node, node]}))
        self.assertIn(f"--pools: {twice}:1: Node n1: the object is defined twice",
                      self.complaint("-f", queues, "--pools", twice, "--workload", "-", given="submit,run\n"))

    def test_events_tell_who_preempted(self):
        owner = V1BETA1.replace("cohort: org", "cohort: org\n  preemption: {reclaimWithinCohort: Any}")
        guest = V1BETA1.replace("name: team", "name: guest").replace("clusterQueue: team", "clusterQueue: guest")
        guest = guest.replace("name: main", "name: guest").replace("nominalQuota: 8", "nominalQuota: 0")
        queues = self.write("two.yaml", owner + "---" + guest.split("---", 1)[1])
        events = os.path.join(self.folder, "preempted.jsonl")
        self.answer("-f", queues, "--workload", "-", "-o", "json", "--events", events,
                    given="submit,queue,cpu,run\n0,guest,8,3600\n60,main,8,60\n")
        with open(events, encoding="utf-8") as file:
            preempted = [each for each in map(json.loads, file) if each["event"] == "preempted"]
        self.assertEqual([(each["seconds"], each["line"], each["preemptor"]) for each in preempted], [(60, 2, 3)])

    def test_what_manifests_have_besides_is_named(self):
        folder = os.path.join(ROOT, "manifests", "samples", "dws")
        pools = os.path.join(folder, "nodepools.yaml")
        files = ("-f", os.path.join(folder, "queues.yaml"), "-f", pools)
        notes = json.loads(self.answer(*files, "--workload", "-", "-o", "json", given="submit,cpu,run\n0,1,1\n"))["leftOut"]
        for note in ("3 NodePools of the manifests: give them to --pools, or use --full",
                     "1 ProvisioningRequestConfig of the manifests: only --full plays it"):
            self.assertIn(note, notes)
        notes = json.loads(self.answer(*files, "--pools", pools, "--workload", "-", "-o", "json",
                                       given="submit,cpu,run\n0,1,1\n"))["leftOut"]
        self.assertFalse([note for note in notes if "NodePool" in note])

    def test_prices_and_events_of_nodes(self):
        with open(os.path.join(ROOT, "manifests", "samples", "dws", "nodepools.yaml"), encoding="utf-8") as file:
            text = file.read().split("\n---\n", maxsplit=1)[0]
        pools = self.write("pools.yaml", text.replace(
            "metadata:\n", 'metadata:\n  annotations: {berth.dev/price-per-hour: "2.50"}\n'))
        queues = self.write("queues.yaml", V1BETA1.replace("[cpu]", "[nvidia.com/gpu]")
                            .replace("name: cpu", "name: nvidia.com/gpu"))
        events = os.path.join(self.folder, "events.jsonl")
        words = ("-f", queues, "--pools", pools, "--workload", "-", "-o", "json", "--events", events)
        [pool] = json.loads(self.answer(*words, given="submit,gpu,run\n0,1,100\n10,1,50\n"))["pools"]
        self.assertAlmostEqual(pool["cost"], 2.5 * pool["nodeHours"])
        report = json.loads(self.answer(*words, given="submit,gpu,run\n0,1,100\n10,1,50\n"))
        for row in (report["queues"][0], report["total"]):  # the node is charged to those who ran there
            self.assertAlmostEqual(row["cost"], pool["cost"])
            self.assertAlmostEqual(row["chargedHours"][GPU], pool["nodeHours"])
        self.assertAlmostEqual(report["total"]["utilisation"][GPU], 150 / 3600 / 8 / report["hours"])
        self.assertRegex(self.answer(*words[:6], given="submit,gpu,run\n0,1,100\n"), r"GPU-H USED +GPU-H LOST +OF QUOTA +GPU-H CHARGED +USD\n")
        with open(events, encoding="utf-8") as file:
            told = [json.loads(line) for line in file]
        node = pool["pool"] + "-0"
        self.assertEqual([(each["seconds"], each["event"], each.get("line", each.get("node"))) for each in told], [
            (0, "nodeMade", node), (0, "submitted", 2), (10, "submitted", 3), (60, "nodeReady", node),
            (60, "started", 2), (160, "finished", 2), (160, "started", 3), (210, "finished", 3),
            (210 + 600, "nodeGone", node)])
        self.assertEqual(told[4]["nodes"], [node])
        self.assertEqual(told[4]["clusterQueue"], "team")
        self.assertEqual(len(told[4]["flavors"]), 1)
        self.assertIn("--events: the events are of one run", self.complaint(*words, "--compare", queues, given="submit,run\n"))
        self.assertIn("--events: cannot write", self.complaint(
            *words[:-1], os.path.join(self.folder, "missing", "x"), given="submit,gpu,run\n0,1,1\n"))

    def test_faults_are_named(self):
        queues = self.write("queues.yaml", V1BETA1)
        twice = self.write("twice/queues.yaml", V1BETA1 + "\n---\n" + V1BETA1)
        bare = self.write("bare/queues.yaml", V1BETA1.partition("kind: LocalQueue")[0].rpartition("---")[0])
        wrong = self.write("wrong/queues.yaml", V1BETA1.replace("nominalQuota: 8", "nominalQuota: many"))
        with open(wrong, encoding="utf-8") as file:
            line = next(number for number, text in enumerate(file, 1) if "many" in text)
        for manifests, workload, words in (
                (queues, "submit,cpu,run\n0,1,1\n0,two,1\n", '-: line 3, column 3: cpu: "two" is no quantity'),
                (queues, "submit,queue,run\n0,other,1\n", '-: line 2: queue "other" is no LocalQueue of the manifests'),
                (queues, "; x\n1 2\n", "-: line 2, column 4: the row has 2 fields, expected 18"),
                (bare, "submit,run\n", "the manifests have no LocalQueue"),
                (twice, "submit,run\n", f"{twice}:2: ResourceFlavor default: the object is defined twice"),
                (wrong, "submit,run\n", f"{wrong}:{line}: ClusterQueue team: spec.resourceGroups[0].flavors[0].resources[0]"),
                (self.folder + "/none.yaml", "submit,run\n", "cannot read " + self.folder + "/none.yaml")):
            with self.subTest(words=words):
                self.assertIn(words, self.complaint("-f", manifests, "--workload", "-", given=workload))
        both = self.write("both/queues.yaml", V1BETA1.replace("nominalQuota: 8", "nominalQuota: many")
                          .replace("clusterQueue: team", "clusterQueue: 7"))
        said = self.complaint("-f", both, "--workload", "-", given="submit,run\n")
        self.assertEqual(said.count(f"{both}:"), 2, "each object that cannot be read: " + said)
        self.assertIn("cannot read", self.complaint("-f", queues, "--workload", self.folder + "/none.csv"))
        self.assertIn("has no file that ends in .yaml",
                      self.complaint("-f", os.path.join(ROOT, "simulation"), "--workload", "-", given="submit,run\n"))

    def test_decisions_of_kueue(self):
        queues = self.write("queues.yaml", V1BETA1)
        config = self.write("config.yaml", "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
                                           "fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare]}\n")
        for words in (("--decisions", "kueue"), ("--config", config)):
            report = json.loads(self.answer("-f", queues, "--workload", "-", "-o", "json", *words, given=SWF))
            self.assertEqual(report["total"]["finished"], 2)


if __name__ == "__main__":
    unittest.main()
