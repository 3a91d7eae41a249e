"""Kubeflow's training operator, unmodified (tools/training-operator builds the program from its module), on a
control plane of the tests.

The operator reads its webhook certificate from a fixed folder below /tmp, into which a cluster
mounts its Secret. Here the program gets a /tmp of its own, in a mount namespace, and the test does
the kubelet's part. The operator's own webhook is not registered."""

import base64
import os
import signal
import subprocess

from control_plane import ADMIN_TOKEN, ROOT, die_with_parent, free_ports

PROGRAM = os.path.join(ROOT, "build", "bin", "training-operator")
NAMESPACE = "kubeflow"
SECRET = "training-operator-webhook-cert"
IN_OWN_TMP = 'exec 3<"$1"; mount --bind "$2" /tmp; shift 2; exec /proc/self/fd/3 "$@"'


class TrainingOperator:
    def __init__(self, plane, berth):
        self.plane = plane
        self.tmp = os.path.join(plane.folder, "operator-tmp")
        self.log_path = plane.file("training-operator.log")
        self.kubeconfig = berth.write_inline_kubeconfig("training-operator.kubeconfig", ADMIN_TOKEN)
        self.process = None

    def install(self):
        """The CRDs of the operator's own module; MPIJob's are those of a version that Kueue does not queue."""
        folder = PROGRAM + ".crds"
        for name in ("pytorchjobs", "tfjobs", "xgboostjobs", "paddlejobs"):
            self.plane.kubectl("apply", "--server-side", "-f",
                               os.path.join(folder, f"kubeflow.org_{name}.yaml"))
            # kubectl refuses to wait for an object that has no conditions yet.
            self.plane.wait_until(
                lambda crd=f"crd/{name}.kubeflow.org": self.plane.kubectl(
                    "wait", "--for=condition=Established", crd, check=False).returncode == 0,
                name + " are served")
        self.plane.apply(f"{{apiVersion: v1, kind: Namespace, metadata: {{name: {NAMESPACE}}}}}")
        self.plane.apply(f"{{apiVersion: v1, kind: Secret, "
                         f"metadata: {{name: {SECRET}, namespace: {NAMESPACE}}}}}")

    def start(self):
        certificates = os.path.join(self.tmp, "k8s-webhook-server", "serving-certs")
        os.makedirs(certificates, exist_ok=True)
        os.replace(self.kubeconfig, os.path.join(self.tmp, "kubeconfig"))
        with open(self.log_path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", IN_OWN_TMP, "sh",
                 PROGRAM, self.tmp, "--kubeconfig=/tmp/kubeconfig", "--metrics-bind-address=0",
                 "--health-probe-bind-address=0", f"--webhook-server-port={free_ports(1)[0]}",
                 *[f"--enable-scheme={kind}" for kind in ("tfjob", "pytorchjob", "xgboostjob",
                                                          "paddlejob")]],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=die_with_parent,
                env={"PATH": os.environ["PATH"], "MY_POD_NAMESPACE": NAMESPACE})
        secret = self.plane.wait_until(self.made_certificate, "the operator makes its certificate")
        for name, text in secret.items():
            with open(os.path.join(certificates, name), "wb") as file:
                file.write(base64.b64decode(text))

    def made_certificate(self):
        if self.process.poll() is not None:
            raise AssertionError("the operator ended:\n" + self.log()[-3000:])
        return (self.plane.get("secret", SECRET, "-n", NAMESPACE) or {}).get("data")

    def stop(self):
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=30)
        self.process = None

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()
