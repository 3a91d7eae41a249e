"""Goal: of several replicas on a real Kubernetes one decides. When that one is killed, frozen, or loses
its lease, another decides soon after the lease has expired, no workload is admitted twice, and the first
writes nothing more. tests/kube/leader_election_test.cc checks the exact time; this test only prints
it. tests/kube/leader_fence_test.cc checks that no write leaves outside the lease, in any order of
events.

Method: three replicas; the leader fails while jobs are created. One leader's requests go through a
proxy that records them."""

import datetime
import json
import signal
import sys
import time

from api_proxy import ApiProxy
from cluster_test import ClusterTest
from installation import LEASE, NAMESPACE
from test_queueing import JOB, QUEUES


class Witness(ApiProxy):
    """Records the writes of its client, except leases, events and reviews."""

    def __init__(self, kubeconfig):
        self.writes = []
        super().__init__(kubeconfig)

    def note(self, client, body, status):
        path = client.path.partition("?")[0]
        if client.command != "GET" and not path.endswith("reviews") and "/events" not in path \
                and "/leases" not in path:
            self.writes.append(f"{client.command} {path} -> {status}")


class ReplicasTest(ClusterTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.controller.end()
        cls.numbers = iter(range(1000))

    def setUp(self):
        for controller in self.berth.controllers.values():
            controller.end()
        self.berth.controllers.clear()
        self.plane.kubectl("delete", "jobs", "--all")

    def start(self, count, **first):
        """Starts replicas; the first leads, the last serves the webhooks."""
        names = [f"replica-{next(self.numbers)}" for _ in range(count)]
        replicas = [self.berth.start(names[0], **first)]
        self.controller = replicas[0]
        self.apply_when_accepted(QUEUES, "--server-side")
        self.plane.wait_until(lambda: self.leads(replicas[0]), "the first replica leads")
        replicas += [self.berth.start(name) for name in names[1:]]
        return replicas

    @staticmethod
    def leads(replica):
        return " leading lease=" in replica.log()

    def holder(self):
        lease = self.plane.get("lease", LEASE, "-n", NAMESPACE) or {}
        return lease.get("spec", {}).get("holderIdentity", "")

    def send(self, name):
        self.apply_when_accepted(JOB.replace("NAME", name), "--server-side")

    def admitted(self, name):
        job = self.plane.get("job", name)
        return job is not None and job["spec"]["suspend"] is False

    def wait_for_another(self, replicas, leader):
        started = time.monotonic()
        self.plane.wait_until(lambda: any(self.leads(replica) for replica in replicas[1:])
                              and self.holder() != leader, "another replica holds the lease")
        print(f"taken over after {time.monotonic() - started:.1f} s", file=sys.stderr)

    def test_a_killed_leader_is_replaced(self):
        replicas = self.start(3)
        self.send("before-kill")
        self.plane.wait_until(lambda: self.admitted("before-kill"), "the leader decides")
        leader = self.holder()
        replicas[0].end(signal.SIGKILL)
        self.send("after-kill")
        self.wait_for_another(replicas, leader)
        self.plane.wait_until(lambda: self.admitted("after-kill"), "another replica decides")
        self.plane.wait_until(lambda: len(self.plane.items("workloads")) == 2, "each job has one Workload")

    def test_a_leader_that_is_ended_hands_the_lease_over(self):
        replicas = self.start(2)
        leader = self.holder()
        begun = time.monotonic()
        self.assertEqual(replicas[0].end(), 0)
        self.assertLess(time.monotonic() - begun, 10)
        self.assertNotEqual(self.holder(), leader)  # the lease has not run out yet
        self.wait_for_another(replicas, leader)
        self.send("after-end")
        self.plane.wait_until(lambda: self.admitted("after-end"), "the other replica decides")

    def test_a_frozen_leader_writes_nothing_when_it_goes_on(self):
        witness = Witness(self.berth.write_inline_kubeconfig("frozen.kubeconfig"))
        self.addCleanup(witness.close)
        replicas = self.start(2, kubeconfig=witness.kubeconfig)
        self.send("before-freeze")
        self.plane.wait_until(lambda: self.admitted("before-freeze"), "the leader decides")
        self.assertTrue(any("/workloads" in write for write in witness.writes), witness.writes)
        leader = self.holder()
        replicas[0].process.send_signal(signal.SIGSTOP)
        # What the frozen one finds in its watches when it goes on.
        for number in range(3):
            self.send(f"during-freeze-{number}")
        self.wait_for_another(replicas, leader)
        self.plane.wait_until(lambda: self.admitted("during-freeze-0"), "another replica decides")
        del witness.writes[:]
        replicas[0].process.send_signal(signal.SIGCONT)
        replicas[0].process.wait(timeout=90)
        self.assertEqual(witness.writes, [])
        self.assertIn("lost the lease", replicas[0].log())
        self.plane.wait_until(lambda: self.admitted("during-freeze-2"), "all jobs have their turn")
        self.plane.wait_until(lambda: len(self.plane.items("workloads")) == 4, "each job has one Workload")

    def test_a_robbed_leader_stops_and_wins_the_lease_back(self):
        """The robber's clock is an hour ahead, and the robber never renews the lease."""
        replicas = self.start(1)
        renewed = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
        self.plane.kubectl("patch", "lease", LEASE, "-n", NAMESPACE, "--type=merge", "-p", json.dumps(
            {"spec": {"holderIdentity": "robber",
                      "renewTime": renewed.strftime("%Y-%m-%dT%H:%M:%S.000000Z")}}))
        self.assertEqual(replicas[0].process.wait(timeout=90), 1)
        self.assertIn("holder=robber", replicas[0].log())
        again = self.berth.start(f"replica-{next(self.numbers)}")
        self.controller = again
        self.send("after-robbery")
        self.plane.wait_until(lambda: self.leads(again), "the lease is won back")
        self.plane.wait_until(lambda: self.admitted("after-robbery"), "jobs are admitted")
