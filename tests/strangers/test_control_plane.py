"""Goal: `berth up --api-only` is an API server for Kubernetes' own controllers: kube-controller-manager and
kube-scheduler, unmodified, run Jobs, Deployments, StatefulSets and CronJobs, collect garbage and empty namespaces on it.

Method: the programs of tools/kubernetes; kwok plays the kubelets, as in tests/cluster."""

import base64
import json
import os
import re
import shutil
import unittest

from berth_up import BerthUp
from control_plane import PROGRAMS, ControlPlane
from scratch import scratch_folder

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: work, namespace: default}
spec:
  completions: 3
  parallelism: 2
  template:
    spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}
"""
SET = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: default}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: i}]}
"""
CRON = """
apiVersion: batch/v1
kind: CronJob
metadata: {name: often, namespace: default}
spec:
  schedule: "* * * * *"
  suspend: true
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}
"""
# Kinds without which kube-scheduler does not start: those that the API lacks are defined for the test.
WATCHED = (("storage.k8s.io", "CSINode", "Cluster"), ("resource.k8s.io", "ResourceClaim", "Namespaced"),
           ("resource.k8s.io", "ResourceSlice", "Cluster"), ("resource.k8s.io", "DeviceClass", "Cluster"))
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: {plural}.{group}
  annotations: {{api-approved.kubernetes.io: "unapproved, for a test"}}
spec:
  group: {group}
  scope: {scope}
  names: {{kind: {kind}, plural: {plural}}}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}
---
"""
CONTROLLERS = ("kube-controller-manager", "kube-scheduler", "kwok")
# The plugins that read volumes and devices, whose kinds the API lacks, are off.
SCHEDULER = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: %s, qps: 500, burst: 1000}
profiles:
- plugins:
    multiPoint:
      disabled:
      - {name: DynamicResources}
      - {name: NodeVolumeLimits}
      - {name: VolumeBinding}
      - {name: VolumeRestrictions}
      - {name: VolumeZone}
  pluginConfig:
  - name: PodTopologySpread
    args: {defaultingType: List, defaultConstraints: []}
"""


class ApiOnlyPlane(ControlPlane):
    """A control plane whose API server is `berth up --api-only`."""

    def __init__(self, folder):
        super().__init__(folder, parent_ends_all=True)
        self.api = BerthUp(kubectl=os.path.join(PROGRAMS, "kubectl"), flags=["--api-only"])

    def start_programs(self):
        self.api.start()
        self.kubeconfig = self.api.kubeconfig
        with open(self.kubeconfig, encoding="utf-8") as file:
            authority = re.search(r"certificate-authority-data: (\S+)", file.read()).group(1)
        self.write("ca.crt", base64.b64decode(authority).decode())
        self.define_watched_kinds()
        described = self.describe()
        self.programs = {name: described[name] for name in CONTROLLERS}
        # The last flag counts. The roles of the single controllers (system:controller:…) are missing here.
        self.programs["kube-controller-manager"].arguments.append("--use-service-account-credentials=false")
        self.programs["kube-scheduler"].arguments.append(
            "--config=" + self.write("scheduler.yaml", SCHEDULER % self.kubeconfig))
        for one in self.programs.values():
            one.start()
        for one in self.programs.values():
            one.wait_ready()

    def define_watched_kinds(self):
        known = self.kubectl("api-resources", "-o", "name").stdout.split()
        for group, kind, scope in WATCHED:
            plural = kind.lower() + ("es" if kind.endswith("s") else "s")
            if f"{plural}.{group}" not in known:
                self.apply(DEFINITION.format(group=group, kind=kind, plural=plural, scope=scope))

    def stop(self):
        super().stop()
        self.api.close()


@unittest.skipUnless(os.path.exists(os.path.join(PROGRAMS, "kube-controller-manager")),
                     "no control plane: build one with tools/kubernetes")
class ControlPlaneTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = scratch_folder("berth-api-only-")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.plane = ApiOnlyPlane(folder)
        cls.addClassCleanup(cls.plane.stop)
        cls.plane.start()
        cls.plane.add_node("n1", cpu="8", memory="32Gi")
        cls.plane.add_node("n2", cpu="8", memory="32Gi")

    def wait_for(self, what, condition, seconds=60):
        try:
            return self.plane.wait_until(condition, what, seconds)
        except AssertionError as late:
            state = self.plane.kubectl("get", "all,events", "-A", check=False).stdout
            logs = "\n".join(f"{one.name}:\n{one.tail()}" for one in self.plane.programs.values())
            raise AssertionError(f"{late}\n{state[-6000:]}\n{logs}") from None

    def nodes_of(self, label):
        return sorted(pod["spec"].get("nodeName", "") for pod in self.plane.items("pods", "-l", label))

    def test_deployment(self):
        self.plane.apply(DEPLOYMENT)
        self.wait_for("the Deployment is available", lambda: (
            self.plane.get("deployment", "web") or {}).get("status", {}).get("availableReplicas") == 2)
        self.assertEqual(self.nodes_of("app=web"), ["n1", "n2"])  # kube-scheduler spreads them
        self.plane.kubectl("set", "image", "deployment/web", "c=j")
        self.plane.kubectl("rollout", "status", "deployment/web", "--timeout=60s", seconds=90)
        self.plane.kubectl("rollout", "undo", "deployment/web")
        self.plane.kubectl("rollout", "status", "deployment/web", "--timeout=60s", seconds=90)
        self.plane.kubectl("scale", "deployment/web", "--replicas=1")
        self.wait_for("one pod is left", lambda: len(self.plane.items("pods", "-l", "app=web")) == 1)
        self.plane.kubectl("delete", "deployment", "web", "--cascade=foreground", "--timeout=60s", seconds=90)
        self.assertEqual(self.plane.items("pods,replicasets", "-l", "app=web"), [])

    def test_job(self):
        self.plane.apply(JOB)
        self.plane.kubectl("wait", "--for=condition=Complete", "job/work", "--timeout=60s", seconds=90)
        self.assertEqual(self.plane.get("job", "work")["status"]["succeeded"], 3)
        self.plane.kubectl("delete", "job", "work")
        self.wait_for("the pods are collected",
                      lambda: not self.plane.items("pods", "-l", "batch.kubernetes.io/job-name=work"))

    def test_stateful_set(self):
        self.plane.apply(SET)
        self.plane.kubectl("rollout", "status", "statefulset/db", "--timeout=60s", seconds=90)
        self.assertEqual([pod["metadata"]["name"] for pod in self.plane.items("pods", "-l", "app=db")], ["db-0", "db-1"])
        self.plane.kubectl("delete", "statefulset", "db")

    def test_cron_job(self):
        self.plane.apply(CRON)
        self.plane.kubectl("create", "job", "now", "--from=cronjob/often")
        self.plane.kubectl("wait", "--for=condition=Complete", "job/now", "--timeout=60s", seconds=90)
        self.plane.kubectl("delete", "cronjob", "often")
        self.wait_for("the Job is collected", lambda: self.plane.get("job", "now") is None)

    def test_orphans_stay(self):
        self.plane.apply(JOB.replace("name: work", "name: left"))
        self.plane.kubectl("wait", "--for=condition=Complete", "job/left", "--timeout=60s", seconds=90)
        self.plane.kubectl("delete", "job", "left", "--cascade=orphan", "--timeout=60s", seconds=90)
        pods = self.plane.items("pods", "-l", "batch.kubernetes.io/job-name=left")
        self.assertEqual(len(pods), 3)
        self.assertNotIn("ownerReferences", pods[0]["metadata"])
        self.plane.kubectl("delete", "pods", "-l", "batch.kubernetes.io/job-name=left")

    def test_namespace(self):
        self.plane.kubectl("create", "namespace", "brief")
        self.wait_for("the ServiceAccount is made", lambda: self.plane.get("serviceaccount", "default", "-n", "brief"))
        self.plane.apply(DEPLOYMENT.replace("namespace: default", "namespace: brief"))
        self.wait_for("pods run", lambda: len(self.plane.items("pods", "-n", "brief")) == 2)
        self.plane.kubectl("delete", "namespace", "brief", "--timeout=60s", seconds=90)
        self.assertIsNone(self.plane.get("namespace", "brief"))

    def test_events_and_leases(self):
        listed = json.loads(self.plane.kubectl("get", "leases", "-n", "kube-node-lease", "-o", "json").stdout)
        self.assertEqual(sorted(lease["metadata"]["name"] for lease in listed["items"]), ["n1", "n2"])
