"""Jobs through a whole control plane where Berth is installed by its manifests, for tools/bench-cluster --jobs and --turns."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import api_counters
from control_plane import ROOT, ControlPlane
from installation import Installation

JOB_QUEUES = """
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
    flavors:
    - name: default
      resources: [{name: cpu, nominalQuota: "100000"}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: default}
spec: {clusterQueue: team}
"""
TURNS = os.path.join(ROOT, "build", "release", "tests", "bench", "endtoend", "berth_bench_endtoend")
JOB_NODES = 10
JOB_SECONDS = 300  # and a fifth of a second a Job
REST_SECONDS = 120


def job(number):
    return {"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": f"job-{number}", "namespace": "default",
                         "labels": {"kueue.x-k8s.io/queue-name": "q"}},
            "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [
                {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}]}}}}


def play_jobs(plane, count, admitted):
    """Creates the Jobs, waits until all have ended, or are admitted; returns the seconds of both."""
    begun = time.monotonic()
    creators = []
    for part in range(4):
        jobs = [job(number) for number in range(part, count, 4)]
        path = plane.write(f"jobs-{part}.json", json.dumps({"apiVersion": "v1", "kind": "List",
                                                            "items": jobs}))
        creators.append(subprocess.Popen(
            [shutil.which("kubectl") or os.path.join(ROOT, "build/bin/kubectl"), "--kubeconfig",
             plane.kubeconfig, "create", "--validate=false", "-f", path], stdout=subprocess.DEVNULL))
    for creator in creators:
        if creator.wait(timeout=JOB_SECONDS + count / 5) != 0:
            sys.exit("tools/bench-cluster: the Jobs cannot be created")
    created = time.monotonic() - begun

    def rests():
        time.sleep(1)  # the API server shall serve the Jobs, not this question
        state = plane.get("localqueue", "q")["status"]
        if admitted:
            return state.get("admittedWorkloads", 0) == count
        if state.get("pendingWorkloads", 0) or state.get("reservingWorkloads", 0):
            return False
        return all(item.get("status", {}).get("completionTime") for item in plane.items("jobs"))
    plane.wait_until(rests, "the Jobs are complete, or admitted", seconds=JOB_SECONDS + count / 5)
    return created, time.monotonic() - begun


def wait_for_rest(plane):
    """Events come after the work that they tell of."""
    deadline = time.monotonic() + REST_SECONDS
    before, now = None, events_written(plane)
    while before != now and time.monotonic() < deadline:
        time.sleep(3)
        before, now = now, events_written(plane)


def events_written(plane):
    return sum(count for key, count in api_counters.writes(plane).items() if key.endswith(" events"))


@contextlib.contextmanager
def installed(options, nodes):
    """(control plane, controller) with nodes, and with Berth, whose webhooks answer."""
    folder = tempfile.mkdtemp(prefix="berth-bench-cluster-")
    plane = ControlPlane(folder, parent_ends_all=True)
    berth = Installation(plane)
    try:
        plane.start()
        for number in range(nodes):
            plane.add_node(f"node-{number}", cpu="64", memory="256Gi")
        berth.apply_manifests(folder="manifests/overlays/v1beta2-only" if options.v1beta2_only else "manifests")
        controller = berth.start()
        plane.wait_until(lambda: plane.kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=JOB_QUEUES,
                                               check=False).returncode == 0, "the queues are accepted")
        yield plane, controller
    finally:
        berth.stop()
        plane.stop()
        shutil.rmtree(folder, ignore_errors=True)


def run_turns(options):
    """Prints how long Jobs take to start, one at a time, step by step."""
    with installed(options, JOB_NODES) as (plane, _):
        time.sleep(3)  # what follows the installation is no part of the measurement
        subprocess.run([TURNS, "--cluster", plane.kubeconfig, "--turns", str(options.turns)], check=True)


def run_jobs(options):
    with installed(options, 0 if options.admitted else JOB_NODES) as (plane, controller):
        plane.kubectl("apply", "--server-side", "-f", "-", stdin=JOB_QUEUES)
        plane.wait_until(lambda: plane.get("localqueue", "q").get("status", {}).get("conditions"),
                         "the queue is active")
        time.sleep(3)  # what follows the installation is no part of the measurement
        pids = {**plane.pids(), "controller": controller.process.pid}
        cpu = {name: api_counters.cpu_seconds(pid) for name, pid in pids.items()}
        requests, calls = api_counters.writes(plane), api_counters.webhook_calls(plane)
        created, complete = play_jobs(plane, options.jobs, options.admitted)
        wait_for_rest(plane)
        cpu = {name: api_counters.cpu_seconds(pid) - cpu[name] for name, pid in pids.items()}
        requests = api_counters.growth(api_counters.writes(plane), requests)
        calls = api_counters.growth(api_counters.webhook_calls(plane), calls)
        events = {}
        for event in plane.items("events", "-A"):
            by = event.get("reportingComponent") or event.get("source", {}).get("component", "")
            key = f"{by} {event['reason']}"
            events[key] = events.get(key, 0) + 1
        a_job = {key: round(value / options.jobs, 2) for key, value in requests.items()
                 if value >= options.jobs / 20}
        own = sum(value for key, value in requests.items()
                  if re.search(r" (workloads|clusterqueues|localqueues)(/|$)", key) or key == "PATCH jobs")
        own += sum(value for key, value in events.items() if key.startswith("kueue"))
        return {"jobs": options.jobs, "created_s": round(created, 1), "done_s": round(complete, 1),
                "a_job": {"requests": a_job,
                          "requests_all": round(sum(requests.values()) / options.jobs, 2),
                          "requests_of_berth": round(own / options.jobs, 2),
                          "webhook_calls": {key: round(value / options.jobs, 2)
                                            for key, value in calls.items()},
                          "webhook_calls_all": round(sum(calls.values()) / options.jobs, 2),
                          "cpu_ms": {**{name: round(1000 * value / options.jobs, 1)
                                        for name, value in cpu.items()},
                                     "all": round(1000 * sum(cpu.values()) / options.jobs, 1)},
                          "events": {key: round(value / options.jobs, 2) for key, value in
                                     sorted(events.items()) if value >= options.jobs / 20}},
                "peak_mb": {name: round(api_counters.peak_megabytes(pid)) for name, pid in pids.items()}}
