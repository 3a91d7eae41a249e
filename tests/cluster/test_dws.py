"""Goal: the DWS story on a real Kubernetes: jobs for a T4, an A100 and an H100 that is not in stock,
provisioning requests, machines that boot, pods, pools back at zero.

Method: the samples with shorter times; `berth cloud` plays the cloud, kwok the
kubelets."""

import os
import signal

from cluster_test import ClusterTest
from control_plane import ROOT
from installation import Cloud

SAMPLES = os.path.join(ROOT, "manifests", "samples", "dws")


def sample(name):
    with open(os.path.join(SAMPLES, name), encoding="utf-8") as file:
        return (file.read().replace("bootSeconds: 60", "bootSeconds: 1")
                .replace("idleSeconds: 600", "idleSeconds: 2"))


class DwsTest(ClusterTest):
    SHARES_PLANE = True
    NODES = 0

    def complete(self, name):
        job = self.plane.get("job", name)
        return job is not None and job.get("status", {}).get("succeeded") == 1

    def story(self):
        return (self.plane.kubectl("get", "jobs,workloads,provreq,pods,nodes,nodepools",
                                   check=False).stdout + self.controller.log()[-3000:])

    def wait_until(self, condition, what):
        try:
            return self.plane.wait_until(condition, what, seconds=180)
        except AssertionError as late:
            raise AssertionError(f"{late}\n{self.story()}") from None

    def test_jobs_get_their_machines(self):
        cloud = Cloud(self.plane)
        self.addCleanup(cloud.end, signal.SIGKILL)
        self.apply_when_accepted(sample("nodepools.yaml"))
        self.plane.kubectl("apply", "-f", "-", stdin=sample("nodepool-h100.yaml"))
        self.apply_when_accepted(sample("queues.yaml"))
        for name in ("job-t4.yaml", "job-a100.yaml", "job-h100.yaml"):
            self.plane.kubectl("apply", "-f", "-", stdin=sample(name))
        self.wait_until(lambda: self.complete("sample-job"), "the T4 job completes")
        self.wait_until(lambda: self.complete("sample-job-a100"), "the A100 job completes")
        self.assertTrue(self.plane.get("job", "sample-job-h100")["spec"]["suspend"])
        self.plane.kubectl("patch", "nodepool", "dws-h100-nodepool", "--type=merge", "-p",
                           '{"spec":{"stock":1}}')
        self.wait_until(lambda: self.complete("sample-job-h100"), "the H100 job completes")
        self.wait_until(lambda: not self.plane.items("provisioningrequests", "-A"),
                        "requests go when they are no longer needed")
        self.wait_until(
            lambda: not [node for node in self.plane.items("nodes")
                         if "dws" in node["metadata"]["labels"].get(
                             "cloud.google.com/gke-nodepool", "")], "the pools go back to zero")
        self.assertEqual(cloud.end(), 0)
