"""Goal: tools/metrics notices a metric without a row, a row without a metric, a row that it cannot read, and a page that
differs.
Method: a copy of the sources that it reads, changed in one place."""

import pathlib
import shutil
import subprocess
import sys
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "tests" / "py"))
from scratch import scratch_folder  # noqa: E402

ROW = '    {"berth_ledger_bytes", kGauge, "",'


class MetricsTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(scratch_folder("berth-metrics-"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        for name in ("admission", "cli", "integrations", "kube", "ledger", "program", "provisioning", "webhook"):
            shutil.copytree(PROJECT / name, self.root / name)
        for name in ("api/metric_table.cc", "tools/metrics", "docs/reference/metrics.md"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PROJECT / name, self.root / name)

    def run_tool(self, *words):
        done = subprocess.run([sys.executable, "-B", self.root / "tools" / "metrics", *words],
                              text=True, capture_output=True, timeout=60, check=False)
        return done.returncode, done.stdout + done.stderr

    def change(self, name, before, after):
        path = self.root / name
        content = path.read_text(encoding="utf-8")
        self.assertIn(before, content)
        path.write_text(content.replace(before, after, 1), encoding="utf-8")

    def test_the_tree_is_complete(self):
        self.assertEqual(self.run_tool("--check"), (0, ""))

    def test_a_metric_without_a_row(self):
        self.change("ledger/controller/ledger_feed.cc", '"berth_ledger_bytes"', '"berth_ledger_pages"')
        self.assertEqual(self.run_tool("--check"),
                         (1, "api/metric_table.cc has no row berth_ledger_pages\n"
                             "no source uses berth_ledger_bytes of api/metric_table.cc\n"))

    def test_a_row_of_another_form(self):
        self.change("api/metric_table.cc", ROW, ROW.replace("kGauge, ", ""))
        code, words = self.run_tool("--check")
        self.assertEqual((code, words), (1, "tools/metrics: metric_table.cc: kCyclesAndWrites has a row of another form\n"))

    def test_a_page_that_differs_is_written(self):
        self.change("api/metric_table.cc", ROW, ROW.replace('""', '"pool"'))
        self.assertEqual(self.run_tool("--check"), (1, "docs/reference/metrics.md differs from api/metric_table.cc\n"))
        self.assertEqual(self.run_tool(), (0, ""))
        self.assertEqual(self.run_tool("--check"), (0, ""))
        page = (self.root / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
        self.assertIn("| `berth_ledger_bytes` | gauge | `pool` |", page)

    def test_a_section_without_a_place(self):
        self.change("docs/reference/metrics.md", "<!-- metrics kShadow -->", "")
        code, words = self.run_tool("--check")
        self.assertEqual(code, 1)
        self.assertIn("the page has tables", words)


if __name__ == "__main__":
    unittest.main()
