"""tools/demo day --live [SECONDS] — the busiest minutes of the day of many tenants (600 s by default) on `berth up`, with
real processes, beside what `berth simulate` foretells of the same jobs: by the scheduler alone, and by the whole of Berth
(--full).

The jobs are those that the simulated day of seed 1 submits in that time, with its run times, as a CSV that all three get:
a job is submitted at its time whatever became of the ones before. Nodes boot for a minute each, without the list of boot
times. Each pod is a process that sleeps. Prints the waits, and the error of the predictions; exits 0 if every job ended.
"""

import csv
import json
import os
import subprocess
import sys
import time
from datetime import datetime

from day_events import GPUS_PER_NODE, STANDS, Day, percentile
from demo import ROOT, Demo, check, is_true, play

SAMPLES = os.path.join(ROOT, "manifests", "samples", "multi-tenant")
SECONDS = int(next((word for word in sys.argv[1:] if word.isdigit()), "600"))
IMAGE = "gcr.io/k8s-staging-perf-tests/sleep:v0.0.3"
GPU = "nvidia.com/gpu"
PATIENCE_SECONDS = 900  # after the last job came


def instant(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class LiveDay(Demo):
    def __init__(self, scratch):
        super().__init__(scratch)
        self.jobs = []  # the jobs of the CSV
        self.queues = os.path.join(SAMPLES, "queues.yaml")
        self.submitted = {}  # by line: this program's clock
        self.foretold = {}  # Day, by the way of simulation
        self.lived = {}  # by line: (wait, run, pods)
        self.node_spans = {}  # name: [first seen ready, last seen]

    def simulate(self, *words):
        events = os.path.join(self.scratch, "events.jsonl")
        done = subprocess.run([self.berth, "simulate", "-f", self.queues, "-o", "json", "--events", events, *words],
                              text=True, capture_output=True, timeout=900, check=False)
        check(done.returncode == 0, done.stderr)
        return Day.read(events)

    # Steps ----------------------------------------------------------------------------------------
    def choose_jobs(self):
        day = self.simulate("--pools", os.path.join(SAMPLES, "nodepools.yaml"), "--workload", os.path.join(SAMPLES, "day.yaml"))
        times = sorted(day.submitted.values())
        begin = max(times, key=lambda start: (sum(start <= at < start + SECONDS for at in times), -start))
        # Three pods hold a GPU each all day: here until the last job came.
        self.jobs.append({"submit": 0, "queue": "dask", "pods": 3, "cpu": 1, "gpu": 1, "run": SECONDS})
        for line, at in sorted(day.submitted.items(), key=lambda each: each[1]):
            if begin <= at < begin + SECONDS and day.run_of(line) < STANDS:
                self.jobs.append({"submit": round(at - begin, 3), "queue": "dask", "pods": 3, "cpu": 1, "gpu": 1,
                                  "run": round(day.run_of(line), 3)})
        path = self.file("day.csv", "")
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(self.jobs[0]))
            writer.writeheader()
            writer.writerows(self.jobs)
        with open(os.path.join(SAMPLES, "nodepools.yaml"), encoding="utf-8") as file:
            lines = [line for line in file if "boot-seconds:" not in line and line.strip() != "annotations:"]
        pools = self.file("pools.yaml", "".join(lines))
        self.say(f"{len(self.jobs)} jobs in {SECONDS} s, from {begin / 60:.0f} min of the day of seed 1 on")
        for way, words in (("scheduler", ()), ("whole", ("--full",))):
            begin = time.monotonic()
            self.foretold[way] = self.simulate("--pools", pools, "--workload", path, *words)
            self.say(f"foretold by the {way}: {time.monotonic() - begin:.1f} s")

    def start(self):
        self.berth_up()
        self.apply("-f", os.path.join(self.scratch, "pools.yaml"))
        self.apply("-f", self.queues)
        self.wait(lambda: any(is_true(node, "Ready") for node in self.list("nodes") if "t4" in node["metadata"]["name"]),
                  "the node that always stands is ready")

    def manifest(self, number, job):
        container = {"name": "main", "image": IMAGE, "args": [f"{job['run']}s"],
                     "resources": {"requests": {"cpu": "1", GPU: "1"}, "limits": {GPU: "1"}}}
        return {"apiVersion": "batch/v1", "kind": "Job",
                "metadata": {"name": f"day-{number}", "labels": {"kueue.x-k8s.io/queue-name": job["queue"]}},
                "spec": {"suspend": True, "parallelism": job["pods"], "completions": job["pods"],
                         "template": {"spec": {"restartPolicy": "Never", "containers": [container], "tolerations": [
                             {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}]}}}}

    def look(self):
        now = time.time()
        for node in self.list("nodes"):
            name = node["metadata"]["name"]
            if "t4" in name and is_true(node, "Ready"):
                self.node_spans.setdefault(name, [now, now])[1] = now

    def live(self):
        begin = time.time()
        looked = 0.0
        for number, job in enumerate(self.jobs):
            while time.time() < begin + job["submit"]:
                if time.time() - looked > 2:
                    looked = time.time()
                    self.look()
                time.sleep(0.05)
            path = self.file("job.json", json.dumps(self.manifest(number, job)))
            self.submitted[number + 2] = time.time()
            self.kubectl("create", "-f", path)
        self.say("all jobs are submitted")

    def finish(self):
        def ended():
            self.look()
            return all(is_true(job, "Complete") for job in self.list("jobs"))
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not ended():
            check(self.process.poll() is None and time.monotonic() < deadline, "not every job is complete")
            time.sleep(1)
        for pod in self.list("pods"):
            owner = pod["metadata"]["ownerReferences"][0]["name"]
            line = int(owner.rpartition("-")[2]) + 2
            state = pod["status"]["containerStatuses"][0]["state"]
            ran = state.get("terminated")
            check(ran, f"pod {pod['metadata']['name']} has not ended")
            start, end = instant(ran["startedAt"]), instant(ran["finishedAt"])
            first, last, count = self.lived.get(line, (0, 0, 0))
            self.lived[line] = (max(first, start), max(last, end), count + 1)

    def report(self):
        lines = sorted(self.lived)
        real = {line: max(0.0, self.lived[line][0] - self.submitted[line]) for line in lines}
        span = max(end for _, end, _ in self.lived.values()) - min(self.submitted.values())
        print(f"\n{len(lines)} jobs, {SECONDS} s of the day"
              f"{'':>22} {'median':>8} {'mean':>8} {'p99 s':>8} {'error: mean':>12} {'median':>8} {'largest':>8} {'ended after':>12}")
        ordered = sorted(real.values())
        print(f"{'on berth up, real processes':<40} {percentile(ordered, 0.5):8.1f} {sum(ordered) / len(ordered):8.1f} "
              f"{percentile(ordered, 0.99):8.1f} {'':>12} {'':>8} {'':>8} {span:11.0f} s")
        for way, day in self.foretold.items():
            waits = {line: day.started[line] - day.submitted[line] for line in lines}
            errors = sorted(abs(waits[line] - real[line]) for line in lines)
            ordered = sorted(waits.values())
            end = max(stop for _, _, stop in day.runs)
            print(f"{'foretold by the ' + way:<40} {percentile(ordered, 0.5):8.1f} {sum(ordered) / len(ordered):8.1f} "
                  f"{percentile(ordered, 0.99):8.1f} {sum(errors) / len(errors):12.1f} {percentile(errors, 0.5):8.1f} "
                  f"{errors[-1]:8.1f} {end:11.0f} s")
        charged = sum(last - first for first, last in self.node_spans.values()) * GPUS_PER_NODE / 3600
        used = sum((end - start) * count for start, end, count in self.lived.values()) / 3600
        print(f"GPU-hours on berth up: {used:.2f} of {charged:.2f} of ready nodes, {100 * used / charged:.0f} %", flush=True)


if __name__ == "__main__":
    sys.exit(play(LiveDay, ["choose_jobs", "start", "live", "finish", "report"]))
