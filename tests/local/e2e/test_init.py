"""Goal: what `berth init` writes runs: the API server takes the manifests of every capacity, the sample job runs to its end,
queued provisioning brings its machine. `berth up --open` gives the address of the page to the browser.

Method: a real `berth up` with kubectl; a program of the test in place of the browser, which notes its words."""

import os
import re
import unittest.mock

from berth_up import BerthUpTest
from scratch import temporary_folder
from waiting import wait_until

CAPACITIES = ("fixed", "dws", "spot", "karpenter")
POOL = """
apiVersion: cloud.berth.dev/v1alpha1
kind: NodePool
metadata: {name: dws-pool}
spec:
  machineType: n1-standard-2
  accelerator: {type: nvidia-tesla-t4, count: 1}
  zones: [us-central1-c]
  maxNodes: 1
  stock: 1
  queuedProvisioning: true
  bootSeconds: 1
"""
# Writes its words to the file beside it, a line each, and then the file "done".
BROWSER = """#!/bin/sh
printf '%s\\n' "$@" >"$(dirname "$0")/words"
touch "$(dirname "$0")/done"
exit 3
"""


class InitTest(BerthUpTest):
    def make(self, *words):
        """The folder of the manifests."""
        folder = os.path.join(self.cluster.folder, f"made-{len(os.listdir(self.cluster.folder))}")
        self.cluster.berth("init", *words, "--output", folder)
        return folder

    def sample_completes(self, folder, namespace):
        for name in ("queues.yaml", "job.yaml"):
            self.cluster.kubectl("apply", "-f", os.path.join(folder, name))
        wait_until(lambda: any(condition["type"] == "Complete" for job in self.cluster.items("jobs", "-n", namespace)
                               for condition in job.get("status", {}).get("conditions", [])), "the sample job is complete")

    def test_the_sample_job_runs(self):
        self.cluster = self.start_cluster(flags=["--node"])
        self.sample_completes(self.make("--team", "red", "--team", "blue"), "red")
        for capacity in CAPACITIES:
            for borrow in ("--borrow", "--no-borrow"):
                with self.subTest(capacity=capacity, borrow=borrow):
                    made = self.cluster.berth("init", "--team", "one=gpu=2", "--team", "two", "--capacity", capacity, borrow,
                                              "--namespace", "default", "--output", "-").stdout
                    done = self.cluster.kubectl("apply", "--dry-run=server", "-f", "-", stdin=made, check=False)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn("clusterqueue.kueue.x-k8s.io/two created (server dry run)", done.stdout)

    def test_a_machine_is_requested_for_the_sample_job(self):
        self.cluster = self.start_cluster()
        self.cluster.apply(POOL)
        self.sample_completes(self.make("--team", "red=gpu=1", "--capacity", "dws"), "red")
        self.assertEqual([node["metadata"]["labels"]["cloud.google.com/gke-nodepool"] for node in self.cluster.items("nodes")],
                         ["dws-pool"])


class OpenTest(BerthUpTest):
    def start(self, browser):
        with unittest.mock.patch.dict(os.environ, {"BROWSER": browser}):
            return self.start_cluster(flags=["--open"])

    def test_the_browser_gets_the_address(self):
        with temporary_folder() as folder:
            program = os.path.join(folder, "browser")
            with open(program, "w", encoding="utf-8") as file:
                file.write(BROWSER)
            os.chmod(program, 0o755)
            cluster = self.start(f"/does/not/exist:{program} --new-window %s")
            wait_until(lambda: os.path.exists(os.path.join(folder, "done")), "the browser was started")
            with open(os.path.join(folder, "words"), encoding="utf-8") as file:
                words = file.read().splitlines()
        address, = re.findall(r"dashboard: (https://localhost:\d+/sign-in#code=\S+)", cluster.log())
        self.assertEqual(words, ["--new-window", address])
        # It failed, which ends nothing.
        wait_until(lambda: "the browser's command failed" in cluster.log(), "the failure is in the log")
        self.assertEqual(cluster.stop(), 0)

    def test_without_a_browser(self):
        cluster = self.start("/does/not/exist")
        wait_until(lambda: "the page was not opened" in cluster.log(), "the failure is in the log")
        self.assertIn("/does/not/exist: No such file or directory", cluster.log())
        self.assertIn("dashboard: https://localhost:", cluster.log())
        self.assertIsNone(cluster.process.poll())
