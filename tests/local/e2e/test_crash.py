"""Goal: `kill -9` of berth up at any instant loses no acknowledged write, runs no Job twice at once,
and leaves no process; after a restart the story ends correctly.

Method: the DWS story runs repeatedly; at a random instant (seeded, printed) the process is
killed and restarted. Every write that kubectl saw acknowledged must exist. BERTH_CRASHES sets
the number of instants (20), BERTH_CRASH_SEED the seed."""

import os
import random
import threading
import time

from berth_up import BerthUpTest, read_sample
from waiting import wait_until

CRASHES = int(os.environ.get("BERTH_CRASHES", "20"))
SEED = int(os.environ.get("BERTH_CRASH_SEED", str(random.SystemRandom().randrange(1 << 30))))

# Refuses to run twice at once: the lock is a folder with the job's name.
ONE_AT_A_TIME = """
mkdir "{lock}" || {{ echo "two at once" >> "{twice}"; exit 1; }}
sleep 1
rmdir "{lock}"
"""


class Writer(threading.Thread):
    """Creates ConfigMaps one after the other and remembers which were acknowledged."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster = cluster
        self.acknowledged = []
        self.stopping = threading.Event()

    def run(self):
        number = 0
        while not self.stopping.is_set():
            name = f"written-{number}"
            number += 1
            done = self.cluster.kubectl("create", "configmap", name, check=False)
            if done.returncode == 0:
                self.acknowledged.append(name)
            elif "AlreadyExists" not in done.stderr:
                time.sleep(0.05)  # the server is down and will be restarted soon


class CrashTest(BerthUpTest):
    def test_story_survives_kill_9(self):
        print(f"seed {SEED}, {CRASHES} crashes", flush=True)
        chance = random.Random(SEED)
        cluster = self.start_cluster(images=["once:1=/bin/sh"])
        twice = os.path.join(cluster.folder, "twice")
        # Room for all jobs at once: a full pool would fail requests after two minutes.
        cluster.apply_dws(machines=CRASHES // 4 + 1)
        writer = Writer(cluster)
        writer.start()
        jobs = []
        for crash in range(CRASHES):
            if crash % 4 == 0:
                name = f"story-{crash // 4}"
                script = ONE_AT_A_TIME.format(lock=os.path.join(cluster.folder, name), twice=twice)
                cluster.apply(self.job(name, script))
                jobs.append(name)
            time.sleep(chance.uniform(0.0, 1.5))
            cluster.kill()
            wait_until(lambda: not cluster.left_over(), "no process outlives berth")
            for name in jobs:  # the lock of a killed run does not count as "at once"
                lock = os.path.join(cluster.folder, name)
                if os.path.isdir(lock):
                    os.rmdir(lock)
            cluster.start()
        for name in jobs:
            cluster.wait_complete(name, 600)
        writer.stopping.set()
        writer.join()
        there = {item["metadata"]["name"] for item in cluster.items("configmaps")}
        self.assertEqual([name for name in writer.acknowledged if name not in there], [],
                         f"acknowledged writes were lost (seed {SEED})")
        self.assertGreater(len(writer.acknowledged), 0)
        self.assertFalse(os.path.exists(twice), f"a job ran twice at once (seed {SEED})")
        wait_until(lambda: not cluster.items("provisioningrequests"), "no request is left")
        wait_until(lambda: cluster.get("cq", "dws-cluster-queue")["status"].get(
            "reservingWorkloads", 0) == 0, "the quota is free again")
        self.assertEqual(cluster.stop(), 0)

    @staticmethod
    def job(name, script):
        text = read_sample("dws", "job-t4.yaml").replace("name: sample-job", f"name: {name}")
        text = text.replace("gcr.io/k8s-staging-perf-tests/sleep:v0.0.3", "once:1")
        # A run that a crash interrupted counts as a failure, and there are many.
        text = text.replace("completions: 1", "completions: 1\n  backoffLimit: 1000")
        quoted = script.strip().replace("\n", "; ").replace("\\", "\\\\").replace('"', '\\"')
        return text.replace('["120s"]', f'["-c", "{quoted}"]')
