"""tools/demo dask: two teams share three GPUs; a DaskJob of each is queued as one unit.

Dask's own operator and real schedulers and workers, as processes of `berth up`; the objects are those of
manifests/samples/dask. Exits 0 only if every step came about, and every check held. Run by the Python of build/dask."""

import base64
import glob
import os
import sys

import numpy as np
import requests
import yaml

from demo import ROOT, Demo, Failed, check, condition, is_true, play

SAMPLES = os.path.join(ROOT, "manifests", "samples", "dask")
DASK = os.path.join(ROOT, "build", "dask")
DASK_GROUP = "/apis/kubernetes.dask.org/v1"
QUEUE_GROUP = "/apis/kueue.x-k8s.io/v1beta2"
IMAGE = "ghcr.io/dask/dask:2026.3.0"
JOBS = {"team-a": "trips-2015", "team-b": "trips-2016"}
# The program that stands for Dask's image: it executes its arguments.
ENTRY_POINT = f"#!/bin/sh\nPYTHONDONTWRITEBYTECODE=1 PATH={DASK}/bin:$PATH exec \"$@\"\n"
CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {frameworks: [batch/job, kubernetes.dask.org/daskcluster, kubernetes.dask.org/daskjob]}
"""
OPERATOR = """
apiVersion: v1
kind: ServiceAccount
metadata: {name: dask-operator, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: dask-operator}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: dask-operator, namespace: default}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: dask-operator, namespace: default}
spec:
  selector: {matchLabels: {app: dask-operator}}
  template:
    metadata: {labels: {app: dask-operator}}
    spec:
      serviceAccountName: dask-operator
      terminationGracePeriodSeconds: 1
      containers:
      - name: operator
        image: %s
        args: [kopf, run, -m, dask_kubernetes.operator.controller, --all-namespaces,
               --liveness, "http://0.0.0.0:8080/healthz"]
        ports: [{name: health, containerPort: 8080}]
        readinessProbe: {httpGet: {port: health, path: /healthz}, periodSeconds: 1}
"""


def direct_mean(seed, blocks, rows=100_000):
    """The mean of haversine.py by another formula, from chords of the sphere, without Dask."""
    total = 0.0
    for block in range(blocks):
        random = np.random.default_rng([seed, block])
        pickup = random.normal((-73.98, 40.75), (0.02, 0.03), (rows, 2))
        ends = [np.radians(pickup), np.radians(pickup + random.normal(0, 0.02, (rows, 2)))]
        points = [np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
                  for lon, lat in (end.T for end in ends)]
        total += float((2 * 6371.0 * np.arcsin(np.linalg.norm(points[0] - points[1], axis=0) / 2)).sum())
    return total / (rows * blocks)


class DaskDemo(Demo):
    STATE_KINDS = "daskjobs,daskclusters,daskworkergroups,workloads,pods,nodes"

    def __init__(self, scratch):
        super().__init__(scratch)
        self.session = None
        self.admitted_at = {}

    def get(self, path, **parameters):
        answer = self.session.get(self.url + path, params=parameters, timeout=10)
        return answer.json() if answer.status_code == 200 else {}

    def items(self, path, **parameters):
        return self.get(path, **parameters).get("items", [])

    # What is seen ---------------------------------------------------------------------------------
    def pods(self, team, component=None):
        return self.items(f"/api/v1/namespaces/{team}/pods",
                          **({"labelSelector": f"dask.org/component={component}"} if component else {}))

    def ready(self, team, component):
        return sum(is_true(pod, "Ready") for pod in self.pods(team, component)
                   if "deletionTimestamp" not in pod["metadata"])

    def workload(self, team, growth=""):
        """The Workload of the team's job, or of what it has grown by."""
        for each in self.items(f"{QUEUE_GROUP}/namespaces/{team}/workloads"):
            if each["metadata"].get("annotations", {}).get("integrations.berth.dev/growth", "") == growth:
                return each
        return {}

    def machines(self):
        return self.items("/api/v1/nodes", labelSelector="cloud.google.com/gke-nodepool=dask-t4-nodepool")

    def gpus(self, team):
        for flavor in self.get(f"{QUEUE_GROUP}/clusterqueues/{team}").get("status", {}).get("flavorsUsage", []):
            for each in flavor["resources"]:
                if each["name"] == "nvidia.com/gpu":
                    return int(each["total"]), int(each.get("borrowed", 0))
        return 0, 0

    def job_status(self, team):
        return self.get(f"{DASK_GROUP}/namespaces/{team}/daskjobs/{JOBS[team]}").get("status", {}).get("jobStatus", "")

    def look(self):
        """Tells what has changed, and checks what must hold at any time."""
        for team, job in JOBS.items():
            workload = self.workload(team)
            pods = self.pods(team)
            if is_true(workload, "Admitted"):
                self.admitted_at.setdefault(team, condition(workload, "Admitted")["lastTransitionTime"])
            elif team not in self.admitted_at and not is_true(self.workload(team), "Admitted"):
                for pod in pods:
                    check("nodeName" not in pod["spec"],
                          f"pod {pod['metadata']['name']} of {team} has a node before the job is admitted")
            gpus, borrowed = self.gpus(team)
            running = sum(pod["status"].get("phase") == "Running" for pod in pods)
            held = sum("nodeName" not in pod["spec"] and bool(pod["spec"].get("schedulingGates")) for pod in pods)
            status = self.job_status(team)
            if status in ("Successful", "Failed"):
                self.tell(f"{team}/{job}", status)
                check(status == "Successful", self.kubectl("logs", "-n", team, f"{job}-runner"))
            elif workload:
                self.tell(f"{team}/{job}", f"{'admitted' if is_true(workload, 'Admitted') else 'waits'}, "
                          f"{running} pods run, {held} are held; {gpus} GPUs" +
                          (f", {borrowed} of them borrowed" if borrowed else ""))
        used = [pod["metadata"]["name"] for pod in self.items("/api/v1/pods", labelSelector="dask.org/component=worker")
                if "nodeName" in pod["spec"] and pod["status"].get("phase") not in ("Succeeded", "Failed")]
        check(len(used) <= 3, f"{used} use more than 3 GPUs")
        self.tell("machines with a GPU", str(sum(is_true(node, "Ready") for node in self.machines())))

    def follow(self, holds, what):
        def look():
            self.look()
            return holds()
        self.wait(look, what)

    # The story ------------------------------------------------------------------------------------
    def start(self):
        image = self.file("dask-image", ENTRY_POINT)
        os.chmod(image, 0o755)
        self.berth_up("--image", f"{IMAGE}={image}", "--config", self.file("configuration.yaml", CONFIGURATION))
        self.connect()
        for path in sorted(glob.glob(os.path.join(
                DASK, "lib", "python3*", "site-packages", "dask_kubernetes", "operator", "deployment", "helm",
                "dask-kubernetes-operator", "crds", "*.yaml"))):
            self.apply("--server-side", "-f", path)
        with open(os.path.join(SAMPLES, "nodepools.yaml"), encoding="utf-8") as pools:
            text = pools.read()
        text = text.replace("bootSeconds: 60", "bootSeconds: 2").replace("idleSeconds: 600", "idleSeconds: 3")
        self.apply("-f", self.file("nodepools.yaml", text))
        self.apply("-k", SAMPLES)
        self.say("applied: Dask's kinds, two pools of machines, the queues: 2 GPUs for team-a, 1 for team-b, in a cohort")
        self.apply("-f", self.file("operator.yaml", OPERATOR % IMAGE))
        self.wait(lambda: self.get("/apis/apps/v1/namespaces/default/deployments/dask-operator").get("status", {})
                  .get("readyReplicas") == 1, "the operator is ready")
        self.say("Dask's operator runs, in a Deployment")

    def connect(self):
        with open(self.kubeconfig, encoding="utf-8") as file:
            config = yaml.safe_load(file)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.url = cluster["server"]
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.headers["Authorization"] = "Bearer " + user["token"]
        self.session.verify = self.file("ca.pem", base64.b64decode(cluster["certificate-authority-data"]).decode())

    def team_a_computes(self):
        self.apply("-f", os.path.join(SAMPLES, "job-team-a.yaml"))
        self.say("team-a submits trips-2015: a runner, a scheduler and 2 workers with a GPU each, one unit")
        self.follow(lambda: self.ready("team-a", "worker") == 2, "team-a's workers run")
        sets = [(each["name"], each["count"]) for each in self.workload("team-a")["spec"]["podSets"]]
        check(sets == [("scheduler", 1), ("worker", 2), ("runner", 1)], f"one Workload for the job, not {sets}")
        self.apply("-f", os.path.join(SAMPLES, "autoscaler-team-a.yaml"))
        self.say("team-a lets Dask scale it, from 2 to 3 workers, as its work asks")
        self.follow(lambda: self.ready("team-a", "worker") == 3, "the cluster has grown")
        self.wait(lambda: self.gpus("team-a") == (3, 1), "team-a uses 3 GPUs and borrows 1")
        check(is_true(self.workload("team-a", "1"), "Admitted"), "the growth is a Workload of its own")
        self.say("the third worker is a Workload of its own, admitted on the GPU that team-b does not use")

    def team_b_waits(self):
        self.apply("-f", os.path.join(SAMPLES, "job-team-b.yaml"))
        self.say("team-b submits trips-2016: a runner, a scheduler and 1 worker")
        self.follow(lambda: len(self.pods("team-b")) == 3 and condition(self.workload("team-b"), "QuotaReserved"),
                    "team-b's job is seen")
        check(not is_true(self.workload("team-b"), "Admitted"), "team-b's job has to wait")
        why = self.run(self.berth, "why", "-n", "team-b", "daskjob/trips-2016")
        print("\n" + self.run(self.berth, "status") + "\n" + why)
        check("nvidia.com/gpu" in why, "why does not speak of GPUs")

    def both_end(self):
        self.follow(lambda: is_true(self.workload("team-b"), "Admitted"), "team-b's job is admitted")
        check(self.ready("team-a", "worker") <= 2, "team-a has given its third GPU back")
        self.wait(lambda: self.gpus("team-a")[1] == 0, "team-a borrows nothing")
        self.say("Dask has retired the third worker: its GPU goes back, and team-b's job starts")
        self.follow(lambda: all(self.job_status(team) == "Successful" for team in JOBS), "both jobs succeed")
        starts = [pod["status"]["startTime"] for pod in self.pods("team-b") if "startTime" in pod["status"]]
        check(starts and min(starts) >= self.admitted_at["team-b"], f"team-b's pods started at {min(starts)}, before "
              f"the admission at {self.admitted_at['team-b']}")

    def check_results(self):
        for team, seed, blocks in (("team-a", 2015, 80), ("team-b", 2016, 8)):
            words = self.kubectl("logs", "-n", team, f"{JOBS[team]}-runner")
            for line in words.splitlines():
                self.say(f"{team}/{JOBS[team]}: {line}")
            mean, direct = float(words.split()[-1]), direct_mean(seed, blocks)
            check(abs(mean - direct) < 1e-9 * direct, f"the mean is {mean}, computed directly {direct}")
            self.say(f"computed directly, without Dask: {direct!r}")
        words = self.kubectl("logs", "-n", "team-a", "trips-2015-runner")
        check("computed with 3 workers\nends with 2 workers" in words, "team-a computed with 3 workers, ended with 2")

    def clean_up(self):
        for team in JOBS:
            self.kubectl("delete", "daskjobs,daskautoscalers", "--all", "-n", team)
        kinds = ["/api/v1/pods", "/api/v1/services", "/apis/apps/v1/deployments", "/apis/apps/v1/replicasets",
                 f"{QUEUE_GROUP}/workloads"] + [f"{DASK_GROUP}/{kind}" for kind in (
                     "daskclusters", "daskworkergroups", "daskautoscalers", "daskjobs")]

        def left():
            return [f"{kind.rsplit('/', 1)[1]} {item['metadata']['namespace']}/{item['metadata']['name']}"
                    for kind in kinds for item in self.items(kind) if item["metadata"]["namespace"] in JOBS]
        try:
            self.wait(lambda: not left(), "nothing is left")
            self.wait(lambda: not any(self.gpus(team)[0] for team in JOBS), "the quota is given back")
            self.wait(lambda: not self.machines(), "the pool is at zero")
        except Failed as failure:
            raise Failed(f"{failure}: {left()}") from None
        self.say("both jobs are done, nothing is left of them, the pool of GPUs is back at zero: done")


if __name__ == "__main__":
    sys.exit(play(DaskDemo, ["start", "team_a_computes", "team_b_waits", "both_end", "check_results", "clean_up"]))
