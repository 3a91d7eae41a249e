"""Goal: without the ProvisioningRequest CRD the controller starts, becomes ready and admits jobs; it
serves the admission check as soon as the CRD comes.

Method: the CRD is deleted before the controller starts and applied again while it runs."""

import os
import unittest
import urllib.request

from control_plane import ROOT
from installation import ClusterTest

CRD = "provisioningrequests.autoscaling.x-k8s.io"
QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default}
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
metadata: {name: plain}
spec:
  namespaceSelector: {}
  resourceGroups: &groups
  - coveredResources: [cpu]
    flavors:
    - {name: default, resources: [{name: cpu, nominalQuota: "4"}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: asked}
spec:
  namespaceSelector: {}
  admissionChecksStrategy:
    admissionChecks: [{name: capacity}]
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
metadata: {name: asked, namespace: default}
spec: {clusterQueue: asked}
""".replace(" &groups", "")
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: NAME, namespace: default, labels: {kueue.x-k8s.io/queue-name: NAME}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: none, resources: {requests: {cpu: "1"}}}]
"""


class OptionalTest(ClusterTest):
    @classmethod
    def apply_manifests(cls):
        super().apply_manifests()
        cls.plane.kubectl("delete", "crd", CRD)

    def is_ready(self):
        try:
            url = f"http://127.0.0.1:{self.controller.port('health')}/readyz"
            with urllib.request.urlopen(url, timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def condition(self, kind, name, wanted):
        found = self.plane.get(kind, name).get("status", {}).get("conditions", [])
        return next((each["status"] for each in found if each["type"] == wanted), "")

    def test_starts_without_the_crd_and_serves_it_when_it_comes(self):
        self.plane.wait_until(self.is_ready, "the controller is ready")
        self.apply_when_accepted(QUEUES)
        self.plane.apply(JOB.replace("NAME", "plain"))
        self.plane.apply(JOB.replace("NAME", "asked"))
        self.plane.wait_until(lambda: not self.plane.get("job", "plain")["spec"]["suspend"],
                              "a job that needs no capacity check is started")
        self.assertNotEqual(self.condition("admissioncheck", "capacity", "Active"), "True")
        self.assertTrue(self.plane.get("job", "asked")["spec"]["suspend"])

        self.plane.kubectl("apply", "--server-side", "-f", os.path.join(
            ROOT, "manifests", "crds", "autoscaling.x-k8s.io_provisioningrequests.yaml"))
        self.plane.wait_until(
            lambda: self.condition("admissioncheck", "capacity", "Active") == "True",
            "the check is served once the CRD is there", seconds=120)
        self.plane.wait_until(lambda: self.plane.items("provisioningrequests"),
                              "capacity is asked for", seconds=60)
        self.assertIsNone(self.controller.process.poll())


if __name__ == "__main__":
    unittest.main()
