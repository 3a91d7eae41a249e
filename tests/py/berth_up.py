"""A real `berth up` in its own folder, with kubectl configured for it.

Environment: BERTH (the program), KUBECTL (one or more clients, separated by ':'; the first is used
where a test needs just one), AUDIT_LOGS (a folder: each cluster writes an audit log there). All ports are free ports of
loopback; no files or processes remain, also when the test is killed.
"""

import json
import os
import shutil
import signal
import subprocess
import unittest
import urllib.request

from checkout import pods_see_checkout
from kubectl_client import KubectlClient
from object_reader import access_of
from scratch import die_with_parent, scratch_folder
from waiting import PATIENCE_SECONDS, wait_until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SAMPLES = os.path.join(ROOT, "manifests", "samples")
BERTH = os.environ.get("BERTH", os.path.join(ROOT, "build", "release", "berth"))
LOG_TAIL = 3000  # characters of a log that a failure shows
BUILT_KUBECTLS = ":".join(os.path.join(ROOT, "build", "bin", name) for name in ("kubectl", "kubectl-debian"))
KUBECTLS = [path for path in os.environ.get("KUBECTL", BUILT_KUBECTLS).split(":") if path and os.path.exists(path)]


class BerthUp(KubectlClient):
    """One data folder; `start` and `kill` may follow each other."""

    def __init__(self, kubectl=None, images=(), flags=(), program=BERTH, no_node=("--no-node",)):
        self.folder = scratch_folder("berth-e2e-")
        self.kubeconfig = os.path.join(self.folder, "kubeconfig")
        self.log_path = os.path.join(self.folder, "berth.log")
        self.kubectl_program = kubectl or KUBECTLS[0]
        self.reads_directly = kubectl is None  # the test is about this kubectl
        self.program = program
        self.no_node = no_node  # the test brings its nodes
        self.images = list(images)
        self.flags = list(flags)
        self.process = None

    # Life -----------------------------------------------------------------------------------------
    def start(self):
        if os.path.exists(self.kubeconfig):
            os.remove(self.kubeconfig)  # written last: its presence means "ready"
        command = [self.program, "up", "--data-dir", os.path.join(self.folder, "data"),
                   "--kubeconfig", self.kubeconfig]
        if not {"--node", "--api-only"} & set(self.flags):
            command += self.no_node
        if "--listen" not in self.flags:
            command += ["--listen", "127.0.0.1:0"]
        for image in self.images:
            command += ["--image", image]
        if os.environ.get("AUDIT_LOGS") and "--audit-log" not in self.flags:
            command += ["--audit-log", os.path.join(os.environ["AUDIT_LOGS"], os.path.basename(self.folder))]
        starts = self.starts()
        with open(self.log_path, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(command + self.flags, stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL, env=pods_see_checkout(),
                                            preexec_fn=die_with_parent)
        # The ports stand in the log a moment after the kubeconfig is written.
        wait_until(lambda: (os.path.exists(self.kubeconfig) and self.starts() > starts)
                   or self.process.poll() is not None, "berth up says that it is up")
        if self.process.poll() is not None:
            raise AssertionError("berth up ended early:\n" + self.log())
        return self

    def stop(self):
        """SIGTERM; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=PATIENCE_SECONDS)
        self.process = None
        return code

    def kill(self):
        self.process.kill()
        self.process.wait(timeout=PATIENCE_SECONDS)
        self.process = None

    def close(self):
        if self.process is not None:
            self.kill()
        wait_until(lambda: not self.left_over(), "no process of a pod is left")
        shutil.rmtree(self.folder, ignore_errors=True)

    def starts(self):
        return self.log().count("berth is up at ") if os.path.exists(self.log_path) else 0

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def left_over(self):
        """Processes that work in this cluster's data folder."""
        mine = os.path.join(self.folder, "data")
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{pid}/cwd").startswith(mine):
                    found.append(pid)
            except OSError:
                continue
        return found

    # Talking to it --------------------------------------------------------------------------------
    def berth(self, *arguments, **options):
        return self.run(self.program, *arguments, **options)

    def call(self, method, path, body=None, token=None):
        """The answer to a request of the kubeconfig's user, or of the token's, for what Debian's kubectl cannot do. A PATCH is a merge patch."""
        access = access_of(self.kubeconfig)
        request = urllib.request.Request(
            access.server + path, None if body is None else json.dumps(body).encode(), method=method,
            headers={"Authorization": f"Bearer {token or access.token}",
                     "Content-Type": "application/merge-patch+json" if method == "PATCH" else "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS, context=access.trust) as answer:
            return json.load(answer)

    def patch_status(self, path, status):
        """Of the object at the path."""
        return self.call("PATCH", f"{path}/status", {"status": status})

    def token(self, account, namespace="default", seconds=3600):
        """A new token of the ServiceAccount."""
        return self.call("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token",
                         {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                          "spec": {"expirationSeconds": seconds}})["status"]["token"]

    def user(self, token=None):
        """The name of the kubeconfig's user, or of the token's."""
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        return self.call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review, token)["status"]["userInfo"]["username"]

    def apply_dws(self, queues="queues-v1beta1.yaml", boot_seconds=1, idle_seconds=2, machines=1):
        for name in ("nodepools.yaml", "nodepool-h100.yaml"):
            self.apply(read_sample("dws", name)
                       .replace("bootSeconds: 60", f"bootSeconds: {boot_seconds}")
                       .replace("idleSeconds: 600", f"idleSeconds: {idle_seconds}")
                       .replace("maxNodes: 1\n", f"maxNodes: {machines}\n")
                       .replace("stock: 1\n", f"stock: {machines}\n"))
        self.apply(read_sample("dws", queues))

    def condition(self, kind, name, condition_type):
        found = self.get(kind, name)
        for condition in (found or {}).get("status", {}).get("conditions", []):
            if condition["type"] == condition_type:
                return condition
        return None

    def is_true(self, kind, name, condition_type):
        condition = self.condition(kind, name, condition_type)
        return condition is not None and condition["status"] == "True"

    def wait_complete(self, job, seconds=PATIENCE_SECONDS):
        try:
            wait_until(lambda: self.is_true("job", job, "Complete"), f"job {job} Complete", seconds)
        except AssertionError as late:
            state = self.kubectl("get", "jobs,workloads,provreq,pods,nodes", check=False).stdout
            raise AssertionError(f"{late}\n{state}\n{self.log()[-3000:]}") from None


def read_sample(*path):
    with open(os.path.join(SAMPLES, *path), encoding="utf-8") as sample:
        return sample.read()


class BerthUpTest(unittest.TestCase):
    """Tests of one running cluster."""

    clusters = ()  # those of the test

    def start_cluster(self, **options):
        cluster = BerthUp(**options)
        self.clusters += (cluster,)
        self.addCleanup(cluster.close)
        return cluster.start()

    def describe_failure(self):
        return "\n".join(f"{cluster.show_objects() if cluster.process else ''}berth up:\n{cluster.log()[-LOG_TAIL:]}"
                         for cluster in self.clusters if os.path.exists(cluster.log_path))
