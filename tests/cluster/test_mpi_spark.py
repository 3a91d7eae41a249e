"""Goal: MPIJobs and SparkApplications are queued, started, preempted and finished with the operators as their
makers publish them.

Method: the real operators with their CRDs, Spark's with its webhooks too; pods by kwok. Spark itself is
played (spark_operator.py). Rights: the manifests' alone."""

import json
import unittest

import operators
import spark_operator
from cluster_test import ClusterTest
from team_queues import team_queues

CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
waitForPodsReady: {timeout: 5m}
featureGates: {SparkApplicationIntegration: true}
integrations:
  frameworks: [batch/job, kubeflow.org/mpijob, sparkoperator.k8s.io/sparkapplication]
"""
ON_NODE_1 = {"kubernetes.io/hostname": "node-1"}


def queued(api_version, kind, name, spec, **labels):
    return {"apiVersion": api_version, "kind": kind,
            "metadata": {"name": name, "namespace": "default",
                         "labels": {"kueue.x-k8s.io/queue-name": "q", **labels}}, "spec": spec}


def mpi_job(name, seconds=1, **labels):
    """A launcher that runs for `seconds`, and two workers."""
    def role(count):
        return {"replicas": count, "template": {
            "metadata": {"annotations": {"test.berth.dev/run-for": f"{seconds}s"}},
            "spec": {"containers": [{"name": "main", "image": "none",
                                     "resources": {"requests": {"cpu": "1"}}}]}}}
    return queued("kubeflow.org/v2beta1", "MPIJob", name, {
        "slotsPerWorker": 1, "runPolicy": {"cleanPodPolicy": "Running"},
        "mpiReplicaSpecs": {"Launcher": role(1), "Worker": role(2)}}, **labels)


def spark_application(name, **labels):
    """A driver and two executors."""
    role = {"cores": 1, "coreRequest": "1"}
    return queued("sparkoperator.k8s.io/v1beta2", "SparkApplication", name, {
        "type": "Scala", "mode": "cluster", "sparkVersion": "4.0.0", "image": "none",
        "mainClass": "Main", "mainApplicationFile": "local:///main.jar",
        "driver": role, "executor": {**role, "instances": 2}}, **labels)


@unittest.skipUnless(operators.are_built("mpi-operator", "spark-operator"),
                     "no operators: tools/operators builds them")
class MpiSparkTest(ClusterTest):
    SHOWN = ("workloads", "mpijobs", "sparkapplications", "jobs", "pods")

    @classmethod
    def start_first(cls):
        spark, webhook = spark_operator.make(cls.plane, cls.berth)
        cls.operators = [operators.mpi(cls.plane, cls.berth), spark, webhook]
        for operator in cls.operators:
            operator.start()
            cls.addClassCleanup(operator.stop)
        webhook.register_webhooks()
        driver = spark_operator.Driver(cls.plane).start()
        cls.addClassCleanup(driver.stop)
        path = cls.plane.write("configuration.yaml", CONFIGURATION)
        return cls.berth.start(flags=["--config", path])

    def setUp(self):
        # Spark's operator gives each role an amount of memory.
        self.apply_when_accepted(team_queues(3, memory="4Gi"))

    def wait_until(self, condition, what):
        try:
            return super().wait_until(condition, what)
        except AssertionError as late:
            logs = "\n".join(f"{each.name}:\n{each.log()[-1500:]}" for each in self.operators)
            raise AssertionError(f"{late}\n{logs}") from None

    def create(self, job):
        return json.loads(self.plane.kubectl("create", "-f", "-", "-o", "json",
                                             stdin=json.dumps(job)).stdout)

    def check_pods(self, selector, count):
        def running():
            pods = self.plane.items("pods", "-l", selector)
            return (len(pods) == count and pods if
                    all(p["status"]["phase"] != "Pending" for p in pods) else None)
        for each in self.wait_until(running, "the pods run"):
            self.assertEqual(each["spec"]["nodeSelector"], ON_NODE_1)

    def pod_sets(self, name):
        found = [w for w in self.plane.items("workloads") if w["metadata"]["name"].startswith(name)]
        self.assertEqual(len(found), 1)
        return [(p["name"], p["count"]) for p in found[0]["spec"]["podSets"]]

    def check_one_workload(self):
        """No child of a queued job is queued itself."""
        owners = {owner["kind"] for workload in self.plane.items("workloads")
                  for owner in workload["metadata"].get("ownerReferences", [])}
        self.assertLessEqual(owners, {"MPIJob", "SparkApplication"})

    def finish(self, workload):
        self.wait_until(lambda: self.condition(workload, "Finished"), "it is finished")
        self.assertEqual(self.condition(workload, "Finished")["reason"], "Succeeded")

    def test_mpi_job(self):
        made = self.create(mpi_job("low", seconds=3600))
        self.assertEqual(made["spec"]["runPolicy"]["suspend"], True)
        self.wait_until(lambda: self.is_true("mpijob-low-", "Admitted"), "low is admitted")
        self.assertEqual(self.pod_sets("mpijob-low-"), [("launcher", 1), ("worker", 2)])
        self.check_pods("training.kubeflow.org/job-name=low", 3)
        self.wait_until(lambda: self.is_true("mpijob-low-", "PodsReady"), "its pods are ready")
        self.check_one_workload()
        # A job of higher priority takes its place; then the first one comes back.
        self.create(mpi_job("high", **{"kueue.x-k8s.io/priority-class": "high"}))
        self.wait_until(lambda: self.is_true("mpijob-high-", "Admitted"), "high preempts low")
        stopped = self.plane.get("mpijob", "low")
        self.assertEqual(stopped["spec"]["mpiReplicaSpecs"], made["spec"]["mpiReplicaSpecs"])
        self.finish("mpijob-high-")
        self.wait_until(lambda: self.is_true("mpijob-low-", "Admitted"), "low is back")
        self.check_pods("training.kubeflow.org/job-name=low", 3)
        self.plane.kubectl("delete", "mpijob", "low")
        self.wait_until(lambda: not self.condition("mpijob-low-", "Admitted"), "its Workload goes")

    def end_driver(self, name):
        """The program in the driver pod ends well; its executors end with it."""
        self.plane.kubectl("delete", "pods", "-l", f"sparkoperator.k8s.io/app-name={name},spark-role=executor")
        pod = self.plane.get("pod", name + "-driver")
        containers = [{**status, "ready": False, "started": False,
                       "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
                      for status in pod["status"]["containerStatuses"]]
        self.plane.kubectl("patch", "pod", name + "-driver", "--subresource=status", "--type=merge", "-p",
                           json.dumps({"status": {"phase": "Succeeded", "containerStatuses": containers}}))

    def test_spark_application(self):
        made = self.create(spark_application("low"))
        self.assertEqual(made["spec"]["suspend"], True)
        self.wait_until(lambda: self.is_true("sparkapplication-low-", "Admitted"), "low is admitted")
        self.assertEqual(self.pod_sets("sparkapplication-low-"), [("driver", 1), ("executor", 2)])
        self.check_pods("sparkoperator.k8s.io/app-name=low", 3)
        self.wait_until(lambda: self.is_true("sparkapplication-low-", "PodsReady"), "its pods are ready")
        self.check_one_workload()
        self.create(spark_application("high", **{"kueue.x-k8s.io/priority-class": "high"}))
        self.wait_until(lambda: self.is_true("sparkapplication-high-", "Admitted"), "high preempts low")
        self.check_pods("sparkoperator.k8s.io/app-name=high", 3)
        stopped = self.plane.get("sparkapplication", "low")
        self.assertEqual(stopped["spec"], made["spec"])
        self.wait_until(lambda: self.plane.items("pods", "-l", "sparkoperator.k8s.io/app-name=low") == [], "its pods go")
        self.wait_until(lambda: self.is_true("sparkapplication-high-", "PodsReady"), "high runs")
        self.end_driver("high")
        self.finish("sparkapplication-high-")
        self.check_pods("sparkoperator.k8s.io/app-name=low", 3)
        self.wait_until(lambda: self.is_true("sparkapplication-low-", "PodsReady"), "low runs again")
        self.end_driver("low")
        self.finish("sparkapplication-low-")
