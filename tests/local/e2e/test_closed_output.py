"""Goal: `berth up` outlives the reader of its output, as in `berth up | head -1`: the API answers, a job runs to its end, and
its program ends by SIGPIPE as anywhere.

Method: the output of the program is a pipe whose reader closes after the first line."""

import os
import signal
import subprocess

from berth_up import BERTH, BerthUp, BerthUpTest
from scratch import die_with_parent
from waiting import wait_until

# `head` ends with the first line: `yes` gets SIGPIPE, which its shell sees as 128 + 13.
JOB = """
apiVersion: cloud.berth.dev/v1alpha1
kind: NodePool
metadata: {name: machines}
spec: {machineType: n1-standard-2, zones: [z], minNodes: 1, maxNodes: 1, bootSeconds: 0, stock: 1}
---
apiVersion: batch/v1
kind: Job
metadata: {name: piped}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "shell:1", args: ["-c", "(yes; echo $? >&2) | head -1"]}]
"""


class ClosedOutputTest(BerthUpTest):
    def test_the_reader_ends(self):
        cluster = BerthUp(images=["shell:1=/bin/bash"])
        self.addCleanup(cluster.close)
        command = [BERTH, "up", "--data-dir", os.path.join(cluster.folder, "data"), "--kubeconfig", cluster.kubeconfig,
                   "--listen", "127.0.0.1:0", "--image", cluster.images[0]]
        cluster.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                           preexec_fn=die_with_parent)
        cluster.process.stdout.readline()
        cluster.process.stdout.close()
        wait_until(lambda: os.path.exists(cluster.kubeconfig), "berth up is up")
        cluster.apply(JOB)
        wait_until(lambda: cluster.is_true("job", "piped", "Complete"), "the job completes")
        self.assertIn(str(128 + signal.SIGPIPE), cluster.kubectl("logs", "job/piped").stdout)
        self.assertIsNone(cluster.process.poll())
        self.assertEqual(cluster.stop(), 0)
