"""Goal: the commands of docs/start work, and answer what the pages show.

Method: bash runs the blocks of a page in a scratch folder with a copy of manifests/, on a `berth up` that plays the reader's
cluster (page 1 starts its own). A block of text after a block of commands is of their output: each of its lines is found
there, in which … stands for anything and blanks count as one. Machines boot for a second."""

import os
import re
import shutil
import subprocess

from berth_up import BERTH, ROOT, BerthUpTest
from scratch import die_with_parent
from waiting import PATIENCE_SECONDS, wait_until

PAGES = os.path.join(ROOT, "docs", "start")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "---- block {} of the page"
IMAGES = [f"berth:latest={BERTH}", f"registry.example/berth:0.1.0={BERTH}"]
# In place of a Kueue that runs: its Deployment and its configuration.
INCUMBENT = """
apiVersion: v1
kind: Namespace
metadata: {name: kueue-system}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kueue-manager-config, namespace: kueue-system}
data:
  controller_manager_config.yaml: |
    apiVersion: config.kueue.x-k8s.io/v1beta2
    kind: Configuration
    integrations: {frameworks: [batch/job]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: kueue-controller-manager, namespace: kueue-system}
spec:
  selector: {matchLabels: {control-plane: controller-manager}}
  template:
    metadata: {labels: {control-plane: controller-manager}}
    spec: {containers: [{name: manager, image: "gcr.io/k8s-staging-perf-tests/sleep:v0.0.3", args: ["600s"]}]}
"""


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def commands_of(page):
    """Pairs of the commands of a block, and of the lines that their output has."""
    found = []
    for language, text in BLOCK.findall(page):
        if language == "sh":
            found.append((text, []))
        elif language == "text":
            found[-1][1].extend(line for line in text.splitlines() if line.strip())
        else:
            raise AssertionError(f"a block of {language or 'no language'}: pages of the start have sh and text")
    return found


def shown(line, output):
    parts = [r"\s+".join(map(re.escape, part.split())) for part in line.split("…")]
    return re.search(".*".join(parts), output) is not None


class StartTest(BerthUpTest):
    def prepare(self, cluster):
        """A folder as the reader's checkout, with the programs on the path."""
        self.place = os.path.join(cluster.folder, "checkout")
        shutil.copytree(os.path.join(ROOT, "manifests"), os.path.join(self.place, "manifests"))
        pools = os.path.join(self.place, "manifests", "samples", "dws", "nodepools.yaml")
        slow = read(pools)
        with open(pools, "w", encoding="utf-8") as file:
            file.write(slow.replace("bootSeconds: 60", "bootSeconds: 1"))
        programs = os.path.join(self.place, "bin")
        os.mkdir(programs)
        os.symlink(cluster.kubectl_program, os.path.join(programs, "kubectl"))
        with open(os.path.join(programs, "berth"), "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\n[ "$1" = up ] && set -- "$@" --listen 127.0.0.1:0\nexec "{BERTH}" "$@"\n')
        os.chmod(file.name, 0o755)

    def play(self, name, cluster):
        self.prepare(cluster)
        blocks = commands_of(read(os.path.join(PAGES, name)).replace("/tmp/berth", os.path.join(cluster.folder, "own")))
        self.assertTrue(blocks)
        script = "set -euo pipefail\n" + "".join(f"echo '{MARK.format(number)}'\n{text}" for number, (text, _) in enumerate(blocks))
        environment = cluster.environment()
        environment["PATH"] = os.path.join(self.place, "bin") + ":" + environment["PATH"]
        player = subprocess.Popen(["bash", "-c", script], cwd=self.place, env=environment, text=True, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=die_with_parent)
        try:
            output, _ = player.communicate(timeout=PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            player.kill()
            self.fail(f"{name} does not end:\n{player.communicate()[0]}\n{cluster.show_objects()}")
        self.assertEqual(player.returncode, 0, output)
        for number, (_, lines) in enumerate(blocks):
            of_block = output.partition(MARK.format(number) + "\n")[2].partition(MARK.format(number + 1))[0]
            self.assertEqual([line for line in lines if not shown(line, of_block)], [], of_block)

    def test_1_try_it(self):
        self.play("try-it.md", self.start_cluster(flags=["--node"]))

    def test_2_first_queue(self):
        self.play("first-queue.md", self.start_cluster(images=IMAGES, flags=["--node", "--no-controllers"]))

    def test_3_dws(self):
        self.play("dws.md", self.start_cluster(flags=["--node"]))

    def test_4_from_kueue(self):
        cluster = self.start_cluster(images=IMAGES, flags=["--node", "--no-controllers"])
        cluster.apply(INCUMBENT + "---\n" + read(os.path.join(ROOT, "manifests", "samples", "first", "queues.yaml")))
        wait_until(lambda: cluster.get("deployment", "kueue-controller-manager", "-n", "kueue-system")["status"]["readyReplicas"],
                   "the incumbent runs")
        self.play("from-kueue.md", cluster)

    def test_5_what_waits(self):
        cluster = self.start_cluster(flags=["--node"])
        cluster.apply(read(os.path.join(ROOT, "manifests", "samples", "first", "queues.yaml")))
        self.play("what-waits.md", cluster)
