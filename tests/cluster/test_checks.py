"""Goal: a workload whose next flavor does not require its admission check is admitted there: no
part of the check's state remains, which the API server would refuse.

Method: a check for one flavor of two; the test answers the capacity request; the first flavor
loses its quota while the workload is inactive."""

import json

from cluster_test import ClusterTest

QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: asked-for}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: there}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ProvisioningRequestConfig
metadata: {name: config}
spec: {provisioningClassName: queued-provisioning.gke.io}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: capacity}
spec:
  controllerName: kueue.x-k8s.io/provisioning-request
  parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: config}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
  admissionChecksStrategy:
    admissionChecks: [{name: capacity, onFlavors: [asked-for]}]
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {name: asked-for, resources: [{name: cpu, nominalQuota: "QUOTA"}]}
    - {name: there, resources: [{name: cpu, nominalQuota: "4"}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: default}
spec: {clusterQueue: team}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: job, namespace: default, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: none, resources: {requests: {cpu: "1"}}}]
"""


class ChecksTest(ClusterTest):
    SHARES_PLANE = True

    def workload(self):
        found = self.plane.items("workloads")
        return found[0] if found else {}

    def check(self):
        return next(iter(self.workload().get("status", {}).get("admissionChecks", [])), {})

    def patch(self, kind, name, patch, *flags):
        self.plane.kubectl("patch", kind, name, "--type=merge", "-p", json.dumps(patch), *flags)

    def test_the_next_flavor_asks_for_no_check(self):
        self.apply_when_accepted(QUEUES.replace("QUOTA", "4"))
        self.plane.apply(JOB)
        request = self.wait_until(lambda: self.plane.items("provisioningrequests"),
                                  "capacity is asked for")[0]["metadata"]["name"]
        now = "2026-01-01T00:00:00Z"
        self.patch("provisioningrequest", request, {"status": {"conditions": [
            {"type": "Accepted", "status": "True", "reason": "A", "message": "", "lastTransitionTime": now},
            {"type": "Provisioned", "status": "False", "reason": "Wait", "message": "in a queue",
             "lastTransitionTime": now}]}}, "--subresource=status")
        self.wait_until(lambda: self.check().get("message") == "in a queue", "the check tells of it")

        name = self.workload()["metadata"]["name"]
        self.patch("workload", name, {"spec": {"active": False}})
        self.wait_until(lambda: not self.workload()["status"].get("admission"), "quota is given back")
        self.plane.kubectl("apply", "-f", "-", stdin=QUEUES.replace("QUOTA", "0"))


        def known():
            queue = self.plane.get("clusterqueue", "team")
            return any(each["type"] == "Active" and each.get("observedGeneration") == queue["metadata"]["generation"]
                       for each in queue["status"]["conditions"])
        self.wait_until(known, "the quota is known")
        self.patch("workload", name, {"spec": {"active": True}})
        self.wait_until(lambda: self.plane.get("job", "job")["spec"]["suspend"] is False,
                        "the job starts on the other flavor")
        self.assertEqual(self.check(), {})
