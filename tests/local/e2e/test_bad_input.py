"""Goal: bad input gets an answer that names the field or the way out; no process crashes."""

import os
import socket
import ssl
import subprocess
import unittest
import urllib.error
import urllib.request

import berth_up
from berth_up import BerthUpTest
from waiting import wait_until

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: default, labels: {{kueue.x-k8s.io/queue-name: {queue}}}}}
spec:
  suspend: true
  {extra}
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: c
        image: gcr.io/k8s-staging-perf-tests/sleep:v0.0.3
        args: ["1s"]
        resources: {{requests: {{cpu: {cpu}}}}}
"""


def job(name="bad", queue="dws-local-queue", extra="parallelism: 1", cpu="100m"):
    return JOB.format(name=name, queue=queue, extra=extra, cpu=cpu)


class ManifestTest(BerthUpTest):
    def refused(self, cluster, text, *words):
        done = cluster.apply(text, check=False)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_manifests(self):
        cluster = self.start_cluster()
        cluster.apply_dws()
        self.refused(cluster, "a: [1,", "error")
        self.refused(cluster, job(extra="paralelism: 1"), 'unknown field "spec.paralelism"')
        self.refused(cluster, job(cpu="1GiB"), "quantit")
        self.refused(cluster, job(name="Bad_Name"), "Bad_Name")
        self.refused(cluster, "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\n"
                     "metadata: {name: q}\nspec: {stopPolicy: Maybe}\n",
                     "spec.stopPolicy", '"Maybe"', "Hold")
        self.refused(cluster, "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\n"
                     "metadata: {name: q}\nspec:\n  resourceGroups:\n  - coveredResources: [cpu]\n"
                     "    flavors:\n    - name: f\n      resources:\n"
                     "      - {name: cpu, nominalQuota: 1, borrowingLimit: 1}\n", "borrowingLimit")
        self.refused(cluster, "apiVersion: cloud.berth.dev/v1alpha1\nkind: NodePool\n"
                     "metadata: {name: p}\nspec: {machineType: n1-standard-2, maxNodes: many}\n",
                     "spec.maxNodes")
        # Rules that the CRDs have in CEL.
        cluster.apply("apiVersion: kueue.x-k8s.io/v1beta2\nkind: Topology\n"
                      "metadata: {name: dc}\nspec: {levels: [{nodeLabel: rack}]}\n")
        self.refused(cluster, "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Topology\n"
                     "metadata: {name: dc}\nspec: {levels: [{nodeLabel: block}]}\n", "spec.levels")
        self.refused(cluster, "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\n"
                     "metadata: {name: dws-local-queue, namespace: default}\n"
                     "spec: {clusterQueue: other}\n", "spec.clusterQueue", "immutable")
        self.refused(cluster, "apiVersion: kueue.x-k8s.io/v1beta2\nkind: AdmissionCheck\n"
                     "metadata: {name: dws-prov}\nspec: {controllerName: example.com/other}\n",
                     "spec.controllerName", "immutable")
        self.refused(cluster, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: big}\n"
                     "data: {a: " + "x" * (2 << 20) + "}\n", "large")  # twice: last-applied
        self.assertIsNone(cluster.process.poll())

    def test_queue_that_does_not_exist_is_named(self):
        cluster = self.start_cluster()
        cluster.apply(job(name="lost", queue="nowhere"))
        wait_until(lambda: "nowhere" in cluster.berth("why", "job/lost", check=False).stdout,
                   "berth why names the missing LocalQueue")

    def test_check_without_its_controller_and_unknown_class(self):
        cluster = self.start_cluster()
        cluster.apply("""
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: f}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: orphan}
spec: {controllerName: example.com/nobody}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: prov}
spec:
  controllerName: kueue.x-k8s.io/provisioning-request
  parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: nope}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: q}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 1}]}]
  admissionChecksStrategy: {admissionChecks: [{name: orphan}]}
""")
        self.assertIn("orphan", wait_until(
            lambda: (cluster.condition("cq", "q", "Active") or {}).get("message"),
            "the ClusterQueue says which check is not active"))
        self.assertEqual("BadParametersRef", wait_until(
            lambda: (cluster.condition("ac", "prov", "Active") or {}).get("reason"),
            "the check says that its configuration is missing"))


class WireTest(BerthUpTest):
    def test_strangers(self):
        cluster = self.start_cluster()
        config = cluster.kubectl("config", "view", "--raw", "-o",
                                 "jsonpath={.clusters[0].cluster.server}").stdout
        port = int(config.rsplit(":", 1)[1])
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE

        def get(path, token=None):
            request = urllib.request.Request(f"https://127.0.0.1:{port}{path}")
            if token:
                request.add_header("Authorization", "Bearer " + token)
            try:
                with urllib.request.urlopen(request, context=context, timeout=60) as answer:
                    return answer.status
            except urllib.error.HTTPError as error:
                return error.code

        self.assertEqual(get("/version"), 200)
        self.assertEqual(get("/readyz"), 200)
        self.assertIn(get("/api/v1/namespaces"), (401, 403))
        self.assertEqual(get("/api/v1/namespaces", token="wrong"), 401)
        half_open = [socket.create_connection(("127.0.0.1", port), timeout=5) for _ in range(50)]
        with socket.create_connection(("127.0.0.1", port), timeout=5) as garbage:
            garbage.sendall(b"\x00\xff" * 200 + b"\r\n\r\n")
        half_open[0].sendall(b"\x16\x03\x01")  # the beginning of a handshake, and no more
        self.assertEqual(get("/readyz"), 200)
        self.assertIn("Active", cluster.kubectl("get", "ns", "default").stdout)
        for connection in half_open:
            connection.close()
        self.assertEqual(cluster.stop(), 0)


class StartTest(unittest.TestCase):
    """`berth up` that cannot start names the reason and the object, and exits with 1."""

    def refused(self, *flags, words=()):
        done = subprocess.run([berth_up.BERTH, "up", *flags], capture_output=True, text=True,
                              timeout=30, check=False, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def setUp(self):
        self.cluster = berth_up.BerthUp()
        self.addCleanup(self.cluster.close)
        self.data = os.path.join(self.cluster.folder, "other")

    def test_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            self.refused("--data-dir", self.data, "--listen", f"127.0.0.1:{port}", words=[str(port)])

    def test_data_directory_in_use(self):
        self.cluster.start()
        self.refused("--data-dir", os.path.join(self.cluster.folder, "data"), "--listen",
                     "127.0.0.1:0", words=["state.db"])

    def test_data_directory_that_cannot_be_written(self):
        self.refused("--data-dir", "/proc/berth", "--listen", "127.0.0.1:0", words=["/proc/berth"])

    def test_corrupt_database(self):
        os.makedirs(self.data)
        with open(os.path.join(self.data, "state.db"), "wb") as database:
            database.write(b"not a database" * 1000)
        self.refused("--data-dir", self.data, "--listen", "127.0.0.1:0", words=["state.db"])

    def test_other_machines_are_let_in_only_on_purpose(self):
        self.refused("--data-dir", self.data, "--listen", "0.0.0.0:0",
                     words=["--allow-remote", "other machines"])
        self.cluster.flags = ["--listen", "0.0.0.0:0", "--allow-remote"]
        self.cluster.start()
        self.assertIn("open to other machines", self.cluster.log())

    def test_nobody_else_reads_the_data(self):
        self.cluster.start()
        data = os.path.join(self.cluster.folder, "data")
        for folder, _, files in os.walk(data):
            self.assertEqual(oct(os.lstat(folder).st_mode & 0o7777), "0o700", folder)
            for file in files:
                path = os.path.join(folder, file)
                self.assertEqual(oct(os.lstat(path).st_mode & 0o7777), "0o600", path)
        os.symlink(data, self.data)
        self.refused("--data-dir", self.data + "/", "--listen", "127.0.0.1:0", words=["symbolic link"])

    def test_bad_flags(self):
        self.refused("--data-dir", self.data, "--listen", "127.0.0.1:0", "--log-limit", "1Ki",
                     words=["--log-limit", "64Ki"])
        self.refused("--data-dir", self.data, "--listen", "127.0.0.1:0", "--job-user", "nobody-here",
                     words=["--job-user", "no such user"])
        self.refused("--data-dir", self.data, "--listen", "nonsense", words=["--listen"])
        self.refused("--data-dir", self.data, "--listen", "127.0.0.1:0", "--image", "x",
                     words=["--image", "NAME=PATH"])

    def test_full_disk(self):
        # A file system of 1 MiB: the start or the first writes must fail with a sentence.
        folder = os.path.join(self.cluster.folder, "small")
        os.makedirs(folder)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "berth", folder],
                                 capture_output=True, check=False)
        if mounted.returncode != 0:
            self.skipTest("not allowed to mount a small file system")
        self.addCleanup(subprocess.run, ["umount", folder], check=False)
        self.refused("--data-dir", folder, "--listen", "127.0.0.1:0", words=["full"])


class CommandLineTest(unittest.TestCase):
    def run_berth(self, *arguments, environment=None):
        return subprocess.run([berth_up.BERTH, *arguments], capture_output=True, text=True,
                              timeout=30, check=False, env=environment, stdin=subprocess.DEVNULL)

    def test_exit_codes(self):
        nowhere = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
        self.assertEqual(self.run_berth("--help").returncode, 0)
        self.assertIn("Example", self.run_berth("status", "--help").stdout)
        self.assertEqual(self.run_berth("nonsense").returncode, 2)
        self.assertEqual(self.run_berth("why").returncode, 2)
        done = self.run_berth("status", environment=nowhere)
        self.assertEqual(done.returncode, 4)
        self.assertIn("berth up", done.stderr)
        for shell in ("bash", "zsh", "fish"):
            self.assertIn("berth", self.run_berth("completion", shell).stdout)
