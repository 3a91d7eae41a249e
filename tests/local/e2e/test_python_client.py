"""Goal: the official Python client reads and writes every built-in kind that `berth up` serves: its models refuse
objects that lack what Kubernetes never omits.

Method: the version of the package `kubernetes` that tools/dask installs, in a process of its own."""

import json
import os
import unittest

from berth_up import ROOT, BerthUpTest

PYTHON = os.path.join(os.environ.get("DASK", os.path.join(ROOT, "build", "dask")), "bin", "python3")
ROOM = {"cpu": "16", "memory": "64Gi"}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "laptop"},
        "status": {"allocatable": ROOM, "capacity": ROOM}}

CALLS = """
import json, sys, traceback
from kubernetes import client, config
config.load_kube_config()
core, apps, batch = client.CoreV1Api(), client.AppsV1Api(), client.BatchV1Api()
LABELS = {"app": "web"}
POD = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "none"}]}}
DEPLOYMENT = {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": LABELS}, "template": POD}}
SET = {"metadata": {"name": "set"}, "spec": {"replicas": 0, "selector": {"matchLabels": LABELS}, "template": POD}}
SERVICE = {"metadata": {"name": "web"}, "spec": {"selector": LABELS, "ports": [{"name": "http", "port": 80}]}}
JOB = {"metadata": {"name": "j"}, "spec": {"suspend": True, "template": {"spec": {
    "restartPolicy": "Never", "containers": [{"name": "c", "image": "none"}]}}}}
NAMED = {"metadata": {"name": "one"}}
space = "default"
calls = [
    ("version", lambda: client.VersionApi().get_code().git_version),
    ("groups", lambda: client.ApisApi().get_api_versions().groups),
    ("core versions", lambda: client.CoreApi().get_api_versions().versions),
    ("resources", lambda: apps.get_api_resources().resources),
    ("create deployment", lambda: apps.create_namespaced_deployment(space, DEPLOYMENT)),
    ("read deployment", lambda: apps.read_namespaced_deployment("web", space)),
    ("read status", lambda: apps.read_namespaced_deployment_status("web", space)),
    ("read scale", lambda: apps.read_namespaced_deployment_scale("web", space)),
    ("patch scale", lambda: apps.patch_namespaced_deployment_scale("web", space, {"spec": {"replicas": 2}})),
    ("patch deployment", lambda: apps.patch_namespaced_deployment("web", space, {"spec": {"paused": True}})),
    ("create replica set", lambda: apps.create_namespaced_replica_set(space, SET)),
    ("scale replica set", lambda: apps.patch_namespaced_replica_set_scale("set", space, {"spec": {"replicas": 0}})),
    ("create service", lambda: core.create_namespaced_service(space, SERVICE)),
    ("patch service", lambda: core.patch_namespaced_service("web", space, {"spec": {"ports": [
        {"name": "http", "port": 80, "targetPort": 8080}]}})),
    ("create job", lambda: batch.create_namespaced_job(space, JOB)),
    ("read job status", lambda: batch.read_namespaced_job_status("j", space)),
    ("create config map", lambda: core.create_namespaced_config_map(space, {**NAMED, "data": {"a": "b"}})),
    ("replace config map", lambda: core.replace_namespaced_config_map("one", space, {**NAMED, "data": {"a": "c"}})),
    ("create secret", lambda: core.create_namespaced_secret(space, {**NAMED, "string_data": {"a": "b"}})),
    ("create namespace", lambda: core.create_namespace(NAMED)),
    ("nodes", lambda: core.list_node().items[0].status.daemon_endpoints.kubelet_endpoint.port),
    ("namespaces", lambda: core.list_namespace().items),
    ("pods", lambda: core.list_pod_for_all_namespaces().items),
    ("services", lambda: core.list_service_for_all_namespaces().items),
    ("endpoints", lambda: core.list_endpoints_for_all_namespaces().items),
    ("events", lambda: core.list_event_for_all_namespaces().items),
    ("config maps", lambda: core.list_config_map_for_all_namespaces().items),
    ("secrets", lambda: core.list_secret_for_all_namespaces().items),
    ("service accounts", lambda: core.list_service_account_for_all_namespaces().items),
    ("limit ranges", lambda: core.list_limit_range_for_all_namespaces().items),
    ("pod templates", lambda: core.list_pod_template_for_all_namespaces().items),
    ("deployments", lambda: apps.list_deployment_for_all_namespaces().items),
    ("replica sets", lambda: apps.list_replica_set_for_all_namespaces().items),
    ("jobs", lambda: batch.list_job_for_all_namespaces().items),
    ("leases", lambda: client.CoordinationV1Api().list_lease_for_all_namespaces().items),
    ("definitions", lambda: client.ApiextensionsV1Api().list_custom_resource_definition().items),
    ("priority classes", lambda: client.SchedulingV1Api().list_priority_class().items),
    ("runtime classes", lambda: client.NodeV1Api().list_runtime_class().items),
    ("webhooks", lambda: client.AdmissionregistrationV1Api().list_validating_webhook_configuration().items),
    ("endpoint slices", lambda: client.DiscoveryV1Api().list_endpoint_slice_for_all_namespaces().items),
    ("access review", lambda: client.AuthorizationV1Api().create_self_subject_access_review({"spec": {
        "resourceAttributes": {"verb": "get", "resource": "pods"}}})),
    ("delete job", lambda: batch.delete_namespaced_job("j", space, propagation_policy="Background")),
    ("delete service", lambda: core.delete_namespaced_service("web", space)),
    ("delete deployment", lambda: apps.delete_namespaced_deployment("web", space)),
    ("delete namespace", lambda: core.delete_namespace("one")),
]
failed = {}
for name, call in calls:
    try:
        call()
    except Exception as error:
        failed[name] = f"{type(error).__name__}: {error}"[:300]
print(json.dumps({"calls": len(calls), "failed": failed}))
"""


class PythonClientTest(BerthUpTest):
    def test_calls(self):
        if not os.path.exists(PYTHON):
            raise unittest.SkipTest("no Python client: install it with tools/dask")
        cluster = self.start_cluster()
        cluster.apply(json.dumps(NODE))
        outcome = json.loads(cluster.run(PYTHON, "-B", "-c", CALLS, seconds=90).stdout)
        self.assertEqual(outcome["failed"], {})
        self.assertEqual(outcome["calls"], 45)
