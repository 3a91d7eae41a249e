"""tools/demo shares: three pods share a GPU, the fourth brings a second machine.

The objects are those of manifests/samples/time-slicing; the pool's times and the runs are shorter. Exits 0 only if every
step came about, and every check held."""

import os
import sys

from demo import ROOT, Demo, check, is_true, play

SAMPLES = os.path.join(ROOT, "manifests", "samples", "time-slicing")
POOL = "cloud.google.com/gke-nodepool=g4-nodepool"


class SharesDemo(Demo):
    STATE_KINDS = "jobs,workloads,pods,nodes,nodepools,clusterqueues"

    def sample(self, name, *edits):
        with open(os.path.join(SAMPLES, name), encoding="utf-8") as file:
            text = file.read()
        for old, new in edits:
            check(old in text, f"{name} has no {old!r}")
            text = text.replace(old, new)
        self.apply("-f", self.file(name, text))

    def submit(self, name, pods, *edits):
        self.sample("job.yaml", ("name: shares", f"name: {name}"), ("parallelism: 4", f"parallelism: {pods}"),
                    ("completions: 4", f"completions: {pods}"), *edits)

    def machines(self):
        return [node["metadata"]["name"] for node in self.list("nodes", "-l", POOL)]

    def machines_of(self, job):
        """The machines on which pods of the job run, one for each pod."""
        return [pod["spec"]["nodeName"] for pod in self.list("pods", "-l", f"batch.kubernetes.io/job-name={job}")
                if pod["status"]["phase"] == "Running"]

    def used(self):
        usage = self.list("clusterqueues")[0].get("status", {}).get("flavorsUsage", [{}])[0].get("resources", [])
        return {each["name"]: each["total"] for each in usage}

    # The story ------------------------------------------------------------------------------------
    def start(self):
        self.berth_up()
        self.sample("nodepool.yaml", ("bootSeconds: 5", "bootSeconds: 2"), ("idleSeconds: 30", "idleSeconds: 4"))
        self.sample("queues.yaml")
        self.say("applied: machines with one T4 in three shares, none running; a queue of 12 shares on at most 2 GPUs")
        check(not self.machines(), "the pool begins at zero")

    def three_share_a_gpu(self):
        self.submit("three", 3)
        self.say("submitted: three, whose three pods ask for one share each")
        self.wait(lambda: len(self.machines_of("three")) == 3, "three pods run")
        check(len(set(self.machines_of("three"))) == 1, "three pods run on several machines")
        self.wait(lambda: self.used().get("nvidia.com/gpu") == "3", "the queue counts three shares")
        self.say(f"three pods run on {self.machines_of('three')[0]}: three shares, one GPU")

    def fourth_brings_a_machine(self):
        first = self.machines_of("three")[0]
        self.submit("fourth", 1)
        self.say("submitted: fourth, one share more")
        self.wait(lambda: self.machines_of("fourth"), "the fourth pod runs")
        check(self.machines_of("fourth") != [first], "four shares on one GPU")
        self.say(f"its pod runs on a second machine, {self.machines_of('fourth')[0]}")
        self.wait(lambda: self.used().get("nvidia.com/gpu") == "4", "the queue counts four shares")
        print("\n" + self.run(self.berth, "status"))

    def quota_is_in_gpus_too(self):
        self.submit("seventh", 3)
        explained = self.until_why("seventh", "berth.dev/gpus")
        self.say("submitted: seventh, three shares more: seven of twelve shares, but more than two GPUs")
        print("\n" + explained)
        self.submit("greedy", 1, ("nvidia.com/gpu: 1", "nvidia.com/gpu: 2"))
        explained = self.until_why("greedy", "gives a pod at most 1")
        self.say("submitted: greedy, one pod with two shares, which a device plugin may place on two GPUs or refuse")
        print("\n" + explained)
        self.kubectl("delete", "job", "greedy")

    def has_workload(self, job):
        return any(owner["name"] == job for workload in self.list("workloads")
                   for owner in workload["metadata"].get("ownerReferences", []))

    def until_why(self, job, words):
        self.wait(lambda: self.has_workload(job), f"{job} has a Workload")
        texts = []
        self.wait(lambda: words in (texts.append(self.run(self.berth, "why", "job/" + job)) or texts[-1]),
                  f"why tells of {words}")
        return texts[-1]

    def all_goes_back(self):
        jobs = ("three", "fourth", "seventh")
        self.wait(lambda: all(is_true(job, "Complete") for job in self.list("jobs")
                              if job["metadata"]["name"] in jobs), "the jobs are complete")
        self.say("three and fourth ended, seventh got their GPUs and ended, too")
        self.wait(lambda: not self.machines(), "the pool is back at zero")
        self.say("the machines are gone: done")


if __name__ == "__main__":
    sys.exit(play(SharesDemo, ["start", "three_share_a_gpu", "fourth_brings_a_machine", "quota_is_in_gpus_too",
                               "all_goes_back"]))
