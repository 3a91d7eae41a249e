"""Goal: Dask runs on `berth up` as on a cluster: its own operator, unmodified, in a Deployment; schedulers and
workers are real processes of `distributed`, which find each other by the names of Services and compute.

Method: the versions that tools/dask installs; the pod specs of dask_kubernetes' KubeCluster, which listen on all
addresses; a client that is a pod too."""

import glob
import json
import os
import shutil
import time
import unittest

from berth_up import ROOT, BerthUpTest
from scratch import scratch_folder
from waiting import wait_until

FOLDER = os.environ.get("DASK", os.path.join(ROOT, "build", "dask"))
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "laptop"},
        "status": {"allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"},
                   "capacity": {"cpu": "16", "memory": "64Gi", "pods": "110"}}}
# Sums squares on the workers, in partitions; no package beside those of Dask. Each partition names its worker: on a busy
# machine the scheduler may give all of them to the workers that started first. The workers are those that answer:
# scheduler_info may be of a moment before they came.
COMPUTE = """
import os
from distributed import Client
with Client(os.environ['DASK_SCHEDULER_ADDRESS'], timeout=240) as client:
    client.wait_for_workers(%d, timeout=240)
    workers = sorted(client.run(os.getpid))
    results = client.gather([client.submit(lambda part: (sum(i * i for i in range(part * 1000, part * 1000 + 1000)),
                                                         os.environ['DASK_WORKER_NAME']),
                                           part, workers=workers[part %% len(workers)], pure=False)
                             for part in range(50)])
    assert sum(value for value, _ in results) == sum(i * i for i in range(50000))
    print('workers', len({name for _, name in results}), 'sum', sum(value for value, _ in results), flush=True)
"""
SUM = sum(i * i for i in range(50000))
BUSY = """
import os, time
from distributed import Client
with Client(os.environ['DASK_SCHEDULER_ADDRESS'], timeout=240) as client:
    assert sum(client.gather(client.map(lambda part: time.sleep(0.5) or part, range(60), pure=False))) == 1770
"""

NOTEBOOK = """
import os
from dask_kubernetes.operator import KubeCluster, make_cluster_spec
from distributed import Client
spec = make_cluster_spec('notebook', image='image', n_workers=1, worker_command='dask worker --no-nanny --nthreads 1')
with KubeCluster(custom_cluster_spec=spec, quiet=True, shutdown_on_close=True) as cluster:
    cluster.scale(2)
    with Client(cluster, timeout=240) as client:
        client.wait_for_workers(2, timeout=240)
        workers = sorted(client.run(os.getpid))
        values = client.gather([client.submit(lambda part: (sum(i * i for i in range(part * 1000, part * 1000 + 1000)),
                                                            os.environ['DASK_WORKER_NAME']),
                                              part, workers=workers[part % len(workers)], pure=False)
                                for part in range(50)])
        print('workers', len({name for _, name in values}), 'sum', sum(value for value, _ in values), flush=True)
"""
# The entry point of Dask's image: it executes its arguments.
IMAGE = """#!/bin/sh
[ "$1" = dask-scheduler ] && { shift; set -- dask scheduler "$@"; }
PATH=%s:$PATH exec "$@"
"""


def write_file(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {frameworks: [batch/job, kubernetes.dask.org/daskcluster, kubernetes.dask.org/daskjob]}
"""
QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: machine}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: machine, resources: [{name: cpu, nominalQuota: "5"}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: default}
spec: {clusterQueue: team}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 100
"""
QUEUE = {"kueue.x-k8s.io/queue-name": "q"}
RACKS = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: racks}
spec: {levels: [{nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: racks}
spec: {nodeLabels: {pool: racks}, topologyName: racks}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: racks}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: racks, resources: [{name: cpu, nominalQuota: "9"}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: racks, namespace: default}
spec: {clusterQueue: racks}
"""


class DaskCase(BerthUpTest):
    flags = ()

    def setUp(self):
        if not os.path.exists(os.path.join(FOLDER, "stamp")):
            raise unittest.SkipTest("no Dask: install it with tools/dask")
        folder = scratch_folder("berth-dask-")
        self.addCleanup(shutil.rmtree, folder)
        image = write_file(folder, "image", IMAGE % os.path.join(FOLDER, "bin"))
        os.chmod(image, 0o755)
        self.cluster = self.start_cluster(images=[
            f"image={image}",
            f"dask={os.path.join(FOLDER, 'bin', 'dask')}",
            f"python={os.path.join(FOLDER, 'bin', 'python3')}",
            f"operator={os.path.join(FOLDER, 'bin', 'kopf')}"], flags=self.flags)
        self.kubectl = self.cluster.kubectl
        self.create(NODE)
        definitions = sorted(glob.glob(os.path.join(
            FOLDER, "lib", "python3*", "site-packages", "dask_kubernetes", "operator", "deployment", "helm",
            "dask-kubernetes-operator", "crds", "*.yaml")))
        self.assertEqual(len(definitions), 4)
        for path in definitions:
            self.kubectl("apply", "--server-side", "-f", path)
        self.start_operator()

    def create(self, what):
        self.kubectl("create", "-f", "-", stdin=json.dumps(what))

    def start_operator(self):
        """The operator as a Deployment, with an account that may do everything."""
        self.kubectl("create", "serviceaccount", "operator")
        self.kubectl("create", "clusterrolebinding", "operator", "--clusterrole=cluster-admin",
                     "--serviceaccount=default:operator")
        environment = [{"name": "PYTHONDONTWRITEBYTECODE", "value": "1"}]
        self.create({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "dask-operator"},
            "spec": {"selector": {"matchLabels": {"app": "dask-operator"}}, "template": {
                "metadata": {"labels": {"app": "dask-operator"}},
                "spec": {"serviceAccountName": "operator", "terminationGracePeriodSeconds": 1, "containers": [{
                    "name": "operator", "image": "operator", "env": environment,
                    "args": ["run", "-m", "dask_kubernetes.operator.controller", "--all-namespaces",
                             "--liveness", "http://0.0.0.0:8080/healthz"],
                    "ports": [{"name": "health", "containerPort": 8080}],
                    "readinessProbe": {"httpGet": {"port": "health", "path": "/healthz"}, "periodSeconds": 1}}]}}}})
        self.kubectl("rollout", "status", "deployment/dask-operator", "--timeout=240s", seconds=250)

    def container(self, name, arguments, ports):
        return {"name": name, "image": "dask", "args": arguments, "resources": {"requests": {"cpu": "1"}},
                "env": [{"name": "PYTHONDONTWRITEBYTECODE", "value": "1"}],
                "ports": [{"name": port, "containerPort": number} for port, number in ports.items()]}

    def cluster_spec(self, name, workers):
        """What KubeCluster's make_cluster_spec writes, but for the image."""
        scheduler = self.container("scheduler", ["scheduler", "--host", "0.0.0.0"],
                                   {"tcp-comm": 8786, "http-dashboard": 8787})
        scheduler["readinessProbe"] = {"httpGet": {"port": "http-dashboard", "path": "/health"},
                                       "initialDelaySeconds": 0, "periodSeconds": 1, "timeoutSeconds": 300}
        scheduler["livenessProbe"] = {"httpGet": {"port": "http-dashboard", "path": "/health"},
                                      "initialDelaySeconds": 15, "periodSeconds": 20}
        worker = self.container("worker", ["worker", "--name", "$(DASK_WORKER_NAME)", "--no-nanny", "--nthreads", "1",
                                           "--dashboard-address", "8788"], {"http-dashboard": 8788})
        selector = {"dask.org/cluster-name": name, "dask.org/component": "scheduler"}
        ports = [{"name": port, "protocol": "TCP", "port": number, "targetPort": port}
                 for port, number in {"tcp-comm": 8786, "http-dashboard": 8787}.items()]
        short = {"terminationGracePeriodSeconds": 2}
        return {"scheduler": {"spec": {**short, "containers": [scheduler]},
                              "service": {"type": "ClusterIP", "selector": selector, "ports": ports}},
                "worker": {"replicas": workers, "spec": {**short, "containers": [worker]}}}

    def create_cluster(self, name, workers, spec=None, **metadata):
        self.create({"apiVersion": "kubernetes.dask.org/v1", "kind": "DaskCluster",
                     "metadata": {"name": name, **metadata},
                     "spec": {**self.cluster_spec(name, workers), **(spec or {})}})

    def start_client(self, name, pod, program):
        address = f"tcp://{name}-scheduler.default.svc.cluster.local:8786"
        self.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod}, "spec": {
            "restartPolicy": "Never", "containers": [{
                "name": "client", "image": "python", "args": ["-c", program],
                "env": [{"name": "DASK_SCHEDULER_ADDRESS", "value": address}]}]}})

    def compute(self, name, workers, pod):
        """Runs the computation in a pod; returns its line of output. Dask may log further lines when its client closes."""
        self.start_client(name, pod, COMPUTE % workers)
        self.wait(lambda: self.phase(pod) in ("Succeeded", "Failed"), f"{pod} ends")
        output = self.kubectl("logs", pod).stdout
        self.assertEqual(self.phase(pod), "Succeeded", output)
        lines = [line for line in output.splitlines() if line.startswith("workers ")]
        self.assertEqual(len(lines), 1, output)
        return lines[0]

    def phase(self, pod):
        return (self.cluster.get("pod", pod) or {}).get("status", {}).get("phase")

    def ready(self, name):
        """The numbers of ready schedulers and workers."""
        counts = []
        for component in ("scheduler", "worker"):
            pods = self.cluster.items("pods", "-l", f"dask.org/cluster-name={name},dask.org/component={component}")
            counts.append(sum(1 for pod in pods if any(
                each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", []))))
        return counts

    def wait(self, condition, what):
        try:
            wait_until(condition, what, seconds=300)
        except AssertionError as late:
            state = self.kubectl("get", "pods,deployments,services,endpoints,daskclusters,daskjobs", "-o", "wide",
                                 check=False).stdout
            logs = "".join(self.kubectl("logs", "--tail=25", pod["metadata"]["name"], check=False).stdout
                           for pod in self.cluster.items("pods"))
            raise AssertionError(f"{state}\n{logs}\n{self.cluster.log()[-3000:]}\n{late}") from None

    def create_job(self, name, workers, **metadata):
        runner = {"name": "runner", "image": "python", "args": ["-c", COMPUTE % workers],
                  "resources": {"requests": {"cpu": "1"}}}
        self.create({"apiVersion": "kubernetes.dask.org/v1", "kind": "DaskJob", "metadata": {"name": name, **metadata},
                     "spec": {"job": {"spec": {"restartPolicy": "Never", "containers": [runner]}},
                              "cluster": {"spec": self.cluster_spec(name, workers)}}})

    def job_status(self, name):
        return (self.cluster.get("daskjob", name) or {}).get("status", {}).get("jobStatus")


class DaskTest(DaskCase):
    def test_clusters_compute_scale_and_end(self):
        # Two clusters, whose schedulers have the same ports.
        for name in ("one", "two"):
            self.create_cluster(name, workers=2)
        for name in ("one", "two"):
            self.wait(lambda name=name: self.ready(name) == [1, 2], f"{name} is ready")
        self.assertEqual(self.compute("one", 2, "client-1"), f"workers 2 sum {SUM}")
        self.assertEqual(self.compute("two", 2, "client-2"), f"workers 2 sum {SUM}")
        self.kubectl("scale", "daskcluster", "one", "--replicas=3")
        self.wait(lambda: self.ready("one") == [1, 3], "it has grown")
        self.assertEqual(self.compute("one", 3, "client-3"), f"workers 3 sum {SUM}")
        # The operator retires workers through the scheduler, by the Service's name.
        self.kubectl("scale", "daskcluster", "one", "--replicas=1")
        self.wait(lambda: self.ready("one") == [1, 1], "it has shrunk")
        self.assertEqual(self.compute("one", 1, "client-4"), f"workers 1 sum {SUM}")
        for name in ("one", "two"):
            self.kubectl("delete", "daskcluster", name)
        self.wait(lambda: not self.cluster.items("pods", "-l", "dask.org/component") and
                  {each["metadata"]["name"] for each in self.cluster.items("services,endpoints")} <= {"kubernetes"},
                  "everything is gone")

    def test_adaptive_scaling_and_an_operator_that_restarts(self):
        """Work brings workers, idleness takes them, down to none; the operator is killed in between."""
        self.create_cluster("one", workers=0)
        self.wait(lambda: self.ready("one") == [1, 0], "the scheduler is ready")
        self.create({"apiVersion": "kubernetes.dask.org/v1", "kind": "DaskAutoscaler", "metadata": {"name": "one"},
                     "spec": {"cluster": "one", "minimum": 0, "maximum": 2}})
        self.start_client("one", "busy", BUSY)
        self.wait(lambda: self.ready("one")[1] > 0, "work brings a worker")
        operator = self.cluster.items("pods", "-l", "app=dask-operator")[0]["metadata"]["name"]
        self.kubectl("delete", "pod", operator, "--grace-period=0", "--force")
        self.kubectl("rollout", "status", "deployment/dask-operator", "--timeout=240s", seconds=250)
        self.wait(lambda: self.phase("busy") in ("Succeeded", "Failed"), "the work ends")
        self.assertEqual(self.phase("busy"), "Succeeded", self.kubectl("logs", "busy").stdout)
        self.wait(lambda: not self.cluster.items("pods", "-l", "dask.org/component=worker"), "no worker is left")

    def test_kube_cluster_from_python(self):
        """KubeCluster in a pod: makes a cluster, scales it, computes, and ends it."""
        self.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "notebook"}, "spec": {
            "serviceAccountName": "operator", "restartPolicy": "Never", "containers": [{
                "name": "python", "image": "python", "args": ["-c", NOTEBOOK]}]}})
        self.wait(self.notebook_has_ended, "the program ends")
        output = self.kubectl("logs", "notebook").stdout
        self.assertEqual(self.phase("notebook"), "Succeeded", output)
        self.assertIn(f"workers 2 sum {SUM}", output)
        self.wait(lambda: not self.cluster.items("pods", "-l", "dask.org/component"), "everything is gone")

    def notebook_has_ended(self):
        """The operator writes the phase Running when it sees the Service's status, and Pending when it has made all
        components: in the wrong order on a busy machine. KubeCluster waits for Running, which a change of the
        Service's status brings."""
        cluster = self.cluster.get("daskcluster", "notebook") or {}
        service = self.cluster.get("service", "notebook-scheduler")
        if service and cluster.get("status", {}).get("phase") == "Pending":
            condition = {"type": "Seen", "status": "True", "reason": "Again", "message": "",
                         "lastTransitionTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
            self.cluster.patch_status("/api/v1/namespaces/default/services/notebook-scheduler", {"conditions": [condition]})
        return self.phase("notebook") in ("Succeeded", "Failed")

    def test_a_dask_job(self):
        self.create_job("job", 1)
        self.wait(lambda: self.job_status("job") == "Successful", "it succeeds")
        self.assertIn(f"sum {SUM}", self.kubectl("logs", "job-runner").stdout)
        self.wait(lambda: not self.cluster.items("deployments", "-l", "dask.org/component"), "its cluster is gone")


class QueuedDaskTest(DaskCase):
    """Clusters and jobs are queued as units; `berth up` holds their pods as the component `dask` does."""

    def setUp(self):
        folder = scratch_folder("berth-dask-")
        self.addCleanup(shutil.rmtree, folder)
        self.flags = ["--config", write_file(folder, "configuration.yaml", CONFIGURATION)]
        super().setUp()
        self.cluster.apply(QUEUES)

    def workloads(self, name):
        """{number of the growth, 0 for the job: its Workload}"""
        return {int(each["metadata"].get("annotations", {}).get("integrations.berth.dev/growth", "0")): each
                for each in self.cluster.items("workloads") if each["metadata"]["ownerReferences"][0]["name"] == name}

    def condition(self, name, kind, growth=0):
        status = self.workloads(name).get(growth, {}).get("status", {})
        return next((each for each in status.get("conditions", []) if each["type"] == kind), {})

    def admitted(self, name, growth=0):
        return self.condition(name, "Admitted", growth).get("status") == "True"

    def waiting(self, name):
        """The numbers of the growths that wait."""
        return [growth for growth in self.workloads(name) if growth and not self.admitted(name, growth)]

    def used(self):
        """The CPUs that the ClusterQueue counts."""
        flavors = self.cluster.get("clusterqueue", "team")["status"].get("flavorsUsage")
        return flavors and flavors[0]["resources"][0]["total"]

    def held(self, name, component=None):
        """The pods of the cluster that are held: gated, without a node."""
        labels = f"dask.org/cluster-name={name}" + (f",dask.org/component={component}" if component else "")
        return [pod for pod in self.cluster.items("pods", "-l", labels) if "nodeName" not in pod["spec"] and
                {"name": "kueue.x-k8s.io/admission"} in pod["spec"].get("schedulingGates", [])]

    def create_high_job(self):
        self.create({"apiVersion": "batch/v1", "kind": "Job",
                     "metadata": {"name": "high", "labels": {**QUEUE, "kueue.x-k8s.io/priority-class": "high"}},
                     "spec": {"template": {"spec": {
                         "restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [{
                             "name": "main", "image": "python", "args": ["-c", "import time; time.sleep(600)"],
                             "resources": {"requests": {"cpu": "1"}}}]}}}})

    def test_a_cluster_is_one_unit_that_grows_and_is_preempted(self):
        self.create_cluster("a", workers=2, labels=QUEUE)
        self.wait(lambda: self.ready("a") == [1, 2], "it runs")
        self.assertEqual([(each["name"], each["count"]) for each in self.workloads("a")[0]["spec"]["podSets"]],
                         [("scheduler", 1), ("worker", 2)])
        # Two of five CPUs are left: of a cluster of three nothing runs.
        self.create_cluster("b", workers=2, labels=QUEUE)
        self.wait(lambda: len(self.held("b")) == 3, "its pods are held")
        self.wait(lambda: self.condition("b", "QuotaReserved").get("status") == "False", "it waits")
        self.assertIn("cpu", self.condition("b", "QuotaReserved")["message"])
        self.assertIn("needs 3", self.cluster.berth("why", "daskcluster/b").stdout)

        # Growth runs within the quota; beyond it waits, visibly.
        self.kubectl("scale", "daskcluster", "a", "--replicas=5")
        self.wait(lambda: self.ready("a") == [1, 4] and len(self.held("a", "worker")) == 1, "it has grown, one waits")
        self.wait(lambda: self.waiting("a"), "so does its Workload")
        growth = max(self.workloads("a"))
        self.assertEqual([(each["name"], each["count"]) for each in self.workloads("a")[growth]["spec"]["podSets"]],
                         [("worker", 1)])
        self.wait(lambda: self.condition("a", "QuotaReserved", growth).get("status") == "False", "with its reason")
        self.assertIn("cpu", self.condition("a", "QuotaReserved", growth)["message"])
        self.kubectl("scale", "daskcluster", "a", "--replicas=4")
        self.wait(lambda: not self.held("a") and not self.waiting("a"), "nobody waits")
        self.assertEqual(self.compute("a", 4, "client-1"), f"workers 4 sum {SUM}")

        # A growth goes to a job of high priority, through the scheduler of Dask, and comes back.
        self.create_high_job()
        self.wait(lambda: self.admitted("high"), "the job is admitted")
        self.wait(lambda: self.ready("a") == [1, 3], "the cluster goes on with three workers")
        self.assertTrue(self.admitted("a"))
        self.kubectl("delete", "job", "high")
        self.wait(lambda: self.ready("a") == [1, 4], "the worker is back")

        # What one cluster leaves another one gets.
        self.kubectl("delete", "daskcluster", "a")
        self.wait(lambda: self.ready("b") == [1, 2], "the other cluster runs")
        self.assertEqual(self.compute("b", 2, "client-2"), f"workers 2 sum {SUM}")
        self.kubectl("delete", "daskcluster", "b")
        self.wait(lambda: not self.cluster.items("pods", "-l", "dask.org/component") and
                  not self.cluster.items("workloads") and self.used() == "0", "everything is gone")

    def test_idle_clusters_give_their_quota_to_those_that_wait(self):
        """The operator deletes an idle cluster after idleTimeout. One that is held has no scheduler: it is not idle."""
        self.create_cluster("first", workers=2, labels=QUEUE)
        self.wait(lambda: self.admitted("first"), "the first cluster starts")
        self.create_cluster("second", workers=2, labels=QUEUE, spec={"idleTimeout": 8})
        self.wait(lambda: len(self.held("second")) == 3, "the second cluster is held")
        waiting = self.workloads("second")[0]["metadata"]["name"]
        # The first cluster may be idle from here on: on a busy machine it would end while the second one's pods are made.
        self.kubectl("patch", "daskcluster", "first", "--type=merge", "-p", json.dumps({"spec": {"idleTimeout": 8}}))
        self.wait(lambda: not self.workloads("first"), "it was idle")
        # The second one may have been idle and gone, too, when the first one's Workload goes: its event stays.
        self.wait(lambda: any(event["reason"] == "Admitted" and event["involvedObject"]["name"] == waiting
                              for event in self.cluster.items("events")), "the second cluster starts")
        self.wait(lambda: not self.cluster.items("pods", "-l", "dask.org/component") and self.used() == "0",
                  "it was idle, too")
        self.assertEqual(self.cluster.items("daskclusters"), [])

    def test_workers_of_a_cluster_share_a_rack(self):
        self.cluster.apply(RACKS)
        for name, rack, cpus in (("a-1", "a", 2), ("a-2", "a", 2), ("b-1", "b", 2), ("b-2", "b", 3)):
            amounts = {"cpu": str(cpus), "memory": "8Gi", "pods": "110"}
            self.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {
                "pool": "racks", "rack": rack, "kubernetes.io/hostname": name}},
                "status": {"allocatable": amounts, "capacity": amounts, "conditions": [
                    {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}]}})
        spec = self.cluster_spec("a", 4)
        spec["worker"]["metadata"] = {"annotations": {"kueue.x-k8s.io/podset-required-topology": "rack"}}
        self.create_cluster("a", workers=4, labels={"kueue.x-k8s.io/queue-name": "racks"}, spec=spec)
        self.wait(lambda: self.ready("a") == [1, 4], "it runs")
        self.assertEqual(len(self.racks_of("a")), 1)
        self.assertEqual(self.compute("a", 4, "client"), f"workers 4 sum {SUM}")
        # A worker whose pod is lost comes back where there is room for it.
        lost = self.cluster.items("pods", "-l", "dask.org/component=worker")[0]["metadata"]["name"]
        self.kubectl("delete", "pod", lost)
        self.wait(lambda: not self.cluster.get("pod", lost) and self.ready("a") == [1, 4], "it has four workers again")
        self.assertEqual(len(self.racks_of("a")), 1)

    def racks_of(self, name):
        workers = self.cluster.items("pods", "-l", f"dask.org/cluster-name={name},dask.org/component=worker")
        return {pod["spec"]["nodeName"][0] for pod in workers}

    def test_jobs_compute_in_turn(self):
        self.create_job("first", 2, labels=QUEUE)
        self.wait(lambda: self.admitted("first"), "the first job is admitted")
        self.create_job("second", 2, labels=QUEUE)
        self.wait(lambda: self.cluster.items("pods", "-l", "dask.org/cluster-name=second"), "the second has pods")
        held = self.held("second")
        if not self.admitted("second"):  # the first one may have ended
            self.assertTrue(held)
        for name in ("first", "second"):
            self.wait(lambda name=name: self.job_status(name) == "Successful", f"{name} succeeds")
            self.assertIn(f"workers 2 sum {SUM}", self.kubectl("logs", f"{name}-runner").stdout)
        self.wait(lambda: self.used() == "0", "the quota is given back")
        self.kubectl("delete", "daskjobs", "--all")
        self.wait(lambda: not self.cluster.items("pods", "-l", "dask.org/component") and
                  not self.cluster.items("workloads"), "everything is gone")
