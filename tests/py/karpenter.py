"""Karpenter's core with its KWOK provider, unmodified (`tools/strangers karpenter`), as a program beside an API
server: a pod that finds no room gets a NodeClaim and a Node without a machine, which goes when it is not needed.

    karpenter = Karpenter(folder, kubeconfig, kubectl)     # kubectl(*arguments, stdin=None, check=True)
    karpenter.install()                                    # CRDs and the node class
    karpenter.start()
    kubectl("create", "-f", "-", stdin=json.dumps(node_pool("gpus", ["g4dn.xlarge"])))

`types` are the machines that the provider sells (instance_type). kwok, or `berth up`, plays the kubelets.
"""

import json
import os
import signal
import subprocess

from control_plane import ROOT, free_ports
from established import wait_established
from scratch import die_with_parent

PROGRAM = os.path.join(os.environ.get("STRANGERS", os.path.join(ROOT, "build", "strangers")), "karpenter")
BUILD = "tools/strangers karpenter"
CAPACITY_TYPE = "karpenter.sh/capacity-type"
ZONE = "topology.kubernetes.io/zone"
NODE_POOL = "karpenter.sh/nodepool"
NODE_CLASS = {"apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": "KWOKNodeClass", "metadata": {"name": "default"}}
GPU = "nvidia.com/gpu"


def is_built():
    return os.path.exists(PROGRAM)


def instance_type(name, price, zones=("zone-a",), capacity_types=("on-demand",), **resources):
    """A machine of the provider; `resources` as cpu="4", memory="16Gi", gpu="3" (nvidia.com/gpu)."""
    amounts = {GPU if key == "gpu" else key: value for key, value in resources.items()}
    offerings = [{"Price": price * (0.4 if capacity == "spot" else 1), "Available": True, "Requirements": [
        {"key": CAPACITY_TYPE, "operator": "In", "values": [capacity]},
        {"key": ZONE, "operator": "In", "values": [zone]}]} for zone in zones for capacity in capacity_types]
    return {"name": name, "offerings": offerings, "architecture": "amd64", "operatingSystems": ["linux"],
            "resources": {"pods": "29", "ephemeral-storage": "100Gi", **amounts}}


# A GPU in three shares, as the device plugin's time slicing advertises it; and a machine without a GPU.
SHARED_T4 = instance_type("g4dn.xlarge", 0.526, cpu="4", memory="16Gi", gpu="3")
PLAIN = instance_type("m5.xlarge", 0.192, cpu="4", memory="16Gi")


def node_pool(name, types=(), labels=None, taints=(), limits=None, expire_after="720h", capacity_types=("on-demand",),
              consolidate="WhenEmptyOrUnderutilized", after="0s", budgets=None):
    """A NodePool that gives nodes back as soon as Karpenter may."""
    requirements = [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
                    {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
                    {"key": CAPACITY_TYPE, "operator": "In", "values": list(capacity_types)}]
    if types:
        requirements.append({"key": "node.kubernetes.io/instance-type", "operator": "In", "values": list(types)})
    disruption = {"consolidationPolicy": consolidate, "consolidateAfter": after}
    if budgets is not None:
        disruption["budgets"] = budgets
    template = {"metadata": {"labels": labels or {}}, "spec": {
        "requirements": requirements, "taints": list(taints), "expireAfter": expire_after,
        "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}}}
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name},
            "spec": {"template": template, "limits": limits or {"cpu": "1000"}, "disruption": disruption}}


class Karpenter:
    def __init__(self, folder, kubeconfig, kubectl, types=(SHARED_T4, PLAIN)):
        self.folder, self.kubeconfig, self.kubectl, self.types = folder, kubeconfig, kubectl, types
        self.log_path = os.path.join(folder, "karpenter.log")
        self.process = None

    def install(self):
        self.kubectl("apply", "--server-side", "-f", PROGRAM + ".crds")
        wait_established(self.kubectl, "nodepools.karpenter.sh", "nodeclaims.karpenter.sh",
                         "kwoknodeclasses.karpenter.kwok.sh")
        self.kubectl("apply", "-f", "-", stdin=json.dumps(NODE_CLASS))

    def start(self, **settings):
        """`settings`: further environment variables, as FEATURE_GATES="SpotToSpotConsolidation=true"."""
        types_path = os.path.join(self.folder, "instance-types.json")
        with open(types_path, "w", encoding="utf-8") as file:
            json.dump(list(self.types), file)
        metrics, health = free_ports(2)
        environment = {
            "PATH": os.environ["PATH"], "HOME": self.folder, "KUBECONFIG": self.kubeconfig,
            "SYSTEM_NAMESPACE": "kube-system", "LEADER_ELECTION_NAMESPACE": "kube-system",
            "METRICS_PORT": str(metrics), "HEALTH_PROBE_PORT": str(health), "BATCH_IDLE_DURATION": "100ms",
            "BATCH_MAX_DURATION": "1s", "INSTANCE_TYPES_FILE_PATH": types_path, **settings}
        with open(self.log_path, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen([PROGRAM], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=environment, cwd=self.folder, preexec_fn=die_with_parent)
        return self

    def end(self, number=signal.SIGTERM):
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()
