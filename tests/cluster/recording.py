"""Recorded clusters (changeover/*.json.gz) written into the etcd of a control plane.

The API server gives every created object a uid of its own, so the objects go into etcd directly, in the
JSON form that the API server reads for every kind: uids, owners, status and managedFields are the
recorded ones, and nothing reviews them. Meanwhile no controller manager runs: it would make pods for an owner
whose pods are not written yet, and delete objects whose owner is not."""

import base64
import gzip
import json
import os
import urllib.request

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "changeover")

# Kind -> folder in etcd.
FOLDERS = {
    "Node": "minions", "ResourceFlavor": "kueue.x-k8s.io/resourceflavors",
    "WorkloadPriorityClass": "kueue.x-k8s.io/workloadpriorityclasses",
    "ProvisioningRequestConfig": "kueue.x-k8s.io/provisioningrequestconfigs",
    "AdmissionCheck": "kueue.x-k8s.io/admissionchecks", "Cohort": "kueue.x-k8s.io/cohorts",
    "ClusterQueue": "kueue.x-k8s.io/clusterqueues", "LocalQueue": "kueue.x-k8s.io/localqueues",
    "Deployment": "deployments", "ReplicaSet": "replicasets", "StatefulSet": "statefulsets",
    "Job": "jobs", "Pod": "pods", "Workload": "kueue.x-k8s.io/workloads",
    "ProvisioningRequest": "autoscaling.x-k8s.io/provisioningrequests", "PodTemplate": "podtemplates"}


def read(name):
    with gzip.open(os.path.join(FOLDER, name + ".json.gz"), "rt", encoding="utf-8") as file:
        return json.load(file)["items"]


def etcd(plane, path, body):
    request = urllib.request.Request(f"http://127.0.0.1:{plane.ports['etcd']}/v3/{path}",
                                     json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def load(plane, items):
    for item in items:
        if item["kind"] == "StatefulSet":
            # The hash of the template's revision has bytes that differ from minor to minor of Kubernetes: the controller of
            # another minor would replace the recorded pods.
            item["spec"]["updateStrategy"] = {"type": "OnDelete"}
    manager = plane.programs["kube-controller-manager"]
    manager.end()
    for item in items:
        meta = item["metadata"]
        key = "/".join(part for part in ("/registry", FOLDERS[item["kind"]],
                                         meta.get("namespace"), meta["name"]) if part)
        etcd(plane, "kv/put", {"key": base64.b64encode(key.encode()).decode(),
                               "value": base64.b64encode(json.dumps(item).encode()).decode()})
    manager.start().wait_ready()
