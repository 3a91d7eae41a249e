"""Goal: tests/py/run.py runs each test of its files once, in any division into parts, and tells what it cannot find;
the harness touches the pods whose next stage is late, and no others.
Method: files of tests that print their names; pods of known ages."""

import datetime
import pathlib
import subprocess
import sys
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "tests" / "py"))
from kwok_pods import is_overdue  # noqa: E402 (the folder is known only now)
from scratch import ScratchTest  # noqa: E402

FILE = """
import unittest

import waiting  # of tests/py


class %s(unittest.TestCase):
    def run_one(self):
        print("ran", self.id())

    test_a = test_b = test_c = run_one
"""


class RunnerTest(ScratchTest):
    def setUp(self):
        super().setUp()
        self.files = [self.write(f"{name}.py", FILE % name.capitalize()) for name in ("first", "second")]

    def run_files(self, *words):
        return subprocess.run([sys.executable, "-B", PROJECT / "tests/py/run.py", *words], capture_output=True, text=True,
                              timeout=60, check=False)

    def ran(self, *words):
        done = self.run_files(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line.removeprefix("ran ") for line in done.stdout.splitlines() if line.startswith("ran ")]

    def test_all_tests_of_all_files_run(self):
        self.assertEqual(self.ran(*self.files), [f"{name}.{name.capitalize()}.test_{letter}"
                                                 for name in ("first", "second") for letter in "abc"])

    def test_parts_have_each_test_once(self):
        parts = [self.ran("--part", f"{number}/4", *self.files) for number in (1, 2, 3, 4)]
        self.assertEqual(sorted(map(len, parts)), [1, 1, 2, 2])
        self.assertEqual(sorted(sum(parts, [])), sorted(self.ran(*self.files)))

    def test_a_class_and_a_test_are_chosen_by_name(self):
        self.assertEqual(self.ran(*self.files, "Second.test_b"), ["second.Second.test_b"])
        self.assertEqual(len(self.ran(*self.files, "First")), 3)

    def test_a_name_in_no_file_is_told(self):
        done = self.run_files(*self.files, "Third")
        self.assertEqual((done.returncode, done.stderr), (1, "run.py: Third is in none of the files\n"))

    def test_a_failed_test_is_a_failed_run(self):
        self.write("broken.py", (FILE % "Broken").replace('print("ran", self.id())', 'self.fail("of purpose")'))
        done = self.run_files(str(pathlib.Path(self.folder) / "broken.py"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("of purpose", done.stderr)

    def test_a_failure_has_the_description_of_its_test(self):
        path = self.write("described.py", (FILE % "Described").replace('print("ran", self.id())', 'self.fail("of purpose")')
                          + "\n    def describe_failure(self):\n        return 'two pods are Pending'\n")
        self.assertEqual(self.run_files(path, "Described.test_a").stderr.count("two pods are Pending"), 1)

    def test_a_failure_is_told_without_its_description(self):
        path = self.write("described.py", (FILE % "Described").replace('print("ran", self.id())', 'self.fail("of purpose")')
                          + "\n    def describe_failure(self):\n        raise TypeError('a dict and a text')\n")
        told = self.run_files(path, "Described.test_a").stderr
        self.assertIn("of purpose", told)
        self.assertIn("a dict and a text", told)


class OverduePodsTest(unittest.TestCase):
    def test_a_pod_is_overdue_when_its_next_stage_is_late(self):
        now = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.timezone.utc)
        minute_ago, job = "2026-01-01T11:59:00Z", [{"kind": "Job"}]
        run_for, recorded = "test.berth.dev/run-for", "pod-complete.stage.kwok.x-k8s.io/delay"
        rows = (("Pending", {}, {}, True), ("Pending", {}, {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}, False),
                ("Running", {}, {}, False), ("Running", {"ownerReferences": job}, {}, True),
                ("Running", {"ownerReferences": job, "annotations": {run_for: "300ms"}}, {}, True),
                ("Running", {"ownerReferences": job, "annotations": {run_for: "1m30s"}}, {}, False),
                ("Running", {"ownerReferences": job, "annotations": {recorded: "10m"}}, {}, False),
                ("Running", {"deletionTimestamp": minute_ago}, {}, True), ("Succeeded", {"ownerReferences": job}, {}, False))
        for phase, meta, spec, overdue in rows:
            with self.subTest(phase=phase, meta=meta):
                pod = {"metadata": {"creationTimestamp": minute_ago, **meta}, "spec": spec, "status": {"phase": phase, "startTime": minute_ago}}
                self.assertEqual(is_overdue(pod, now), overdue)


if __name__ == "__main__":
    unittest.main()
