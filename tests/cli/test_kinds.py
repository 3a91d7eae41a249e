"""Goal: `berth kinds check` shows what a description makes of sample objects, without a cluster.

Method: the program with the description of docs/guide/job-kinds.md and a sample in each phase; then with
descriptions and samples that do not fit."""

import json
import os
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "py"))
from scratch import temporary_folder  # noqa: E402


def documented_kind():
    with open(os.path.join(ROOT, "docs", "guide", "job-kinds.md"), encoding="utf-8") as file:
        text = file.read()
    text = text[text.index("apiVersion: integrations.berth.dev/v1alpha1"):]
    return text[:text.index("---")]


def sweep(paused, status, kind="Sweep", template=True):
    pod = {"spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}}
    return json.dumps({
        "apiVersion": "science.example/v1", "kind": kind,
        "metadata": {"name": "one", "namespace": "default"},
        "spec": {"paused": paused, "parallelTrials": 3, **({"trialTemplate": pod} if template else {})},
        "status": status})


class KindsCheckTest(unittest.TestCase):
    def check(self, kind, sample, *flags):
        """The exit status and what the program says."""
        with temporary_folder() as folder:
            paths = []
            for name, text in (("kind.yaml", kind), ("sample.yaml", sample)):
                paths.append(os.path.join(folder, name))
                with open(paths[-1], "w", encoding="utf-8") as file:
                    file.write(text)
            done = subprocess.run(
                [os.environ["BERTH"], "kinds", "check", "-f", paths[0], "-f", paths[1], *flags],
                capture_output=True, text=True, timeout=60, check=False,
                env={"PATH": os.environ["PATH"], "HOME": folder, "KUBECONFIG": os.path.join(folder, "none")})
        return done.returncode, done.stdout + done.stderr

    def test_phases(self):
        condition = {"type": "Completed", "status": "True", "message": "all trials ran"}
        for paused, status, phase in (
                (True, {}, "held"),
                (False, {"running": 1}, "not held, active"),
                (False, {"running": 3}, "not held, active, ready"),
                (False, {"conditions": [condition]}, "not held, succeeded: all trials ran"),
                (False, {"conditions": [{**condition, "type": "Failed"}]},
                 "not held, failed: all trials ran")):
            with self.subTest(phase=phase):
                code, text = self.check(documented_kind(), sweep(paused, status))
                self.assertEqual(code, 0, text)
                self.assertIn(f"sweep/one: {phase}\n", text)
                self.assertRegex(text, r"(?m)^ *trial +3 +cpu 1$")

    def test_the_same_as_json(self):
        code, text = self.check(documented_kind(), sweep(True, {}), "-o", "json")
        self.assertEqual(code, 0, text)
        self.assertEqual(json.loads(text)["samples"], [{
            "name": "one", "held": True, "active": False, "ready": False, "skipped": False,
            "finished": False, "podSets": [{"name": "trial", "count": 3, "requests": {"cpu": 1000}}]}])

    def test_a_kind_that_is_held_by_its_number_of_pods(self):
        kind = documented_kind().replace("  suspend: spec.paused\n", "").replace(
            "count: self.spec.parallelTrials", "replicas: spec.parallelTrials")
        held = json.loads(sweep(False, {}))
        held["spec"]["parallelTrials"] = 0
        held["metadata"]["annotations"] = {"berth.dev/held-replicas": '{"spec.parallelTrials":3}'}
        for sample, phase in ((sweep(False, {}), "not held"), (json.dumps(held), "held")):
            code, text = self.check(kind, sample)
            self.assertEqual(code, 0, text)
            self.assertIn(f"sweep/one: {phase}\n", text)
            self.assertRegex(text, r"(?m)^ *trial +3 +cpu 1$")

    def test_the_sample_of_the_job_kind_is_played(self):
        kind = documented_kind()
        code, text = self.check(kind + f"  sample: {sweep(False, {})}\n", sweep(True, {}))
        self.assertEqual(code, 0, text)
        self.assertIn("sweep/one: not held\n", text)
        self.assertIn("sweep/one: held\n", text)
        # Its count depends on the field that holds it: a held job would have another size.
        bad = kind.replace("count: self.spec.parallelTrials", "count: 'self.spec.paused ? 1 : 2'")
        for sample, of in ((f"  sample: {sweep(False, {})}\n", ""), ("", sweep(False, {}))):
            code, text = self.check(bad + sample, of)
            self.assertNotEqual(code, 0, text)
            self.assertIn("does not play through: sample: the pod sets of the held and of the running object differ", text)

    def test_what_does_not_fit_is_named(self):
        kind = documented_kind()
        for description, sample, part in (
                (kind, sweep(True, {}, template=False), "spec.trialTemplate: the pod template is missing"),
                (kind, sweep(True, {"running": "many"}), "active"),
                (kind, sweep(True, {}, kind="Other"), "expected an object of science.example/v1 Sweep"),
                (kind.replace("self.spec.parallelTrials", "self.spec."), sweep(True, {}), "podSets[0].count"),
                (kind.replace("  active:", "  aktive:"), sweep(True, {}), "aktive"),
                (sweep(True, {}), sweep(True, {}), "no JobKind among the files")):
            with self.subTest(part=part):
                code, text = self.check(description, sample)
                self.assertNotEqual(code, 0, text)
                self.assertIn(part, text)


if __name__ == "__main__":
    unittest.main()
