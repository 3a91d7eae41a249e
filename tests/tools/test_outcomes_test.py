"""Goal: in CI a test that did not run does not count as passed, and the end of the output says how a test failed.
Method: ctest itself, on a scratch folder of tests that pass, fail, are skipped, disabled, not built."""

import pathlib
import subprocess
import sys
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "tests" / "py"))
from scratch import temporary_folder  # noqa: E402
SCRIPT = PROJECT / "tools/lib/test_outcomes.py"


class TestOutcomesTest(unittest.TestCase):
    def judge(self, *tests):
        """Exit status and output for a run of `tests`, lines of a CTestTestfile.cmake."""
        with temporary_folder() as folder:
            (pathlib.Path(folder) / "CTestTestfile.cmake").write_text("\n".join(tests))
            subprocess.run(["ctest", "--output-junit", "report.xml"], cwd=folder, check=False,
                           capture_output=True)
            run = subprocess.run([sys.executable, str(SCRIPT), f"{folder}/report.xml"],
                                 capture_output=True, text=True, check=False)
            return run.returncode, run.stdout

    def test_run_tests_are_in_order(self):
        self.assertEqual(self.judge('add_test(a "true")'), (0, ""))

    def test_the_status_of_a_failure_is_left_to_ctest(self):
        self.assertEqual(self.judge('add_test(a "false")'), (0, "failed: a; its last lines:\n"))

    def test_the_last_lines_of_a_failure(self):
        status, output = self.judge('add_test(a "sh" "-c" "seq 100; false")', 'add_test(b "true")')
        self.assertEqual((status, output.splitlines()[:2], output.splitlines()[-1]),
                         (0, ["failed: a; its last lines:", "  41"], "  100"))

    def test_every_way_not_to_run(self):
        skip = 'set_tests_properties(a PROPERTIES SKIP_RETURN_CODE 77)'
        says = r'set_tests_properties(a PROPERTIES SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]")'
        rows = {
            "return code": ['add_test(a "sh" "-c" "exit 77")', skip],
            "GTEST_SKIP": ['add_test(a "echo" "[  SKIPPED ] A.B")', says],
            "disabled": ['add_test(a "true")', 'set_tests_properties(a PROPERTIES DISABLED TRUE)'],
            "not built": ['add_test(a "/nowhere/test_a")'],
        }
        for name, tests in rows.items():
            with self.subTest(name):
                status, output = self.judge('add_test(b "true")', *tests)
                self.assertEqual(status, 1, output)
                self.assertIn("did not run: a (", output)
                self.assertIn("1 test(s)", output)


if __name__ == "__main__":
    unittest.main()
