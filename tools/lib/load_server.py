"""API servers for the loads of tools/bench-cluster, without webhooks and conversions."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

import api_counters
from control_plane import ROOT, ControlPlane
from installation import BERTH
from scratch import die_with_parent


class Real:
    """etcd and kube-apiserver alone."""

    def __init__(self, folder):
        self.plane = ControlPlane(folder, parent_ends_all=True)
        os.makedirs(folder, exist_ok=True)
        self.plane.make_certificates()
        self.plane.assign_ports()
        programs = self.plane.describe()
        self.plane.programs = {name: programs[name] for name in ("etcd", "kube-apiserver")}
        self.plane.programs["kube-apiserver"].arguments += [
            "--max-requests-inflight=5000", "--max-mutating-requests-inflight=2500",
            # Nodes of the load are ready when they are made.
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"]
        for program in self.plane.programs.values():
            program.start().wait_ready()
        self.kubeconfig = self.plane.kubeconfig
        self.apply_crds()

    def apply_crds(self):
        crds = os.path.join(ROOT, "manifests", "crds")
        texts = []
        for name in sorted(os.listdir(crds)):
            with open(os.path.join(crds, name), encoding="utf-8") as file:
                text = file.read()
            if "kind: CustomResourceDefinition" in text:
                # Without webhooks there is nobody to ask for a conversion.
                texts.append(re.sub(r"^  conversion:\n(?:    .*\n)+", "", text, flags=re.MULTILINE))
        self.plane.kubectl("apply", "--server-side", "-f", "-", stdin="\n---\n".join(texts))
        self.plane.kubectl("wait", "--for=condition=Established", "crd", "--all")

    def pids(self):
        return self.plane.pids()

    def requests(self):
        return api_counters.writes(self.plane)

    def request_seconds(self):
        return api_counters.request_seconds(self.plane)

    def stop(self):
        self.plane.stop()


class Embedded:
    """`berth up --no-controllers`."""

    def __init__(self, folder):
        self.kubeconfig = os.path.join(folder, "data", "kubeconfig")
        with open(os.path.join(folder, "up.log"), "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [BERTH, "up", "--no-controllers", "--no-node", "--listen", "127.0.0.1:0", "--data-dir",
                 os.path.join(folder, "data")], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                preexec_fn=die_with_parent)
        deadline = time.monotonic() + 30
        while not os.path.exists(self.kubeconfig):
            if time.monotonic() > deadline or self.process.poll() is not None:
                sys.exit("tools/bench-cluster: berth up does not start")
            time.sleep(0.05)
        # Its webhooks lead to controllers, which are not there.
        for kind in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations"):
            subprocess.run([shutil.which("kubectl") or os.path.join(ROOT, "build/bin/kubectl"),
                            "--kubeconfig", self.kubeconfig, "delete", kind, "--all"], check=True,
                           stdout=subprocess.DEVNULL)

    def pids(self):
        return {"berth up": self.process.pid}

    @staticmethod
    def requests():
        return {}

    request_seconds = requests

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=30)
