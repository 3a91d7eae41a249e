"""Teams that share GPUs of an emulated cloud, for pictures of the page: two cohorts below one, queues that borrow, requests for capacity, priorities,
preemptions, and jobs (processes that sleep) whose order and lengths are those of a seed."""

import random
import time

FLAVORS = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: a100-reserved}
spec:
  nodeLabels: {cloud.google.com/gke-nodepool: a100-pool}
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: h100-dws}
spec:
  nodeLabels: {cloud.google.com/gke-nodepool: h100-pool}
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: dws}
spec:
  controllerName: kueue.x-k8s.io/provisioning-request
  parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: dws}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ProvisioningRequestConfig
metadata: {name: dws}
spec: {provisioningClassName: queued-provisioning.gke.io, managedResources: [nvidia.com/gpu]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 1000
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: low}
value: -10
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: research}
spec: {parentName: company}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: platform}
spec: {parentName: company}
---
"""
POOL = """
apiVersion: cloud.berth.dev/v1alpha1
kind: NodePool
metadata: {name: %(name)s}
spec:
  machineType: %(machine)s
  accelerator: {type: %(accelerator)s, count: 8}
  zones: [us-central1-a]
  minNodes: %(least)d
  maxNodes: %(most)d
  queuedProvisioning: %(queued)s
  spot: false
  bootSeconds: 20
  stock: %(stock)d
  idleSeconds: 60
---
"""
TEAM = """
apiVersion: v1
kind: Namespace
metadata: {name: %(team)s}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: %(team)s}
spec:
  cohortName: %(cohort)s
  namespaceSelector: {}
  queueingStrategy: %(strategy)s
  preemption: {reclaimWithinCohort: Any, withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - {name: a100-reserved, resources: [{name: nvidia.com/gpu, nominalQuota: "%(a100)d"}]}
    - {name: h100-dws, resources: [{name: nvidia.com/gpu, nominalQuota: "%(h100)d"}]}
  admissionChecksStrategy: {admissionChecks: [{name: dws, onFlavors: [h100-dws]}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: default, namespace: %(team)s}
spec: {clusterQueue: %(team)s}
---
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  name: %(name)s
  namespace: %(team)s
  labels: {kueue.x-k8s.io/queue-name: default%(priority)s}
spec:
  suspend: true
  parallelism: %(pods)d
  completions: %(pods)d
  ttlSecondsAfterFinished: 10
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: gcr.io/k8s-staging-perf-tests/sleep:v0.0.3
        args: ["%(seconds)ds"]
        resources: {requests: {nvidia.com/gpu: "%(gpus)d"}, limits: {nvidia.com/gpu: "%(gpus)d"}}
---
"""
# By team: its part of the jobs, their names, and the GPUs that a pod may ask for.
TEAMS = {"nlp-research": (5, ("train-llama", "finetune-7b", "eval-suite"), (1, 2, 4, 8)), "vision": (4, ("segment-train", "detr-sweep"), (1, 2, 4, 8)),
         "speech": (2, ("asr-train", "tts-finetune"), (1, 2, 4)), "platform-ci": (2, ("e2e-gpu",), (1,)), "batch-inference-nightly": (2, ("embed-corpus-shard",), (1, 2))}
QUOTAS = (("nlp-research", "research", 8, 8, "BestEffortFIFO"), ("vision", "research", 8, 8, "BestEffortFIFO"), ("speech", "research", 8, 0, "StrictFIFO"),
          ("platform-ci", "platform", 4, 0, "BestEffortFIFO"), ("batch-inference-nightly", "platform", 4, 0, "BestEffortFIFO"))
PRIORITIES = ("", "", "", ", kueue.x-k8s.io/priority-class: high", ", kueue.x-k8s.io/priority-class: low")


def start(cluster):
    cluster.apply(FLAVORS + "".join(TEAM % dict(zip(("team", "cohort", "a100", "h100", "strategy"), each)) for each in QUOTAS)
                  + POOL % {"name": "a100-pool", "machine": "a2-highgpu-8g", "accelerator": "nvidia-tesla-a100", "least": 3, "most": 4, "queued": "false", "stock": 4}
                  + POOL % {"name": "h100-pool", "machine": "a3-highgpu-8g", "accelerator": "nvidia-h100-80gb", "least": 0, "most": 2, "queued": "true", "stock": 1})


def submit(cluster, seconds, seed=3):
    """Submits jobs for so long; one of them asks for more than its queue can ever give."""
    chance = random.Random(seed)
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end:
        number += 1
        team = chance.choices(list(TEAMS), [each[0] for each in TEAMS.values()])[0]
        _, names, sizes = TEAMS[team]
        gpus = chance.choice(sizes)
        pods = 6 if number == 9 else 2 if chance.random() < 0.25 else 1
        cluster.apply(JOB % {"name": f"{chance.choice(names)}-{number}", "team": team, "priority": chance.choice(PRIORITIES), "pods": pods, "gpus": 8 if number == 9 else gpus,
                             "seconds": chance.choice((30, 60, 90, 150))})
        time.sleep(chance.uniform(2, 7))
