"""Goal: `berth test` plays scenario files, tells of a failed one its line, what was found and the events, writes a JUnit report,
and says what is wrong with a file.

Method: the program on scenarios of the test and on those of manifests/samples."""

import os
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "py"))
from scratch import ScratchTest  # noqa: E402

QUEUE = """\
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
    flavors:
    - {name: default, resources: [{name: cpu, nominalQuota: 4}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: main, namespace: default}
spec: {clusterQueue: team}
"""
RUNS = """\
# name: A job runs
apply queue
node big cpu=64
job x queue=main cpu=4 runs=1h
expect job x running
job y queue=main cpu=1 runs=1h
expect job y suspended
"""
TOO_MUCH = """\
# name: <More> & "more"
apply queue/team.yaml
node big cpu=64
job x queue=main cpu=5 runs=1h
expect job x admitted
"""


class ScenariosTest(ScratchTest):
    def run_test(self, *arguments):
        done = subprocess.run([os.environ["BERTH"], "test", *arguments], capture_output=True, text=True,
                              timeout=120, cwd=self.folder, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_passes_and_fails_with_line_and_report(self):
        self.write("queue/team.yaml", QUEUE)
        self.write("runs.scenario", RUNS)
        self.write("limits/too-much.scenario", TOO_MUCH)
        code, text, _ = self.run_test(".", "--manifests", ".", "--junit", "report.xml")
        self.assertEqual(code, 1, text)
        self.assertIn("ok      runs  (", text)
        self.assertIn("FAILED  limits/too-much  (", text)
        self.assertIn("  limits/too-much.scenario:5: expect job x admitted\n  found: suspend=1\n", text)
        self.assertIn("> job x queue=main cpu=5 runs=1h", text)
        self.assertTrue(text.endswith("2 scenarios: 1 passed, 1 failed\n"), text)
        report = ElementTree.parse(os.path.join(self.folder, "report.xml")).getroot()
        self.assertEqual(dict(report.attrib, time=""),
                         {"name": "berth", "tests": "2", "failures": "1", "time": ""})
        cases = {(suite.get("name"), case.get("name")): case.find("failure")
                 for suite in report for case in suite}
        self.assertEqual(set(cases), {("scenarios", "runs"), ("limits", "too-much")})
        self.assertIsNone(cases[("scenarios", "runs")])
        self.assertEqual(cases[("limits", "too-much")].get("message"), "found: suspend=1")
        self.assertIn("too-much.scenario:5: expect job x admitted", cases[("limits", "too-much")].text)

    def test_plays_the_chosen_ones_and_tells_their_events(self):
        self.write("queue/team.yaml", QUEUE)
        self.write("runs.scenario", RUNS)
        self.write("limits/too-much.scenario", TOO_MUCH)
        code, text, _ = self.run_test(".", "--only", "runs", "-v")
        self.assertEqual(code, 0, text)
        self.assertIn("> job x queue=main cpu=4 runs=1h", text)
        self.assertTrue(text.endswith("1 scenario: 1 passed, 0 failed\n"), text)

    def test_bad_input_is_named(self):
        head = "# name: bad\n"
        for text, said in (
                ("node x\n", 'line 1: the first lines need "# name: …"'),
                (head + "apply <<EOF\nkind: Job\n", "line 2: there is no EOF that ends <<EOF"),
                (head + 'job "x\n', "line 2: a quote is not closed"),
                (head + "jump\n", 'no command is called "jump"'),
                (head + "apply missing.yaml\n", "missing.yaml"),
                (head + "apply <<EOF\n[1, 2]\nEOF\n", "an object needs apiVersion"),
                (head + "apply <<EOF\napiVersion: v1\nkind: Node\nmetadata: x\nEOF\n",
                 "an object needs metadata.name"),
                (head + "apply <<EOF\napiVersion: v1\nkind: Node\nmetadata: {name: x, labels: 3}\nEOF\n", "labels"),
                (head + "config <<EOF\n[1]\nEOF\n", "config: write fields and values"),
                (head + "after 99999999999999999999d\n", "is no time"),
                (head + "after 9000d\n", "is no time"),
                (head + "expect node x /a~=1\n", ""),
                (head + "expect within\n", "a time is missing"),
                (head + "job x runs=1h cpu=[[[\n", "cpu"),
                (head + "cluster-queue x f/cpu=\n", "nominalQuota"),
                (head + "set node\n", "write a kind and a name")):
            path = self.write("bad.scenario", text)
            code, told, _ = self.run_test(path)
            self.assertEqual(code, 1, text + told)
            self.assertIn("FAILED  bad", told)
            self.assertIn(said, told)

    def test_nothing_to_play(self):
        os.makedirs(os.path.join(self.folder, "empty"))
        code, _, told = self.run_test("empty")
        self.assertEqual((code, told), (2, "berth: empty: no file there ends in .scenario\n"))
        code, _, told = self.run_test("missing")
        self.assertEqual((code, told), (2, "berth: missing: no such file\n"))
        path = self.write("x.scenario", "# name: x\n")
        code, _, told = self.run_test(path, "--only", "y")
        self.assertEqual((code, told), (2, 'berth: no scenario has "y" in its name\n'))
        code, _, told = self.run_test(path, "--junit", "missing/report.xml")
        self.assertEqual((code, told), (2, "berth: missing/report.xml: cannot be written\n"))

    def test_samples(self):
        code, text, _ = self.run_test(os.path.join(ROOT, "manifests", "samples"))
        self.assertEqual(code, 0, text)


if __name__ == "__main__":
    unittest.main()
