"""One `berth controller` beside a cluster of berth_up.py: its log, its ports, and their answers."""

import base64
import http.client
import os
import re
import resource
import socket
import ssl
import subprocess

from berth_up import BERTH
from scratch import die_with_parent
from waiting import PATIENCE_SECONDS, wait_until

METRICS_SERVICE = "kueue-controller-manager-metrics-service.kueue-system.svc"
ANY_PORT = "127.0.0.1:0"
LISTEN = ("--metrics-listen", ANY_PORT, "--health-listen", ANY_PORT, "--webhook-listen", ANY_PORT,
          "--visibility-listen", ANY_PORT)


def limit_files(soft):
    resource.setrlimit(resource.RLIMIT_NOFILE,
                       (soft, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


class Replica:
    """`listen`: flags of the ports; `files`: the soft limit on open files that it starts with."""

    def __init__(self, cluster, name, *flags, kubeconfig=None, listen=LISTEN, files=None):
        self.cluster = cluster
        self.log_path = os.path.join(cluster.folder, name + ".log")
        with open(self.log_path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [BERTH, "controller", "--kubeconfig", kubeconfig or cluster.kubeconfig, *listen,
                 *flags],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=cluster.environment(),
                preexec_fn=lambda: self.prepare(files))

    @staticmethod
    def prepare(files):
        die_with_parent()
        if files:
            limit_files(files)

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def stop(self):
        """SIGTERM; returns the exit code."""
        self.process.terminate()
        return self.process.wait(timeout=PATIENCE_SECONDS)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(timeout=PATIENCE_SECONDS)

    def port(self, what):
        """Of "metrics", "health" or "webhook"; 0: not served."""
        def find():
            found = re.search(what + r'_port="?(\d+)', self.log())
            if found is None and self.process.poll() is not None:
                raise AssertionError("the controller ended early:\n" + self.log())
            return found
        return int(wait_until(find, "the controller says its ports").group(1))

    def authority(self):
        """The CA of the certificate that the controller serves, from its Secret."""
        secret = self.cluster.get("secret", "kueue-webhook-server-cert", "-n", "kueue-system")
        return base64.b64decode(secret["data"]["ca.crt"]).decode()

    def ask(self, what, path, token=None, tls=None, headers=None, method="GET"):
        """Status and body; over TLS where `tls`, which is the name that the certificate must have."""
        with socket.create_connection(("127.0.0.1", self.port(what)), timeout=20) as plain:
            connection = http.client.HTTPConnection("127.0.0.1")
            connection.sock = plain
            if tls:
                context = ssl.create_default_context(cadata=self.authority())
                connection.sock = context.wrap_socket(plain, server_hostname=tls)
            if token:
                headers = {**(headers or {}), "Authorization": "Bearer " + token}
            connection.request(method, path, headers=headers or {})
            answer = connection.getresponse()
            body = answer.read().decode()
            connection.close()
            return answer.status, body

    def metrics(self, token=None, **options):
        return self.ask("metrics", "/metrics", token=token, tls=METRICS_SERVICE, **options)
