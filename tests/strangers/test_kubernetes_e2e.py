"""Goal: Kubernetes' own end-to-end specs of sig-api-machinery, sig-apps and sig-auth pass on `berth up`: 95 of 100 of the
chosen ones. kubernetes-e2e-module/specs.txt names these, left-out.txt all others with the reasons.

Method: the program of kubernetes-e2e-module, in several processes on one cluster; specs that are named [Serial] follow
alone. Images of the specs' pods are programs of this machine.

Environment: SPECS, an expression: only specs whose name has a match. ALL=1: the specs of tools/soak, too. OUTCOMES, a
file: what each spec came to (the form of kubernetes-e2e-module/outcomes.txt)."""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest

from berth_up import BerthUpTest
from programs import HERE, missing, program
from scratch import die_with_parent, scratch_folder

PROGRAM, AGNHOST = program("e2e"), program("agnhost")
MODULE = os.path.join(HERE, "kubernetes-e2e-module")
PROCESSES = int(os.environ.get("PROCESSES", "6"))
SECONDS = 3000 if os.environ.get("ALL") else 400
LEAST = 0.95  # a share of the chosen specs
FEWEST = 150  # chosen ones
HEAD = """# What the chosen specs came to when they were last played: STATE SECONDS NAME. tools/kubernetes-specs --run writes this.
"""
ROOM = {"cpu": "64", "memory": "256Gi", "pods": "500", "ephemeral-storage": "500Gi"}
NODES = [{"apiVersion": "v1", "kind": "Node",
          "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
          "status": {"allocatable": ROOM, "capacity": ROOM,
                    "conditions": [{"type": "Ready", "status": "True"}]}} for name in ("node-1", "node-2")]
# What plays the images: the program of agnhost itself, a shell that has what busybox's has, and one that waits.
SCRIPTS = {"agnhost": f'[ $# -gt 0 ] || set -- pause\nexec {AGNHOST} "$@"\n', "pause": "exec sleep infinity\n"}
REGISTRY = "registry.k8s.io/"
IMAGES = {"e2e-test-images/agnhost": "agnhost", "e2e-test-images/busybox": "sh", "e2e-test-images/nginx": "pause",
          "e2e-test-images/httpd": "pause", "pause": "pause"}


def chosen(groups):
    """The names in these groups of specs.txt."""
    with open(os.path.join(MODULE, "specs.txt"), encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file]
    names, group = [], None
    for line in lines:
        if line.startswith("## "):
            group = line[3:]
        elif line and not line.startswith("#") and group in groups:
            names.append(line)
    return names


def left_out():
    """Names and beginnings of names ("…*") of the specs that are not run."""
    with open(os.path.join(MODULE, "left-out.txt"), encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]


def write_images(folder):
    """The programs of the images in a folder; returns the values of --image."""
    os.mkdir(folder)
    for name, text in SCRIPTS.items():
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)
    os.symlink("/bin/bash", os.path.join(folder, "sh"))
    return [f"{REGISTRY}{image}={os.path.join(folder, name)}" for image, name in IMAGES.items()]


class KubernetesSpecsTest(BerthUpTest):
    def setUp(self):
        super().setUp()
        for path in (PROGRAM, AGNHOST):
            if missing(path, "tools/strangers e2e"):
                raise unittest.SkipTest(missing(path, "tools/strangers e2e"))

    def start_part(self, cluster, number, names):
        folder = os.path.join(cluster.folder, f"part-{number}")
        os.mkdir(folder)
        with open(os.path.join(folder, "specs"), "w", encoding="utf-8") as file:
            file.write("\n".join(names) + "\n")
        with open(os.path.join(folder, "log"), "w", encoding="utf-8") as log:
            process = subprocess.Popen(
                [PROGRAM, "--specs", "specs", "--results", "results", "--kubeconfig", cluster.kubeconfig,
                 "--provider=local", "--dump-logs-on-failure=false", f"--ginkgo.timeout={SECONDS}s",
                 "--kubectl-path", cluster.kubectl_program, "--ginkgo.no-color"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, env=cluster.environment(),
                preexec_fn=die_with_parent)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process, folder

    def run_parts(self, cluster, parts):
        """The outcomes of the specs by name."""
        running = [self.start_part(cluster, number, names) for number, names in enumerate(parts) if names]
        outcomes = {}
        for process, folder in running:
            process.wait(timeout=SECONDS + 60)
            with open(os.path.join(folder, "results"), encoding="utf-8") as file:
                for line in file:
                    outcome = json.loads(line)
                    outcomes[outcome["name"]] = outcome
            os.rename(folder, folder + "-done-" + str(process.pid))
        return outcomes

    def test_specs(self):
        groups = ("every build", "tools/soak") if os.environ.get("ALL") else ("every build",)
        names = [name for name in chosen(groups) if re.search(os.environ.get("SPECS", ""), name)]
        cluster = self.start_cluster(images=write_images(self.folder()))
        for node in NODES:
            cluster.apply(json.dumps(node))
        alone = [name for name in names if "[Serial]" in name]
        others = [name for name in names if name not in alone]
        outcomes = self.run_parts(cluster, [others[number::PROCESSES] for number in range(PROCESSES)])
        outcomes.update(self.run_parts(cluster, [alone]))
        self.record(outcomes)
        unknown = sorted(set(names) - set(outcomes))
        failed = {name: outcome for name, outcome in sorted(outcomes.items()) if outcome["state"] != "passed"}
        for name, outcome in failed.items():
            print(f"{outcome['state']}: {name} ({outcome['seconds']:.0f} s) {outcome.get('place', '')}\n"
                  f"    {outcome.get('failure', '')[:600]}", file=sys.stderr)
        print(f"{len(outcomes) - len(failed)} of {len(names)} specs passed", file=sys.stderr)
        self.assertEqual(unknown, [], "specs that did not run")
        self.assertLessEqual(len(failed), (1 - LEAST) * len(names))

    def folder(self):
        folder = scratch_folder("berth-images-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return os.path.join(folder, "images")

    def record(self, outcomes):
        path = os.environ.get("OUTCOMES")
        if not path:
            return
        with open(path, "w", encoding="utf-8") as file:
            file.write(HEAD)
            for name, outcome in sorted(outcomes.items()):
                file.write(f"{outcome['state']} {outcome['seconds']:.1f} {name}\n")

    def test_every_spec_is_chosen_or_left_out(self):
        listed = subprocess.run([PROGRAM, "--list-tests"], text=True, capture_output=True, timeout=60, check=True).stdout
        known = {match.group(1) for match in re.finditer(r"^ +\S+:\d+: (\[sig-(?:api-machinery|apps|auth)\] .*)$",
                                                         listed, re.MULTILINE)}
        names, others = chosen(("every build", "tools/soak")), left_out()
        self.assertGreaterEqual(len(names), FEWEST)
        self.assertEqual(sorted(set(names) - known), [], "chosen specs that do not exist")
        self.assertEqual(len(names), len(set(names)), "a spec is chosen twice")
        starts = [name[:-1] for name in others if name.endswith("*")]
        told = {name for name in known if name in others or name.startswith(tuple(starts))}
        self.assertEqual(sorted(known - told - set(names)), [], "specs that are neither chosen nor left out")
        self.assertEqual(sorted(told & set(names)), [], "specs that are chosen and left out")
        for name in others:
            used = any(one.startswith(name[:-1]) for one in known) if name.endswith("*") else name in known
            self.assertTrue(used, f"left out, but there is no such spec: {name}")
