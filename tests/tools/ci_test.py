"""Goal: .ci/run calls its steps in their order, ends with the output of a failed step, and leaves out what it has no
time for.
Method: a copy of .ci/run in a scratch folder whose tools write their names."""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "tests" / "py"))
from scratch import ScratchTest  # noqa: E402 (the folder is known only now)

PACKAGES = "berth_test_packages=() berth_check_packages=() berth_lint_packages=() berth_fuzz_packages=()\nberth_need_packages() { :; }\n"
TOOLS = ("check", "build", "lint", "fuzz", "sanitize", "test")


class CiTest(ScratchTest):
    def setUp(self):
        super().setUp()
        self.write(".ci/run", "")
        shutil.copy(PROJECT / ".ci" / "run", pathlib.Path(self.folder) / ".ci" / "run")
        self.write("tools/lib/packages.sh", PACKAGES)
        for tool in TOOLS:
            self.set_tool(tool, f'echo "{tool} $*"')

    def set_tool(self, tool, text):
        os.chmod(self.write(f"tools/{tool}", f"#!/bin/sh\n{text}\n"), 0o755)

    def run_ci(self, seconds=3600):
        return subprocess.run([pathlib.Path(self.folder) / ".ci" / "run"], capture_output=True, text=True, timeout=120, check=False,
                              env={**os.environ, "BERTH_CI_SECONDS": str(seconds)})

    def steps(self, done):
        return [line.removeprefix("==> ").split()[0] for line in done.stdout.splitlines() if line.startswith("==> tools/")]

    def test_every_step_runs_where_there_is_time(self):
        done = self.run_ci()
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.steps(done), ["tools/check", "tools/build", "tools/check", "tools/lint", "tools/test", "tools/sanitize",
                                            "tools/fuzz", "tools/lint"])
        self.assertNotIn("not begun", done.stdout)
        self.assertNotIn("cut off", done.stdout)

    def test_what_there_is_no_time_for_is_listed(self):
        done = self.run_ci(seconds=0)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.steps(done), ["tools/check", "tools/build", "tools/check", "tools/lint", "tools/test"])
        self.assertEqual([line.rpartition(": ")[2] for line in done.stdout.splitlines() if line.startswith("not begun")],
                         ["tools/sanitize", "tools/fuzz --minutes 1 --once", "tools/lint --all"])

    def test_a_lint_that_would_not_end_is_not_begun(self):
        self.set_tool("lint", "echo 'lint: 9 source(s), 1 run, 0 with findings, 240 s, 300 run(s) left for later'")
        done = self.run_ci(seconds=3600)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.steps(done)[-1], "tools/fuzz")
        self.assertIn("not begun, 300 runs would not end in time: tools/lint --all", done.stdout)

    def test_a_step_whose_time_is_up_is_cut_off_and_listed(self):
        self.set_tool("sanitize", "exec sleep 600")
        done = self.run_ci(seconds=15)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"(?m)^cut off after \d+ s: tools/sanitize$")
        self.assertIn("not begun: tools/fuzz", done.stdout)

    def test_a_failed_step_is_the_last_and_its_output_ends_the_run(self):
        self.set_tool("sanitize", "echo 'a use after a free'; exit 3")
        done = self.run_ci()
        self.assertEqual((done.returncode, self.steps(done)[-1]), (3, "tools/sanitize"))
        self.assertEqual(done.stdout.splitlines()[-2:], ["FAILED (3): tools/sanitize", "a use after a free"])


if __name__ == "__main__":
    unittest.main()
