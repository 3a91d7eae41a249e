"""A real `berth up` in its own folder, with kubectl configured for it.

Environment: BERTH (the program), KUBECTL (one or more clients, separated by ':'; the first is used
where a test needs just one), AUDIT_LOGS (a folder: each cluster writes an audit log there). All ports are free ports of
loopback; no files or processes remain, also when the test is killed.
"""

import base64
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import time
import unittest
import urllib.request

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
from scratch import die_with_parent, scratch_folder  # noqa: E402 (the folder is known only now)

SAMPLES = os.path.join(ROOT, "manifests", "samples")
BERTH = os.environ.get("BERTH", os.path.join(ROOT, "build", "release", "berth"))
KUBECTLS = [path for path in os.environ.get("KUBECTL", "").split(":") if path and os.path.exists(path)]
PATIENCE_SECONDS = 150  # longest wait for a state on a busy machine


def wait_until(condition, what, seconds=PATIENCE_SECONDS):
    """Polls another process's state until `condition` is true; returns its value. An object or a field that
    `condition` reads and that is not there yet counts as false."""
    deadline = time.monotonic() + seconds
    while True:
        value, missing = None, None
        try:
            value = condition()
        except (IndexError, KeyError, TypeError) as error:
            missing = error
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}") from missing
        time.sleep(0.05)


class Cluster:
    """One data folder; `start` and `kill` may follow each other."""

    def __init__(self, kubectl=None, images=(), flags=()):
        self.folder = scratch_folder("berth-e2e-")
        self.kubeconfig = os.path.join(self.folder, "kubeconfig")
        self.log_path = os.path.join(self.folder, "berth.log")
        self.kubectl_program = kubectl or KUBECTLS[0]
        self.images = list(images)
        self.flags = list(flags)
        self.process = None

    # Life -----------------------------------------------------------------------------------------
    def start(self):
        if os.path.exists(self.kubeconfig):
            os.remove(self.kubeconfig)  # written last: its presence means "ready"
        command = [BERTH, "up", "--data-dir", os.path.join(self.folder, "data"),
                   "--kubeconfig", self.kubeconfig]
        if "--listen" not in self.flags:
            command += ["--listen", "127.0.0.1:0"]
        for image in self.images:
            command += ["--image", image]
        if os.environ.get("AUDIT_LOGS") and "--audit-log" not in self.flags:
            command += ["--audit-log", os.path.join(os.environ["AUDIT_LOGS"], os.path.basename(self.folder))]
        starts = self.starts()
        with open(self.log_path, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(command + self.flags, stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL,
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
    def environment(self):
        return {"PATH": os.environ["PATH"], "HOME": self.folder, "KUBECONFIG": self.kubeconfig,
                "LANG": "C.UTF-8", "TZ": "UTC"}

    def run(self, program, *arguments, stdin=None, check=True, seconds=150):
        done = subprocess.run([program, *arguments], input=stdin, text=True, capture_output=True,
                              timeout=seconds, env=self.environment(), check=False)
        if check and done.returncode != 0:
            raise AssertionError(f"{program} {' '.join(arguments)}: exit {done.returncode}\n"
                                 f"{done.stdout}{done.stderr}")
        return done

    def kubectl(self, *arguments, **options):
        return self.run(self.kubectl_program, *arguments, **options)

    def berth(self, *arguments, **options):
        return self.run(BERTH, *arguments, **options)

    def call(self, method, path, body=None, token=None):
        """The answer to a request of the kubeconfig's user, or of the token's, for what Debian's kubectl cannot do. A PATCH is a merge patch."""
        config = json.loads(self.kubectl("config", "view", "--raw", "-o", "json").stdout)
        context = ssl.create_default_context(
            cadata=base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]).decode())
        request = urllib.request.Request(
            config["clusters"][0]["cluster"]["server"] + path, None if body is None else json.dumps(body).encode(), method=method,
            headers={"Authorization": f"Bearer {token or config['users'][0]['user']['token']}",
                     "Content-Type": "application/merge-patch+json" if method == "PATCH" else "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS, context=context) as answer:
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

    def get(self, *arguments):
        """The object, or None."""
        done = self.kubectl("get", *arguments, "-o", "json", check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def items(self, *arguments):
        listed = self.get(*arguments)
        return listed["items"] if listed else []

    def apply(self, text, **options):
        return self.kubectl("apply", "-f", "-", stdin=text, **options)

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


class ClusterTest(unittest.TestCase):
    """Tests of one running cluster."""

    def start_cluster(self, **options):
        cluster = Cluster(**options)
        self.addCleanup(cluster.close)
        return cluster.start()
