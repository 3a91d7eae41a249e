"""Goal: kubectl and the Python client run programs in containers, copy files, attach, read logs by time and reach
ports of pods, and nothing else of the machine.

Method: a real `berth up` with pods of real processes; kubectl over WebSockets (v5.channel.k8s.io and the tunnel), then
over SPDY as before kubectl 1.31, the Python client over v4.channel.k8s.io where tools/dask has installed it."""

import json
import os
import re
import signal
import socket
import subprocess
import threading
import unittest

from berth_up import KUBECTLS, ROOT, BerthUpTest
from scratch import die_with_parent
from waiting import wait_until

PYTHON = os.path.join(os.environ.get("DASK", os.path.join(ROOT, "build", "dask")), "bin", "python3")
ROOM = {"cpu": "4", "memory": "4Gi", "pods": "50"}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "laptop"},
        "status": {"allocatable": ROOM, "capacity": ROOM}}
# Listens on all addresses, which its pod's network makes the pod's own, and answers with what it gets.
ECHO = """
import socket, threading
server = socket.create_server(("0.0.0.0", 8080))
print("listening", flush=True)
def serve(peer):
    while data := peer.recv(65536):
        peer.sendall(data.upper())
    peer.close()
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
"""


def pod(name, script, **container):
    return json.dumps({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"restartPolicy": container.pop("policy", "Never"), "terminationGracePeriodSeconds": 0,
                 "volumes": [{"name": "data", "emptyDir": {}}],
                 "containers": [{"name": "c", "image": "sh:1", "command": ["sh", "-c", script],
                                 "env": [{"name": "COLOUR", "value": "blue"}],
                                 "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                                 **container}]}})


class StreamStories:
    """Stories of kubectl, by a protocol."""

    VARIABLES = {}  # the environment of kubectl
    UPGRADE = ""  # what kubectl -v=8 shows of the answer

    @classmethod
    def setUpClass(cls):
        if not KUBECTLS:
            raise unittest.SkipTest("no kubectl: tools/build and tools/kubectl make one")

    def setUp(self):
        super().setUp()
        self.cluster = self.start_cluster(images=["sh:1=/bin/sh"])
        self.cluster.variables = self.VARIABLES
        self.cluster.apply(json.dumps(NODE))

    def run_pod(self, name, script="sleep 1000", **container):
        self.cluster.apply(pod(name, script, **container))
        wait_until(lambda: (self.cluster.get("pod", name) or {}).get("status", {}).get("phase") == "Running",
                   f"pod {name} runs")

    def exec(self, *words, **options):
        return self.cluster.kubectl("exec", *words, **options)

    def start_kubectl(self, *words, **options):
        return subprocess.Popen([self.cluster.kubectl_program, *words], env=self.cluster.environment(),
                                preexec_fn=die_with_parent, **options)

    def test_exec(self):
        self.run_pod("p", "cd /; sleep 1000", workingDir="/data")
        done = self.exec("p", "--", "sh", "-c", "echo out; echo err >&2; exit 3", check=False)
        self.assertEqual((done.stdout, done.stderr.splitlines()[0], done.returncode), ("out\n", "err", 3))
        self.assertIn("command terminated with exit code 3", done.stderr)
        told = self.exec("p", "--", "sh", "-c", "echo $COLOUR; pwd; echo $HOSTNAME; echo kept > /data/file").stdout
        self.assertEqual(told, "blue\n/data\np\n", "environment and working directory of the container")
        self.assertFalse(os.path.exists("/data/file"), "volumes are those of the container alone")
        self.assertEqual(self.exec("p", "--", "cat", "/data/file").stdout, "kept\n")
        large = "x" * 3_000_000 + "\n"
        self.assertEqual(self.exec("-i", "p", "--", "cat", stdin=large).stdout, large)
        counted = self.exec("-i", "p", "--", "sh", "-c", "wc -c; echo done", stdin="12345")
        self.assertEqual(counted.stdout.split(), ["5", "done"])
        self.assertIn(self.UPGRADE, self.exec("-v=8", "p", "--", "true").stderr)
        missing = self.exec("p", "--", "/no/such/program", check=False)
        self.assertNotEqual(missing.returncode, 0)
        self.assertIn("No such file or directory", missing.stderr)
        other = self.exec("p", "-c", "other", "--", "true", check=False)
        self.assertIn("container other is not valid for pod p", other.stderr)

    def test_exec_ends_with_the_client_and_with_the_pod(self):
        self.run_pod("p")
        client = self.start_kubectl("exec", "p", "--", "sh", "-c", "echo $$; sleep 1000", stdout=subprocess.PIPE, text=True)
        self.addCleanup(client.stdout.close)
        pid = int(client.stdout.readline())
        client.kill()
        client.wait()
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the program has ended with its client")
        second = self.start_kubectl("exec", "p", "--", "sleep", "1000", stderr=subprocess.DEVNULL)
        self.exec("p", "--", "true")
        self.cluster.kubectl("delete", "pod", "p", "--wait=false")
        self.assertNotEqual(second.wait(timeout=30), 0)

    def test_a_slow_client_stops_nobody(self):
        self.run_pod("p")
        slow = self.start_kubectl("exec", "p", "--", "sh", "-c", "yes | head -c 200000000", stdout=subprocess.PIPE)
        self.addCleanup(slow.stdout.close)
        slow.stdout.read(10)
        slow.send_signal(signal.SIGSTOP)
        for _ in range(3):
            self.assertEqual(self.exec("p", "--", "echo", "quick").stdout, "quick\n")
        with open(f"/proc/{self.cluster.process.pid}/status", encoding="utf-8") as status:
            resident = int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1))
        self.assertLess(resident, 400_000, "KiB: output waits with its program")
        slow.kill()
        slow.wait()

    def test_terminal(self):
        self.run_pod("p")
        done = subprocess.run(
            ["script", "-qec", f"{self.cluster.kubectl_program} exec -it p -- sh -c 'tty; stty size; exit 4'", "/dev/null"],
            env=self.cluster.environment(), capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
        self.assertIn("/dev/pts/", done.stdout)
        self.assertIn("exit code 4", done.stdout)

    def test_copy(self):
        self.run_pod("p")
        folder = os.path.join(self.cluster.folder, "copied")
        os.makedirs(os.path.join(folder, "sub"))
        for name, content in (("a", "first"), ("sub/b", "x" * 200_000)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(content)
        self.cluster.kubectl("cp", folder, "p:/data/there")
        self.assertEqual(self.exec("p", "--", "cat", "/data/there/a").stdout, "first")
        back = os.path.join(self.cluster.folder, "back")
        self.cluster.kubectl("cp", "p:/data/there", back)
        with open(os.path.join(back, "sub", "b"), encoding="utf-8") as file:
            self.assertEqual(len(file.read()), 200_000)

    def test_attach_and_stdin(self):
        self.run_pod("p", "while read line; do echo got $line; done; echo over", stdin=True, stdinOnce=True)
        done = self.cluster.kubectl("attach", "-i", "p", stdin="one\ntwo\n", check=False)
        self.assertIn("got one\ngot two\n", done.stdout)
        wait_until(lambda: "over" in self.cluster.kubectl("logs", "p").stdout, "the input has ended")
        self.assertEqual(self.cluster.kubectl("logs", "p").stdout, "got one\ngot two\nover\n")
        ran = self.cluster.kubectl("run", "q", "-i", "--rm", "--restart=Never", "--image=sh:1", "--command", "--", "sh",
                                   "-c", "tr a-z A-Z", stdin="hello\n", check=False)
        self.assertIn("HELLO", ran.stdout, ran.stderr)

    def test_rights(self):
        self.run_pod("p")
        data = os.path.join(self.cluster.folder, "data")
        path = os.path.join(self.cluster.folder, "jane.kubeconfig")
        self.cluster.berth("user", "add", "jane", "--data-dir", data, "--kubeconfig", self.cluster.kubeconfig, "--out", path)
        rules = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "reader"},
                 "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
                           {"apiGroups": [""], "resources": ["pods/exec", "pods/portforward", "pods/attach"],
                            "verbs": ["get"]}]}
        self.cluster.apply(json.dumps(rules))
        self.cluster.kubectl("create", "rolebinding", "reader", "--role", "reader", "--user", "jane")
        for words in (["exec", "p", "--", "true"], ["attach", "p"], ["port-forward", "p", ":8080"]):
            done = self.cluster.kubectl("--kubeconfig", path, *words, check=False)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIn('cannot create resource "pods/', done.stderr)
        rules["rules"][1]["verbs"] = ["get", "create"]
        self.cluster.apply(json.dumps(rules))
        self.assertEqual(self.exec("p", "--kubeconfig", path, "--", "echo", "may").stdout, "may\n")

    def forward(self, name, port):
        """kubectl port-forward; its local port."""
        client = self.start_kubectl("port-forward", name, f":{port}",
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        def end():
            client.kill()
            client.communicate()
        self.addCleanup(end)
        line = client.stdout.readline()
        return client, int(re.search(r"127\.0\.0\.1:(\d+)", line).group(1))

    def test_port_forward(self):
        self.run_pod("echo", command=["python3", "-u", "-c", ECHO], ports=[{"containerPort": 8080}])
        wait_until(lambda: "listening" in self.cluster.kubectl("logs", "echo").stdout, "the server listens")
        client, port = self.forward("echo", 8080)
        threads = []

        def talk(number):
            with socket.create_connection(("127.0.0.1", port), timeout=30) as peer:
                sent = (f"line {number} " * 50_000).encode()
                threading.Thread(target=peer.sendall, args=(sent,)).start()
                got = b""
                while len(got) < len(sent):
                    got += peer.recv(65536)
                results.append(got == sent.upper())
        results = []
        for number in range(4):
            threads.append(threading.Thread(target=talk, args=(number,)))
            threads[-1].start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [True] * 4)
        self.assertIsNone(client.poll())

    def test_port_forward_reaches_the_pod_alone(self):
        """A server of this machine listens on all addresses: that of the pod, too."""
        self.run_pod("p")
        with socket.create_server(("0.0.0.0", 0)) as foreign:
            client, port = self.forward("p", foreign.getsockname()[1])
            with socket.create_connection(("127.0.0.1", port), timeout=30) as peer:
                try:
                    self.assertEqual(peer.recv(10), b"")
                except ConnectionResetError:
                    pass
            foreign.settimeout(0.2)
            with self.assertRaises(socket.timeout):
                foreign.accept()
            client.kill()
            self.assertIn("no program of pod p listens on port", client.communicate()[1])


class StreamsTest(StreamStories, BerthUpTest):
    UPGRADE = "Upgrade: websocket"

    def test_logs(self):
        script = "echo old; sleep 3; echo new; echo newer; exec sleep 1000"
        self.run_pod("p", script)
        wait_until(lambda: "newer" in self.cluster.kubectl("logs", "p").stdout, "all is written")
        logs = lambda *words: self.cluster.kubectl("logs", "p", *words).stdout
        lines = logs("--timestamps").splitlines()
        self.assertEqual([line.split(" ", 1)[1] for line in lines], ["old", "new", "newer"])
        for line in lines:
            self.assertRegex(line, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z ")
        self.assertEqual(logs("--since-time", lines[1].split(" ")[0]), "new\nnewer\n")
        self.assertEqual(logs("--since", "1h"), "old\nnew\nnewer\n")
        self.assertEqual(logs("--tail", "1", "--since", "1h"), "newer\n")
        self.assertEqual(logs("--limit-bytes", "5"), "old\nn")
        refused = self.cluster.kubectl("get", "--raw", "/api/v1/namespaces/default/pods/p/log?sinceTime=now", check=False)
        self.assertIn("sinceTime", refused.stderr)

    def test_logs_of_restarts_and_of_all_containers(self):
        self.run_pod("p", "read id < /proc/sys/kernel/random/uuid; echo run $id; sleep 1; exit 1", policy="Always")
        follow = self.start_kubectl("logs", "-f", "p", stdout=subprocess.PIPE, text=True)
        self.addCleanup(follow.stdout.close)
        first, second = follow.stdout.readline(), follow.stdout.readline()
        self.assertNotEqual(first, second)
        self.assertRegex(second, r"^run [0-9a-f-]+$")
        self.assertEqual(self.cluster.kubectl("logs", "-p", "p").stdout, first)
        self.assertIn("[pod/p/c] run", self.cluster.kubectl("logs", "p", "--all-containers", "--prefix").stdout)
        self.cluster.kubectl("delete", "pod", "p")
        self.assertEqual(follow.wait(timeout=30), 0)

    def test_a_request_without_an_upgrade(self):
        self.run_pod("p")
        for subresource in ("exec?command=true&stdout=1", "portforward"):
            done = self.cluster.kubectl("create", "--raw", f"/api/v1/namespaces/default/pods/p/{subresource}", "-f", "-",
                                        stdin="", check=False)
            self.assertIn("Upgrade request required", done.stderr)

    @unittest.skipUnless(os.path.exists(PYTHON), "tools/dask installs the Python client")
    def test_python_client(self):
        self.run_pod("p")
        self.run_pod("echo", command=["python3", "-u", "-c", ECHO])
        wait_until(lambda: "listening" in self.cluster.kubectl("logs", "echo").stdout, "the server listens")
        program = """
from kubernetes import client, config
from kubernetes.stream import stream, portforward
config.load_kube_config()
core = client.CoreV1Api()
print(stream(core.connect_get_namespaced_pod_exec, "p", "default", command=["sh", "-c", "echo $COLOUR"],
             stdout=True, stderr=True, stdin=False, tty=False), end="")
session = stream(core.connect_get_namespaced_pod_exec, "p", "default", command=["sh", "-c", "read a; echo got $a; exit 7"],
                 stdout=True, stderr=True, stdin=True, tty=False, _preload_content=False)
session.write_stdin("input\\n")
session.run_forever(timeout=20)
print(session.read_stdout(), end="")
print(session.returncode)
ports = portforward(core.connect_get_namespaced_pod_portforward, "echo", "default", ports="8080")
peer = ports.socket(8080)
peer.setblocking(True)
peer.sendall(b"python")
print(peer.recv(100).decode())
"""
        done = self.cluster.run(PYTHON, "-c", program, seconds=60)
        self.assertEqual(done.stdout, "blue\ngot input\n7\nPYTHON\n")


class SpdyStreamsTest(StreamStories, BerthUpTest):
    """kubectl before 1.29 has no other protocol, and kubectl before 1.31 needs these variables for another."""

    VARIABLES = {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "false", "KUBECTL_PORT_FORWARD_WEBSOCKETS": "false"}
    UPGRADE = "Upgrade: SPDY/3.1"

    def test_old_kubectl(self):
        old = [program for program in KUBECTLS if "1.20" in self.cluster.run(program, "version", "--client").stdout]
        if not old:
            self.skipTest("no kubectl 1.20")
        self.run_pod("p")
        done = self.cluster.run(old[0], "exec", "-i", "p", "--", "sh", "-c", "cat; exit 3", stdin="old", check=False)
        self.assertEqual((done.stdout, done.returncode), ("old", 3))
