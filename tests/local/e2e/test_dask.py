"""Goal: Dask runs on `berth up` as on a cluster: its own operator, unmodified, in a Deployment; schedulers and
workers are real processes of `distributed`, which find each other by the names of Services and compute.

Method: the versions that tools/dask installs; the pod specs of dask_kubernetes' KubeCluster, which listen on all
addresses; a client that is a pod too."""

import glob
import json
import os
import unittest

from harness import ROOT, ClusterTest, wait_until

FOLDER = os.environ.get("DASK", os.path.join(ROOT, "build", "dask"))
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "laptop"},
        "status": {"allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"},
                   "capacity": {"cpu": "16", "memory": "64Gi", "pods": "110"}}}
# Sums squares on the workers, in partitions; no package beside those of Dask.
COMPUTE = """
import os
from distributed import Client
with Client(os.environ['DASK_SCHEDULER_ADDRESS'], timeout=60) as client:
    client.wait_for_workers(%d, timeout=60)
    parts = client.map(lambda part: (sum(i * i for i in range(part * 1000, part * 1000 + 1000)),
                                     os.environ['DASK_WORKER_NAME']), range(50), pure=False)
    results = client.gather(parts)
    assert sum(value for value, _ in results) == sum(i * i for i in range(50000))
    print('workers', len({name for _, name in results}), 'sum', sum(value for value, _ in results), flush=True)
"""
SUM = sum(i * i for i in range(50000))


def write_program(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as program:
        program.write(text)
    os.chmod(path, 0o755)
    return path


class DaskTest(ClusterTest):
    def setUp(self):
        if not os.path.exists(os.path.join(FOLDER, "stamp")):
            raise unittest.SkipTest("no Dask: install it with tools/dask")
        self.cluster = self.start_cluster(images=[
            f"dask={os.path.join(FOLDER, 'bin', 'dask')}",
            f"python={os.path.join(FOLDER, 'bin', 'python3')}",
            f"operator={os.path.join(FOLDER, 'bin', 'kopf')}"])
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
        """The operator as a Deployment; the kubeconfig stands for the token of a service account."""
        environment = [{"name": "KUBECONFIG", "value": self.cluster.kubeconfig},
                       {"name": "PYTHONDONTWRITEBYTECODE", "value": "1"}]
        self.create({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "dask-operator"},
            "spec": {"selector": {"matchLabels": {"app": "dask-operator"}}, "template": {
                "metadata": {"labels": {"app": "dask-operator"}},
                "spec": {"terminationGracePeriodSeconds": 1, "containers": [{
                    "name": "operator", "image": "operator", "env": environment,
                    "args": ["run", "-m", "dask_kubernetes.operator.controller", "--all-namespaces",
                             "--liveness", "http://0.0.0.0:8080/healthz"],
                    "ports": [{"name": "health", "containerPort": 8080}],
                    "readinessProbe": {"httpGet": {"port": "health", "path": "/healthz"}, "periodSeconds": 1}}]}}}})
        self.kubectl("rollout", "status", "deployment/dask-operator", "--timeout=60s", seconds=70)

    def container(self, name, arguments, ports):
        return {"name": name, "image": "dask", "args": arguments,
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

    def create_cluster(self, name, workers):
        self.create({"apiVersion": "kubernetes.dask.org/v1", "kind": "DaskCluster", "metadata": {"name": name},
                     "spec": self.cluster_spec(name, workers)})

    def compute(self, name, workers, pod):
        """Runs the computation in a pod; returns its output."""
        address = f"tcp://{name}-scheduler.default.svc.cluster.local:8786"
        self.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod}, "spec": {
            "restartPolicy": "Never", "containers": [{
                "name": "client", "image": "python", "args": ["-c", COMPUTE % workers],
                "env": [{"name": "DASK_SCHEDULER_ADDRESS", "value": address}]}]}})
        self.wait(lambda: self.phase(pod) in ("Succeeded", "Failed"), f"{pod} ends")
        output = self.kubectl("logs", pod).stdout
        self.assertEqual(self.phase(pod), "Succeeded", output)
        return output.strip().splitlines()[-1]

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
            wait_until(condition, what, seconds=90)
        except AssertionError as late:
            state = self.kubectl("get", "pods,deployments,services,endpoints,daskclusters,daskjobs", "-o", "wide",
                                 check=False).stdout
            logs = "".join(self.kubectl("logs", "--tail=25", pod["metadata"]["name"], check=False).stdout
                           for pod in self.cluster.items("pods"))
            raise AssertionError(f"{late}\n{state}\n{logs}\n{self.cluster.log()[-3000:]}") from None

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
                  not self.cluster.items("services") and not self.cluster.items("endpoints"), "everything is gone")

    def test_a_dask_job(self):
        spec = self.cluster_spec("job", 1)
        runner = {"name": "runner", "image": "python", "args": ["-c", COMPUTE % 1]}
        self.create({"apiVersion": "kubernetes.dask.org/v1", "kind": "DaskJob", "metadata": {"name": "job"},
                     "spec": {"job": {"spec": {"restartPolicy": "Never", "containers": [runner]}},
                              "cluster": {"spec": spec}}})
        self.wait(lambda: (self.cluster.get("daskjob", "job") or {}).get("status", {}).get("jobStatus") ==
                  "Successful", "it succeeds")
        self.assertIn(f"sum {SUM}", self.kubectl("logs", "job-runner").stdout)
        self.wait(lambda: not self.cluster.items("deployments", "-l", "dask.org/component"), "its cluster is gone")


if __name__ == "__main__":
    unittest.main()
