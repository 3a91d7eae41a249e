"""Goal: without the CRDs of ProvisioningRequest, ProvisioningPolicy and JobKind the controller starts,
becomes ready and admits jobs; it serves the admission check, its policy and declared kinds as soon as
the CRDs come.

Method: the manifests are applied without the CRDs, and each CRD while the controller runs."""

import os
import urllib.request

from cluster_test import ClusterTest
from control_plane import ROOT

CRDS = ("provisioningrequests.autoscaling.x-k8s.io", "provisioningpolicies.provisioning.berth.dev",
        "jobkinds.integrations.berth.dev")
POLICY = """
apiVersion: provisioning.berth.dev/v1alpha1
kind: ProvisioningPolicy
metadata: {name: late}
spec: {reuse: {enabled: true}}
"""
KIND = """
apiVersion: integrations.berth.dev/v1alpha1
kind: JobKind
metadata: {name: sweeps}
spec:
  group: science.example
  version: v1
  kind: Sweep
  suspend: spec.paused
  podSets: [{name: "'trial'", template: spec.pod, count: self.spec.trials}]
  active: "self.?status.?running.orValue(0) > 0"
  finished: [{when: "self.?status.?phase.orValue('') == 'Done'", succeeded: "true"}]
"""
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
        cls.berth.apply_manifests(without_crds=CRDS)

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

    def install(self, name):
        """Applies the CRD of that name."""
        plural, _, group = name.partition(".")
        self.plane.kubectl("apply", "--server-side", "-f",
                           os.path.join(ROOT, "manifests", "crds", f"{group}_{plural}.yaml"))

    def test_starts_without_the_crds_and_serves_them_when_they_come(self):
        self.plane.wait_until(self.is_ready, "the controller is ready")
        self.apply_when_accepted(QUEUES)
        self.plane.apply(JOB.replace("NAME", "plain"))
        self.plane.apply(JOB.replace("NAME", "asked"))
        self.plane.wait_until(lambda: not self.plane.get("job", "plain")["spec"]["suspend"],
                              "a job that needs no capacity check is started")
        self.assertNotEqual(self.condition("admissioncheck", "capacity", "Active"), "True")
        self.assertTrue(self.plane.get("job", "asked")["spec"]["suspend"])

        self.install(CRDS[0])
        self.plane.wait_until(
            lambda: self.condition("admissioncheck", "capacity", "Active") == "True",
            "the check is served once the CRD is there", seconds=120)
        self.plane.wait_until(lambda: self.plane.items("provisioningrequests"),
                              "capacity is asked for", seconds=180)

        self.plane.kubectl("annotate", "admissioncheck", "capacity", "berth.dev/provisioning-policy=late")
        self.plane.wait_until(
            lambda: self.condition("admissioncheck", "capacity", "Active") == "False",
            "the check misses its policy")
        self.install(CRDS[1])
        self.install(CRDS[2])
        self.apply_when_accepted(POLICY)
        self.apply_when_accepted(KIND)
        self.plane.wait_until(
            lambda: self.condition("admissioncheck", "capacity", "Active") == "True",
            "the check has its policy", seconds=120)
        self.plane.wait_until(lambda: self.condition("jobkind", "sweeps", "Ready") == "False",
                              "the declared kind is judged: the API does not serve it", seconds=120)
        self.assertIsNone(self.controller.process.poll())
