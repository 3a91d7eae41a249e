"""Goal: tools/reasons notices a reason without a remedy, a remedy without a reason, a reason of an admission check that
no row of the table has, and a page that differs.
Method: a copy of the sources that it reads, changed in one place."""

import pathlib
import shutil
import subprocess
import sys
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "tests" / "py"))
from scratch import scratch_folder  # noqa: E402


class ReasonsTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(scratch_folder("berth-reasons-"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        for name in ("admission", "checks", "provisioning", "integrations", "kube/runtime", "queue"):
            shutil.copytree(PROJECT / name, self.root / name)
        for name in ("api/reasons.h", "api/pods_ready.h", "program/deadline_watch.cc", "tools/reasons",
                     "tools/reasons.txt", "docs/guide/troubleshooting.md"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PROJECT / name, self.root / name)

    def check(self):
        done = subprocess.run([sys.executable, "-B", self.root / "tools" / "reasons", "--check"],
                              text=True, capture_output=True, timeout=60, check=False)
        return done.returncode, done.stdout + done.stderr

    def add(self, name, before, text):
        path = self.root / name
        content = path.read_text(encoding="utf-8")
        self.assertIn(before, content)
        path.write_text(content.replace(before, text + before, 1), encoding="utf-8")

    def test_the_tree_is_complete(self):
        self.assertEqual(self.check(), (0, ""))

    def test_a_constant_needs_a_remedy(self):
        self.add("api/reasons.h", "inline constexpr char kOnHold[]",
                 'inline constexpr char kNewReason[] = "NewReason";\n')
        self.assertEqual(self.check(),
                         (1, "tools/reasons.txt: no remedy for NewReason (api/reasons.h)\n"))

    def test_an_event_needs_a_remedy(self):
        self.add("integrations/action_plan.cc", '    if (!job_.stopping) Event(',
                 '    Event("NewEvent", message);\n')
        self.assertEqual(self.check(),
                         (1, "tools/reasons.txt: no remedy for NewEvent (integrations/action_plan.cc)\n"))

    def test_a_remedy_needs_a_reason(self):
        self.add("tools/reasons.txt", "OnHold |", "Gone | where | what | nothing\n")
        self.assertEqual(self.check(), (1, "tools/reasons.txt: no source writes Gone\n"))

    def test_a_reason_of_a_check_needs_a_row(self):
        self.add("provisioning/controller/lease_steps.cc", "kube::Step LeaseSteps::Write(",
                 '// EventType::kWarning, "NewEvent"\n')
        self.add("tools/reasons.txt", "OnHold |", "NewEvent | where | what | nothing\n")
        self.assertEqual(self.check(), (
            1, "checks/check_kinds.cc: no row has the reason NewEvent (provisioning/controller/lease_steps.cc)\n"))

    def test_the_page_follows(self):
        self.add("provisioning/request_reasons.cc", "ask the cloud for more quota", "please ")
        self.assertEqual(self.check(), (1, "docs/guide/troubleshooting.md differs from its sources\n"))


if __name__ == "__main__":
    unittest.main()
