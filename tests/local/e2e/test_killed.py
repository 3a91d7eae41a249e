"""Goal: a test that is killed leaves no process and no file on the machine.

Method: another Python starts what tests start: a cluster with the program of a pod, a replica of the
controller, a proxy. It gets SIGKILL, which ctest sends to a test that takes too long."""

import os
import shutil
import signal
import subprocess
import sys
import unittest

import waiting
from scratch import die_with_parent, scratch_folder
from waiting import PATIENCE_SECONDS, wait_until

VICTIM = """
import sys
sys.path.insert(0, {harness!r})
from api_proxy import ApiProxy
from berth_up import BerthUp
from replica import Replica
from waiting import wait_until
cluster = BerthUp(images=["shell:1=/bin/sh"]).start()
cluster.apply({objects!r})
wait_until(lambda: cluster.get("pod", "sleeper")["status"].get("phase") == "Running", "the program runs")
Replica(cluster, "replica", kubeconfig=ApiProxy(cluster.kubeconfig).kubeconfig).port("metrics")
print("everything runs", flush=True)
sys.stdin.read()
"""
OBJECTS = """
apiVersion: cloud.berth.dev/v1alpha1
kind: NodePool
metadata: {name: machines}
spec: {machineType: n1-standard-2, zones: [z], minNodes: 1, maxNodes: 1, bootSeconds: 0, stock: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: sleeper}
spec:
  restartPolicy: Never
  containers: [{name: main, image: "shell:1", args: ["-c", "sleep 600"]}]
"""


def processes_of(folder):
    """Command lines of the processes that name the folder or work below it."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
                command = file.read().replace("\0", " ")
            if folder in command + os.readlink(f"/proc/{pid}/cwd"):
                found.append(command)
        except OSError:
            continue
    return found


class KilledTest(unittest.TestCase):
    def test_nothing_is_left(self):
        scratch = scratch_folder("berth-killed-")
        self.addCleanup(shutil.rmtree, scratch, ignore_errors=True)
        victim = subprocess.Popen(
            [sys.executable, "-B", "-c", VICTIM.format(harness=os.path.dirname(waiting.__file__), objects=OBJECTS)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": scratch},
            preexec_fn=die_with_parent)
        self.addCleanup(victim.communicate)
        self.addCleanup(victim.kill)
        self.assertEqual(victim.stdout.readline(), "everything runs\n")
        for started in (" up --data-dir ", " controller --kubeconfig ", "sleep 600"):
            self.assertTrue([each for each in processes_of(scratch) if started in each], started)
        victim.send_signal(signal.SIGKILL)
        victim.wait(timeout=PATIENCE_SECONDS)
        wait_until(lambda: not processes_of(scratch), "no process is left")
        wait_until(lambda: not os.listdir(scratch), "no file is left")
