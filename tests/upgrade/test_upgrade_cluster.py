"""Goal: a cluster with workloads changes from an earlier version of Berth to this version and back: no workload is evicted, no
pod is restarted, and each version admits what waits.

Method: a real control plane. The manifests of the other version are applied while the old controller leads; then the two
controllers hand over the lease. OTHER_BERTH is the folder of the earlier version's sources, with its program in
build/release (tools/soak --upgrade makes it)."""

import os

from cluster_test import ClusterTest
from control_plane import ROOT

OTHER = os.environ.get("OTHER_BERTH", "")
QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: Topology
metadata: {name: hosts}
spec: {levels: [{nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: hosts}
spec: {topologyName: hosts, nodeLabels: {pool: racks}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: all}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: team}
spec:
  cohort: all
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority, reclaimWithinCohort: Any}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: plain, resources: [{name: cpu, nominalQuota: "2"}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: placed}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: hosts, resources: [{name: cpu, nominalQuota: "4"}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: team, namespace: default}
spec: {clusterQueue: team}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: placed, namespace: default}
spec: {clusterQueue: placed}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: NAME, namespace: default, labels: {kueue.x-k8s.io/queue-name: QUEUE}}
spec:
  suspend: true
  template:
    metadata: {annotations: {PLACEMENT"test.berth.dev/run-for": 1h}}
    spec:
      restartPolicy: Never
      containers: [{name: main, image: none, resources: {requests: {cpu: "CPU"}}}]
"""
PLACEMENT = '"kueue.x-k8s.io/podset-required-topology": kubernetes.io/hostname, '


class UpgradeTest(ClusterTest):
    @classmethod
    def apply_manifests(cls):
        cls.berth.apply_manifests(folder=os.path.join(OTHER, "manifests"))

    @classmethod
    def start_first(cls):
        return cls.berth.start("old", program=os.path.join(OTHER, "build", "release", "berth"))

    def submit(self, name, queue="team", cpu=1, placement=""):
        self.apply_when_accepted(JOB.replace("NAME", name).replace("QUEUE", queue).replace("CPU", str(cpu))
                                 .replace("PLACEMENT", placement))

    def pods(self):
        """UID of each pod that runs, by job."""
        return {pod["metadata"]["labels"]["batch.kubernetes.io/job-name"]: pod["metadata"]["uid"]
                for pod in self.plane.items("pods") if pod["status"].get("phase") == "Running"}

    def admissions(self):
        """UID and admission of each admitted Workload, by job."""
        return {each["metadata"]["ownerReferences"][0]["name"]: (each["metadata"]["uid"], each["status"]["admission"])
                for each in self.plane.items("workloads") if each.get("status", {}).get("admission")}

    def expect_unchanged(self, pods, admissions):
        """Every pod of before runs, every admission of before stands, nothing was evicted."""
        now = self.pods()
        self.assertEqual({job: now.get(job) for job in pods}, pods)
        given = self.admissions()
        self.assertEqual({job: given.get(job) for job in admissions}, admissions)
        for each in self.plane.items("workloads"):
            evicted = [c for c in each["status"].get("conditions", []) if c["type"] in ("Evicted", "Preempted")]
            self.assertEqual(evicted, [], each["metadata"]["name"])

    def next_of(self, ended):
        """The end of a job admits one that waits; returns its name. The order of jobs of one second is that of their UIDs."""
        known = set(self.pods())
        self.plane.kubectl("delete", "job", ended)
        return self.wait_until(lambda: next(iter(set(self.pods()) - known), None), f"a job starts after the end of {ended}")

    def hand_over(self, name, to, **options):
        """A second controller starts, and takes the lease when the first ends."""
        first = self.berth.controllers[name]
        self.berth.start(to, **options)
        self.assertEqual(first.end(), 0, first.log()[-3000:])
        self.wait_until(lambda: "leading" in self.berth.controllers[to].log(), f"{to} has the lease")

    def test_upgrade_and_back(self):
        self.plane.add_node("rack", {"pool": "racks"}, cpu="8", memory="32Gi")
        self.apply_when_accepted(QUEUES)
        for name in ("kept", "first"):
            self.submit(name)
        self.submit("placed", queue="placed", placement=PLACEMENT)
        for name in ("kept", "first", "placed"):
            self.wait_until(lambda name=name: self.pods().get(name), f"{name} runs")
        for name in ("second", "third", "fourth", "fifth"):
            self.submit(name)
        pods, given = self.pods(), self.admissions()

        # CRDs, rights and webhooks first, as `kubectl apply -k` does it; the earlier controller goes on with them.
        self.berth.apply_manifests(folder=os.path.join(ROOT, "manifests"))
        self.berth.lead_webhooks_to(self.controller.port("webhook"))
        self.expect_unchanged(pods, given)
        second = self.next_of("first")

        self.hand_over("old", "new")
        del pods["first"], given["first"]
        self.expect_unchanged(pods, given)
        third = self.next_of(second)

        # What this version alone knows is written on objects of every kind: the earlier version has to live with it.
        self.plane.kubectl("annotate", "clusterqueue", "team", "berth.dev/order=ShortestFirst", "berth.dev/reserve-after=1h",
                           "berth.dev/victims=LeastWorkLost", "berth.dev/deadlines=1h")
        waiting = [job["metadata"]["name"] for job in self.plane.items("jobs") if job["spec"]["suspend"]]
        self.plane.kubectl("annotate", "job", *waiting, "berth.dev/deadline=2100-01-01T00:00:00Z", "berth.dev/checkpoint-every=10m")
        self.submit("also-placed", queue="placed", placement=PLACEMENT)
        self.wait_until(lambda: self.pods().get("also-placed"), "the new version places a job")
        pods, given = self.pods(), self.admissions()

        self.hand_over("new", "old-again", program=os.path.join(OTHER, "build", "release", "berth"))
        self.berth.apply_manifests(folder=os.path.join(OTHER, "manifests"))
        self.berth.lead_webhooks_to(self.berth.controllers["old-again"].port("webhook"))
        self.expect_unchanged(pods, given)
        self.next_of(self.next_of(third))
        self.submit("placed-late", queue="placed", placement=PLACEMENT)
        self.wait_until(lambda: self.pods().get("placed-late"), "the earlier version places a job")
        del pods[third], given[third]
        self.expect_unchanged(pods, given)
