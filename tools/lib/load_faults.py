"""Faults while a load runs, for tools/bench-cluster --chaos: answers are lost, the leader is killed, the API server is
killed and starts again."""

import random
import signal
import time

from api_proxy import ApiProxy
from control_plane import ADMIN_TOKEN

LOST = 0.05  # the part of the answers that are lost; watches lose none
LEADER_DIES_S = 40  # after the start of the load
SERVER_DIES_S = 90


class LossyProxy(ApiProxy):
    """Performs each request; loses some answers. One seed: the same numbers in each run."""

    def __init__(self, plane):
        super().__init__(plane.write_inline_kubeconfig("lossy.kubeconfig", ADMIN_TOKEN))
        self.random = random.Random(1)
        self.lost = 0

    def take_fault(self, method, path):
        with self.lock:
            if "watch=" in path or self.random.random() >= LOST:
                return None
            self.lost += 1
            return [method, path, None, 1]


class Chaos:
    """`managers.kill_leader()` kills the leading manager, and starts another in its place. What it starts ends with
    the calling thread."""

    def __init__(self, plane, managers):
        self.plane, self.managers = plane, managers
        self.begun = time.monotonic()
        self.due = [(LEADER_DIES_S, self.kill_leader), (SERVER_DIES_S, self.kill_server)]
        self.faults = []  # (what, Unix time)

    def look(self):
        """Performs the next fault if its time has come."""
        if self.due and time.monotonic() - self.begun >= self.due[0][0]:
            self.due.pop(0)[1]()

    def kill_leader(self):
        self.faults.append(("the leader is killed", time.time()))
        self.managers.kill_leader()

    def kill_server(self):
        server = self.plane.programs["kube-apiserver"]
        self.faults.append(("the API server is killed", time.time()))
        server.end(signal.SIGKILL)
        server.start().wait_ready()
        self.faults.append(("the API server is ready again", time.time()))

    def told(self, gaps):
        """Each fault with the time until the next admission: 0 where no gap of half a second has the fault in it."""
        told = []
        for what, at in self.faults:
            ends = [gap["begin_unix_s"] + gap["seconds"] for gap in gaps]
            after = [end - at for gap, end in zip(gaps, ends) if gap["begin_unix_s"] <= at + 1 and end > at]
            told.append({"fault": what, "next_admission_s": round(max(after, default=0), 2)})
        return told
