"""Goal: Dask's clusters and jobs are queued as units: nothing of them runs before their admission, all of
it afterwards; they grow and shrink within quota; a preemption takes growth first, and its workers leave
through the operator; jobs come back after a preemption, and end.

Method: dask-kubernetes' own operator, unmodified (tools/dask). kwok plays the pods, the test the HTTP
interface of Dask's scheduler. The manifests of the component `dask`. Rights: the manifests' alone, and the tests of
StopsTest use each of them. The control plane of UnitsTest gets Dask's definitions while Berth runs."""

import json
import os
import signal
import unittest

from cluster_test import ClusterTest
from control_plane import ROOT
from dask_operator import Operator, Scheduler, is_installed
from installation import Cloud
from team_queues import team_queues

SAMPLES = os.path.join(ROOT, "manifests", "samples", "dask")
CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {frameworks: [batch/job, kubernetes.dask.org/daskcluster, kubernetes.dask.org/daskjob]}
"""
QUEUES = team_queues(4)
QUEUE = {"kueue.x-k8s.io/queue-name": "q"}
HIGH = {**QUEUE, "kueue.x-k8s.io/priority-class": "high"}


def pod(name):
    return {"containers": [{"name": name, "image": "none", "resources": {"requests": {"cpu": "1"}}}]}


class DaskCase(ClusterTest):
    """A control plane with Dask's operator, and a queue of four CPUs."""

    SHOWN = ("workloads", "pods", "daskworkergroups", "daskjobs")
    KINDS_COME_LATE = False  # after Berth's start

    @classmethod
    def setUpClass(cls):
        if not is_installed():
            raise unittest.SkipTest("no Dask operator: install one with tools/dask")
        super().setUpClass()
        cls.scheduler = Scheduler(cls.plane)
        cls.addClassCleanup(cls.scheduler.stop)
        if cls.KINDS_COME_LATE:
            cls.operator.install()
        cls.addClassCleanup(cls.operator.stop)
        cls.operator.start()
        cls.apply_when_accepted(cls, QUEUES)
        cls.plane.wait_until(cls.owners_are_known, "the API server finds owners of the new kinds")

    @classmethod
    def apply_manifests(cls):
        """kube-apiserver looks at the kinds of owners when it meets the first owner, that of the Deployment's pods, and
        the garbage collector looks at all kinds when it starts; both look for later ones every half minute."""
        cls.operator = Operator(cls.plane)
        if cls.KINDS_COME_LATE:
            super().apply_manifests()
            return
        cls.operator.install()
        super().apply_manifests()
        collector = cls.plane.programs["kube-controller-manager"]
        collector.end()
        collector.start().wait_ready()

    @classmethod
    def owners_are_known(cls):
        """kube-apiserver names no owner of a kind that it does not know."""
        workload = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
                    "metadata": {"name": "probe", "namespace": "default", "ownerReferences": [
                        {"apiVersion": "kubernetes.dask.org/v1", "kind": "DaskCluster", "name": "probe",
                         "uid": "probe", "blockOwnerDeletion": True}]},
                    "spec": {"podSets": [{"name": "main", "count": 1, "template": {"spec": pod("main")}}]}}
        return cls.plane.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(workload), check=False,
                                 kubeconfig=cls.controller.kubeconfig).returncode == 0

    @classmethod
    def start_first(cls):
        cls.berth.add_components("dask")
        path = cls.plane.write("configuration.yaml", CONFIGURATION)
        return cls.berth.start(flags=["--config", path])

    def tearDown(self):
        self.plane.kubectl("delete", "daskautoscalers,daskjobs,daskclusters,jobs", "--all", "-n", "default",
                           seconds=240)
        self.wait_until(lambda: not self.plane.items("pods") and not self.plane.items("workloads") and
                        not self.plane.items("deployments"), "everything is gone")

    # Objects --------------------------------------------------------------------------------------
    def cluster_spec(self, workers):
        return {"scheduler": {"spec": pod("scheduler"), "service": self.scheduler.service()},
                "worker": {"replicas": workers, "spec": pod("worker")}}

    def create(self, kind, name, labels, spec):
        self.plane.kubectl("create", "-f", "-", stdin=json.dumps({
            "apiVersion": "kubernetes.dask.org/v1", "kind": kind,
            "metadata": {"name": name, "namespace": "default", "labels": labels}, "spec": spec}))

    def create_cluster(self, name, workers=2, labels=None):
        self.create("DaskCluster", name, QUEUE if labels is None else labels, self.cluster_spec(workers))

    def create_job(self, name, workers=1, labels=None):
        self.create("DaskJob", name, QUEUE if labels is None else labels, {
            "job": {"spec": {**pod("runner"), "restartPolicy": "Never"}},
            "cluster": {"spec": self.cluster_spec(workers)}})

    def create_batch_job(self, name, cpus, labels):
        self.plane.kubectl("create", "-f", "-", stdin=json.dumps({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "namespace": "default", "labels": labels},
            "spec": {"parallelism": cpus, "completions": cpus, "template": {
                "metadata": {"annotations": {"test.berth.dev/run-for": "1h"}},
                "spec": {**pod("main"), "restartPolicy": "Never"}}}}))

    def scale(self, workers, name="a", kind="daskcluster"):
        self.plane.kubectl("scale", kind, name, f"--replicas={workers}")

    # What is seen ---------------------------------------------------------------------------------
    def pods(self, name):
        """[component, whether it runs] of each pod of the cluster that is not gone."""
        return sorted([each["metadata"]["labels"].get("dask.org/component", "hidden"),
                       each["status"].get("phase") == "Running"]
                      for each in self.plane.items("pods", "-l", "dask.org/cluster-name=" + name))

    def is_running(self, name, workers, waiting=0, runner=False):
        wanted = [["scheduler", True]] + [["worker", True]] * workers + [["worker", False]] * waiting
        return self.pods(name) == sorted(wanted + ([["job-runner", True]] if runner else []))

    def is_held(self, name, workers, runner=False):
        wanted = [["scheduler", False]] + [["worker", False]] * workers
        return self.pods(name) == sorted(wanted + ([["job-runner", False]] if runner else []))

    def workloads(self, name):
        """{number of the growth, 0 for the job: its Workload}"""
        found = {}
        for each in self.plane.items("workloads"):
            if each["metadata"]["ownerReferences"][0]["name"] == name:
                number = each["metadata"].get("annotations", {}).get("integrations.berth.dev/growth", "0")
                found[int(number)] = each
        return found

    def has(self, name, growth, condition="Admitted"):
        workload = self.workloads(name).get(growth, {})
        return any(each["type"] == condition and each["status"] == "True"
                   for each in workload.get("status", {}).get("conditions", []))

    def used(self):
        """The CPUs that the ClusterQueue counts."""
        flavors = self.plane.get("clusterqueue", "team").get("status", {}).get("flavorsUsage", [])
        return flavors and flavors[0]["resources"][0]["total"]


class UnitsTest(DaskCase):
    """Clusters start and wait as units."""

    AUDITED = True
    KINDS_COME_LATE = True

    def test_a_cluster_without_a_queue(self):
        """What the operator does by itself, and goes on doing."""
        self.create_cluster("free", labels={"team": "x"})
        self.wait_until(lambda: self.is_running("free", 2), "it runs")
        self.assertEqual(self.workloads("free"), {})
        for each in self.plane.items("pods"):
            self.assertNotIn("nodeSelector", each["spec"])
            self.assertEqual(each["metadata"]["labels"]["team"], "x")  # the cluster's label
        groups = self.plane.items("daskworkergroups")
        self.assertEqual([group["metadata"]["name"] for group in groups], ["free-default"])
        self.assertEqual([owner["kind"] for owner in groups[0]["metadata"]["ownerReferences"]], ["DaskCluster"])
        self.scale(1, "free")
        self.wait_until(lambda: self.is_running("free", 1), "a worker is retired")

    def test_b_one_unit(self):
        self.create_cluster("a")
        self.wait_until(lambda: self.is_running("a", 2), "it runs")
        workload = self.workloads("a")[0]
        self.assertTrue(workload["metadata"]["name"].startswith("daskcluster-a-"))
        self.assertEqual([(each["name"], each["count"]) for each in workload["spec"]["podSets"]],
                         [("scheduler", 1), ("worker", 2)])
        for each in self.plane.items("pods"):
            self.assertEqual(each["spec"]["nodeSelector"], {"kubernetes.io/hostname": "node-1"})
        self.wait_until(lambda: self.used() == "3", "three CPUs are counted")

        # One CPU is left: of a cluster of three nothing runs, although its scheduler would fit. The
        # operator is restarted meanwhile.
        self.create_cluster("b")
        self.wait_until(lambda: self.is_held("b", 2), "its pods are held")
        self.operator.stop()
        self.operator.start()
        self.create_cluster("c", workers=0)
        self.wait_until(lambda: self.is_running("c", 0), "a smaller one runs")
        self.assertTrue(self.is_held("b", 2))
        self.assertFalse(self.has("b", 0, "QuotaReserved"))
        self.plane.kubectl("delete", "daskcluster", "a")
        self.wait_until(lambda: self.is_running("b", 2), "it runs in the room of another one")

        # A scheduler that is gone comes back, and is started.
        self.plane.kubectl("delete", "pod", "-l", "dask.org/cluster-name=b,dask.org/component=scheduler")
        self.wait_until(lambda: self.is_running("b", 2), "it has a scheduler again")
        done = self.plane.kubectl("patch", "daskcluster", "b", "--type=json", "-p", json.dumps([
            {"op": "replace", "path": "/spec/worker/spec/containers/0/resources/requests/cpu", "value": "2"}]),
            check=False)
        self.assertIn("create the object again", done.stderr)

    def test_d_preemption(self):
        self.create_cluster("a")
        self.wait_until(lambda: self.is_running("a", 2), "it runs")
        self.create_batch_job("high", 4, HIGH)
        self.wait_until(lambda: self.is_true("job-high-", "Admitted"), "the job is admitted")
        self.wait_until(lambda: self.is_held("a", 2), "the cluster waits")
        self.plane.kubectl("delete", "job", "high")
        self.wait_until(lambda: self.is_running("a", 2), "it runs again")


class GrowthTest(DaskCase):
    """Clusters grow and shrink within quota."""

    AUDITED = True

    def test_c_growth(self):
        self.create_cluster("a")
        self.wait_until(lambda: self.is_running("a", 2), "it runs")
        self.scale(3)
        self.wait_until(lambda: self.is_running("a", 3), "it has grown")
        self.assertEqual([each["count"] for each in self.workloads("a")[1]["spec"]["podSets"]], [1])
        self.wait_until(lambda: self.used() == "4", "four CPUs are counted")

        # Beyond the quota it waits, visibly.
        self.scale(5)
        self.wait_until(lambda: self.is_running("a", 3, waiting=2), "two workers wait")
        self.wait_until(lambda: 2 in self.workloads("a"), "so does their Workload")
        self.assertFalse(self.has("a", 2, "QuotaReserved"))

        # A job of high priority takes the growth; its worker leaves through the operator.
        self.scheduler.retired.clear()
        self.scale(3)
        self.wait_until(lambda: self.is_running("a", 3), "nobody waits")
        self.wait_until(lambda: 2 not in self.workloads("a"), "no Workload either")
        running = self.scheduler.retired[:]
        self.create_batch_job("high", 1, HIGH)
        self.wait_until(lambda: self.is_true("job-high-", "Admitted"), "the job is admitted")
        self.wait_until(lambda: self.is_running("a", 2), "the cluster goes on with two workers")
        self.assertTrue(self.has("a", 0))
        self.assertEqual(len(self.scheduler.retired), len(running) + 1)
        group = self.plane.get("daskworkergroup", "a-default")
        self.assertEqual(group["spec"]["worker"]["replicas"], 2)

        # It comes back.
        self.plane.kubectl("delete", "job", "high")
        self.wait_until(lambda: self.is_running("a", 3), "the worker is back")
        self.assertEqual(self.plane.get("daskworkergroup", "a-default")["spec"]["worker"]["replicas"], 3)

        # A smaller cluster gives its quota back.
        self.scale(1)
        self.wait_until(lambda: self.is_running("a", 1), "workers are retired")
        self.wait_until(lambda: self.used() == "2", "two CPUs are counted")

    def test_e_groups(self):
        """A group that exists before the admission is part of the unit; a later one is a growth."""
        self.create_batch_job("first", 4, QUEUE)
        self.wait_until(lambda: self.is_true("job-first-", "Admitted"), "the queue is full")
        self.create_cluster("a", workers=1)
        self.create("DaskWorkerGroup", "more", {}, {
            "cluster": "a", "worker": {"replicas": 1, "spec": pod("worker")}})
        self.wait_until(lambda: self.is_held("a", 2), "its pods are held")
        self.wait_until(lambda: [each["name"] for each in self.workloads("a")[0]["spec"]["podSets"]] ==
                        ["scheduler", "worker", "more"], "the group is a pod set")
        self.plane.kubectl("delete", "job", "first")
        self.wait_until(lambda: self.is_running("a", 2), "it runs")
        self.create("DaskWorkerGroup", "late", {}, {
            "cluster": "a", "worker": {"replicas": 1, "spec": pod("worker")}})
        self.wait_until(lambda: self.is_running("a", 3), "the group has grown")
        self.assertEqual([each["name"] for each in self.workloads("a")[1]["spec"]["podSets"]], ["late"])
        self.plane.kubectl("delete", "daskworkergroup", "late")
        self.wait_until(lambda: self.is_running("a", 2), "it has gone")
        self.wait_until(lambda: self.used() == "3", "three CPUs are counted")

    def test_g_adaptive(self):
        """The autoscaler writes the group; the quota decides what runs."""
        self.scheduler.target = 5
        self.create_cluster("a", workers=1)
        self.create("DaskAutoscaler", "a", {}, {"cluster": "a", "minimum": 1, "maximum": 4})
        self.wait_until(lambda: self.is_running("a", 3, waiting=1), "it grows to the quota")
        self.wait_until(lambda: self.used() == "4", "the quota is used")
        self.plane.kubectl("patch", "clusterqueue", "team", "--type=json", "-p", json.dumps([
            {"op": "replace", "path": "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota", "value": "5"}]))
        self.wait_until(lambda: self.is_running("a", 4), "it grows with the quota")


class StopsTest(DaskCase):
    """Jobs, what a preemption stops, and the samples."""

    COUNTED = "dask"

    def end(self, name, phase):
        self.plane.kubectl("patch", "pod", name, "--subresource=status", "--type=merge", "-p",
                           json.dumps({"status": {"phase": phase}}))

    def status_of(self, job):
        return self.plane.get("daskjob", job).get("status", {}).get("jobStatus")

    def test_f_jobs(self):
        self.create_job("one")
        self.wait_until(lambda: self.is_running("one", 1, runner=True), "it runs")
        self.assertEqual([each["name"] for each in self.workloads("one")[0]["spec"]["podSets"]],
                         ["scheduler", "worker", "runner"])
        self.create_job("two")
        self.wait_until(lambda: self.is_held("two", 1, runner=True), "nothing of it runs")
        self.end("one-runner", "Succeeded")
        self.wait_until(lambda: self.condition("daskjob-one-", "Finished").get("reason") == "Succeeded",
                        "it has finished")
        self.wait_until(lambda: self.is_running("two", 1, runner=True), "the next one runs")

        # A preemption: the runner's end is not the job's.
        self.plane.kubectl("patch", "pod", "two-runner", "--type=merge", "-p", json.dumps(
            {"metadata": {"finalizers": ["test.berth.dev/kubelet"]}}))
        self.create_batch_job("high", 4, HIGH)
        self.wait_until(lambda: self.plane.get("pod", "two-runner")["metadata"].get("deletionTimestamp"),
                        "the runner ends")
        self.end("two-runner", "Failed")  # a kubelet ends it so
        self.plane.kubectl("patch", "pod", "two-runner", "--type=merge", "-p", json.dumps(
            {"metadata": {"finalizers": None}}))
        self.wait_until(lambda: self.is_true("job-high-", "Admitted"), "the job is admitted")
        self.wait_until(lambda: self.is_held("two", 1, runner=True), "the Dask job waits, with another runner")
        self.plane.kubectl("delete", "job", "high")
        self.wait_until(lambda: self.is_running("two", 1, runner=True), "it runs again")
        self.wait_until(lambda: self.status_of("two") == "Running", "the operator says so")
        self.end("two-runner", "Failed")
        self.wait_until(lambda: self.condition("daskjob-two-", "Finished").get("reason") == "Failed",
                        "it has failed")
        self.assertEqual(self.status_of("two"), "Failed")

    def test_h_preemption_while_workers_wait(self):
        """Workers that wait are taken away first: the operator would retire others in their place."""
        self.create_cluster("a")
        self.wait_until(lambda: self.is_running("a", 2), "it runs")
        self.scale(5, "a-default", "daskworkergroup")
        self.wait_until(lambda: self.is_running("a", 3, waiting=2), "it has grown to the quota")
        self.wait_until(lambda: {0, 1, 2} <= set(self.workloads("a")), "the rest has a Workload")
        self.scheduler.retired.clear()
        self.create_batch_job("high", 1, HIGH)
        self.wait_until(lambda: self.is_true("job-high-", "Admitted"), "the job is admitted")
        self.wait_until(lambda: self.is_running("a", 2), "the cluster goes on with two workers")
        self.assertEqual(len(self.scheduler.retired), 1)
        group = self.plane.get("daskworkergroup", "a-default")
        self.assertEqual(group["metadata"]["annotations"]["integrations.berth.dev/retired"], "3@2")
        self.plane.kubectl("delete", "job", "high")
        self.wait_until(lambda: self.is_running("a", 3), "the worker is back")
        self.plane.kubectl("patch", "clusterqueue", "team", "--type=json", "-p", json.dumps([
            {"op": "replace", "path": "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota", "value": "6"}]))
        self.wait_until(lambda: self.is_running("a", 5), "so are those that waited")

    def apply_sample(self, *names):
        for name in names:
            with open(os.path.join(SAMPLES, name + ".yaml"), encoding="utf-8") as file:
                self.plane.kubectl("apply", "-f", "-", stdin=file.read().replace("bootSeconds: 60", "bootSeconds: 1"))

    def test_i_samples(self):
        """The samples of dask/: a cluster and a job in one queue; two teams' jobs, whose workers bring machines."""
        self.scheduler.target = 2  # the sample's autoscaler leaves the cluster as it is
        cloud = Cloud(self.plane)
        self.addCleanup(cloud.end, signal.SIGKILL)
        self.apply_sample("cluster", "nodepools")
        self.wait_until(lambda: self.is_running("explore", 2) and self.is_running("report", 1, runner=True), "both run")
        self.plane.kubectl("apply", "-k", SAMPLES)
        self.apply_sample("job-team-a", "job-team-b")

        def gpus(team):
            return [each["spec"]["nodeName"] for each in self.plane.items("pods", "-n", team)
                    if each["metadata"]["labels"].get("dask.org/component") == "worker" and each["status"]["phase"] == "Running"]
        self.wait_until(lambda: len(gpus("team-a")) == 2 and len(gpus("team-b")) == 1, "each team has its own GPUs")
        self.assertEqual(len(set(gpus("team-a") + gpus("team-b"))), 3)
        self.plane.kubectl("delete", "namespace", "team-a", "team-b", seconds=240)
