"""Goal: `berth up --api-only` serves Kubernetes' API and does nothing else: no kinds of queues or of the cloud, no Job gets
pods, no pod a node, no garbage is collected and no namespace emptied.

Method: what a controller of the cluster would have done is visible in another, complete cluster that gets the same
objects at the same time."""

import os

from berth_up import BerthUpTest
from scratch import temporary_folder
from waiting import wait_until

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: work, namespace: brief}
spec:
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: none}]}}
"""
OWNED = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: owned
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: none, uid: 4bdd81b6-6f38-4e1c-b5c4-3f2d0d2ff0c8}]
"""


class ApiOnlyTest(BerthUpTest):
    def test_nothing_is_done(self):
        alone = self.start_cluster(flags=["--api-only"])
        whole = self.start_cluster()
        for cluster in (alone, whole):
            cluster.kubectl("create", "namespace", "brief")
            cluster.apply(OWNED)
            cluster.apply(JOB)
        wait_until(lambda: whole.items("pods", "-n", "brief"), "the Job has a pod in the complete cluster")
        wait_until(lambda: whole.get("configmap", "owned") is None, "the garbage goes there")
        whole.kubectl("delete", "namespace", "brief", "--timeout=150s", seconds=160)
        alone.kubectl("delete", "namespace", "brief", "--wait=false")

        self.assertEqual(alone.items("pods", "-A"), [])
        self.assertIsNotNone(alone.get("configmap", "owned"))
        self.assertEqual(alone.get("namespace", "brief")["status"]["phase"], "Terminating")
        self.assertEqual(alone.items("customresourcedefinitions"), [])
        self.assertEqual([item["metadata"]["name"] for item in alone.items("namespaces")],
                         ["brief", "default", "kube-node-lease", "kube-public", "kube-system"])
        self.assertEqual(alone.stop(), 0)

    def test_flags_of_the_rest_are_refused(self):
        with temporary_folder("berth-api-only-") as folder:
            cluster = self.start_cluster(flags=["--api-only"])
            done = cluster.berth("up", "--api-only", "--image", "a=/bin/sh", "--data-dir",
                                 os.path.join(folder, "data"), check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("--image excludes --api-only", done.stderr)
