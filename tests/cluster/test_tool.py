"""Goal: `tools/cluster up` starts a control plane that people can use, says how long that took and what to type next;
two stand beside each other; `down` ends its own programs and removes its folder.

Method: the tool in a PID namespace, which ends with the test, so that the tool's programs do."""

import os
import re
import shutil
import subprocess
import sys
import unittest

from control_plane import PROGRAMS, ROOT
from scratch import die_with_parent, scratch_folder

STORY = """
set -e
cd "$1"
for name in a b; do "$2" up --folder "$name" --nodes 2 >"$name.txt"; done
for name in a b; do KUBECONFIG=$PWD/$name/kubeconfig "$3" get nodes -o name >"$name-nodes.txt"; done
"$2" up --folder a >again.txt 2>&1 && exit 1
"$2" down --folder a
test ! -e a
KUBECONFIG=$PWD/b/kubeconfig "$3" get nodes -o name >b-alone.txt
"$2" down --folder b
"$2" down --folder b >gone.txt 2>&1 && exit 1
# What is left in this namespace: the shell and those that look.
ps -eo comm= | grep -vxE 'sh|ps|grep' >left.txt || true
"""


class ToolTest(unittest.TestCase):
    def test_up_and_down(self):
        if not os.path.exists(os.path.join(PROGRAMS, "kwok")):
            raise unittest.SkipTest("no control plane: build one with tools/kubernetes")
        folder = scratch_folder("berth-tool-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        done = subprocess.run(
            ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc",
             "sh", "-c", STORY, "sh", folder, os.path.join(ROOT, "tools", "cluster"),
             os.path.join(PROGRAMS, "kubectl")],
            stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=220, check=False,
            preexec_fn=die_with_parent)

        def text(name):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                return file.read()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for name in ("a", "b"):
            self.assertRegex(text(name + ".txt"), r"up after \d+\.\d s with 2 node\(s\)\n")
            self.assertIn(f"export KUBECONFIG={folder}/{name}/kubeconfig", text(name + ".txt"))
            print(name, re.search("up after [0-9.]+ s", text(name + ".txt"))[0], file=sys.stderr)
            self.assertEqual(text(name + "-nodes.txt").split(), ["node/node-1", "node/node-2"])
        self.assertEqual(text("b-alone.txt").split(), ["node/node-1", "node/node-2"])
        self.assertIn("has a cluster; end it with: tools/cluster down --folder", text("again.txt"))
        self.assertIn("no cluster in ", text("gone.txt"))
        self.assertEqual(text("left.txt"), "")
