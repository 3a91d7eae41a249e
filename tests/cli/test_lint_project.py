"""Goal: `berth lint` finds nothing in what the project shows and applies, but for what is meant to be wrong.

Method: the program on each folder of manifests/samples, on the blocks of each guide, and on each object that a test applies
as text (tests/cli/manifests_of_project.py). Such a text is a part of a cluster: objects that it names may come from elsewhere."""

import itertools
import json
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from manifests_of_project import ROOT, applied_by_tests, blocks_of_guides  # noqa: E402

SAMPLES = os.path.join(ROOT, "manifests", "samples")
# Two spellings of the same objects; the same queues with another quota; a workload; a job that is to wait.
VARIANTS = ("-v1beta1.yaml", "/without-queue.yaml", "/day.yaml", "/large-job.yaml")
# A text with these is filled in by its test.
TEMPLATE = re.compile(r"%[sd(]|\{\w+\}|\$\w|\b(NAME|QUOTA|CPU|SECONDS)\b")
# What a part of a cluster cannot tell.
ELSEWHERE = re.compile(r"does not exist|is not among the files|has no resourceGroups")
# Errors that a test is about: its file, the rule, the object.
INTENDED = {
    ("tests/scenarios/capacity/a-lost-node-queues-the-job-again.scenario", "not-readable", "ProvisioningPolicy bad"),
    ("tests/scenarios/capacity/a-policy-that-does-not-exist.scenario", "not-readable", "ProvisioningPolicy patient"),
    ("tests/scenarios/capacity/s38-an-idle-node-is-used-again.scenario", "not-readable", "ProvisioningPolicy bad"),
    ("tests/scenarios/capacity/s43-the-run-of-earlier-jobs.scenario", "not-readable", "ProvisioningPolicy bad"),
    ("tests/scenarios/kinds/reviews-of-kinds-with-rules.scenario", "not-readable", "RayJob r"),
    ("tests/scenarios/kinds/reviews-of-kinds-with-rules.scenario", "not-readable", "RayCluster c"),
    ("tests/scenarios/webhook/cluster-queue-rules.scenario", "no-namespace", "ClusterQueue a"),
    ("tests/local/e2e/test_bad_input.py", "not-readable", "ClusterQueue q"),
    ("tests/local/e2e/test_bad_input.py", "not-readable", "NodePool p"),
    ("tests/local/e2e/test_bad_input.py", "no-namespace", "ClusterQueue q"),
    ("tests/local/e2e/test_bad_input.py", "limit-without-cohort", "ClusterQueue q"),
}


def findings(*words, text=None):
    done = subprocess.run([os.environ["BERTH"], "lint", "-o", "json", *words], input=text, capture_output=True, text=True,
                          timeout=60, check=False)
    if not done.stdout:
        raise AssertionError(f"no answer: {done.stderr}\n{text}")
    return json.loads(done.stdout)["findings"]


def errors(found):
    return [each for each in found if each["severity"] == "error"]


class ProjectTest(unittest.TestCase):
    maxDiff = None

    def test_samples(self):
        for name in sorted(os.listdir(SAMPLES)):
            folder = os.path.join(SAMPLES, name)
            files = [os.path.join(folder, each) for each in sorted(os.listdir(folder)) if each.endswith(".yaml")]
            with self.subTest(sample=name):
                self.assertEqual(errors(findings(*[each for each in files if not each.endswith(VARIANTS)])), [])

    def test_guides(self):
        guides = 0
        for path, blocks in itertools.groupby(blocks_of_guides(), lambda block: block[0].partition(":")[0]):
            guides += 1
            with self.subTest(guide=path):
                self.assertEqual(errors(findings("-", text="---\n".join(text for _, text in blocks))), [])
        self.assertGreater(guides, 5)

    def test_what_the_tests_apply(self):
        found = set()
        count = 0
        for where, text in applied_by_tests():
            if TEMPLATE.search(text):
                continue
            count += 1
            for each in errors(findings("-", text=text)):
                if not ELSEWHERE.search(each["message"]):
                    found.add((where.rpartition(":")[0], each["rule"], f"{each['kind']} {each['name']}"))
        self.assertEqual(found, INTENDED)
        self.assertGreater(count, 200)


if __name__ == "__main__":
    unittest.main()
