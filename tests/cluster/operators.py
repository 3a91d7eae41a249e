"""Operators of job kinds as their makers publish them (tools/operators builds them), on a control plane of
the tests.

An operator reads the certificate of its webhooks from a fixed folder below /tmp, where a cluster mounts
a Secret. So each gets a /tmp of its own, in a mount namespace, with the certificate of the control
plane's server, and its webhooks are registered by URL. An operator that listens on a fixed port gets a
network of its own, too."""

import base64
import os
import shutil
import signal
import socket
import subprocess
import sys

import own_network
import yaml
from control_plane import ADMIN_TOKEN, ROOT, free_ports
from scratch import die_with_parent
from toxic_proxy import ToxicProxy

FOLDER = os.path.join(ROOT, "build", "bin", "operators")
NAMESPACE = "operators"
IN_OWN_TMP = 'exec 3<"$1"; mount --bind "$2" /tmp; shift 2; exec /proc/self/fd/3 "$@"'
NO_SERVERS = ("--metrics-bind-address=0", "--health-probe-bind-address=0")


def are_built(*names):
    return all(os.path.exists(os.path.join(FOLDER, name)) for name in names)


class Operator:
    """`configuration`: the text of its configuration file, with {port} for the port of the webhooks;
    `flags` likewise. `command`: the words before the flags. `program`: absent, it has the operator's
    name."""

    host = "127.0.0.1"  # the address of its webhooks
    kubeconfig_flag = "--kubeconfig=/tmp/kubeconfig"
    own_network = False  # it reaches the API server alone, and cannot serve webhooks

    def __init__(self, plane, berth, name, flags=(), configuration="", command=(), program=None):
        self.plane, self.name, self.command = plane, name, command
        self.program = os.path.join(FOLDER, program or name)
        self.environment = {}
        self.relay = None
        self.port = free_ports(1)[0]
        self.flags = [flag.format(port=self.port) for flag in flags]
        self.log_path = plane.file(name + ".log")
        self.tmp = plane.file(name + "-tmp")
        certificates = os.path.join(self.tmp, "k8s-webhook-server", "serving-certs")
        os.makedirs(certificates)
        for ours, theirs in (("server.crt", "tls.crt"), ("server.key", "tls.key")):
            shutil.copy(plane.file(ours), os.path.join(certificates, theirs))
        os.replace(berth.write_inline_kubeconfig(name + ".kubeconfig", ADMIN_TOKEN),
                   os.path.join(self.tmp, "kubeconfig"))
        if configuration:
            with open(os.path.join(self.tmp, "configuration.yaml"), "w", encoding="utf-8") as file:
                file.write(configuration.format(port=self.port))
            self.flags.append("--config=/tmp/configuration.yaml")
        self.process = None

    def install(self):
        folder = self.program + ".crds"
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            if name == "kustomization.yaml":
                continue
            self.plane.kubectl("apply", "--server-side", "-f", path)
            # kubectl refuses to wait for an object that has no conditions yet.
            self.plane.wait_until(lambda path=path: self.plane.kubectl(
                "wait", "--for=condition=Established", "-f", path, check=False).returncode == 0,
                name + " is served")
        self.plane.apply(f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {NAMESPACE}}}\n")
        return self

    def start(self):
        words = ["sh", "-c", IN_OWN_TMP, "sh", self.program, self.tmp, *self.command,
                 self.kubeconfig_flag, *self.flags]
        server = self.plane.programs["kube-apiserver"].port
        ours, theirs = socket.socketpair()
        with ours, theirs, open(self.log_path, "w", encoding="utf-8") as log:
            if self.own_network:
                words = ["--net", sys.executable, own_network.__file__, str(server),
                         *words]
            self.process = subprocess.Popen(
                ["unshare", "--user", "--map-root-user", "--mount", *words],
                stdin=theirs if self.own_network else subprocess.DEVNULL, stdout=log, stderr=log,
                preexec_fn=die_with_parent,
                env={"PATH": os.environ["PATH"], "MY_POD_NAMESPACE": NAMESPACE,
                     "POD_NAMESPACE": NAMESPACE, "NAMESPACE": NAMESPACE, **self.environment})
            theirs.close()
            if self.own_network:
                self.relay = ToxicProxy(server, self.listener_of(ours))
        return self

    def listener_of(self, ours):
        """The socket that own_network.py listens on."""
        descriptors = socket.recv_fds(ours, 1, 1)[1]
        if not descriptors:
            raise AssertionError(f"{self.name} has no network:\n{self.log()[-3000:]}")
        return socket.socket(fileno=descriptors[0])

    def register_webhooks(self):
        """Once the operator answers: until then the API server would refuse every object."""
        folder = self.program + ".webhooks"
        if not os.path.isdir(folder):
            return self
        self.plane.wait_until(self.answers, self.name + " answers")
        authority = self.authority()
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                parts = [part for part in yaml.safe_load_all(file) if part]
            for part in parts:
                part["metadata"]["name"] = f"{self.name}-{part['kind'].lower()}"
                for webhook in part["webhooks"]:
                    path = webhook["clientConfig"]["service"]["path"]
                    webhook["clientConfig"] = {"url": f"https://{self.host}:{self.port}{path}",
                                               "caBundle": authority}
                    self.adapt(webhook)
                self.plane.apply(yaml.safe_dump(part))
        return self

    def authority(self):
        """Of the certificate of its webhooks."""
        with open(self.plane.file("ca.crt"), "rb") as file:
            return base64.b64encode(file.read()).decode()

    def adapt(self, webhook):
        """What the operator's installation adds to a webhook of the generated file."""

    def answers(self):
        if self.process.poll() is not None:
            raise AssertionError(f"{self.name} ended:\n{self.log()[-3000:]}")
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return True
        except OSError:
            return False

    def stop(self):
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=30)
        self.process = None
        if self.relay is not None:
            self.relay.close()

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()


def training_operator(plane, berth):
    """Kubeflow's. It insists on a Secret for its certificate."""
    schemes = ("tfjob", "pytorchjob", "xgboostjob", "paddlejob", "jaxjob")
    operator = Operator(plane, berth, "training-operator", [
        *NO_SERVERS, "--webhook-server-port={port}",
        *[f"--enable-scheme={scheme}" for scheme in schemes]]).install()
    plane.apply(f"apiVersion: v1\nkind: Secret\nmetadata: {{name: training-operator-webhook-cert, namespace: {NAMESPACE}}}\n")
    return operator


def jobset(plane, berth):
    return Operator(plane, berth, "jobset", [*NO_SERVERS, "--leader-elect=false"], """
apiVersion: config.jobset.x-k8s.io/v1alpha1
kind: Configuration
webhook: {{port: {port}}}
internalCertManagement: {{enable: false}}
""").install()


def trainer(plane, berth):
    """Kubeflow Trainer; its jobs become JobSets."""
    return Operator(plane, berth, "trainer", configuration="""
apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
webhook: {{port: {port}}}
health: {{healthProbeBindAddress: "0"}}
metrics: {{bindAddress: "0"}}
leaderElection: {{leaderElect: false}}
certManagement: {{enable: false}}
""").install()


def kuberay(plane, berth):
    return Operator(plane, berth, "kuberay", [
        "--metrics-addr=0", "--health-probe-bind-address=0",
        "--enable-leader-election=false"]).install()


def appwrapper(plane, berth):
    """Without webhooks: their port is fixed."""
    operator = Operator(plane, berth, "appwrapper").install()
    plane.apply(f"""
apiVersion: v1
kind: ConfigMap
metadata: {{name: appwrapper-operator-config, namespace: {NAMESPACE}}}
data:
  config.yaml: |
    webhooksEnabled: false
    controllerManager: {{metrics: {{bindAddress: "0"}}, health: {{bindAddress: "0"}}}}
""")
    return operator


def lws(plane, berth):
    """LeaderWorkerSet's."""
    return Operator(plane, berth, "lws", [*NO_SERVERS, "--leader-elect=false"], """
apiVersion: config.lws.x-k8s.io/v1alpha1
kind: Configuration
webhook: {{port: {port}}}
leaderElection: {{leaderElect: false}}
internalCertManagement: {{enable: false}}
""").install()


class MpiOperator(Operator):
    """Kubeflow's. It listens on port 8080 of all addresses; no flag changes that."""

    kubeconfig_flag = "--kubeConfig=/tmp/kubeconfig"
    own_network = True


def mpi(plane, berth):
    return MpiOperator(plane, berth, "mpi-operator", [
        f"--lock-namespace={NAMESPACE}", "--kube-api-qps=100", "--kube-api-burst=200"]).install()
