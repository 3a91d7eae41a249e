"""Goal: the commands of manifests/README.md install Berth, also when repeated, v1beta1 manifests can be
applied repeatedly, and the program talks to the cluster as kubectl does.

Method: kubectl's own server-side apply before any other client has written the objects."""

import os
import subprocess

from cluster_test import ClusterTest
from control_plane import ROOT
from installation import BERTH

MANIFESTS = os.path.join(ROOT, "manifests")


class InstallTest(ClusterTest):
    @classmethod
    def apply_manifests(cls):
        cls.applied = [cls.plane.kubectl("apply", "--server-side", "-k", MANIFESTS, check=False)
                       for _ in range(3)]
        super().apply_manifests()

    def test_twice_is_as_once(self):
        # The first time the API server may not serve the new kinds yet.
        for again in self.applied[1:]:
            self.assertEqual(again.returncode, 0, again.stderr)

    def test_v1beta1_can_be_applied_again(self):
        queues = os.path.join(MANIFESTS, "samples", "dws", "queues-v1beta1.yaml")
        self.plane.wait_until(
            lambda: self.plane.kubectl("apply", "-f", queues, check=False).returncode == 0,
            "the queues are accepted")
        for _ in range(2):
            self.plane.kubectl("apply", "-f", queues)
        found = self.plane.get("clusterqueue", "dws-cluster-queue")
        self.assertEqual(found["spec"]["admissionChecksStrategy"]["admissionChecks"],
                         [{"name": "dws-prov"}])

    def test_options_stand_before_the_command(self):
        done = subprocess.run([BERTH, "--kubeconfig", self.plane.kubeconfig, "status"], text=True,
                              capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("waiting", done.stdout)
