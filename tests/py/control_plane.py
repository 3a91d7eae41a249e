"""A Kubernetes control plane on loopback: etcd, kube-apiserver, kube-controller-manager,
kube-scheduler, and kwok in place of kubelets.

    plane = ControlPlane(folder, parent_ends_all=True).start()
    plane.kubeconfig                  # of a member of system:masters
    plane.add_node("n1", cpu="8", memory="32Gi")
    plane.stop()

All its files are below `folder`; several control planes can run at the same time, on free ports.
tools/kubernetes builds the programs. With `parent_ends_all` the kernel ends them when
the thread that started them ends, in whatever way.
"""

import base64
import datetime
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request

import fake_time
from kubectl_client import KubectlClient
from kwok_pods import is_overdue
from scratch import die_with_parent
from waiting import wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
NEWEST_PROGRAMS = os.path.join(ROOT, "build", "bin", "kubernetes")
PROGRAMS = os.environ.get("KUBERNETES", NEWEST_PROGRAMS)  # tools/soak --minor names those of an earlier minor
ADMIN_TOKEN = "admin"  # for a server that only loopback reaches and that holds nothing
SERVICE_ISSUER = "https://kubernetes.default.svc.cluster.local"
START_SECONDS = 120  # how long a program may take to be ready on a busy machine

NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30")


def free_ports(count):
    """Free ports of loopback."""
    sockets = []
    for _ in range(count):
        probe = socket.socket()
        probe.bind(("127.0.0.1", 0))
        sockets.append(probe)
    ports = [probe.getsockname()[1] for probe in sockets]
    for probe in sockets:
        probe.close()
    return ports


class StartError(RuntimeError):
    pass


class Program:
    """One program of the control plane: started, checked for readiness, ended by its pid."""

    def __init__(self, plane, name, port, path, arguments):
        self.plane, self.name, self.port, self.path = plane, name, port, path
        self.arguments = arguments
        self.log_path = os.path.join(plane.folder, name + ".log")
        self.process = None

    def start(self):
        with open(self.log_path, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [os.path.join(PROGRAMS, self.name), *self.arguments], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, cwd=self.plane.folder, start_new_session=True,
                preexec_fn=die_with_parent if self.plane.parent_ends_all else None)
        return self

    def wait_ready(self):
        deadline = time.monotonic() + START_SECONDS
        while not self.is_ready():
            if self.process.poll() is not None:
                raise StartError(f"{self.name} ended with {self.process.returncode}:\n{self.tail()}")
            if time.monotonic() > deadline:
                raise StartError(f"{self.name} is not ready after {START_SECONDS} s:\n{self.tail()}")
            time.sleep(0.05)
        return self

    def is_ready(self):
        try:
            with urllib.request.urlopen(self.path, timeout=5, context=self.plane.trust()):
                return True
        except (OSError, urllib.error.URLError):
            return False

    def end(self, number=signal.SIGTERM):
        """Ends the program and waits for its end."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(timeout=10)
        self.process = None

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def tail(self):
        return self.log()[-3000:]


class ControlPlane(KubectlClient):
    APPLY_FLAGS = ("--server-side",)

    def __init__(self, folder, parent_ends_all=False, certificates_from=None, audited=None, api_flags=()):
        self.folder = os.path.abspath(folder)
        self.audited = audited  # the user whose requests kube-apiserver writes to audit.log
        self.api_flags = api_flags  # more flags of kube-apiserver
        self.certificates_from = certificates_from  # their first instant, as "-1d"; None: now
        self.parent_ends_all = parent_ends_all
        self.kubeconfig = os.path.join(self.folder, "kubeconfig")
        self.kubectl_program = os.path.join(PROGRAMS, "kubectl")
        self.programs = {}

    # Life -----------------------------------------------------------------------------------------
    def start(self, attempts=3):
        """Starts all programs. A port that another program took meanwhile costs an attempt."""
        os.makedirs(self.folder, exist_ok=True)
        self.make_certificates()
        for attempt in range(attempts):
            try:
                self.assign_ports()
                self.start_programs()
                return self
            except StartError as error:
                self.stop()
                if "address already in use" not in str(error) or attempt + 1 == attempts:
                    raise
        raise AssertionError("unreachable")

    def start_programs(self):
        self.programs = self.describe()
        self.programs["etcd"].start().wait_ready()
        self.programs["kube-apiserver"].start().wait_ready()
        others = [program for name, program in self.programs.items()
                  if name not in ("etcd", "kube-apiserver")]
        for program in others:
            program.start()
        for program in others:
            program.wait_ready()
        self.wait_until(lambda: self.get("serviceaccount", "default", "-n", "default"),
                        "the service account that pods need")

    def stop(self):
        for name in reversed(list(self.programs)):
            self.programs[name].end()

    def pids(self):
        return {name: program.process.pid for name, program in self.programs.items()
                if program.process is not None}

    # Files ----------------------------------------------------------------------------------------
    def file(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.file(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.file(name)

    def openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=self.folder,
                       timeout=60, env={**os.environ, **fake_time.environment(self.certificates_from)})

    def make_authority(self, name):
        self.openssl("req", "-x509", *NEW_KEY, "-subj", "/CN=" + name, "-keyout", name + ".key",
                     "-out", name + ".crt")

    def make_certificate(self, name, subject, usage, authority="ca"):
        names = "subjectAltName=IP:127.0.0.1,IP:10.0.0.1,DNS:localhost,DNS:kubernetes.default.svc"
        self.openssl("req", "-x509", *NEW_KEY, "-subj", subject, "-CA", authority + ".crt",
                     "-CAkey", authority + ".key", "-addext", names,
                     "-addext", "extendedKeyUsage=" + usage, "-keyout", name + ".key",
                     "-out", name + ".crt")

    def make_certificates(self):
        """One authority; a certificate for the server, one for its proxy; keys of tokens."""
        if os.path.exists(self.file("proxy.crt")):
            return
        self.make_authority("ca")
        self.make_certificate("server", "/CN=kube-apiserver", "serverAuth")
        self.make_certificate("proxy", "/CN=front-proxy-client", "clientAuth")
        self.openssl("genrsa", "-out", "tokens.key", "2048")
        self.write("tokens.csv", f'{ADMIN_TOKEN},admin,admin,"system:masters"\n')

    def trust(self):
        context = ssl.create_default_context(cafile=self.file("ca.crt"))
        context.check_hostname = False  # controllers make their own certificates
        context.verify_mode = ssl.CERT_NONE
        return context

    # Programs -------------------------------------------------------------------------------------
    def assign_ports(self):
        names = ("etcd", "peer", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
        self.ports = dict(zip(names, free_ports(len(names))))
        self.server = f"https://127.0.0.1:{self.ports['kube-apiserver']}"
        self.write_kubeconfig(self.kubeconfig, ADMIN_TOKEN)

    def write_kubeconfig(self, path, token, namespace="default", **cluster):
        """A kubeconfig of the holder of `token`, a file if it is an absolute path; `cluster` such as
        server="https://127.0.0.1:1"."""
        user = {"tokenFile": token} if os.path.isabs(token) else {"token": token}
        with open(path, "w", encoding="utf-8") as file:
            json.dump({
                "apiVersion": "v1", "kind": "Config", "current-context": "test",
                "clusters": [{"name": "test", "cluster": {
                    "server": self.server, "certificate-authority": self.file("ca.crt"), **cluster}}],
                "users": [{"name": "user", "user": user}],
                "contexts": [{"name": "test", "context": {
                    "cluster": "test", "user": "user", "namespace": namespace}}]}, file)
        os.chmod(path, 0o600)
        return path

    def write_inline_kubeconfig(self, name, token):
        """A kubeconfig of the holder of `token`, with all certificates inline."""
        with open(self.file("ca.crt"), "rb") as file:
            authority = base64.b64encode(file.read()).decode()
        return self.write(name, f"""apiVersion: v1
kind: Config
current-context: test
clusters:
- name: test
  cluster:
    server: {self.server}
    certificate-authority-data: {authority}
contexts:
- name: test
  context: {{cluster: test, user: user}}
users:
- name: user
  user: {{token: {token}}}
""")

    def describe(self):
        port = self.ports
        etcd = f"http://127.0.0.1:{port['etcd']}"
        peer = f"http://127.0.0.1:{port['peer']}"
        client = ["--kubeconfig", self.kubeconfig, "--leader-elect=false", "--bind-address=127.0.0.1",
                  "--authorization-always-allow-paths=/healthz,/readyz,/metrics",
                  # Limits that would hide the tested behaviour.
                  "--kube-api-qps=500", "--kube-api-burst=1000"]
        programs = [
            Program(self, "etcd", port["etcd"], etcd + "/readyz", [
                "--data-dir", self.file("etcd"), "--name=etcd", "--unsafe-no-fsync",
                "--listen-client-urls", etcd, "--advertise-client-urls", etcd,
                "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                "--initial-cluster", "etcd=" + peer, "--quota-backend-bytes=8589934592",
                "--log-level=warn"]),
            Program(self, "kube-apiserver", port["kube-apiserver"], self.server + "/readyz", [
                f"--secure-port={port['kube-apiserver']}", "--bind-address=127.0.0.1",
                "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
                "--etcd-servers", etcd, "--authorization-mode=Node,RBAC",
                "--client-ca-file=ca.crt", "--tls-cert-file=server.crt",
                "--tls-private-key-file=server.key", "--token-auth-file=tokens.csv",
                "--service-account-issuer", SERVICE_ISSUER,
                "--service-account-key-file=tokens.key",
                "--service-account-signing-key-file=tokens.key",
                "--service-cluster-ip-range=10.0.0.0/24",
                "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
                "--requestheader-client-ca-file=ca.crt",
                "--requestheader-allowed-names=front-proxy-client",
                "--requestheader-extra-headers-prefix=X-Remote-Extra-",
                "--requestheader-group-headers=X-Remote-Group",
                "--requestheader-username-headers=X-Remote-User",
                "--proxy-client-cert-file=proxy.crt", "--proxy-client-key-file=proxy.key",
                "--profiling=false", *self.audit_flags(), *self.api_flags]),
            Program(self, "kube-controller-manager", port["kube-controller-manager"],
                    f"https://127.0.0.1:{port['kube-controller-manager']}/healthz", client + [
                        f"--secure-port={port['kube-controller-manager']}",
                        "--service-account-private-key-file=tokens.key", "--root-ca-file=ca.crt",
                        "--use-service-account-credentials=true", "--concurrent-job-syncs=20"]),
            Program(self, "kube-scheduler", port["kube-scheduler"],
                    f"https://127.0.0.1:{port['kube-scheduler']}/healthz", client + [
                        f"--secure-port={port['kube-scheduler']}"]),
            Program(self, "kwok", port["kwok"], f"http://127.0.0.1:{port['kwok']}/healthz", [
                "--kubeconfig", self.kubeconfig, "--config", os.path.join(HERE, "stages.yaml"),
                "--manage-all-nodes=true", "--node-lease-duration-seconds=40",
                f"--server-address=127.0.0.1:{port['kwok']}"]),
        ]
        return {program.name: program for program in programs}

    # Talking to it --------------------------------------------------------------------------------
    def audit_flags(self):
        if self.audited is None:
            return []
        policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
                  "rules": [{"level": "Metadata", "users": [self.audited]}, {"level": "None"}]}
        return ["--audit-policy-file", self.write("audit.json", json.dumps(policy)), "--audit-log-path",
                self.file("audit.log"), "--audit-log-mode=blocking"]

    def add_node(self, name, labels=None, **capacity):
        """A node that kwok keeps ready; `capacity` such as cpu="8", memory="32Gi"."""
        capacity = {"pods": "110", **{key.replace("__", "/"): value for key, value in capacity.items()}}
        node = {"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name, "annotations": {"kwok.x-k8s.io/node": "fake"},
                             "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
                "status": {"allocatable": capacity, "capacity": capacity}}
        self.kubectl("create", "-f", "-", stdin=json.dumps(node))

    # Waiting --------------------------------------------------------------------------------------
    def wait_despite_lost_writes(self, condition, what, seconds=200):
        """Polls like `wait_until`; touches the pods that are overdue from time to time, so that kwok and kube-scheduler
        look again. Berth's gated pods are not touched: an event about these pods could hide a fault of Berth."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                return self.wait_until(condition, what, seconds=10)
            except AssertionError as late:
                if time.monotonic() > deadline:
                    raise AssertionError(f"not within {seconds} s: {what}") from late
            self.touch_overdue_pods()

    def touch_overdue_pods(self):
        now = datetime.datetime.now(datetime.timezone.utc)
        for pod in self.items("pods", "-A"):
            if not is_overdue(pod, now):
                continue
            name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
            print(f"pod {namespace}/{name} on node {pod['spec'].get('nodeName')} is still {pod['status'].get('phase')}; "
                  "kwok and kube-scheduler are asked to look again", file=sys.stderr)
            self.kubectl("annotate", "--overwrite", "pod", name, "-n", namespace,
                         f"test.berth.dev/touched={time.time()}", check=False)

    @staticmethod
    def wait_until(condition, what, seconds=START_SECONDS):
        return wait_until(condition, what, seconds)
