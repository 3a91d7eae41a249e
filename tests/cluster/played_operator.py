"""Operators that the tests play: those of kinds whose real one is not to be had from a registry, and a
TrainingOperator for tests of Berth alone (test_kubeflow.py has Kubeflow's real one). JobSet's makes
Jobs, that Kubernetes' own controllers run, and reports their state as jobset-controller does; those of
training-operator report active replicas while a job is not suspended."""

import json
import threading

CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {plural}.{group}}}
spec:
  group: {group}
  scope: Namespaced
  names: {{kind: {kind}, plural: {plural}, singular: {lower}, listKind: {kind}List}}
  versions:
  - name: {version}
    served: true
    storage: true
    schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}
    subresources: {{status: {{}}}}
"""


def definition(group, version, kind):
    """An open CRD of the kind."""
    lower = kind.lower()
    return CRD.format(group=group, version=version, kind=kind, lower=lower, plural=lower + "s")


class PlayedOperator:
    """Looks at all objects of a kind, again and again, in a thread of its own."""

    def __init__(self, plane, resource):
        self.plane, self.resource = plane, resource
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def start(self):
        self.thread.start()
        return self

    def stop(self):
        self.ended.set()
        self.thread.join()

    def run(self):
        while not self.ended.wait(0.3):
            listed = self.plane.kubectl("get", self.resource, "-A", "-o", "json", check=False)
            for item in json.loads(listed.stdout)["items"] if listed.returncode == 0 else []:
                self.look(item)

    def look(self, item):
        raise NotImplementedError

    def report(self, item, status):
        before = item.get("status", {})
        if {**before, **status} == before:
            return
        meta = item["metadata"]
        self.plane.kubectl("patch", self.resource, meta["name"], "-n", meta["namespace"],
                           "--subresource=status", "--type=merge", "-p",
                           json.dumps({"status": status}), check=False)


class JobSetOperator(PlayedOperator):
    def __init__(self, plane):
        super().__init__(plane, "jobsets.jobset.x-k8s.io")

    def look(self, item):
        meta, spec = item["metadata"], item["spec"]
        children = {job["metadata"]["name"]: job for job in self.plane.items(
            "jobs", "-n", meta["namespace"], "-l", f"jobset.sigs.k8s.io/jobset-name={meta['name']}")}
        wanted = {f"{meta['name']}-{part['name']}-{index}": part
                  for part in spec["replicatedJobs"] for index in range(part["replicas"])}
        if spec.get("suspend"):
            for name in children:
                self.plane.kubectl("delete", "job", name, "-n", meta["namespace"], "--wait=false",
                                   check=False)
        else:
            for name, part in wanted.items():
                if name not in children:
                    self.make_child(item, name, part)
        status = self.status_of(wanted, children)
        self.report(item, self.with_suspended(item, status))

    @staticmethod
    def with_suspended(item, status):
        """The condition Suspended turns False only where it was True, as jobset-controller's does."""
        before = {c["type"]: c for c in item.get("status", {}).get("conditions", [])}
        wanted = "True" if item["spec"].get("suspend") else "False"
        known = before.get("Suspended", {"status": "False"})
        if known["status"] != wanted:
            known = {"type": "Suspended", "status": wanted, "reason": "Jobs", "message": "",
                     "lastTransitionTime": "2026-01-01T00:00:00Z"}
        if "type" in known:
            status["conditions"] = [known, *status.get("conditions", [])]
        return status

    def make_child(self, item, name, part):
        meta = item["metadata"]
        self.plane.kubectl("create", "-f", "-", check=False, stdin=json.dumps({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {
                "name": name, "namespace": meta["namespace"],
                "labels": {"jobset.sigs.k8s.io/jobset-name": meta["name"]},
                "ownerReferences": [{"apiVersion": item["apiVersion"], "kind": "JobSet",
                                     "name": meta["name"], "uid": meta["uid"], "controller": True}]},
            "spec": part["template"]["spec"]}))

    @staticmethod
    def status_of(wanted, children):
        parts = {}
        succeeded = 0
        for name, part in wanted.items():
            status = children.get(name, {}).get("status", {})
            row = parts.setdefault(part["name"], {"name": part["name"], "active": 0, "ready": 0,
                                                  "succeeded": 0, "failed": 0, "suspended": 0})
            done = status.get("succeeded", 0) >= part["template"]["spec"].get("completions", 1)
            succeeded += done
            row["succeeded"] += done
            row["active"] += status.get("active", 0) > 0
            row["ready"] += status.get("ready", 0) > 0
        result = {"replicatedJobsStatus": list(parts.values())}
        if succeeded == len(wanted) and wanted:
            result["conditions"] = [{
                "type": "Completed", "status": "True", "reason": "AllJobsCompleted",
                "message": "jobset completed successfully",
                "lastTransitionTime": "2026-01-01T00:00:00Z"}]
        return result


class TrainingOperator(PlayedOperator):
    """`replicas`: the field of the kind's roles."""

    def __init__(self, plane, resource, replicas):
        super().__init__(plane, resource)
        self.replicas = replicas

    def look(self, item):
        held = item["spec"].get("runPolicy", {}).get("suspend", False)
        roles = item["spec"][self.replicas]
        self.report(item, {
            "replicaStatuses": {name: {"active": 0 if held else role.get("replicas", 1)}
                                for name, role in roles.items()},
            "conditions": [{"type": "Suspended" if held else "Running", "status": "True",
                            "reason": "Test", "message": "", "lastUpdateTime": "2026-01-01T00:00:00Z",
                            "lastTransitionTime": "2026-01-01T00:00:00Z"}]})


class SweepOperator(PlayedOperator):
    """The operator of the kind of docs/guide/job-kinds.md; it only reports."""

    def __init__(self, plane):
        super().__init__(plane, "sweeps.science.example")

    def look(self, item):
        paused, trials = item["spec"]["paused"], item["spec"]["parallelTrials"]
        self.report(item, {"running": 0 if paused else trials})
