"""Dask's own operator, unmodified, on a control plane: `kopf run` of the package that tools/dask installs.
Its CustomResourceDefinitions come from the package.

What kwok cannot run is played: Scheduler answers the operator's calls to the scheduler of every Dask
cluster."""

import glob
import http.server
import json
import os
import subprocess
import threading
import urllib.request

from control_plane import ROOT, free_ports
from established import wait_established
from scratch import die_with_parent

HERE = os.path.dirname(os.path.abspath(__file__))

FOLDER = os.environ.get("DASK", os.path.join(ROOT, "build", "dask"))


def is_installed():
    return os.path.exists(os.path.join(FOLDER, "stamp"))


def definitions():
    """The files of the operator's CustomResourceDefinitions."""
    found = glob.glob(os.path.join(FOLDER, "lib", "python3*", "site-packages", "dask_kubernetes", "operator",
                                   "deployment", "helm", "dask-kubernetes-operator", "crds", "*.yaml"))
    if len(found) != 4:
        raise AssertionError(f"four definitions of dask-kubernetes, not {found}")
    return sorted(found)


class Operator:
    def __init__(self, plane, name="dask"):
        self.plane = plane
        self.log_path = plane.file(name + ".log")
        self.process = None

    def install(self):
        self.plane.kubectl("apply", "--server-side", *(f"--filename={path}" for path in definitions()))
        wait_established(self.plane.kubectl, "daskclusters.kubernetes.dask.org", "daskjobs.kubernetes.dask.org",
                         "daskworkergroups.kubernetes.dask.org", "daskautoscalers.kubernetes.dask.org")

    def start(self):
        port = free_ports(1)[0]
        health = f"http://127.0.0.1:{port}/healthz"
        environment = {"PATH": os.environ["PATH"], "HOME": self.plane.folder, "KUBECONFIG": self.plane.kubeconfig,
                       "PYTHONPATH": os.path.join(HERE, "dask"), "PYTHONDONTWRITEBYTECODE": "1"}
        with open(self.log_path, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [os.path.join(FOLDER, "bin", "kopf"), "run", "-m", "dask_kubernetes.operator.controller",
                 "--all-namespaces", "--liveness", health], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.plane.folder,
                env=environment, preexec_fn=die_with_parent)
        self.plane.wait_until(lambda: self.answers(health), "the operator is alive")
        return self

    def answers(self, health):
        if self.process.poll() is not None:
            raise AssertionError("the operator ended early:\n" + self.log()[-3000:])
        try:
            with urllib.request.urlopen(health, timeout=5):
                return True
        except OSError:
            return False

    def stop(self):
        if self.process is None:
            return
        self.process.kill()
        self.process.wait(timeout=30)
        self.process = None

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()


class Scheduler:
    """The HTTP interface of Dask's schedulers. Registered workers are those whose pods run; the first ones by
    name are retired, whatever group they are of."""

    def __init__(self, plane):
        self.plane = plane
        self.target = None  # the workers that adaptive scaling asks for
        self.retired = []
        played = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                answers = {"/api/v1/adaptive_target": {"workers": played.target},
                           "/api/v1/check_idle": {"idle_since": 0}}
                self.answer(answers.get(self.path))

            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.answer(played.retire(asked["n"]) if self.path == "/api/v1/retire_workers" else None)

            def answer(self, body):
                text = json.dumps(body).encode()
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def retire(self, count):
        names = []
        for pod in self.plane.items("pods", "-A", "-l", "dask.org/component=worker"):
            if pod["status"].get("phase") != "Running" or "deletionTimestamp" in pod["metadata"]:
                continue
            names += [each["value"] for each in pod["spec"]["containers"][0]["env"]
                      if each["name"] == "DASK_WORKER_NAME"]
        chosen = [name for name in sorted(names) if name not in self.retired][:count]
        self.retired += chosen
        return {f"tcp://{name}:1": {"name": name} for name in chosen}

    def service(self):
        """The Service of a cluster's spec."""
        return {"type": "ClusterIP", "selector": {"dask.org/component": "scheduler"}, "ports": [
            {"name": "tcp-comm", "protocol": "TCP", "port": 8786, "targetPort": "tcp-comm"},
            {"name": "http-dashboard", "protocol": "TCP", "port": self.port, "targetPort": "http-dashboard"}]}
