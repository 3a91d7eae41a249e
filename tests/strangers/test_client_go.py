"""Goal: operators that are written with client-go and controller-runtime work on `berth up` as on kube-apiserver:
discovery, typed, dynamic and metadata clients, every form of patch, server-side apply, watches, informers, leader
election, a manager with webhooks and owned objects, an API of a test's own (`--api-only`, as with envtest), and streams to
pods over SPDY.

Method: the program of client-go-module, whose tests run one after the other; the output names each part."""

import json
import re
import unittest

from berth_up import BERTH, BerthUpTest
from programs import missing, program

PROGRAM = program("client-go")
PARTS = 90  # fewer would mean that tests were lost
ROOM = {"cpu": "4", "memory": "4Gi", "pods": "50"}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "laptop"}, "status": {"allocatable": ROOM, "capacity": ROOM}}


class ClientGoTest(BerthUpTest):
    def test_client_go(self):
        if missing(PROGRAM, "tools/strangers"):
            raise unittest.SkipTest(missing(PROGRAM, "tools/strangers"))
        cluster = self.start_cluster(images=["sh:1=/bin/sh"])
        cluster.apply(json.dumps(NODE))
        done = cluster.run("/usr/bin/env", f"BERTH={BERTH}", PROGRAM, "-test.v", "-test.timeout=270s", check=False,
                           seconds=280)
        failed = re.findall(r"^ *--- FAIL: (\S+)", done.stdout, re.MULTILINE)
        passed = re.findall(r"^ *--- PASS: (\S+)", done.stdout, re.MULTILINE)
        print(f"{len(passed)} parts passed, failed: {failed}")
        if done.returncode != 0 or failed:
            self.fail(f"exit {done.returncode}, failed: {failed}\n{done.stdout[-20000:]}\n{done.stderr[-8000:]}")
        self.assertGreaterEqual(len(passed), PARTS)
