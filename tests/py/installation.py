"""Berth on a control plane, installed as manifests/README.md says: `kubectl apply --server-side -k
manifests`, the controller with the token of its ServiceAccount.

Differences from a cluster with nodes: the controller is a process of this machine, not a
pod (kwok runs no containers); the Services point to it by name (ExternalName localhost) and the
webhooks name its port, since there is no network of pods.
"""

import json
import os
import re
import signal
import subprocess
import sys

import audited_rights
import fake_time
from control_plane import ROOT
from scratch import die_with_parent

BERTH = os.environ.get("BERTH", os.path.join(ROOT, "build", "release", "berth"))
NAMESPACE = "kueue-system"
ACCOUNT = audited_rights.ACCOUNT
LEASE = "c1f6bfd2.kueue.x-k8s.io"
SERVICES = ("kueue-webhook-service", "kueue-controller-manager-metrics-service",
            "kueue-visibility-server")


ANY_PORT = "127.0.0.1:0"
LISTEN = ("--metrics-listen", ANY_PORT, "--health-listen", ANY_PORT, "--webhook-listen", ANY_PORT,
          "--visibility-listen", ANY_PORT)


class Controller:
    """One `berth controller`, a replica. `listen`: flags of its ports; `clock`: how wrong its clock is, as
    "+10m"; `program`: of another version."""

    def __init__(self, plane, name, kubeconfig, flags=(), listen=LISTEN, clock=None, program=BERTH):
        self.plane, self.name, self.kubeconfig = plane, name, kubeconfig
        self.clock, self.program = clock, program
        self.flags = [*listen, *flags]
        self.log_path = plane.file(name + ".log")
        self.process = None

    def start(self):
        with open(self.log_path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [self.program, "controller", "--kubeconfig", self.kubeconfig, *self.flags],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=die_with_parent,
                env={"PATH": os.environ["PATH"], "HOME": self.plane.folder,
                     "POD_NAME": self.name, "POD_NAMESPACE": NAMESPACE,
                     **fake_time.environment(self.clock)})
        return self

    def end(self, number=signal.SIGTERM):
        """Sends the signal; returns the exit code."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(timeout=90)
        self.process = None
        return code

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def port(self, what):
        def find():
            found = re.findall(what + r'_port="?(\d+)', self.log())
            if not found and self.process.poll() is not None:
                raise AssertionError("the controller ended early:\n" + self.log()[-3000:])
            return found and int(found[-1])
        return self.plane.wait_until(find, f"{self.name} says its {what} port")


class Cloud:
    """One `berth cloud`, with the rights of an administrator."""

    def __init__(self, plane):
        self.log_path = plane.file("cloud.log")
        with open(self.log_path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [BERTH, "cloud", "--kubeconfig", plane.kubeconfig], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, preexec_fn=die_with_parent)

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(timeout=90)


class Installation:
    def __init__(self, plane):
        self.plane = plane
        self.controllers = {}

    def apply_manifests(self, without_crds=(), folder="manifests"):
        """Applies a folder of manifests, without the named CustomResourceDefinitions."""
        documents = self.plane.kubectl("kustomize", os.path.join(ROOT, folder)).stdout.split("\n---\n")
        kept = [each for each in documents
                if not any(f"\n  name: {name}\n" in each for name in without_crds)]
        assert len(documents) - len(kept) == len(without_crds), f"missing in manifests: {without_crds}"
        # Before the server serves the kind of a new CRD, kubectl says "no matches".
        for _ in range(2):
            done = self.plane.kubectl("apply", "--server-side", "-f", "-", stdin="\n---\n".join(kept),
                                      check=False)
            if done.returncode == 0:
                break
        else:
            raise AssertionError(done.stdout + done.stderr)
        self.lead_services()

    def add_components(self, *names):
        """The rights and the reviews of optional parts, folders of manifests/components, on what is installed."""
        for name in names:
            folder = os.path.join(ROOT, "manifests", "components", name)
            self.plane.kubectl("apply", "--server-side", "-f", os.path.join(folder, "role.yaml"))
            for kind in ("mutating", "validating"):
                reviews = os.path.join(folder, kind + ".yaml")
                if os.path.exists(reviews):
                    self.plane.kubectl("patch", kind + "webhookconfiguration",
                                       f"kueue-{kind}-webhook-configuration", "--type=json",
                                       "--patch-file", reviews)

    def lead_services(self):
        """There is no network of pods: the Services lead to this machine."""
        for service in SERVICES:
            self.patch("service", service, "json", [
                {"op": "replace", "path": "/spec", "value": {
                    "type": "ExternalName", "externalName": "localhost", "sessionAffinity": "None"}},
            ], "-n", NAMESPACE)

    def patch(self, kind, name, style, patch, *flags):
        self.plane.kubectl("patch", kind, name, "--type", style, "-p", json.dumps(patch), *flags)

    def token(self, *flags):
        return self.plane.kubectl("create", "token", ACCOUNT, "-n", NAMESPACE, "--duration=1h",
                                  *flags).stdout.strip()

    def write_inline_kubeconfig(self, name, token=None):
        """A kubeconfig of the holder of `token`, else of the ServiceAccount, with all certificates inline."""
        return self.plane.write_inline_kubeconfig(name, token or self.token())

    def start(self, name="controller", flags=(), kubeconfig=None, clock=None, program=BERTH):
        """Starts a replica and points the webhooks to it."""
        kubeconfig = kubeconfig or self.plane.write_kubeconfig(
            self.plane.file(name + ".kubeconfig"), self.token())
        controller = Controller(self.plane, name, kubeconfig, flags, clock=clock, program=program).start()
        self.controllers[name] = controller
        self.lead_webhooks_to(controller.port("webhook"))
        self.lead_visibility_to(controller.port("visibility"))
        return controller

    def lead_visibility_to(self, port):
        for version in ("v1beta1", "v1beta2"):
            self.patch("apiservice", version + ".visibility.kueue.x-k8s.io", "merge",
                       {"spec": {"service": {"port": port}}})

    def reviews_led_to(self, port):
        """Gives each webhook with a Service the port; False: a controller wrote a configuration meanwhile.

        The controller changes these lists: kinds that users declare have webhooks of their own."""
        led = True
        for kind in ("mutatingwebhookconfiguration", "validatingwebhookconfiguration"):
            for item in self.plane.items(kind):
                metadata = item["metadata"]
                ports = [{"op": "add", "path": f"/webhooks/{index}/clientConfig/service/port", "value": port}
                         for index, webhook in enumerate(item.get("webhooks", []))
                         if "service" in webhook["clientConfig"]]  # other programs' have URLs
                as_read = {"op": "test", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]}
                done = self.plane.kubectl("patch", kind, metadata["name"], "--type=json", "-p",
                                          json.dumps([as_read, *ports]), check=False)
                if done.returncode != 0:
                    print(f"webhooks of {metadata['name']} are read again: {done.stderr.strip()}", file=sys.stderr)
                    led = False
        return led

    def lead_webhooks_to(self, port):
        self.plane.wait_until(lambda: self.reviews_led_to(port), "each webhook has the controller's port")
        for item in self.plane.items("crd"):
            webhook = item["spec"].get("conversion", {}).get("webhook")
            if webhook is not None:
                self.patch("crd", item["metadata"]["name"], "json", [
                    {"op": "add", "path": "/spec/conversion/webhook/clientConfig/service/port",
                     "value": port}])

    def stop(self, number=signal.SIGKILL):
        for controller in self.controllers.values():
            controller.end(number)
        self.controllers = {}
