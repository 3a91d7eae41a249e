"""Goal: the tab key completes in bash, zsh and fish.

Method: each shell runs on its own terminal, sources the output of `berth completion SHELL`, and
gets typed keys. The `berth` on its command line is a program that records its arguments;
`__complete` goes to the real program. A shell that is not installed fails the test.
"""

import os
import pty
import select
import shutil
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from fake_api import FakeApi
from scratch import scratch_folder

BERTH = os.environ["BERTH"]
PATIENCE_SECONDS = 60

START = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source <(berth completion bash)"),
    "zsh": (["zsh", "-f", "-i"], "autoload -U compinit; compinit -u -D; source <(berth completion zsh)"),
    "fish": (["fish", "--no-config", "-i"], "berth completion fish | source"),
}


class Terminal:
    """A shell on a pseudo-terminal; `folder` has the program `berth` and its recorded arguments."""

    def __init__(self, shell, folder, kubeconfig):
        self.notes = os.path.join(folder, "notes")
        words, setup = START[shell]
        environment = {"PATH": folder + ":" + os.environ["PATH"], "HOME": folder, "TERM": "dumb",
                       "LANG": "C.UTF-8", "KUBECONFIG": kubeconfig, "NOTES": self.notes, "PS1": "$ "}
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(words[0], words, environment)
        self.seen = b""
        self.type(setup + "\nberth sourced\n")
        self.noted("sourced")

    def type(self, text):
        os.write(self.file, text.encode())

    # Reads the shell's output, so that it does not block, until `line` is recorded.
    def noted(self, line):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            if select.select([self.file], [], [], 0.05)[0]:
                try:
                    self.seen += os.read(self.file, 65536)
                except OSError:
                    break
            if os.path.exists(self.notes):
                with open(self.notes, encoding="utf-8") as file:
                    # zsh removes the slash of a folder at the end of the line.
                    if line in [one.rstrip("/") for one in file.read().splitlines()]:
                        return
        raise AssertionError(f"not run: {line!r}; the terminal shows:\n" +
                             self.seen.decode(errors="replace"))

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.file)


class CompletionTest(unittest.TestCase):
    def setUp(self):
        self.folder = scratch_folder("berth-completion-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        program = os.path.join(self.folder, "berth")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f"""#!/bin/sh
case "$1" in
  __complete|completion) exec {BERTH} "$@" ;;
esac
echo "$@" >> "$NOTES"
""")
        os.chmod(program, 0o755)
        os.mkdir(os.path.join(self.folder, "some-folder"))
        self.api = FakeApi()
        self.addCleanup(self.api.close)
        jobs = "/apis/batch/v1/namespaces/default/jobs"
        self.api.add(jobs, {"metadata": {"name": "h100-train", "namespace": "default"}})
        self.api.add("/apis/batch/v1/namespaces/team-b/jobs",
                     {"metadata": {"name": "sweep", "namespace": "team-b"}})

        kueue = "/apis/kueue.x-k8s.io/v1beta2"
        self.api.add(f"{kueue}/clusterqueues", {"metadata": {"name": "team-cq"}})
        self.api.add(f"{kueue}/resourceflavors", {"metadata": {"name": "spot-a"}})
        for space, queue, workload in (("default", "main-lq", "job-train-1"),
                                       ("team-b", "sweeps-lq", "job-sweep-2")):
            self.api.add(f"{kueue}/namespaces/{space}/localqueues",
                         {"metadata": {"name": queue, "namespace": space}})
            self.api.add(f"{kueue}/namespaces/{space}/workloads",
                         {"metadata": {"name": workload, "namespace": space}})

    def check(self, shell):
        self.assertIsNotNone(shutil.which(shell),
                             f"{shell} is not installed; tools/test installs it")
        terminal = Terminal(shell, self.folder, self.api.kubeconfig)
        self.addCleanup(terminal.close)
        for typed, ran in (
                ("berth statu\t\n", "status"),
                ("berth list --waiti\t\n", "list --waiting"),
                ("berth list --sort prio\t\n", "list --sort priority"),
                ("berth status --output=js\t\n", "status --output=json"),
                ("berth up --data-dir some-f\t\n", "up --data-dir some-folder"),
                ("berth why job/h1\t\n", "why job/h100-train"),
                ("berth why -n team-b job/\t\n", "why -n team-b job/sweep"),
                ("berth stop clusterqueue te\t\n", "stop clusterqueue team-cq"),
                ("berth resume localqueue -n team-b s\t\n",
                 "resume localqueue -n team-b sweeps-lq"),
                ("berth stop workload job-t\t\n", "stop workload job-train-1"),
                ("berth list workload --localqueue=m\t\n", "list workload --localqueue=main-lq"),
                ("berth create clusterqueue x --nominal-quota sp\t\n",
                 "create clusterqueue x --nominal-quota spot-a"),
                ("berth list pods --for job/h\t\n", "list pods --for job/h100-train")):
            terminal.type(typed)
            terminal.noted(ran)
        self.api.closed = True
        terminal.type("berth stop workload job-t\t\n")
        terminal.noted("stop workload job-t")

    def test_bash(self):
        self.check("bash")

    def test_zsh(self):
        self.check("zsh")

    def test_fish(self):
        self.check("fish")


if __name__ == "__main__":
    unittest.main()
