"""Goal: with any fault of the API server and of the connection to it, every job of a queue completes, the
queue never exceeds its quota, and the controller needs at most a restart after it has lost
its lease.

Method: the controller talks to a real control plane through a proxy with faults. The quota admits two
jobs at a time; each test creates jobs, injects its fault meanwhile, and waits for all jobs."""

import itertools
import json
import re
import signal
import sys
import time
import urllib.request

from api_proxy import ApiProxy
from cluster_test import ClusterTest
from control_plane import ADMIN_TOKEN
from installation import NAMESPACE
from test_queueing import JOB, QUEUES
from toxic_proxy import ToxicProxy

QUOTA = 2


# The start of the pod of writes-0 and the end of the pod of writes-1.
REFUSALS = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: refusals}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps, pods/status]}
  validations:
  - message: as ordered
    expression: >-
      object.kind == 'Pod'
      ? object.status.phase != (object.metadata.name.startsWith('writes-0-') ? 'Running' : 'Succeeded')
      : object.metadata.name != 'refused'
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: refusals}
spec: {policyName: refusals, validationActions: [Deny]}
"""


def leases(duration, deadline):
    """A Configuration: `duration` is how long a successor waits for the leader, `deadline` when the leader gives up."""
    return f"""
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
leaderElection: {{leaderElect: true, leaseDuration: {duration}s, renewDeadline: {deadline}s, retryPeriod: 2s}}
"""


class FaultsCase(ClusterTest):
    """A controller behind a proxy that disturbs, and quota for a few jobs."""

    LEASES = leases(30, 20)  # longer than what disturbs, on a busy machine, too

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.controller.end()
        cls.proxy = ToxicProxy(cls.plane.ports["kube-apiserver"])
        cls.addClassCleanup(cls.proxy.close)
        cls.through_proxy = cls.plane.write_kubeconfig(
            cls.plane.file("proxy.kubeconfig"), cls.berth.token(),
            server=f"https://127.0.0.1:{cls.proxy.port}")
        cls.start_controller()

    @classmethod
    def start_controller(cls, kubeconfig=None):
        cls.controller = cls.berth.start(kubeconfig=kubeconfig or cls.through_proxy,
                                         flags=["--config", cls.plane.write("leases.yaml", cls.LEASES)])

    @classmethod
    def restart_controller(cls, kubeconfig=None):
        cls.controller.end()
        cls.start_controller(kubeconfig)

    def setUp(self):
        self.proxy.heal()
        self.name = self.id().rsplit("_", 1)[-1]
        self.sent = []
        self.numbers = itertools.count()
        self.apply_when_accepted(QUEUES, "--server-side")

    def tearDown(self):
        self.plane.kubectl("delete", "jobs", "--all")

    # What the tests say ---------------------------------------------------------------------------
    def send(self, count):
        names = [f"{self.name}-{next(self.numbers)}" for _ in range(count)]
        self.sent += names
        for name in names:
            self.apply_when_accepted(JOB.replace("NAME", name), "--server-side")

    def revive(self):
        """Restarts a controller that has ended, as a kubelet does."""
        code = self.controller.process.poll()
        if code is not None:
            print(f"the controller ended with {code} and is started again", file=sys.stderr)
            self.start_controller(self.controller.kubeconfig)

    def complete(self):
        """The number of complete jobs; checks the quota each time."""
        self.revive()
        workloads = self.plane.items("workloads")
        using = [workload["metadata"]["name"] for workload in workloads
                 if (true := {c["type"] for c in workload.get("status", {}).get("conditions", [])
                              if c["status"] == "True"})
                 and "QuotaReserved" in true and "Finished" not in true]
        self.assertLessEqual(len(using), QUOTA, using)
        owners = [owner["uid"] for workload in workloads
                  for owner in workload["metadata"].get("ownerReferences", [])]
        self.assertEqual(len(owners), len(set(owners)), "a job has two workloads")
        return sum(1 for job in self.plane.items("jobs") if job["metadata"]["name"] in self.sent
                   and job.get("status", {}).get("succeeded") == 1)

    def wait_for_jobs(self, count=None):
        count = len(self.sent) if count is None else count
        self.plane.wait_despite_lost_writes(lambda: self.complete() >= count, f"{count} jobs complete")

    def kill(self, name):
        self.plane.programs[name].end(signal.SIGKILL)
        self.plane.programs[name].start()

    def wait_for_server(self):
        self.plane.wait_until(lambda: self.plane.get("namespace", "default"), "the API server answers")

    def compact(self):
        """Removes the history of all objects, as etcd's own compaction does."""
        def call(path, body):
            request = urllib.request.Request(
                f"http://127.0.0.1:{self.plane.ports['etcd']}/v3/{path}", json.dumps(body).encode())
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        revision = call("kv/range", {"key": "AA=="})["header"]["revision"]
        call("kv/compaction", {"revision": revision, "physical": True})


class KilledTest(FaultsCase):
    def test_api_server_killed(self):
        self.send(4)
        self.wait_for_jobs(1)
        self.kill("kube-apiserver")
        self.wait_for_server()
        self.send(2)
        self.wait_for_jobs()

    def test_etcd_killed(self):
        self.send(4)
        self.wait_for_jobs(1)
        self.kill("etcd")
        self.plane.programs["etcd"].wait_ready()
        self.wait_for_server()
        self.send(2)
        self.wait_for_jobs()

    def test_history_compacted(self):
        """Jobs are created and deleted while the controller gets no events, and the history is lost."""
        self.send(2)
        self.wait_for_jobs()
        self.proxy.cut()
        self.plane.kubectl("delete", "job", self.sent.pop(0), "--wait=false")
        self.send(2)
        self.compact()
        self.kill("kube-apiserver")
        self.wait_for_server()
        self.proxy.heal()
        self.wait_for_jobs()


class ConnectionTest(FaultsCase):
    def test_slow_api(self):
        self.proxy.latency = 0.25
        self.send(4)
        self.wait_for_jobs()

    def test_connections_reset(self):
        self.send(6)
        for _ in range(15):
            self.proxy.reset()
            time.sleep(0.2)  # the harm takes its time
        self.wait_for_jobs()

    def test_kwok_loses_writes(self):
        """The start of one pod and the end of another: the harness asks kwok to look again."""
        self.plane.apply(REFUSALS)
        self.plane.wait_until(lambda: self.plane.kubectl("create", "configmap", "refused", "--dry-run=server", check=False).returncode,
                              "writes are refused")
        self.send(2)
        self.plane.wait_until(lambda: len(set(re.findall("(writes-[01]-[a-z0-9]+)[^\\n]*as ordered", self.plane.programs["kwok"].log()))) == 2,
                              "both writes are refused")
        self.plane.kubectl("delete", "-f", "-", stdin=REFUSALS)
        self.wait_for_jobs()

    def test_server_refuses(self):
        """429 and 503 for writes of decisions, and lost answers of writes that happened."""
        proxy = ApiProxy(self.berth.write_inline_kubeconfig("refusals.kubeconfig"))
        self.addCleanup(proxy.close)
        self.restart_controller(proxy.kubeconfig)
        for status, times in ((429, 4), (503, 4), (500, 2), (None, 2)):
            proxy.fail("PATCH", r"/workloads/[^/]+/status", status, times)
            proxy.fail("PATCH", r"/jobs/", status, times)
            proxy.fail("POST", r"/workloads", status, times)
        self.send(8)
        self.wait_for_jobs()
        self.plane.wait_until(proxy.failed, "every fault has happened")
        self.restart_controller()


class StalledTest(FaultsCase):
    def test_stall_shorter_than_the_lease(self):
        process = self.controller.process
        self.send(4)
        self.proxy.stall()
        time.sleep(5)
        self.proxy.heal()
        self.wait_for_jobs()
        self.assertIs(self.controller.process, process)


class LostLeaseTest(FaultsCase):
    LEASES = leases(15, 10)  # the usual times: the test waits for the end of both

    def test_stall_longer_than_the_lease(self):
        """The leader ends, since it cannot renew its lease; its successor continues the work."""
        self.send(4)
        self.proxy.stall()
        code = self.controller.process.wait(timeout=150)
        print(f"the leader ended with {code}", file=sys.stderr)
        self.assertGreaterEqual(code, 0, self.controller.log()[-2000:])
        self.assertIn("lost the lease", self.controller.log())
        self.proxy.heal()
        self.wait_for_jobs()


class RotationTest(FaultsCase):
    def test_token_rotates(self):
        """The API server revokes the old token; the token file has the new token."""
        file = self.plane.file("token")
        bound = []
        for number in range(2):
            self.plane.kubectl("create", "secret", "generic", f"bound-{number}", "-n", NAMESPACE)
            bound.append(self.berth.token("--bound-object-kind=Secret",
                                          f"--bound-object-name=bound-{number}"))
        self.plane.write("token", bound[0])
        self.restart_controller(self.plane.write_kubeconfig(self.plane.file("token.kubeconfig"), file))
        process = self.controller.process
        self.send(1)
        self.wait_for_jobs()
        self.plane.write("token", bound[1])
        self.plane.kubectl("delete", "secret", "bound-0", "-n", NAMESPACE)
        self.send(3)
        self.wait_for_jobs()
        self.assertIs(self.controller.process, process)
        self.restart_controller()

    def test_authority_rotates(self):
        """A new CA signs the server's certificate; the file that kubeconfig names has both CAs, then
        the new one. Other programs of the control plane read their CA once: they wait meanwhile."""
        def read(name):
            with open(self.plane.file(name), encoding="utf-8") as file:
                return file.read()

        def serve(name):
            self.plane.write("server.key", read(name + ".key"))
            self.plane.write("server.crt", read(name + ".crt"))
            self.plane.programs["kube-apiserver"].end(signal.SIGKILL)
            self.plane.programs["kube-apiserver"].start().wait_ready()
            self.proxy.reset()
        self.plane.make_authority("new")
        self.plane.make_certificate("next", "/CN=kube-apiserver", "serverAuth", authority="new")
        for name in ("server.key", "server.crt"):
            self.plane.write("first" + name[len("server"):], read(name))
        admin = self.plane.write_kubeconfig(self.plane.file("both.kubeconfig"), ADMIN_TOKEN, **{
            "certificate-authority": self.plane.write("both.crt", read("ca.crt") + read("new.crt"))})
        self.plane.write("trusted.crt", read("both.crt"))
        self.restart_controller(self.plane.write_kubeconfig(
            self.plane.file("rotates.kubeconfig"), self.berth.token(),
            **{"server": f"https://127.0.0.1:{self.proxy.port}",
               "certificate-authority": self.plane.file("trusted.crt")}))
        process = self.controller.process
        self.send(1)
        self.wait_for_jobs()
        old, self.plane.kubeconfig = self.plane.kubeconfig, admin
        self.addCleanup(setattr, self.plane, "kubeconfig", old)
        serve("next")
        self.plane.write("trusted.crt", read("new.crt"))
        self.send(2)
        self.plane.wait_until(
            lambda: all(self.plane.get("job", name)["spec"]["suspend"] is False
                        for name in self.sent), "the controller decides behind the new certificate")
        self.plane.write("trusted.crt", read("both.crt"))
        serve("first")
        self.wait_for_jobs()
        self.assertIs(self.controller.process, process)
        self.restart_controller()
