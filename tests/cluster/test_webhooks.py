"""Goal: behind the webhook configurations of Kueue, which review many more kinds than Berth handles,
pods, Deployments, StatefulSets and Jobs are created, changed and run, and Kueue's own kinds are
reviewed.

Method: the manifests' two configurations are replaced by ones with the names, paths and rules of
Kueue before the controller starts. The kinds of other operators have a small CRD each."""

import json

from cluster_test import ClusterTest
from installation import NAMESPACE
from test_queueing import JOB, QUEUES

# group, version, resource of the job kinds and of Kueue's kinds.
JOB_KINDS = (
    ("batch", "v1", "job"), ("jobset.x-k8s.io", "v1alpha2", "jobset"), ("kubeflow.org", "v1", "jaxjob"),
    ("kubeflow.org", "v1", "paddlejob"), ("kubeflow.org", "v1", "pytorchjob"),
    ("kubeflow.org", "v1", "tfjob"), ("kubeflow.org", "v1", "xgboostjob"),
    ("kubeflow.org", "v2beta1", "mpijob"), ("", "v1", "pod"), ("ray.io", "v1", "raycluster"),
    ("ray.io", "v1", "rayjob"), ("ray.io", "v1", "rayservice"),
    ("sparkoperator.k8s.io", "v1beta2", "sparkapplication"),
    ("trainer.kubeflow.org", "v1alpha1", "trainjob"),
    ("workload.codeflare.dev", "v1beta2", "appwrapper"))
SERVED_KINDS = (("apps", "v1", "deployment"), ("apps", "v1", "statefulset"),
                ("leaderworkerset.x-k8s.io", "v1", "leaderworkerset"))
QUEUE_KINDS = (("kueue.x-k8s.io", "v1beta2", "clusterqueue"),
               ("kueue.x-k8s.io", "v1beta2", "resourceflavor"),
               ("kueue.x-k8s.io", "v1beta2", "workload"))
COHORT = ("kueue.x-k8s.io", "v1beta2", "cohort")
FOREIGN = [kind for kind in JOB_KINDS + SERVED_KINDS if "." in kind[0]]
PODS = """
apiVersion: v1
kind: Pod
metadata: {name: alone, namespace: default}
spec: {containers: [{name: main, image: none}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec: &served
  replicas: 2
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec: {containers: [{name: main, image: none}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store, namespace: default}
spec:
  serviceName: store
  replicas: 1
  selector: {matchLabels: {app: store}}
  template:
    metadata: {labels: {app: store}}
    spec: {containers: [{name: main, image: none}]}
""".replace(" &served", "").replace("NAME", "web")


def hook(letter, verb, kind, operations):
    group, version, name = kind
    path = f"/{verb}-{group.replace('.', '-')}-{version}-{name}"
    resources = [name + "s"] + ([name + "s/status"] if (letter, name) == ("v", "workload") else [])
    made = {"name": f"{letter}{name}.kb.io", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "failurePolicy": "Fail", "clientConfig": {"service": {
                "name": "kueue-webhook-service", "namespace": NAMESPACE, "path": path}},
            "rules": [{"apiGroups": [group], "apiVersions": [version], "operations": operations,
                       "resources": resources}]}
    if kind in JOB_KINDS + SERVED_KINDS:
        made["namespaceSelector"] = {"matchExpressions": [{
            "key": "kubernetes.io/metadata.name", "operator": "NotIn",
            "values": ["kube-system", NAMESPACE]}]}
    return made


def configurations():
    both = ["CREATE", "UPDATE"]
    mutating = [hook("m", "mutate", kind, ["CREATE"]) for kind in JOB_KINDS + QUEUE_KINDS]
    mutating += [hook("m", "mutate", kind, both) for kind in SERVED_KINDS]
    validating = [hook("v", "validate", kind, both)
                  for kind in JOB_KINDS + SERVED_KINDS + QUEUE_KINDS + (COHORT,)]
    for word, hooks in (("Mutating", mutating), ("Validating", validating)):
        yield {"apiVersion": "admissionregistration.k8s.io/v1", "kind": word + "WebhookConfiguration",
               "metadata": {"name": f"kueue-{word.lower()}-webhook-configuration"}, "webhooks": hooks}


def crd_of(kind):
    group, version, name = kind
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{name}s.{group}", "annotations": {
                "api-approved.kubernetes.io": "unapproved, for a test"}},
            "spec": {"group": group, "scope": "Namespaced",
                     "names": {"kind": name.capitalize(), "plural": name + "s"},
                     "versions": [{"name": version, "served": True, "storage": True, "schema": {
                         "openAPIV3Schema": {"type": "object",
                                             "x-kubernetes-preserve-unknown-fields": True}}}]}}


class WebhooksTest(ClusterTest):
    @classmethod
    def apply_manifests(cls):
        super().apply_manifests()
        objects = list(configurations())
        cls.plane.kubectl("replace", "-f", "-", stdin=json.dumps(
            {"apiVersion": "v1", "kind": "List", "items": objects}))
        cls.plane.kubectl("create", "-f", "-", stdin=json.dumps(
            {"apiVersion": "v1", "kind": "List", "items": [crd_of(kind) for kind in FOREIGN]}))

    def test_kinds_of_core_run(self):
        self.apply_when_accepted(PODS)
        self.plane.wait_until(
            lambda: self.plane.get("deployment", "web")["status"].get("replicas") == 2 and
            self.plane.get("statefulset", "store")["status"].get("replicas") == 1 and
            self.plane.get("pod", "alone")["status"].get("phase") == "Running", "the pods run")
        self.plane.kubectl("scale", "deployment/web", "--replicas=1")
        self.plane.kubectl("label", "pod/alone", "seen=yes")

    def test_jobs_of_queues_run(self):
        self.apply_when_accepted(QUEUES)
        self.plane.apply(JOB.replace("NAME", "queued"))
        self.plane.wait_until(
            lambda: self.plane.get("job", "queued").get("status", {}).get("succeeded") == 1,
            "the job of the queue is complete", seconds=180)
        self.plane.kubectl("label", "clusterqueue/team", "seen=yes")
        broken = QUEUES.replace("nominalQuota: 2", "nominalQuota: -2")
        refused = self.plane.kubectl("apply", "-f", "-", stdin=broken, check=False)
        self.assertNotEqual(refused.returncode, 0, "Kueue's kinds are reviewed")

    def test_kinds_of_other_operators_are_let_in(self):
        for group, version, name in FOREIGN:
            with self.subTest(name):
                text = json.dumps({"apiVersion": f"{group}/{version}", "kind": name.capitalize(),
                                   "metadata": {"name": "one", "namespace": "default"},
                                   "spec": {"suspend": False}})
                self.apply_when_accepted(text)
                again = text.replace("false", "true")
                self.plane.kubectl("apply", "-f", "-", stdin=again)
