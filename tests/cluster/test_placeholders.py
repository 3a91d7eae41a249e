"""Goal: on a real Kubernetes a gang starts when pods of low priority hold a node for each of its pods, and these pods go.
Each right of the component `placeholders` is used.

Method: a pool of `berth cloud` that brings nodes for pending pods, kube-scheduler, kwok in place of kubelets."""

import os
import signal

from cluster_test import ClusterTest
from control_plane import ROOT
from installation import Cloud

HOLDS = "berth.dev/placeholder-of"
QUEUES = """
apiVersion: cloud.berth.dev/v1alpha1
kind: NodePool
metadata: {name: gangs}
spec:
  machineType: n1-standard-4
  accelerator: {type: nvidia-tesla-t4, count: 1}
  zones: [us-central1-c]
  maxNodes: 3
  bootSeconds: 10
  idleSeconds: 600
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: gangs}
spec:
  nodeLabels: {cloud.google.com/gke-nodepool: gangs}
---
apiVersion: provisioning.berth.dev/v1alpha1
kind: ProvisioningPolicy
metadata: {name: gangs}
spec:
  placeholders: {priorityClassName: berth-placeholder}
  steps: [{name: gangs, flavor: gangs}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: gangs, annotations: {berth.dev/provisioning-policy: gangs}}
spec: {controllerName: berth.dev/reactive-capacity}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: gangs}
spec:
  namespaceSelector: {}
  admissionChecksStrategy: {admissionChecks: [{name: gangs}]}
  resourceGroups:
  - coveredResources: [cpu, memory, nvidia.com/gpu]
    flavors:
    - name: gangs
      resources: [{name: cpu, nominalQuota: 9}, {name: memory, nominalQuota: 9Gi}, {name: nvidia.com/gpu, nominalQuota: 3}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: gangs, namespace: default}
spec: {clusterQueue: gangs}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: gang, namespace: default, labels: {kueue.x-k8s.io/queue-name: gangs}}
spec:
  suspend: true
  parallelism: 2
  completions: 2
  template:
    spec:
      restartPolicy: Never
      tolerations: [{key: nvidia.com/gpu, operator: Exists}]
      containers:
      - name: c
        image: none
        resources: {requests: {cpu: 100m, memory: 100Mi}, limits: {nvidia.com/gpu: 1}}
"""


class PlaceholdersTest(ClusterTest):
    NODES = 0
    SHOWN = ("jobs", "workloads", "pods", "nodes")
    COUNTED = "placeholders"

    @classmethod
    def start_first(cls):
        cls.berth.add_components("placeholders")
        cls.plane.kubectl("apply", "-f", os.path.join(ROOT, "manifests", "components", "placeholders", "priority_class.yaml"))
        return super().start_first()

    def holders(self):
        return [pod for pod in self.plane.items("pods") if HOLDS in pod["metadata"].get("annotations", {})]

    def test_a_gang_takes_the_nodes_that_were_held_for_it(self):
        cloud = Cloud(self.plane)
        self.addCleanup(cloud.end, signal.SIGKILL)
        self.apply_when_accepted(QUEUES)
        self.plane.kubectl("apply", "-f", "-", stdin=JOB)
        held = self.wait_until(lambda: len(found := self.holders()) == 2 and found, "a pod stands for each pod of the job")
        self.assertEqual({pod["spec"]["priority"] for pod in held}, {-1000000})
        self.wait_until(lambda: (self.plane.get("job", "gang") or {}).get("status", {}).get("succeeded") == 2,
                        "the job completes")
        self.wait_until(lambda: not self.holders(), "the pods that held nodes go")
