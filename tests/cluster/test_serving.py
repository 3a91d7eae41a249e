"""Goal: Deployments and StatefulSets are queued on a real control plane, with Kubernetes' own controllers: a
StatefulSet has one Workload and runs as a whole, is scaled to zero and back, preempted and started again, changed by
a rolling update, deleted; a Deployment's pods are queued one by one. A LeaderWorkerSet of a played operator has a
Workload for each group.

Method: the manifests of the component `serving`; kwok runs the pods. Rights: the manifests' alone."""

import json

from cluster_test import ClusterTest
from played_operator import definition
from team_queues import team_queues

CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations:
  frameworks: [batch/job, pod, deployment, statefulset, leaderworkerset.x-k8s.io/leaderworkerset]
"""
GATE = {"name": "kueue.x-k8s.io/admission"}
LWS = "leaderworkerset.sigs.k8s.io/"


def template(cpu="1", image="none", **labels):
    return {"metadata": {"labels": labels}, "spec": {"containers": [
        {"name": "c", "image": image, "resources": {"requests": {"cpu": cpu}}}]}}


def serving(kind, name, replicas, **labels):
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template(app=name)}
    if kind == "StatefulSet":
        spec["serviceName"] = name
    return {"apiVersion": "apps/v1", "kind": kind, "spec": spec,
            "metadata": {"name": name, "namespace": "default",
                         "labels": {"kueue.x-k8s.io/queue-name": "q", **labels}}}


class ServingTest(ClusterTest):
    SHOWN = ("workloads", "pods", "statefulsets", "deployments")
    COUNTED = "serving"

    @classmethod
    def start_first(cls):
        cls.berth.add_components("pods", "serving")
        cls.plane.apply(definition("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet"))
        path = cls.plane.write("configuration.yaml", CONFIGURATION)
        return cls.berth.start(flags=["--config", path])

    def create(self, *objects):
        for each in objects:
            self.plane.kubectl("create", "-f", "-", stdin=json.dumps(each))

    def pods(self, prefix):
        return {each["metadata"]["name"]: each for each in self.plane.items("pods")
                if each["metadata"]["name"].startswith(prefix)
                and "deletionTimestamp" not in each["metadata"]}

    def running(self, prefix):
        return sorted(name for name, each in self.pods(prefix).items()
                      if each.get("status", {}).get("phase") == "Running")

    def gated(self, prefix):
        return sorted(name for name, each in self.pods(prefix).items()
                      if GATE in each["spec"].get("schedulingGates", []))

    def workloads(self, prefix):
        return {each["metadata"]["name"]: each for each in self.plane.items("workloads")
                if each["metadata"]["name"].startswith(prefix)}

    def patch(self, kind, name, patch, check=True):
        return self.plane.kubectl("patch", kind, name, "--type=merge", "-p", json.dumps(patch), check=check)

    def scale(self, kind, name, replicas, check=True):
        return self.patch(kind, name, {"spec": {"replicas": replicas}}, check)

    def test_life(self):
        self.apply_when_accepted(team_queues(3))
        self.check_stateful_set()
        self.check_made_again()
        self.check_rolling_update()
        self.check_scale()
        self.check_preemption_and_deployment()
        self.check_leader_worker_set()

    def check_stateful_set(self):
        self.create(serving("StatefulSet", "db", 2))
        self.wait_until(lambda: self.running("db-") == ["db-0", "db-1"], "both pods run")
        found = self.workloads("statefulset-db-")
        self.assertEqual(len(found), 1)
        workload = next(iter(found.values()))
        self.assertEqual([(p["name"], p["count"]) for p in workload["spec"]["podSets"]], [("main", 2)])
        self.assertEqual(workload["metadata"]["annotations"]["kueue.x-k8s.io/job-owner-gvk"],
                         "apps/v1, Kind=StatefulSet")
        self.wait_until(lambda: {o["kind"] + "/" + o["name"] for o in next(iter(
            self.workloads("statefulset-db-").values()))["metadata"]["ownerReferences"]}
            == {"StatefulSet/db", "Pod/db-0", "Pod/db-1"}, "the set and its pods own the Workload")
        for pod in self.pods("db-").values():
            self.assertEqual(pod["spec"]["nodeSelector"], {"kubernetes.io/hostname": "node-1"})
            self.assertNotIn("finalizers", pod["metadata"])

    def check_made_again(self):
        """The pods run on; the set that takes them takes their Workload, and counts once."""
        uids = {pod["metadata"]["uid"] for pod in self.pods("db-").values()}
        before = set(self.workloads("statefulset-db-"))
        self.plane.kubectl("delete", "statefulset", "db", "--cascade=orphan")
        self.create(serving("StatefulSet", "db", 2))
        uid = self.plane.get("statefulset", "db")["metadata"]["uid"]
        self.wait_until(lambda: any(uid == owner["uid"] for each in self.workloads("statefulset-db-").values()
                                    for owner in each["metadata"]["ownerReferences"]),
                        "the new set owns a Workload")
        self.assertEqual(set(self.workloads("statefulset-db-")), before)
        self.assertEqual({pod["metadata"]["uid"] for pod in self.pods("db-").values()}, uids)
        self.assertEqual(self.running("db-"), ["db-0", "db-1"])

    def check_rolling_update(self):
        uids = {pod["metadata"]["uid"] for pod in self.pods("db-").values()}
        patch = {"spec": {"template": template(image="new", app="db")}}
        self.patch("statefulset", "db", patch)
        self.wait_until(lambda: self.running("db-") == ["db-0", "db-1"] and not uids & {
            pod["metadata"]["uid"] for pod in self.pods("db-").values()}, "the new pods run")
        self.assertEqual(len(self.workloads("statefulset-db-")), 1)
        done = self.patch("statefulset", "db", {"spec": {"template": template(cpu="2", app="db")}}, check=False)
        self.assertIn("spec.template.spec.containers[0].resources.requests", done.stderr)
        self.assertIn("field is immutable", done.stderr)

    def check_scale(self):
        done = self.scale("statefulset", "db", 3, check=False)
        self.assertIn("spec.replicas: Invalid value: 3: field is immutable", done.stderr)
        self.scale("statefulset", "db", 0)
        self.wait_until(lambda: self.condition("statefulset-db-", "QuotaReserved").get("reason") == "OnHold",
                        "the Workload is on hold")
        self.assertEqual(self.condition("statefulset-db-", "QuotaReserved")["message"],
                         "StatefulSet scaled to zero; workload on hold")
        self.wait_until(lambda: self.scale("statefulset", "db", 3, check=False).returncode == 0,
                        "the set may be scaled up")
        self.wait_until(lambda: self.running("db-") == ["db-0", "db-1", "db-2"], "three pods run")
        self.assertEqual(len(self.workloads("statefulset-db-")), 1)

    def check_preemption_and_deployment(self):
        """Two pods of high priority need the room of the whole set."""
        self.create(serving("Deployment", "web", 2, **{"kueue.x-k8s.io/priority-class": "high"}))
        self.wait_until(lambda: len(self.running("web-")) == 2, "the Deployment's pods run")
        self.wait_until(lambda: self.gated("db-") == ["db-0"] and not self.running("db-"),
                        "the set waits, gated")
        self.assertEqual(len(self.workloads("pod-web-")), 2)
        self.scale("deployment", "web", 3)
        self.wait_until(lambda: len(self.running("web-")) == 3, "another pod runs")
        self.plane.kubectl("delete", "deployment", "web", "--wait=false")
        self.wait_until(lambda: self.running("db-") == ["db-0", "db-1", "db-2"], "the set runs again")
        self.wait_until(lambda: not self.workloads("pod-web-"), "the Deployment's Workloads are gone")
        self.plane.kubectl("delete", "statefulset", "db", "--wait=false")
        self.wait_until(lambda: not self.workloads("statefulset-db-"), "the set's Workload is gone")

    def check_leader_worker_set(self):
        """The test plays the operator: a leader and a worker for each group."""
        self.create({"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
                     "metadata": {"name": "lws", "namespace": "default",
                                  "labels": {"kueue.x-k8s.io/queue-name": "q"}},
                     "spec": {"replicas": 2, "leaderWorkerTemplate": {
                         "size": 2, "leaderTemplate": template(), "workerTemplate": template()}}})
        self.wait_until(lambda: len(self.workloads("leaderworkerset-lws-")) == 2, "each group has a Workload")
        stored = self.plane.get("leaderworkerset", "lws")
        parts = stored["spec"]["leaderWorkerTemplate"]
        for group in ("0", "1"):
            for role in ("leader", "worker"):
                made = parts[role + "Template"]
                labels = {**made["metadata"]["labels"], LWS + "name": "lws", LWS + "group-index": group}
                annotations = dict(made["metadata"]["annotations"])
                if role == "worker":
                    annotations[LWS + "leader-name"] = "lws-" + group
                self.create({"apiVersion": "v1", "kind": "Pod", "spec": made["spec"],
                             "metadata": {"name": f"lws-{group}-{role}", "namespace": "default",
                                          "labels": labels, "annotations": annotations,
                                          "ownerReferences": [{
                                              "apiVersion": "leaderworkerset.x-k8s.io/v1",
                                              "kind": "LeaderWorkerSet", "name": "lws",
                                              "uid": stored["metadata"]["uid"], "controller": True}]}})
        # Quota for three pods: one group runs, the other waits.
        self.wait_until(lambda: len(self.running("lws-")) == 2, "one group runs")
        first = self.running("lws-")[0][4]
        self.assertEqual(self.running("lws-"), [f"lws-{first}-leader", f"lws-{first}-worker"])
        self.assertEqual(len(self.gated("lws-")), 2)
        self.scale("leaderworkerset", "lws", 1)
        self.wait_until(lambda: len(self.workloads("leaderworkerset-lws-")) == 1, "the second Workload goes")
        done = self.patch("leaderworkerset", "lws", {"spec": {"leaderWorkerTemplate": {"size": 3}}}, check=False)
        self.assertIn("spec.leaderWorkerTemplate.size: Invalid value: 3: field is immutable", done.stderr)
