"""Goal: of several replicas on a real Kubernetes one decides; after kill -9 of it another one decides
soon after the lease has run out, and nothing is admitted twice. How soon is exact in
tests/kube/leader_election_test.cc; here the time is told, not judged.

Method: three replicas, the leader killed while jobs come."""

import signal
import sys
import time
import unittest

from installation import LEASE, NAMESPACE, ClusterTest
from test_queueing import JOB, QUEUES


class ReplicasTest(ClusterTest):
    def holder(self):
        lease = self.plane.get("lease", LEASE, "-n", NAMESPACE) or {}
        return lease.get("spec", {}).get("holderIdentity", "")

    def admitted(self, name):
        job = self.plane.get("job", name)
        return job is not None and job["spec"]["suspend"] is False

    def test_a_killed_leader_is_replaced(self):
        self.apply_when_accepted(QUEUES, "--server-side")
        self.plane.apply(JOB.replace("NAME", "before"))
        self.plane.wait_until(lambda: self.admitted("before"), "the leader decides")
        # Webhooks lead to the last one started, which lives on.
        for name in ("second", "third"):
            self.berth.start(name)
        leader = self.holder()
        self.controller.end(signal.SIGKILL)
        killed = time.monotonic()
        self.plane.apply(JOB.replace("NAME", "after"))
        self.plane.wait_until(lambda: self.holder() != leader, "another replica holds the lease")
        print(f"taken over after {time.monotonic() - killed:.1f} s", file=sys.stderr)
        self.plane.wait_until(lambda: self.admitted("after"), "another replica decides")
        self.assertEqual(len(self.plane.items("workloads")), 2)


if __name__ == "__main__":
    unittest.main()
