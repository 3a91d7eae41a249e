"""tools/demo pod: the controller as a pod of its own manifests, on `berth up` as the Kubernetes below it.

`berth up --no-controllers` plays the cluster; `kubectl apply -k manifests` installs Berth as on any cluster: CRDs,
rights, webhooks, a Deployment. The controller is killed while a job waits. Exits 0 only if every step came about, and
every check held."""

import json
import os
import sys

from demo import ROOT, Demo, Failed, check, is_true, play

SPACE = ("-n", "kueue-system")
QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: plain, resources: [{name: cpu, nominalQuota: 1}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: default}
spec: {clusterQueue: team}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: NAME, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "work:1", args: ["SECONDS"], resources: {requests: {cpu: 1}}}]
"""


class PodDemo(Demo):
    STATE_KINDS = "deployments,jobs,workloads,pods,nodes,events"

    def apply_text(self, name, text):
        self.apply("-f", self.file(name, text))

    def submit(self, name, seconds):
        self.apply_text(name + ".yaml", JOB.replace("NAME", name).replace("SECONDS", str(seconds)))

    def controllers(self):
        return [pod for pod in self.list("pods", *SPACE) if is_true(pod, "Ready")]

    def job(self, name):
        return json.loads(self.kubectl("get", "job", name, "-o", "json"))

    def look(self):
        for job in self.list("jobs"):
            state = "waits for quota" if job["spec"].get("suspend") else "runs"
            self.tell(job["metadata"]["name"], "complete" if is_true(job, "Complete") else state)

    def follow(self, holds, what):
        def look():
            self.look()
            return holds()
        self.wait(look, what)

    # The story ------------------------------------------------------------------------------------
    def start(self):
        self.berth_up("--no-controllers", "--image", f"berth:latest={self.berth}", "--image", "work:1=/bin/sleep")
        node, = self.list("nodes")
        self.say(f"a Kubernetes without queues; its node is this machine: {node['status']['allocatable']['cpu']} CPUs")

    def install(self):
        self.run(self.client, "apply", "--server-side", "--force-conflicts", "-k", os.path.join(ROOT, "manifests"))
        self.say("kubectl apply -k manifests: CRDs, rights, webhooks, and the Deployment of the controller")
        self.wait(self.controllers, "the controller is ready")
        pod, = self.controllers()
        self.say(f"the controller runs as pod {pod['metadata']['name']} on node {pod['spec']['nodeName']}")

    def webhooks_answer(self):
        def refused():
            try:
                self.apply_text("broken.yaml", QUEUES.replace("nominalQuota: 1", "nominalQuota: -1"))
            except Failed as failure:
                return "admission webhook" in str(failure) and "nominalQuota" in str(failure)
            raise Failed("a negative quota was taken")
        self.wait(refused, "the webhook refuses a negative quota")
        self.apply_text("queues.yaml", QUEUES)
        self.say("its webhook refuses a negative quota, and takes a queue of one CPU")

    def jobs_take_turns(self):
        self.submit("first", 3)
        self.submit("second", 1)
        self.follow(lambda: is_true(self.job("second"), "Complete"), "both jobs complete")
        check(is_true(self.job("first"), "Complete"), "the first job came first")

    def controller_is_killed(self):
        self.submit("third", 5)
        self.follow(lambda: not self.job("third")["spec"].get("suspend"), "the third job starts")
        self.submit("fourth", 1)
        pod, = self.controllers()
        name = pod["metadata"]["name"]
        self.kubectl("delete", "pod", name, *SPACE, "--grace-period=0", "--force")
        self.say(f"pod {name} is killed while the fourth job waits")
        self.follow(lambda: any(each["metadata"]["name"] != name for each in self.controllers()), "another pod is ready")
        other = next(each for each in self.controllers() if each["metadata"]["name"] != name)
        self.say(f"pod {other['metadata']['name']} goes on")
        self.follow(lambda: is_true(self.job("fourth"), "Complete"), "the fourth job completes")
        self.wait(lambda: all(is_true(each, "Finished") for each in self.list("workloads")), "every Workload is finished")
        self.say("every job is complete, every Workload finished: done")


if __name__ == "__main__":
    sys.exit(play(PodDemo, ["start", "install", "webhooks_answer", "jobs_take_turns", "controller_is_killed"]))
