"""Goal: jobs of Kubeflow's training operator are queued, started, preempted and finished with the operator as
its makers publish it.

Method: the real operator and its real CRDs; pods by kwok. Each kind once through its whole life to a good
end, and once giving way to another job, coming back and failing. Rights: the manifests' alone."""

import json
import unittest

import operators
from cluster_test import ClusterTest
from team_queues import team_queues

CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
waitForPodsReady: {timeout: 5m}
integrations:
  frameworks: [batch/job, kubeflow.org/pytorchjob, kubeflow.org/tfjob, kubeflow.org/xgboostjob,
               kubeflow.org/paddlejob, kubeflow.org/jaxjob]
"""
# kind -> field of the roles, container that the operator looks for, roles (the job ends when the first one has ended).
KINDS = {
    "PyTorchJob": ("pytorchReplicaSpecs", "pytorch", {"Master": 1, "Worker": 2}),
    "TFJob": ("tfReplicaSpecs", "tensorflow", {"Chief": 1, "Worker": 2}),
    "XGBoostJob": ("xgbReplicaSpecs", "xgboost", {"Master": 1, "Worker": 2}),
    "PaddleJob": ("paddleReplicaSpecs", "paddle", {"Master": 1, "Worker": 2}),
    "JAXJob": ("jaxReplicaSpecs", "jax", {"Worker": 3}),
}


def training_job(kind, name, restart="OnFailure", **labels):
    field, container, roles = KINDS[kind]
    pod = {"containers": [{"name": container, "image": "none",
                           "resources": {"requests": {"cpu": "1"}}}]}
    return {"apiVersion": "kubeflow.org/v1", "kind": kind,
            "metadata": {"name": name, "namespace": "default",
                         "labels": {"kueue.x-k8s.io/queue-name": "q", **labels}},
            "spec": {field: {role: {"replicas": count, "restartPolicy": restart,
                                    "template": {"spec": pod}} for role, count in roles.items()}}}


@unittest.skipUnless(operators.are_built("training-operator"), "no operator: tools/operators builds it")
class KubeflowTest(ClusterTest):
    SHOWN = ("workloads", "pods", "pytorchjobs")

    @classmethod
    def start_first(cls):
        operator = operators.training_operator(cls.plane, cls.berth).start()
        cls.addClassCleanup(operator.stop)
        operator.register_webhooks()
        path = cls.plane.write("configuration.yaml", CONFIGURATION)
        return cls.berth.start(flags=["--config", path])

    def setUp(self):
        self.apply_when_accepted(team_queues(3))

    def create(self, job):
        return json.loads(self.plane.kubectl("create", "-f", "-", "-o", "json",
                                             stdin=json.dumps(job)).stdout)

    def pods(self, name):
        return self.plane.items("pods", "-l", f"training.kubeflow.org/job-name={name}")

    def job_is(self, kind, name, condition):
        found = {c["type"]: c["status"] for c in
                 self.plane.get(kind.lower(), name).get("status", {}).get("conditions") or []}
        return found.get(condition) == "True"

    def end_pods(self, name, code=0):
        """The programs end: kwok ends the pods of batch Jobs alone."""
        ended = {"exitCode": code, "reason": "Error" if code else "Completed"}
        for pod in self.pods(name):
            containers = [{**status, "ready": False, "started": False, "state": {"terminated": ended}}
                          for status in pod["status"]["containerStatuses"]]
            self.plane.kubectl("patch", "pod", pod["metadata"]["name"], "--subresource=status",
                               "--type=merge", "-p", json.dumps({"status": {
                                   "phase": "Failed" if code else "Succeeded",
                                   "containerStatuses": containers}}), check=not code)

    def test_life_of_each_kind(self):
        for kind, (field, _, roles) in KINDS.items():
            name = "life-" + kind.lower()
            workload = f"{kind.lower()}-{name}-"
            with self.subTest(kind=kind):
                made = self.create(training_job(kind, name))
                self.assertEqual(made["spec"]["runPolicy"]["suspend"], True)
                self.wait_until(lambda: self.is_true(workload, "Admitted"), "the job is admitted")
                self.wait_until(lambda: len(self.pods(name)) == 3, "the operator makes its pods")
                for pod in self.pods(name):
                    self.assertEqual(pod["spec"]["nodeSelector"], {"kubernetes.io/hostname": "node-1"})
                self.wait_until(lambda: self.is_true(workload, "PodsReady"), "its pods are ready")
                self.assertTrue(self.job_is(kind, name, "Running"))
                self.assertFalse(any(w["metadata"]["name"].startswith("pod-")
                                     for w in self.plane.items("workloads")), "pods are not queued")
                self.end_pods(name)
                self.wait_until(lambda: self.condition(workload, "Finished"), "it is finished")
                self.assertEqual(self.condition(workload, "Finished")["reason"], "Succeeded")
                after = self.plane.get(kind.lower(), name)["spec"]
                self.assertEqual(set(after[field]), set(roles))

    def test_preemption_return_and_failure_of_each_kind(self):
        for kind, (field, _, roles) in KINDS.items():
            low, high = "low-" + kind.lower(), "high-" + kind.lower()
            waiting, urgent = f"{kind.lower()}-{low}-", f"{kind.lower()}-{high}-"
            with self.subTest(kind=kind):
                self.create(training_job(kind, low, restart="Never"))
                self.wait_until(lambda: self.job_is(kind, low, "Running"), "low runs")
                self.create(training_job(kind, high, **{"kueue.x-k8s.io/priority-class": "high"}))
                self.wait_until(lambda: self.is_true(urgent, "Admitted"), "high preempts low")
                self.wait_until(lambda: self.job_is(kind, low, "Suspended"), "the operator stops low")
                self.wait_until(lambda low=low: self.pods(low) == [], "its pods go")
                stopped = self.plane.get(kind.lower(), low)["spec"]
                for role in roles:
                    self.assertNotIn("nodeSelector", stopped[field][role]["template"]["spec"])
                self.wait_until(lambda: self.job_is(kind, high, "Running"), "high runs")
                self.end_pods(high)
                self.wait_until(lambda: self.condition(urgent, "Finished"), "high is finished")
                self.wait_until(lambda: self.job_is(kind, low, "Running"), "low runs again")
                self.end_pods(low, code=1)
                self.wait_until(lambda: self.condition(waiting, "Finished"), "low has failed")
                self.assertEqual(self.condition(waiting, "Finished")["reason"], "Failed")
