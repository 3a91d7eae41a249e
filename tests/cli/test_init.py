"""Goal: `berth init` writes manifests that the other commands take, says what a day on them is like, and never writes over a
file unasked; it asks on a terminal, and names the flag elsewhere.

Method: the program, without any cluster; a terminal of the test."""

import os
import pty
import re
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "py"))
from scratch import ScratchTest, die_with_parent  # noqa: E402

CAPACITIES = ("fixed", "dws", "spot", "karpenter")
GUIDE = os.path.join(ROOT, "docs", "guide", "queues.md")
# (what follows `berth init`, the exit code, the message)
REFUSED = (
    ("", 2, "--team: name a team, such as --team red=cpu=8,memory=32Gi, or --team red"),
    ("--cpu 64", 2, "--team: name a team"),
    ("--team Red", 2, '--team: "Red" is no name of a team: write at most 63 lower-case letters, digits and \'-\''),
    ("--team red=cpu=x", 2, '--team: red: cpu: "x" is no amount above 0: write a quantity such as 8 or 500m'),
    ("--team red --team red", 2, "--team: the team red comes twice"),
    ("--team red --cpu many", 2, '--cpu: cpu: "many" is no amount'),
    ("--team red --memory 0", 2, '--memory: memory: "0" is no amount above 0'),
    ("--team red --gpu t4=8", 2, '--gpu: gpu: "t4" is no resource of GPUs: write COUNT, or RESOURCE=COUNT'),
    ("--team red=cpu=8 --cpu 4", 2, "--cpu: the quotas of --team are 8 cpu, the machines have 4 cpu"),
    ("--team red --pool a/b/c=d", 2, '--pool: pool: "a/b/c=d" is no node pool'),
    ("--team red --capacity spot --pool one", 2, "--pool: spot needs two pools"),
    ("--team red --capacity moon", 2, "--capacity: moon not in {fixed,dws,spot,karpenter}"),
    ("--team red --namespace kube-system", 2, '--namespace: "kube-system" is a namespace of the system'),
    ("--team red --output taken", 1, "--output: taken is no folder"),
    ("--team red --output taken/x.yaml", 1, "--output: taken is no folder"),
)


class InitTest(ScratchTest):
    maxDiff = None

    def berth(self, *words, code=0):
        done = subprocess.run([os.environ["BERTH"], *words], capture_output=True, text=True, timeout=60, check=False,
                              stdin=subprocess.DEVNULL, cwd=self.folder, env={"LANG": "C.UTF-8", "HOME": self.folder})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def test_the_screen_is_that_of_the_guide(self):
        with open(GUIDE, encoding="utf-8") as file:
            command, screen = re.search(r"^berth (init [^#\n]*?) *#[^\n]*\n```\n\n```text\n(wrote .*?)^```$", file.read(),
                                        re.MULTILINE | re.DOTALL).groups()
        words = command.split()
        self.assertEqual(self.berth(*words).stdout, screen)
        first = self.read("queues/queues.yaml"), self.read("queues/job.yaml")
        self.assertEqual(self.berth(*words, "--force").stdout, screen)
        self.assertEqual((self.read("queues/queues.yaml"), self.read("queues/job.yaml")), first)
        # The command in the first lines of the manifests makes them again.
        again = first[0].splitlines()[1].removeprefix("# berth ").split()
        self.berth(*again, "--output", "again")
        self.assertEqual((self.read("again/queues.yaml"), self.read("again/job.yaml")), first)

    def test_the_other_commands_take_the_manifests(self):
        for capacity in CAPACITIES:
            with self.subTest(capacity):
                self.berth("init", "--team", "red=gpu=4", "--team", "blue", "--capacity", capacity, "--output", f"{capacity}.yaml")
                self.assertIn("nothing found", self.berth("lint", "--strict", f"{capacity}.yaml").stdout)
                jobs = self.write("jobs.csv", "submit,queue,gpu,cpu,run\n0,red/red,4,1,60\n1,blue/blue,0,1,60\n")
                day = self.berth("simulate", "-f", f"{capacity}.yaml", "--workload", jobs).stdout
                self.assertIn("2 finished, 0 did not", day)

    def test_no_file_is_written_over(self):
        for output, taken in (("queues", "queues/job.yaml"), ("all.yaml", "all.yaml")):
            path = self.write(taken, "mine\n")
            done = self.berth("init", "--team", "red", "--output", output, code=1)
            self.assertEqual(done.stderr, f"berth: --output: {taken} exists: say --force to write over it, or name another place "
                             "with --output\n")
            self.assertEqual(self.read(taken), "mine\n")
            self.assertEqual(os.listdir(os.path.dirname(path)).count("queues.yaml"), 0)
            self.berth("init", "--team", "red", "--output", output, "--force")
            with open(path, encoding="utf-8") as file:
                self.assertNotEqual(file.read(), "mine\n")
        os.symlink("nowhere", os.path.join(self.folder, "link.yaml"))
        self.berth("init", "--team", "red", "--output", "link.yaml", code=1)

    def test_standard_output_has_the_manifests_alone(self):
        done = self.berth("init", "--team", "red", "--output", "-")
        self.berth("init", "--team", "red", "--output", "file.yaml")
        self.assertEqual(done.stdout, self.read("file.yaml"))
        self.assertIn("nothing found", done.stderr)
        self.assertIn("  berth why job/sample -n red\n  berth status\n", done.stderr)
        self.assertEqual(os.listdir(self.folder), ["file.yaml"])

    def test_what_is_refused(self):
        self.write("taken", "")
        for words, code, message in REFUSED:
            with self.subTest(words):
                self.assertIn(message, self.berth("init", *words.split(), code=code).stderr)
                self.assertFalse(os.path.exists(os.path.join(self.folder, "queues")))

    def ask(self, answers):
        """The exit code, and what the terminal showed."""
        terminal, end = pty.openpty()
        with subprocess.Popen([os.environ["BERTH"], "init"], stdin=end, stdout=end, stderr=end, cwd=self.folder,
                              preexec_fn=die_with_parent, env={"LANG": "C.UTF-8", "HOME": self.folder, "TERM": "dumb"}) as run:
            os.close(end)
            os.write(terminal, answers.encode())
            text = b""
            try:
                while part := os.read(terminal, 4096):
                    text += part
            except OSError:  # the program has ended
                pass
            code = run.wait(timeout=60)
        os.close(terminal)
        return code, text.decode().replace("\r\n", "\n")

    def test_it_asks_on_a_terminal(self):
        code, shown = self.ask("red blue\n\n4\nperhaps\nno\nkarpenter\n")
        self.assertEqual(code, 0, shown)
        self.assertIn("CPUs of all teams together [16]: ", shown)
        self.assertIn('"perhaps" is no answer: write yes or no', shown)
        self.assertIn("# berth init --team red=cpu=8,memory=32Gi,gpu=2 --team blue=cpu=8,memory=32Gi,gpu=2 --no-borrow "
                      "--capacity karpenter --pool karpenter.sh/nodepool=default\n", self.read("queues/queues.yaml"))

    def test_it_ends_after_three_bad_answers(self):
        code, shown = self.ask("A\nB\nC\n")
        self.assertEqual(code, 2, shown)
        self.assertIn("has no valid answer after 3 attempts", shown)
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    unittest.main()
