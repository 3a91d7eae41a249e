"""Goal: a controller whose clock is ten minutes ahead of or behind the API server's works as others do: the
webhooks' certificate is accepted, one replica leads and no lease flaps, backoffs end and pods get their time.

Method: libfaketime gives the first replica another wall clock; the second replica and the control plane have the
right one. The certificates of the control plane are a day old, since a clock that is behind does not
accept a certificate of this minute."""

import datetime
import json
import signal
import time

import fake_time
from cluster_test import ClusterTest
from installation import LEASE, NAMESPACE

SKEW_SECONDS = 600
LEASE_SECONDS = 15
CONFIG = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
waitForPodsReady:
  timeout: 20s
  recoveryTimeout: 60s
  requeuingStrategy: {backoffBaseSeconds: 2, backoffLimitCount: 5, timestamp: Eviction}
"""
QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: budget}
spec: {controllerName: test.berth.dev/budget}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: plain}
spec: &plain
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {name: default, resources: [{name: cpu, nominalQuota: "4"}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: checked}
spec:
  admissionChecksStrategy: {admissionChecks: [{name: budget}]}
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {name: default, resources: [{name: cpu, nominalQuota: "4"}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: plain, namespace: default}
spec: {clusterQueue: plain}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: checked, namespace: default}
spec: {clusterQueue: checked}
""".replace(" &plain", "")
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: NAME, namespace: default, labels: {kueue.x-k8s.io/queue-name: QUEUE}}
spec:
  template:
    metadata: {annotations: {test.berth.dev/run-for: 20s}}
    spec:
      restartPolicy: Never
      nodeSelector: SELECTOR
      containers: [{name: main, image: none, resources: {requests: {cpu: "1"}}}]
"""


def instant():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Skewed(ClusterTest):
    """One clock; the subclasses name it."""

    CLOCK = None
    CERTIFICATES_FROM = "-1d"

    @classmethod
    def setUpClass(cls):
        fake_time.environment(cls.CLOCK)  # skips where it cannot be had
        super().setUpClass()

    @classmethod
    def start_first(cls):
        cls.config = cls.plane.write("clock.yaml", CONFIG)
        return cls.berth.start("skewed", ["--config", cls.config], clock=cls.CLOCK)

    # What the tests say ---------------------------------------------------------------------------
    def submit(self, name, queue="plain", selector="{}"):
        self.apply_when_accepted(JOB.replace("NAME", name).replace("QUEUE", queue)
                                 .replace("SELECTOR", selector), "--server-side")

    def workload_of(self, job):
        return next((item for item in self.plane.items("workloads")
                     if item["metadata"]["ownerReferences"][0]["name"] == job), {})

    def condition(self, job, kind):
        found = self.workload_of(job).get("status", {}).get("conditions", [])
        return next((one for one in found if one["type"] == kind), {})

    def is_true(self, job, kind):
        return self.condition(job, kind).get("status") == "True"

    def wait(self, condition, what, seconds=60):
        try:
            return self.plane.wait_until(condition, what, seconds=seconds)
        except AssertionError as late:
            raise AssertionError(f"{late}\n{json.dumps(self.plane.items('workloads'), indent=1)}\n"
                                 f"{self.controller.log()[-3000:]}") from None

    def lease(self):
        return self.plane.get("lease", LEASE, "-n", NAMESPACE)["spec"]

    def check_skew(self):
        """The clock is really wrong: the lease has the holder's time."""
        renewed = datetime.datetime.fromisoformat(self.lease()["renewTime"].replace("Z", "+00:00"))
        ahead = (renewed - datetime.datetime.now(datetime.timezone.utc)).total_seconds()
        wanted = SKEW_SECONDS if self.CLOCK.startswith("+") else -SKEW_SECONDS
        self.assertAlmostEqual(ahead, wanted, delta=60)

    def check_life(self):
        self.apply_when_accepted(QUEUES, "--server-side")  # the webhooks' certificate is accepted
        self.wait(lambda: " leading lease=" in self.controller.log(), "it leads")
        self.check_skew()
        self.plane.kubectl("patch", "admissioncheck", "budget", "--subresource=status", "--type=merge", "-p",
                           json.dumps({"status": {"conditions": [
                               {"type": "Active", "status": "True", "reason": "Active", "message": "",
                                "lastTransitionTime": instant()}]}}))
        second = self.berth.start("second", ["--config", self.config])
        leader, transitions = self.lease()["holderIdentity"], self.lease().get("leaseTransitions")
        started = time.monotonic()
        self.check_pods_get_their_time()
        self.check_backoff()
        # Longer than a lease: the follower has seen renewals of another time only.
        self.plane.wait_until(lambda: time.monotonic() - started > 2 * LEASE_SECONDS, "two leases pass")
        self.assertEqual((self.lease()["holderIdentity"], self.lease().get("leaseTransitions")),
                         (leader, transitions))
        self.assertNotIn(" leading lease=", second.log())
        self.assertIsNone(self.controller.process.poll())
        self.check_takeover(second, leader)

    def check_pods_get_their_time(self):
        """Ready pods run on; pods that never get ready are stopped after the timeout, and tried again."""
        self.submit("ready")
        self.submit("never", selector='{"no/node": "has-this"}')
        self.wait(lambda: self.is_true("ready", "PodsReady"), "the pods are ready")
        evicted = self.wait(lambda: (found := self.condition("never", "Evicted")).get("status") == "True" and found,
                            "pods that do not get ready are stopped", seconds=120)
        self.assertEqual(evicted["reason"], "PodsReadyTimeout")
        self.assertFalse(self.is_true("ready", "Evicted"))
        self.wait(lambda: self.is_true("never", "Admitted") and
                  self.workload_of("never")["status"].get("requeueState", {}).get("count", 0) >= 1, "the backoff ends")
        self.plane.kubectl("delete", "job", "never")
        self.wait(lambda: self.is_true("ready", "Finished"), "the ready job ends by itself")

    def check_backoff(self):
        """A check asks for a retry in three seconds."""
        self.submit("checked", queue="checked")
        self.wait(lambda: self.is_true("checked", "QuotaReserved"), "quota is reserved")
        name = self.workload_of("checked")["metadata"]["name"]
        asked = time.monotonic()
        self.plane.kubectl("patch", "workload", name, "--subresource=status", "--type=merge", "-p",
                           json.dumps({"status": {"admissionChecks": [
                               {"name": "budget", "state": "Retry", "message": "later",
                                "requeueAfterSeconds": 3, "lastTransitionTime": instant()}]}}))
        self.wait(lambda: self.is_true("checked", "Evicted"), "the quota is given back")
        self.wait(lambda: self.is_true("checked", "QuotaReserved") and not self.is_true("checked", "Evicted"),
                  "the retry comes", seconds=150)
        self.assertGreater(time.monotonic() - asked, 2)
        self.plane.kubectl("delete", "job", "checked")

    def check_takeover(self, second, leader):
        """The lease counts from the follower's own sight of the last renewal."""
        self.controller.end(signal.SIGKILL)
        killed = time.monotonic()
        self.wait(lambda: " leading lease=" in second.log(), "the follower leads", seconds=150)
        self.assertLess(time.monotonic() - killed, SKEW_SECONDS / 10)  # by the wrong clock: more than SKEW_SECONDS
        self.assertNotEqual(self.lease()["holderIdentity"], leader)
        self.submit("after")
        self.wait(lambda: self.is_true("after", "Admitted"), "the next leader admits")


class Ahead(Skewed):
    CLOCK = "+10m"

    def test_life(self):
        self.check_life()


class Behind(Skewed):
    CLOCK = "-10m"

    def test_life(self):
        self.check_life()
