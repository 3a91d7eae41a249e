"""Goal: pods that claim devices (ResourceClaimTemplates) take quota of the resource that their device
class is counted as, and a claim that cannot be counted says why; selectors wait for devices that fit,
and an extended resource that devices serve counts as its class.

Method: a separate control plane, which serves resource.k8s.io; Berth with a mapping of one class."""

from cluster_test import ClusterTest

MAPPING = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
resources:
  deviceClassMappings:
  - {name: example.com/gpus, deviceClassNames: [gpu.example.com]}
"""
QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, example.com/gpus]
    flavors:
    - name: default
      resources: [{name: cpu, nominalQuota: "9"}, {name: example.com/gpus, nominalQuota: "3"}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: default}
spec: {clusterQueue: team}
"""
TEMPLATE = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: NAME, namespace: default}
spec:
  spec:
    devices:
      requests:
      - name: gpus
        exactly: {deviceClassName: CLASS, allocationMode: ExactCount, count: 2}
"""
DEVICES = """
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec:
  extendedResourceName: example.com/gpu
  selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-0-gpus}
spec:
  driver: gpu.example.com
  nodeName: node-0
  pool: {name: node-0, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: gpu-0, attributes: {model: {string: a100}}, capacity: {memory: {value: 80Gi}}}
  - {name: gpu-1, attributes: {model: {string: a100}}, capacity: {memory: {value: MEMORY}}}
"""
SELECTOR = """
        exactly:
          deviceClassName: gpu.example.com
          count: 2
          selectors:
          - cel: {expression: "device.capacity['gpu.example.com'].memory.compareTo(quantity('80Gi')) >= 0"}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  name: NAME
  namespace: default
  labels: {kueue.x-k8s.io/queue-name: q}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      resourceClaims: [{name: gpu, resourceClaimTemplateName: TEMPLATE}]
      containers:
      - name: main
        image: none
        resources: {requests: {cpu: "1"}, claims: [{name: gpu}]}
"""


class ClaimsTest(ClusterTest):
    SHARES_PLANE = True
    NEEDS_API = "resource.k8s.io/v1"

    @classmethod
    def start_first(cls):
        path = cls.plane.file("configuration.yaml")
        with open(path, "w", encoding="utf-8") as out:
            out.write(MAPPING)
        return cls.berth.start(flags=["--config", path])

    def told(self, job):
        for workload in self.plane.items("workloads"):
            if workload["metadata"]["ownerReferences"][0]["name"] != job:
                continue
            for condition in workload.get("status", {}).get("conditions", []):
                if condition["type"] == "QuotaReserved":
                    return condition["status"], condition["reason"], condition["message"]
        return None

    def expect(self, job, status, text):
        def reached():
            told = self.told(job)
            return told is not None and told[0] == status and text in " ".join(told[1:])
        try:
            self.plane.wait_until(reached, f"{job} {status} {text}", seconds=180)
        except AssertionError as late:
            raise AssertionError(f"{late}: {self.told(job)}\n{self.controller.log()[-2000:]}") from None

    def test_devices_take_quota(self):
        self.apply_when_accepted(QUEUES, "--server-side")
        self.plane.apply(JOB.replace("NAME", "first").replace("TEMPLATE", "two"))
        self.expect("first", "False", "Misconfigured")
        self.plane.apply(TEMPLATE.replace("NAME", "two").replace("CLASS", "gpu.example.com"))
        self.expect("first", "True", "")
        usage = [each for each in self.plane.items("clusterqueues")[0]["status"]["flavorsReservation"][0]
                 ["resources"] if each["name"] == "example.com/gpus"]
        self.plane.apply(JOB.replace("NAME", "second").replace("TEMPLATE", "two"))
        self.expect("second", "False", "insufficient unused quota for example.com/gpus")
        self.plane.apply(TEMPLATE.replace("NAME", "other").replace("CLASS", "tpu.example.com"))
        self.plane.apply(JOB.replace("NAME", "third").replace("TEMPLATE", "other"))
        self.expect("third", "False", "DeviceClass tpu.example.com is not mapped in DRA configuration")
        self.assertTrue(usage)
        self.plane.kubectl("delete", "jobs", "--all")

    def test_devices_are_selected(self):
        self.apply_when_accepted(QUEUES, "--server-side", "--force-conflicts")
        plain = TEMPLATE[TEMPLATE.index("        exactly:"):]
        self.plane.apply(TEMPLATE.replace(plain, SELECTOR.strip("\n")).replace("NAME", "large"))
        self.plane.apply(JOB.replace("NAME", "choosy").replace("TEMPLATE", "large"))
        self.expect("choosy", "False", "failed to get DeviceClass gpu.example.com")
        self.plane.apply(DEVICES.replace("MEMORY", "40Gi"))
        self.expect("choosy", "False", "1 device(s) match in the cluster but 2 requested")
        self.plane.apply(DEVICES.replace("MEMORY", "80Gi"))
        self.expect("choosy", "True", "")
        asking = JOB.replace("NAME", "asking").replace(
            "      resourceClaims: [{name: gpu, resourceClaimTemplateName: TEMPLATE}]\n", "").replace(
            'resources: {requests: {cpu: "1"}, claims: [{name: gpu}]}',
            'resources: {requests: {cpu: "1", example.com/gpu: "2"}, limits: {example.com/gpu: "2"}}')
        self.plane.apply(asking)
        self.expect("asking", "False", "insufficient unused quota for example.com/gpus")
        self.plane.kubectl("delete", "jobs", "--all")
