"""tools/demo spot: machines of low priority first, on demand after two evictions.

A job that runs for 15 seconds on machines that the cloud takes back after 10: the objects are those of
manifests/samples/spot. Exits 0 only if every step came about, and every check held."""

import json
import os
import sys

from demo import ROOT, Demo, check, condition, is_true, play

SAMPLES = os.path.join(ROOT, "manifests", "samples", "spot")
POOL = "kubernetes.azure.com/agentpool"
STEPS = {"gpu-low": "at low priority", "gpu-demand": "on demand"}


def flavor_of(workload):
    for each in workload.get("status", {}).get("admission", {}).get("podSetAssignments", []):
        return each["flavors"]["nvidia.com/gpu"]
    return None


class SpotDemo(Demo):
    STATE_KINDS = "jobs,workloads,pods,nodes,nodepools,events"

    def __init__(self, scratch):
        super().__init__(scratch)
        self.runs = {}  # the pool of each pod that ran, in order

    def sample(self, name):
        return os.path.join(SAMPLES, name)

    def job(self, name):
        return json.loads(self.kubectl("get", "job", name, "-o", "json"))

    def workload(self):
        items = self.list("workloads")
        return items[0] if items else {}

    def machines(self, pool=None):
        return [node for node in self.list("nodes", *(["-l", f"{POOL}={pool}"] if pool else []))
                if POOL in node["metadata"]["labels"]]

    def look(self):
        """Tells what has changed."""
        workload = self.workload()
        for pool in ("gpulow", "gpudemand"):
            nodes = self.machines(pool)
            leaving = sum(any("impending" in taint["key"] for taint in node["spec"].get("taints", []))
                          for node in nodes)
            self.tell(f"pool {pool}", f"{sum(is_true(node, 'Ready') for node in nodes)} of {len(nodes)} machines ready" +
                      (", one is taken back soon" if leaving else ""))
        if not workload:
            return
        flavor = flavor_of(workload)
        running = [pod for pod in self.list("pods") if pod["status"]["phase"] == "Running"]
        for pod in running:
            self.runs[pod["metadata"]["name"]] = pod["spec"]["nodeSelector"][POOL]
        if is_true(workload, "Finished"):
            self.tell("train", condition(workload, "Finished")["reason"])
        elif running and flavor:
            self.tell("train", f"runs {STEPS[flavor]}, on {running[0]['spec']['nodeName']}")
        elif flavor:
            self.tell("train", f"has quota of {flavor}, its pod waits for a machine")

    def follow(self, holds, what):
        def look():
            self.look()
            return holds()
        self.wait(look, what)

    # The story ------------------------------------------------------------------------------------
    def start(self):
        self.berth_up()
        self.apply("-f", self.sample("nodepools.yaml"))
        self.apply("-f", self.sample("queues.yaml"))
        self.say("applied: V100 machines of low priority and on demand, both at zero; a queue that prefers the first")
        check(not self.machines(), "the pools begin at zero")

    def job_is_evicted_twice(self):
        self.apply("-f", self.sample("job.yaml"))
        self.say("submitted: train, which needs 15 seconds; machines of low priority live for 10 here")
        self.follow(lambda: self.runs, "train runs")
        self.follow(lambda: "NodesTakenBack" in self.memory(), "the cloud takes the machine back")
        self.say("the machine is gone: the attempt counts, and train is queued again in its old place")
        self.follow(lambda: flavor_of(self.workload()) == "gpu-demand", "after two evictions train moves on")
        print("\n" + self.run(self.berth, "why", "job/train"))
        check("step low: 2" in self.run(self.berth, "why", "job/train"), "why does not speak of the two attempts")

    def memory(self):
        return self.workload().get("metadata", {}).get("annotations", {}).get("berth.dev/provisioning", "")

    def job_ends_on_demand(self):
        self.follow(lambda: is_true(self.job("train"), "Complete"), "train is complete")
        runs = list(self.runs.values())
        check(runs == ["gpulow", "gpulow", "gpudemand"], f"train ran in {runs}")
        self.follow(lambda: is_true(self.workload(), "Finished"), "its Workload is finished")
        self.say("train ran to its end on demand: no work was lost but that of the evicted runs")

    def pools_go_back(self):
        self.follow(lambda: not self.machines(), "the pools are back at zero")
        self.say("both pools are back at zero: done")


if __name__ == "__main__":
    sys.exit(play(SpotDemo, ["start", "job_is_evicted_twice", "job_ends_on_demand", "pools_go_back"]))
