"""Goal: programs with the Kubernetes client for Java work on `berth up`: typed, dynamic and generic clients, patches,
apply, pages, watches and informers.

Method: the program of java-client, which prints a line for each call."""

import re
import shutil
import unittest

from berth_up import BerthUpTest
from programs import missing, program

CLASSES = program("java/classes")
CALLS = 24


class JavaTest(BerthUpTest):
    def test_calls(self):
        java = shutil.which("java")
        if missing(CLASSES, "tools/strangers") or java is None:
            raise unittest.SkipTest("no Java client: build it with tools/strangers java")
        cluster = self.start_cluster()
        done = cluster.run(java, "-cp", f"{CLASSES}:{program('java/archives')}/*", "dev.berth.strangers.Calls",
                           check=False, seconds=180)
        results = dict(re.findall(r"^([a-z ]+): (ok|FAILED.*)$", done.stdout, re.MULTILINE))
        for name, result in results.items():
            with self.subTest(call=name):
                self.assertEqual(result, "ok")
        self.assertEqual((len(results), done.returncode), (CALLS, 0), done.stdout + done.stderr[-3000:])
