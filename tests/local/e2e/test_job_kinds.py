"""Goal: a kind that a user declares while `berth up` runs is queued: `berth kinds` tells its state, its jobs
wait for quota and start with it, and end. One kind is held by a boolean, one by its number of pods.

Method: a CRD of the test, a JobKind, and an operator of ten lines whose Jobs run real processes."""

import json
import os

from berth_up import ROOT, BerthUpTest
from waiting import wait_until

CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sweeps.science.example}
spec:
  group: science.example
  scope: Namespaced
  names: {kind: Sweep, plural: sweeps, singular: sweep, listKind: SweepList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              paused: {type: boolean}
              parallelTrials: {type: integer}
              trialTemplate: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
    subresources: {status: {}}
"""
QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: default, resources: [{name: cpu, nominalQuota: "3"}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: default}
spec: {clusterQueue: team}
"""
SWEEP = """
apiVersion: science.example/v1
kind: Sweep
metadata: {{name: {name}, labels: {{kueue.x-k8s.io/queue-name: q}}}}
spec:
  paused: {paused}
  parallelTrials: 2
  trialTemplate:
    spec:
      restartPolicy: Never
      containers:
      - {{name: trial, image: "sh:1", args: ["-c", "true"], resources: {{requests: {{cpu: "1"}}}}}}
"""


CREW_CRD = CRD.replace("sweep", "crew").replace("Sweep", "Crew").replace(
    """              paused: {type: boolean}
              parallelTrials: {type: integer}
              trialTemplate:""", """              replicas: {type: integer}
              template:""")
CREW_KIND = """
apiVersion: integrations.berth.dev/v1alpha1
kind: JobKind
metadata: {name: crews}
spec:
  group: science.example
  version: v1
  kind: Crew
  podSets: [{template: spec.template, replicas: spec.replicas}]
  active: self.?status.?running.orValue(0) > 0
  finished: [{condition: Completed, succeeded: "true"}, {condition: Failed, succeeded: "false"}]
  sample:
    apiVersion: science.example/v1
    kind: Crew
    metadata: {name: sample}
    spec: {replicas: 2, template: {spec: {containers: [{name: c, image: i}]}}}
"""
CREW = """
apiVersion: science.example/v1
kind: Crew
metadata: {name: %s, labels: {kueue.x-k8s.io/queue-name: q, kueue.x-k8s.io/priority-class: %s}}
spec:
  replicas: %d
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: member, image: "sh:1", args: ["-c", "%s"], resources: {requests: {cpu: "1"}}}
"""
CLASSES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: low}
value: 1
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 2
"""

NODE = "{apiVersion: v1, kind: Node, metadata: {name: here, labels: {kubernetes.io/hostname: here}}}"
NODE_STATUS = {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "10"},
               "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "fine"}]}


def declared_kind():
    """The JobKind of docs/guide/job-kinds.md."""
    with open(os.path.join(ROOT, "docs", "guide", "job-kinds.md"), encoding="utf-8") as page:
        text = page.read()
    begin = text.index("apiVersion: integrations.berth.dev")
    return text[begin:text.index("---", begin)]


class JobKindsTest(BerthUpTest):
    def operate(self):
        """One step of the operator: a Job for each Sweep that is not paused."""
        for sweep in self.cluster.items("sweeps"):
            meta, spec = sweep["metadata"], sweep["spec"]
            job = self.cluster.get("job", meta["name"] + "-trials")
            if job is None and not spec["paused"]:
                owner = {"apiVersion": "science.example/v1", "kind": "Sweep", "name": meta["name"],
                         "uid": meta["uid"], "controller": True}
                self.cluster.apply(json.dumps({
                    "apiVersion": "batch/v1", "kind": "Job",
                    "metadata": {"name": meta["name"] + "-trials", "ownerReferences": [owner]},
                    "spec": {"parallelism": 2, "completions": 2, "template": spec["trialTemplate"]}}))
            elif job is not None:
                done = job.get("status", {}).get("succeeded", 0) == 2
                self.report(meta["name"], job.get("status", {}).get("active", 0), done)

    def report(self, name, running, done):
        conditions = [{"type": "Completed", "status": "True", "reason": "Done", "message": "all trials ran",
                       "lastTransitionTime": "2026-01-01T00:00:00Z"}] if done else []
        self.cluster.patch_status(f"/apis/science.example/v1/namespaces/default/sweeps/{name}", {"running": running, "conditions": conditions})

    def finished(self, name):
        self.operate()
        for each in self.cluster.items("workloads"):
            if each["metadata"]["name"].startswith(f"sweep-{name}-"):
                return next((c for c in each.get("status", {}).get("conditions", [])
                             if c["type"] == "Finished"), None)
        return None

    def state(self, kind="Sweep"):
        rows = json.loads(self.cluster.berth("kinds", "-o", "json").stdout)["kinds"]
        return next((row["state"] for row in rows if row["kind"] == kind), None)

    def wait_until(self, condition, what):
        try:
            return wait_until(condition, what, seconds=90)
        except AssertionError as late:
            shown = self.cluster.kubectl("get", "sweeps,workloads,jobs,pods,events", "-o", "wide", check=False)
            raise AssertionError(f"{late}\n{shown.stdout}\n{self.cluster.log()[-2000:]}") from None

    def serve_node(self):
        self.cluster.apply(NODE)
        self.cluster.patch_status("/api/v1/nodes/here", NODE_STATUS)

    def run_crews(self):
        """One step of the other operator: as many pods for each Crew as it has replicas."""
        pods = self.cluster.items("pods")
        for crew in self.cluster.items("crews"):
            meta, spec = crew["metadata"], crew["spec"]
            own = {p["metadata"]["name"]: p for p in pods if p["metadata"]["name"].startswith(meta["name"] + "-")}
            names = [f"{meta['name']}-{i}" for i in range(spec["replicas"])]
            for name in names:
                if name not in own:
                    self.cluster.apply(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {
                        "name": name, **spec["template"].get("metadata", {})}, "spec": spec["template"]["spec"]}))
            for name in own.keys() - set(names):
                self.cluster.kubectl("delete", "pod", name, "--wait=false", check=False)
            phases = [p["status"].get("phase") for p in own.values()]
            conditions = [{"type": word, "status": "True", "reason": word, "message": word.lower(),
                           "lastTransitionTime": "2026-01-01T00:00:00Z"}
                          for word, phase in (("Failed", "Failed"), ("Completed", "Succeeded"))
                          if names and phases.count(phase) == len(names)][:1]
            self.cluster.patch_status(f"/apis/science.example/v1/namespaces/default/crews/{meta['name']}", {
                "running": sum(p not in ("Succeeded", "Failed") for p in phases), "conditions": conditions})

    def crew(self, name):
        """(number, wanted number, conditions of its Workload that are True)"""
        self.run_crews()
        crew = self.cluster.get("crew", name)
        kept = crew["metadata"].get("annotations", {}).get("berth.dev/held-replicas", "{}")
        held = [w for w in self.cluster.items("workloads") if w["metadata"]["name"].startswith(f"crew-{name}-")]
        conditions = held[0].get("status", {}).get("conditions", []) if held else []
        return (crew["spec"]["replicas"], json.loads(kept).get("spec.replicas"),
                {c["type"]: c["reason"] for c in conditions if c["status"] == "True"})

    def test_a_kind_that_is_held_by_its_number_of_pods(self):
        self.cluster = self.start_cluster(images=["sh:1=/bin/sh"])
        self.cluster.apply(CREW_CRD)
        self.cluster.apply(CREW_KIND)
        self.wait_until(lambda: self.state("Crew") == "queued", "the kind is queued")
        self.cluster.kubectl("patch", "jobkind", "crews", "--type=merge", "-p",
                             '{"spec": {"sample": {"spec": {"template": null}}}}')
        self.wait_until(lambda: (self.state("Crew") or "").startswith(
            "InvalidSample: spec.sample: spec.template: the pod template is missing"), "the sample fails")
        self.cluster.apply(CREW_KIND)
        self.wait_until(lambda: self.state("Crew") == "queued", "the kind is queued again")
        self.serve_node()
        self.cluster.apply(QUEUES.replace("spec:\n  namespaceSelector", "spec:\n  preemption: "
                                          "{withinClusterQueue: LowerPriority}\n  namespaceSelector"))
        self.cluster.apply(CLASSES)

        # Three CPUs: the first crew runs, is preempted by the second, and comes back when that one has failed.
        self.cluster.apply(CREW % ("first", "low", 2, "sleep 600"))
        self.wait_until(lambda: self.crew("first")[0] == 2 and len(self.cluster.items("pods")) == 2, "it runs")
        self.cluster.apply(CREW % ("second", "high", 3, "exit 1"))
        self.wait_until(lambda: self.crew("first")[:2] == (0, 2), "the first is held, its number is kept")
        done = self.wait_until(lambda: self.crew("second")[2].get("Finished"), "the second is over")
        self.assertEqual(done, "Failed")
        self.wait_until(lambda: self.crew("first")[0] == 2, "the first is back")
        # A held crew that is scaled stays held.
        self.cluster.apply(CREW % ("third", "low", 2, "true"))
        self.wait_until(lambda: self.crew("third")[:2] == (0, 2), "the third waits")
        self.cluster.kubectl("patch", "crew", "third", "--type=merge", "-p", '{"spec": {"replicas": 3}}')
        self.wait_until(lambda: self.crew("third")[:2] == (0, 3), "it waits with another number")
        self.cluster.kubectl("delete", "crew", "first")
        for pod in self.cluster.items("pods"):
            if pod["metadata"]["name"].startswith("first-"):
                self.cluster.kubectl("delete", "pod", pod["metadata"]["name"], "--wait=false")
        done = self.wait_until(lambda: self.crew("third")[2].get("Finished"), "the third is over")
        self.assertEqual(done, "Succeeded")

    def test_a_declared_kind(self):
        self.cluster = self.start_cluster(images=["sh:1=/bin/sh"])
        self.assertIn("JobSet", self.cluster.berth("kinds").stdout)
        self.cluster.apply(declared_kind())
        wait_until(lambda: (self.state() or "").startswith("NotServed"), "the CRD is missing")
        self.cluster.apply(CRD)
        self.wait_until(lambda: self.state() == "queued", "the kind is queued")
        self.cluster.kubectl("patch", "jobkind", "sweeps", "--type=merge", "-p",
                             '{"spec": {"suspend": "spec.pausd"}}')
        self.wait_until(lambda: "has no field spec.pausd" in (self.state() or ""), "the path is wrong")
        self.cluster.kubectl("patch", "jobkind", "sweeps", "--type=merge", "-p",
                             '{"spec": {"suspend": "spec.paused"}}')
        self.wait_until(lambda: self.state() == "queued", "the kind is queued again")

        self.serve_node()
        self.cluster.apply(QUEUES)
        self.cluster.apply(SWEEP.format(name="one", paused="true"))
        # Created running: held at once, and queued behind the first.
        self.cluster.apply(SWEEP.format(name="two", paused="false"))
        for name in ("one", "two"):
            done = self.wait_until(lambda name=name: self.finished(name), f"{name} is finished")
            self.assertEqual((done["reason"], done["message"]), ("Succeeded", "all trials ran"))
        self.assertEqual(len(self.cluster.items("workloads")), 2, "a child has no Workload")
