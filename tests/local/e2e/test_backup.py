"""Goal: `berth backup FILE` copies a running cluster without stopping it; the file is its owner's alone,
replaces no other file, and another `berth up` starts from it.

Method: objects before and after the backup; a second cluster with `--restore`."""

import os

from berth_up import BerthUp, BerthUpTest
from waiting import wait_until


class BackupTest(BerthUpTest):
    def names(self, cluster):
        return {item["metadata"]["name"] for item in cluster.items("configmaps,secrets")}

    def test_a_copy_of_a_running_cluster(self):
        cluster = self.start_cluster()
        cluster.kubectl("create", "configmap", "earlier")
        cluster.kubectl("create", "secret", "generic", "password", "--from-literal=word=secret")
        file = os.path.join(cluster.folder, "monday.db")
        done = cluster.berth("backup", file)
        self.assertRegex(done.stdout, r"monday\.db: \d+ objects, as of revision \d+\n")
        self.assertEqual(oct(os.stat(file).st_mode & 0o7777), "0o600")
        self.assertEqual([name for name in os.listdir(os.path.join(cluster.folder, "data"))
                          if "backup" in name], [])
        cluster.kubectl("create", "configmap", "later")
        with open(file, "rb") as first:
            before = first.read()
        refused = cluster.berth("backup", file, check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("monday.db exists: choose another name", refused.stderr)
        with open(file, "rb") as again:
            self.assertEqual(again.read(), before)

        restored = BerthUp(flags=["--restore", file])
        self.addCleanup(restored.close)
        restored.start()
        wait_until(lambda: restored.get("serviceaccount", "default"), "the controllers work")
        self.assertLessEqual({"earlier", "password"}, self.names(restored))
        self.assertNotIn("later", self.names(restored))
        self.assertIn("later", self.names(cluster))
        restored.kubectl("create", "configmap", "of-the-second-life")

    def test_only_berth_up_is_backed_up(self):
        cluster = self.start_cluster()
        cluster.kill()
        refused = cluster.berth("backup", os.path.join(cluster.folder, "none.db"), check=False)
        self.assertEqual(refused.returncode, 4)
        self.assertFalse(os.path.exists(os.path.join(cluster.folder, "none.db")))
