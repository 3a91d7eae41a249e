"""Queues that tests of one team share."""


def team_queues(cpu, memory=None):
    """A queue `q` of `cpu` CPUs in the namespace default, whose ClusterQueue `team` preempts lower
    priorities, on node-1; and the priority class `high`. `memory`: an amount that is counted, too."""
    covered, quota = "cpu", f"{{name: cpu, nominalQuota: {cpu}}}"
    if memory is not None:
        covered, quota = covered + ", memory", quota + f", {{name: memory, nominalQuota: {memory}}}"
    return f"""
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {{name: first}}
spec: {{nodeLabels: {{kubernetes.io/hostname: node-1}}}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: team}}
spec:
  namespaceSelector: {{}}
  preemption: {{withinClusterQueue: LowerPriority}}
  resourceGroups:
  - coveredResources: [{covered}]
    flavors: [{{name: first, resources: [{quota}]}}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: q, namespace: default}}
spec: {{clusterQueue: team}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {{name: high}}
value: 100
"""


def plain_queues(cpu):
    """A queue `q` of `cpu` CPUs in the namespace default and its ClusterQueue `team`."""
    return f"""
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {{name: default}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: team}}
spec:
  namespaceSelector: {{}}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{{name: default, resources: [{{name: cpu, nominalQuota: {cpu}}}]}}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: q, namespace: default}}
spec: {{clusterQueue: team}}
"""
