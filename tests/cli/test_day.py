"""Goal: the day of many tenants comes out as measured without a queue, and with Berth as docs/simulate.md says.

Method: tools/demo day, which judges both by itself."""

import os
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BERTH = os.environ["BERTH"]


class DayTest(unittest.TestCase):
    def demo(self, **given):
        environment = {**os.environ, "BERTH_BUILD": os.path.dirname(BERTH), **given}
        return subprocess.run([sys.executable, "-B", os.path.join(ROOT, "tools", "lib", "demo_day.py")], env=environment,
                              capture_output=True, text=True, timeout=120, check=False)

    def test_the_fit_and_the_goal(self):
        done = self.demo()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("fit: near the measured day; goal (80 % used, p99 of 326 s at most): reached", done.stdout)
        # The table of docs/simulate.md is of this run.
        with open(os.path.join(ROOT, "docs", "simulate.md"), encoding="utf-8") as file:
            text = file.read()
        last = next(line for line in done.stdout.splitlines() if line.startswith("with Berth"))
        used, charged = last.split()[-3], last.split()[-2]
        self.assertIn(f"| {used} | {charged} | 83 |", text)


if __name__ == "__main__":
    unittest.main()
