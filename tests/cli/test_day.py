"""Goal: the day of many tenants comes out as measured without a queue, and with Berth as docs/guide/simulate.md says.

Method: tools/demo day, which judges both by itself."""

import os
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "py"))
from scratch import ScratchTest  # noqa: E402
BERTH = os.environ["BERTH"]


class DayTest(ScratchTest):
    def demo(self, *words, **given):
        environment = {**os.environ, "BERTH_BUILD": os.path.dirname(BERTH), **given}
        return subprocess.run([sys.executable, "-B", os.path.join(ROOT, "tools", "lib", "demo_day.py"), *words], env=environment,
                              capture_output=True, text=True, timeout=120, check=False)

    def test_the_fit_and_the_goal(self):
        done = self.demo()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("fit: near the measured day; goal (80 % used, p99 of 326 s at most): reached", done.stdout)
        # The table of docs/guide/simulate.md is of this run.
        with open(os.path.join(ROOT, "docs", "guide", "simulate.md"), encoding="utf-8") as file:
            text = file.read()
        last = next(line for line in done.stdout.splitlines() if line.startswith("with Berth"))
        used, charged, minutes = last.split()[-3:]
        self.assertIn(f"| {used} | {charged} | {minutes} |", text)

    def test_the_page(self):
        path = os.path.join(self.folder, "day.html")
        self.demo("--html", path, DAY_SEEDS="1")  # one day alone may miss the goal
        with open(path, encoding="utf-8") as file:
            text = file.read()
        tree = xml.etree.ElementTree.fromstring(text.removeprefix("<!doctype html>"))
        self.assertEqual([each.get("aria-label") for each in tree.iter("svg")],
                         ["waits, measured", "waits, without a queue", "waits, with Berth",
                          "waits by 30 s, without a queue", "waits by 2 s, without a queue",
                          "waits by 30 s, with Berth", "waits by 2 s, with Berth",
                          "GPUs, measured", "GPUs, without a queue", "GPUs, with Berth"])
        self.assertEqual(len(list(tree.iter("tr"))), 12)
        # Ranges of 30 s until six minutes and of 2 s until a minute, each with a bar for the rest.
        bars = {each.get("aria-label"): [bar.text for bar in each.iter("title")] for each in tree.iter("svg")}
        self.assertEqual((len(bars["waits by 30 s, with Berth"]), len(bars["waits by 2 s, with Berth"])), (13, 31))
        self.assertRegex(bars["waits by 2 s, without a queue"][0], r"^0–2 s: \d")
        self.assertAlmostEqual(sum(float(bar.split(": ")[1][:-2]) for bar in bars["waits by 30 s, with Berth"]), 100, delta=1)
        shares = [each.text for each in next(tree.iter("svg")).iter("title")]
        self.assertEqual(shares[0], "0–2 s: 59.7 %")
        captions = " ".join(each.text for each in tree.iter("figcaption"))
        self.assertRegex(captions, r"with Berth: \d+\.\d of \d+\.\d GPU-hours used, [78]\d %")
        self.assertIsNone(re.search(r"https?://|\bsrc=|url\(|<script|<link|\bhref=", text))


if __name__ == "__main__":
    unittest.main()
