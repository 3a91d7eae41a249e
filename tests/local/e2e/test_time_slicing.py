"""Goal: the sample of shared GPUs runs on `berth up`: three shares a machine, so that four pods bring two machines; a
pod that asks for two shares waits with the reason; a wrong annotation is refused.

Method: the files of manifests/samples/time-slicing with kubectl, the pool's times shortened."""

import os

from berth_up import SAMPLES, BerthUpTest
from waiting import wait_until


def sample(name):
    with open(os.path.join(SAMPLES, "time-slicing", name), encoding="utf-8") as file:
        return file.read()


class TimeSlicing(BerthUpTest):
    def setUp(self):
        self.cluster = self.start_cluster()

    def nodes_of_running(self):
        return sorted(pod["spec"]["nodeName"] for pod in self.cluster.items("pods")
                      if pod["status"]["phase"] == "Running")

    def test_four_pods_share_two_machines(self):
        self.cluster.apply(sample("queues.yaml"))
        self.cluster.apply(sample("nodepool.yaml").replace("bootSeconds: 5", "bootSeconds: 1"))
        self.cluster.apply(sample("job.yaml"))
        wait_until(lambda: len(self.nodes_of_running()) == 4, "four running pods")
        self.assertEqual(len(set(self.nodes_of_running())), 2)

        def usage():
            used = self.cluster.get("clusterqueue", "inference").get("status", {}).get("flavorsUsage", [])
            return {one["name"]: one["total"] for flavor in used for one in flavor["resources"]}
        wait_until(lambda: usage().get("nvidia.com/gpu") == "4", "usage in shares")
        self.assertEqual(usage()["berth.dev/gpus"], "1333332u")
        self.assertIn("1.33", self.cluster.berth("status").stdout)

        self.cluster.apply(sample("job.yaml").replace("name: shares", "name: two")
                           .replace("nvidia.com/gpu: 1}", "nvidia.com/gpu: 2}"))
        wait_until(lambda: "gives a pod at most 1" in self.cluster.berth("why", "job/two", check=False).stdout,
                   "the reason")

    def test_a_wrong_annotation_is_refused(self):
        wrong = sample("queues.yaml").replace("nvidia.com/gpu=3", "nvidia.com/gpu=none")
        refused = self.cluster.apply(wrong, check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("must be RESOURCE=NUMBER", refused.stderr)
