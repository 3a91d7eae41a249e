"""Goal: StatefulSets, DaemonSets and CronJobs of `berth up` do what they do on a cluster, for kubectl and for Berth's
own job kinds.

Method: kubectl's rollout, scale and create on real processes; a queue that holds a StatefulSet until there is quota."""

import base64
import json
import os
import shutil

from berth_up import BerthUpTest
from scratch import scratch_folder
from waiting import wait_until

ROOM = {"cpu": "16", "memory": "64Gi", "pods": "110"}
# Prints the addresses of both peers once their names resolve, then stays.
PEERS = """
import socket, time
while True:
    try:
        print("peers", *(socket.gethostbyname(f"db-{i}.peers") for i in (0, 1)), flush=True)
        break
    except OSError:
        time.sleep(0.1)
time.sleep(1000)
"""
CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {frameworks: [batch/job, pod, deployment, statefulset]}
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
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: machine, resources: [{name: cpu, nominalQuota: "1"}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: default}
spec: {clusterQueue: team}
"""


def pod_template(app, container):
    return {"metadata": {"labels": {"app": app}},
            "spec": {"terminationGracePeriodSeconds": 0, "containers": [{"name": "c", **container}]}}


def workload(kind, name, container, **spec):
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": {
        "selector": {"matchLabels": {"app": name}}, **spec, "template": pod_template(name, container)}}


class SetsCase(BerthUpTest):
    flags = ()

    def setUp(self):
        self.cluster = self.start_cluster(images=["python=/usr/bin/python3", "sleep=/bin/sleep"], flags=self.flags)
        self.kubectl = self.cluster.kubectl
        for name in ("one", "two"):
            self.apply({"apiVersion": "v1", "kind": "Node",
                        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
                        "status": {"allocatable": ROOM, "capacity": ROOM}})

    def apply(self, what):
        return self.kubectl("apply", "-f", "-", stdin=json.dumps(what))

    def rolled_out(self, what):
        return self.kubectl("rollout", "status", what, "--timeout=180s", seconds=190).stdout

    def names(self, *arguments):
        return sorted(item["metadata"]["name"] for item in self.cluster.items(*arguments))


class SetsTest(SetsCase):
    def test_stateful_set(self):
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "peers"},
                   "spec": {"clusterIP": "None", "selector": {"app": "db"}}}
        self.apply(service)
        claim = {"metadata": {"name": "data"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
        sets = workload("StatefulSet", "db", {"image": "python", "args": ["-c", PEERS]}, replicas=2,
                        serviceName="peers", volumeClaimTemplates=[claim])
        self.apply(sets)
        self.assertIn("2 new pods have been updated", self.rolled_out("statefulset/db"))
        self.assertEqual(self.names("pods"), ["db-0", "db-1"])
        self.assertEqual(self.names("persistentvolumeclaims"), ["data-db-0", "data-db-1"])
        addresses = [self.cluster.get("pod", name)["status"]["podIP"] for name in ("db-0", "db-1")]
        for name in ("db-0", "db-1"):
            wait_until(lambda name=name: "peers " + " ".join(addresses) in self.kubectl("logs", name).stdout,
                       f"{name} finds both peers")
        sets["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "VERSION", "value": "two"}]
        self.apply(sets)
        self.rolled_out("statefulset/db")
        history = self.kubectl("rollout", "history", "statefulset/db").stdout
        self.assertIn("1         <none>\n2         <none>", history)
        self.assertIn("VERSION", self.kubectl("rollout", "history", "statefulset/db", "--revision=2").stdout)
        self.kubectl("rollout", "undo", "statefulset/db")
        wait_until(lambda: "env" not in self.cluster.get("pod", "db-0")["spec"]["containers"][0]
                   if self.cluster.get("pod", "db-0") else False, "db-0 has the first template")
        self.rolled_out("statefulset/db")
        self.kubectl("scale", "statefulset", "db", "--replicas=1")
        wait_until(lambda: self.names("pods") == ["db-0"], "db-1 is gone")
        table = self.kubectl("get", "statefulset", "db").stdout.splitlines()
        self.assertEqual(table[0].split(), ["NAME", "READY", "AGE"])
        wait_until(lambda: self.kubectl("get", "sts", "db").stdout.splitlines()[1].split()[1] == "1/1", "1/1")
        self.kubectl("delete", "statefulset", "db")
        wait_until(lambda: not self.cluster.items("pods,controllerrevisions"), "pods and revisions are gone")
        self.assertEqual(self.names("persistentvolumeclaims"), ["data-db-0", "data-db-1"])
        self.assertEqual(self.cluster.stop(), 0)

    def test_a_secret_gets_the_token_of_its_account(self):
        self.kubectl("create", "serviceaccount", "robot")
        self.apply({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token", "metadata": {
            "name": "s", "annotations": {"kubernetes.io/service-account.name": "robot"}}})
        wait_until(lambda: "token" in (self.cluster.get("secret", "s").get("data") or {}), "the token")
        data = {key: base64.b64decode(value).decode() for key, value in self.cluster.get("secret", "s")["data"].items()}
        self.assertEqual(data["namespace"], "default")
        self.assertIn("CERTIFICATE", data["ca.crt"])
        self.assertEqual(self.cluster.user(data["token"]), "system:serviceaccount:default:robot")
        self.kubectl("delete", "serviceaccount", "robot")
        wait_until(lambda: "s" not in self.names("secrets"), "the Secret goes with its account")

    def test_claims(self):
        claim = {"metadata": {"name": "data"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
        counts = ("import os, time; path = '/data/starts'; n = int(open(path).read()) if os.path.exists(path) else 0; "
                  "open(path, 'w').write(str(n + 1)); print('start', n + 1, flush=True); time.sleep(1000)")
        self.apply(workload("StatefulSet", "db", {
            "image": "python", "args": ["-c", counts], "volumeMounts": [{"name": "data", "mountPath": "/data"}]},
                            replicas=1, serviceName="peers", volumeClaimTemplates=[claim]))
        self.rolled_out("statefulset/db")
        table = self.kubectl("get", "pvc").stdout.splitlines()
        self.assertEqual(table[1].split()[:2], ["data-db-0", "Bound"])
        self.assertIn("standard", table[1])
        self.assertIn("(default)", self.kubectl("get", "storageclass").stdout)
        wait_until(lambda: "start 1" in self.kubectl("logs", "db-0").stdout, "the first start")
        self.kubectl("delete", "pod", "db-0")
        wait_until(lambda: "start 2" in self.kubectl("logs", "db-0", check=False).stdout,
                   "the next pod has the folder of the first")
        volume = self.cluster.get("pvc", "data-db-0")["spec"]["volumeName"]
        folder = self.cluster.get("pv", volume)["spec"]["hostPath"]["path"]
        self.assertTrue(os.path.exists(os.path.join(folder, "starts")))
        self.kubectl("delete", "statefulset", "db")
        wait_until(lambda: not self.cluster.items("pods"), "the pods are gone")
        self.assertEqual(self.names("pvc"), ["data-db-0"])
        self.kubectl("delete", "pvc", "data-db-0")
        wait_until(lambda: not self.cluster.items("pv"), "the volume is gone")
        self.assertFalse(os.path.exists(folder))

    def test_daemon_set(self):
        self.apply(workload("DaemonSet", "agent", {"image": "sleep", "args": ["1000"]}))
        self.assertIn("successfully rolled out", self.rolled_out("daemonset/agent"))
        nodes = lambda: sorted(pod["spec"]["nodeName"] for pod in self.cluster.items("pods"))
        self.assertEqual(nodes(), ["one", "two"])
        self.kubectl("set", "env", "daemonset/agent", "VERSION=two")
        self.assertIn("successfully rolled out", self.rolled_out("daemonset/agent"))
        self.assertIn("2         <none>", self.kubectl("rollout", "history", "daemonset/agent").stdout)
        self.kubectl("rollout", "undo", "daemonset/agent")
        self.rolled_out("daemonset/agent")
        self.kubectl("taint", "node", "two", "broken=yes:NoExecute")
        wait_until(lambda: nodes() == ["one"], "the tainted node is left")
        wait_until(lambda: self.cluster.get("daemonset", "agent")["status"]["desiredNumberScheduled"] == 1,
                   "one node is wanted")

    def test_replication_controller(self):
        """Its selector is a map; labels and selector come from the template; it adopts, releases, is scaled and orphans."""
        self.apply({"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "old"},
                    "spec": {"replicas": 2, "template": pod_template("old", {"image": "sleep", "args": ["1000"]})}})
        status = lambda: self.cluster.get("rc", "old")["status"]
        wait_until(lambda: status().get("readyReplicas") == 2, "both pods")
        made = self.cluster.get("rc", "old")
        self.assertEqual(made["spec"]["selector"], {"app": "old"})
        self.assertEqual(made["metadata"]["labels"], {"app": "old"})
        self.assertNotIn("terminatingReplicas", made["status"])
        self.assertRegex(self.kubectl("get", "rc", "-o", "wide").stdout, r"old +2 +2 +2 .* app=old")
        owner = self.cluster.items("pods", "-l", "app=old")[0]["metadata"]["ownerReferences"][0]
        self.assertEqual((owner["apiVersion"], owner["kind"], owner["controller"]), ("v1", "ReplicationController", True))
        self.kubectl("scale", "rc/old", "--replicas=3")
        wait_until(lambda: status().get("availableReplicas") == 3, "the third pod")
        scale = json.loads(self.kubectl("get", "--raw", "/api/v1/namespaces/default/replicationcontrollers/old/scale").stdout)
        self.assertEqual((scale["spec"]["replicas"], scale["status"]["selector"]), (3, "app=old"))
        name = self.cluster.items("pods", "-l", "app=old")[0]["metadata"]["name"]
        self.kubectl("label", "pod", name, "app=free", "--overwrite")
        wait_until(lambda: len(self.cluster.items("pods", "-l", "app=old")) == 3, "another pod in its place")
        self.assertFalse(self.cluster.get("pod", name)["metadata"].get("ownerReferences"))
        self.kubectl("scale", "rc/old", "--replicas=4")
        self.kubectl("label", "pod", name, "app=old", "--overwrite")
        wait_until(lambda: len(self.cluster.items("pods", "-l", "app=old")) == 4, "the pod is adopted")
        refused = self.kubectl("create", "-f", "-", check=False, stdin=json.dumps(
            {"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "bad"}, "spec": {
                "selector": {"app": "other"}, "template": pod_template("old", {"image": "sleep"})}}))
        self.assertIn("`selector` does not match template `labels`", refused.stderr)
        self.kubectl("delete", "rc/old", "--cascade=orphan")
        wait_until(lambda: not any(pod["metadata"].get("ownerReferences")
                                   for pod in self.cluster.items("pods", "-l", "app=old")), "orphans")
        self.assertEqual(len(self.cluster.items("pods", "-l", "app=old")), 4)

    def test_cron_job(self):
        job = {"template": {"spec": {"restartPolicy": "Never", "containers": [
            {"name": "c", "image": "sleep", "args": ["0"]}]}}}
        self.apply({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick"}, "spec": {
            "schedule": "0 4 * * *", "timeZone": "UTC", "jobTemplate": {"spec": job}}})
        table = self.kubectl("get", "cronjob", "tick").stdout.splitlines()
        self.assertEqual(table[0].split()[:4], ["NAME", "SCHEDULE", "TIMEZONE", "SUSPEND"])
        self.kubectl("create", "job", "now", "--from=cronjob/tick")
        self.cluster.wait_complete("now")
        self.kubectl("patch", "cronjob", "tick", "--type=merge", "-p", '{"spec": {"schedule": "@every 1s"}}')
        wait_until(lambda: len(self.cluster.items("jobs")) >= 2, "the schedule starts a Job")
        refused = self.kubectl("patch", "cronjob", "tick", "--type=merge", "-p",
                               '{"spec": {"schedule": "61 * * * *"}}', check=False)
        self.assertIn("spec.schedule", refused.stderr)
        self.kubectl("delete", "cronjob", "tick")
        wait_until(lambda: not self.cluster.items("jobs,pods"), "Jobs and pods are gone")

class QueuedSetsTest(SetsCase):
    """The sets that the Configuration names are queued, unmodified."""

    def setUp(self):
        folder = scratch_folder("berth-sets-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        config = os.path.join(folder, "config.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION)
        self.flags = ("--config", config)
        super().setUp()

    def test_a_queue_holds_a_stateful_set(self):
        self.cluster.apply(QUEUES)
        sets = workload("StatefulSet", "db", {"image": "sleep", "args": ["1000"],
                                              "resources": {"requests": {"cpu": "1"}}},
                        replicas=2, serviceName="peers", podManagementPolicy="Parallel")
        sets["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "q"}
        self.apply(sets)
        wait_until(lambda: self.cluster.items("workloads"), "a Workload")
        wait_until(lambda: self.names("pods") == ["db-0", "db-1"], "pods that wait")
        for pod in self.cluster.items("pods"):
            self.assertTrue(pod["spec"].get("schedulingGates"), pod["metadata"]["name"])
        self.kubectl("patch", "clusterqueue", "team", "--type=json", "-p", json.dumps([{
            "op": "replace", "path": "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota", "value": "2"}]))
        self.rolled_out("statefulset/db")
        workloads = self.cluster.items("workloads")
        self.assertEqual(len(workloads), 1)
        self.assertTrue(self.cluster.is_true("workload", workloads[0]["metadata"]["name"], "Admitted"))
        self.kubectl("delete", "statefulset", "db")
        wait_until(lambda: not self.cluster.items("pods,workloads"), "quota is free")
