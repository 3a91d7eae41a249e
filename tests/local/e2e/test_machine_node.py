"""Goal: `berth up` has a node from the start, so that the first tutorial of Kueue ends with completed pods; the node yields to
NodePools, and comes back when they are gone; `--no-node` has none. `--samples` makes jobs to look at. `berth doctor` finds
the flavor without nodes, and no other fault.

Method: the manifests of Kueue's tutorial (one ClusterQueue, a Job of three pods), the image mapped to a program."""

import json
import re

from berth_up import BerthUpTest
from waiting import wait_until

QUEUES = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default-flavor}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cluster-queue}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: default-flavor
      resources:
      - {name: cpu, nominalQuota: 9}
      - {name: memory, nominalQuota: 36Gi}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: user-queue}
spec: {clusterQueue: cluster-queue}
"""
IMAGE = "registry.k8s.io/e2e-test-images/agnhost:2.53"
JOB = f"""\
apiVersion: batch/v1
kind: Job
metadata: {{generateName: sample-job-, labels: {{kueue.x-k8s.io/queue-name: user-queue}}}}
spec:
  parallelism: 3
  completions: 3
  suspend: true
  template:
    spec:
      containers:
      - name: dummy-job
        image: {IMAGE}
        args: [entrypoint-tester]
        resources: {{requests: {{cpu: 100m, memory: 200Mi}}}}
      restartPolicy: Never
"""
POOL = """\
apiVersion: cloud.berth.dev/v1alpha1
kind: NodePool
metadata: {name: pool}
spec: {machineType: n1-standard-4, maxNodes: 1, bootSeconds: 1}
"""


class MachineNode(BerthUpTest):
    def nodes(self):
        return [node["metadata"]["name"] for node in self.cluster.items("nodes")]

    def test_the_first_tutorial(self):
        self.cluster = self.start_cluster(flags=["--node"], images=[f"{IMAGE}=/bin/true"])
        self.cluster.apply(QUEUES)
        created = self.cluster.kubectl("create", "-f", "-", stdin=JOB).stdout
        job = re.search(r"sample-job-\w+", created).group()
        self.cluster.wait_complete(job)
        self.assertEqual(["berth"], self.nodes())
        self.assertIn("Ready", self.cluster.kubectl("get", "nodes").stdout)
        self.assertEqual(["berth"] * 3, [pod["spec"]["nodeName"] for pod in self.cluster.items("pods")])

        self.cluster.apply(POOL)
        wait_until(lambda: self.nodes() == [], "the node yields to the pool")
        self.cluster.kubectl("delete", "nodepool", "pool")
        wait_until(lambda: self.nodes() == ["berth"], "the node is back")
        self.cluster.kubectl("delete", "node", "berth")
        wait_until(lambda: self.nodes() == ["berth"], "the node registers again")

    def test_pods_that_are_never_made(self):
        self.cluster = self.start_cluster(flags=["--node"], images=[f"{IMAGE}=/bin/true"])
        self.cluster.apply(QUEUES)
        self.cluster.apply("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: small}\nspec: {hard: {pods: 0}}\n")
        self.cluster.apply(JOB.replace("generateName: sample-job-", "name: refused"))
        wait_until(lambda: "no pod was made: " in self.cluster.berth("why", "job/refused", check=False).stdout, "the reason")
        said = self.cluster.berth("why", "job/refused").stdout
        self.assertIn("exceeded quota: small", said)
        self.assertNotIn("runs", said)
        self.assertIn("no pod was made", self.cluster.berth("list").stdout)
        self.cluster.kubectl("delete", "resourcequota", "small")
        self.cluster.wait_complete("refused")

    def test_no_node(self):
        self.cluster = self.start_cluster()
        self.cluster.apply(QUEUES)
        self.assertEqual([], self.nodes())
        wait_until(lambda: self.faults() == [("warning", "resourceflavor default-flavor")], "nothing else is at fault")

    def faults(self):
        found = json.loads(self.cluster.berth("doctor", "-o", "json", check=False).stdout)["findings"]
        return [(one["grade"], one["object"]) for one in found]

    def test_samples(self):
        self.cluster = self.start_cluster(flags=["--node", "--samples"])
        self.assertIn("berth why job/large", self.cluster.log())
        self.cluster.wait_complete("first")
        said = self.cluster.berth("why", "job/large", check=False).stdout
        self.assertIn("never", said)
        self.assertEqual([], self.faults())
        self.cluster.stop()
        self.cluster.start()  # the samples are there already
        self.cluster.berth("why", "job/large", check=False)
        self.assertEqual(["first", "large"], sorted(job["metadata"]["name"] for job in self.cluster.items("jobs")))
