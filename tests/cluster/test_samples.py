"""Goal: the samples of manifests/samples have the effects on a real Kubernetes that their first lines
describe: a team borrows and returns quota, and the pods of a job are in one rack.

Method: the files, with jobs that run as long as the test needs. test_dws.py plays those of
dws/."""

import json
import os

from cluster_test import ClusterTest
from control_plane import ROOT

SAMPLES = os.path.join(ROOT, "manifests", "samples")


def sample(folder, name):
    with open(os.path.join(SAMPLES, folder, name), encoding="utf-8") as file:
        return file.read()


class SamplesTest(ClusterTest):
    SHARES_PLANE = True
    NODES = 0

    def create(self, text):
        """Runs `kubectl create -f`; returns the generated name."""
        done = self.plane.kubectl("create", "-o", "json", "-f", "-", stdin=text)
        return json.loads(done.stdout)["metadata"]["name"]

    def runs(self, namespace, name):
        return self.plane.get("job", name, "-n", namespace)["spec"]["suspend"] is False

    def wait_until(self, condition, what):
        try:
            self.plane.wait_until(condition, what, seconds=180)
        except AssertionError as late:
            state = self.plane.kubectl("get", "jobs,workloads,pods", "-A", "-o", "wide", check=False)
            raise AssertionError(f"{late}\n{state.stdout}{self.controller.log()[-3000:]}") from None

    def test_two_teams(self):
        self.plane.add_node("gpus", {"cloud.google.com/gke-accelerator": "nvidia-tesla-t4"},
                            **{"cpu": "64", "memory": "256Gi", "nvidia.com/gpu": "16"})
        self.apply_when_accepted(sample("two-teams", "queues.yaml"), "--server-side")
        of_a = sample("two-teams", "job.yaml").replace(
            "  template:\n", "  template:\n    metadata: {annotations: {test.berth.dev/run-for: 1h}}\n")
        of_b = of_a.replace("team-a", "team-b").replace("a-queue", "b-queue")
        borrowers = [self.create(of_a) for _ in range(4)]
        self.wait_until(lambda: sum(self.runs("team-a", name) for name in borrowers) == 3,
                        "three jobs of team-a run, the third one on borrowed GPUs")
        owners = [self.create(of_b) for _ in range(2)]
        self.wait_until(lambda: all(self.runs("team-b", name) for name in owners),
                        "team-b takes its own back")
        self.wait_until(lambda: sum(self.runs("team-a", name) for name in borrowers) == 2,
                        "team-a has its own left")
        self.wait_until(lambda: len([pod for pod in self.plane.items("pods", "-A")
                                     if pod["metadata"]["namespace"].startswith("team-")
                                     and pod["status"]["phase"] == "Running"]) == 16,
                        "sixteen pods of the teams run")

    def test_racks(self):
        for number in range(6):
            self.plane.add_node(f"machine-{number}", {
                "cloud.provider.com/node-group": "racks",
                "cloud.provider.com/topology-block": f"block-{number // 4}",
                "cloud.provider.com/topology-rack": f"rack-{number // 2}"}, cpu="2", memory="8Gi")
        self.apply_when_accepted(sample("racks", "queues.yaml"), "--server-side")
        name = self.create(sample("racks", "job.yaml"))
        self.wait_until(
            lambda: self.plane.get("job", name).get("status", {}).get("succeeded") == 4,
            "the job completes")
        racks = {f"rack-{int(pod['spec']['nodeName'].removeprefix('machine-')) // 2}"
                 for pod in self.plane.items("pods", "-l", "job-name=" + name)}
        self.assertEqual(len(racks), 1, racks)
