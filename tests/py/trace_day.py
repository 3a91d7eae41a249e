"""A day of a trace as the data folder of a `berth up`: `berth simulate` plays the trace; at one of its instants the cluster
has the Workloads that wait, run and have just ended, and the ledger has all attempts until then. Times are moved so that the
instant is now.

The Workloads have no Jobs and no pods: no program computes anything, and what runs does not end."""

import collections
import contextlib
import csv
import json
import os
import sqlite3
import subprocess
import time
import uuid

FINISHED_SECONDS = 6 * 3600  # Workloads that ended longer ago are gone, as with a time of retention
READY_SECONDS = 20  # from the admission to the pods' start
STEMS = ("train", "sweep", "eval", "finetune", "embed", "segment")


class Turn:
    """One attempt of a job: seconds of the trace; None: not yet."""

    def __init__(self, queued):
        self.queued, self.started, self.ended, self.outcome, self.preemptor = queued, None, None, "", ""


class TraceJob:
    def __init__(self, line, row):
        self.row = row
        self.pods = int(row.get("pods") or 1)
        names = {"cpu": "cpu", "memory": "memory", "gpu": "nvidia.com/gpu"}
        self.requests = {name: row[column] for column, name in names.items() if row.get(column)}
        self.name = f"{STEMS[line * 7 % len(STEMS)]}-{row.get('user') or 'job'}-{line}"
        self.uid = str(uuid.uuid5(uuid.NAMESPACE_OID, str(line)))
        self.namespace = self.local_queue = self.cluster_queue = ""
        self.flavors, self.turns = [], []

    @property
    def state(self):
        """Of the last turn that is known: waiting, running or ended."""
        last = self.turns[-1]
        return "waiting" if last.started is None else "running" if last.ended is None else "ended"


def play(berth, workload, queues, folder):
    """The jobs of a CSV file, by line, with the turns that they had."""
    events = os.path.join(folder, "events")
    subprocess.run([berth, "simulate", "-f", queues, "--workload", workload, "--events", events, "-o", "json"], check=True, stdout=subprocess.DEVNULL)
    with open(workload, encoding="utf-8") as file:
        jobs = {line: TraceJob(line, row) for line, row in enumerate(csv.DictReader(file), 2)}
    with open(events, encoding="utf-8") as file:
        for event in map(json.loads, file):
            job, at = jobs[event["line"]], event["seconds"]
            job.namespace, job.local_queue = event["localQueue"].split("/")
            job.cluster_queue = event["clusterQueue"]
            if event["event"] == "submitted":
                job.turns.append(Turn(at))
            elif event["event"] == "started":
                job.turns[-1].started = at
                job.flavors = event["flavors"]
            else:
                turn = job.turns[-1]
                is_preemption = event["event"] == "preempted"
                turn.ended, turn.outcome = at, "Preempted" if is_preemption else "Failed" if event.get("failed") else "Succeeded"
                if is_preemption:
                    turn.preemptor = jobs[event["preemptor"]].uid if "preemptor" in event else ""
                    job.turns.append(Turn(at))
    return jobs


def rows_of(path, table):
    """The number of rows in a table of a SQLite file that a program may have open."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


class TraceDay:
    def __init__(self, jobs, at, now=None):
        """`at`: the second of the trace that is shown; `now`: seconds since 1970 at that instant."""
        self.at = at
        self.shift = (time.time() if now is None else now) - at
        self.jobs = [job for job in jobs.values() if job.turns and job.turns[0].queued <= at]
        for job in self.jobs:
            job.turns = [self.seen(turn) for turn in job.turns if turn.queued <= at]

    def seen(self, turn):
        """The turn as it is known at the instant."""
        if turn.started is not None and turn.started > self.at:
            turn.started = None
        if turn.ended is not None and turn.ended > self.at:
            turn.ended, turn.outcome, turn.preemptor = None, "", ""
        return turn

    def stamp(self, at):
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at + self.shift))

    def second(self, at):
        return None if at is None else int(at + self.shift)

    # The cluster ----------------------------------------------------------------------------------
    def condition(self, kind, at, reason, status="True", message=""):
        return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": self.stamp(at), "observedGeneration": 1}

    def status(self, job):
        last = job.turns[-1]
        if last.started is None:
            if len(job.turns) == 1:
                return {}
            at = last.queued
            return {"conditions": [self.condition("QuotaReserved", at, "Pending", "False"), self.condition("Admitted", at, "NoReservation", "False"),
                                   self.condition("Evicted", at, "Preempted"), self.condition("Preempted", at, "InCohortReclamation"),
                                   self.condition("Requeued", at, "Preempted")]}
        used = {name: str(int(amount) * job.pods) for name, amount in job.requests.items()}
        conditions = [self.condition("QuotaReserved", last.started, "QuotaReserved"), self.condition("Admitted", last.started, "Admitted")]
        if last.started + READY_SECONDS < (self.at if last.ended is None else last.ended):
            conditions.append(self.condition("PodsReady", last.started + READY_SECONDS, "Started"))
        if last.ended is not None:
            conditions.append(self.condition("Finished", last.ended, last.outcome))
        assignment = {"name": "main", "count": job.pods, "flavors": {name: job.flavors[0] for name in job.requests}, "resourceUsage": used}
        return {"admission": {"clusterQueue": job.cluster_queue, "podSetAssignments": [assignment]}, "conditions": conditions}

    def workload(self, job):
        container = {"name": "main", "image": "example.com/train:1", "resources": {"requests": job.requests}}
        pods = {"name": "main", "count": job.pods, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}
        return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
                "metadata": {"name": job.name, "namespace": job.namespace, "uid": job.uid, "generation": 1, "creationTimestamp": self.stamp(job.turns[0].queued),
                             "annotations": {"berth.dev/user": job.row.get("user", "")}},
                "spec": {"queueName": job.local_queue, "priority": 0, "active": True, "podSets": [pods]}, "status": self.status(job)}

    def present(self):
        """The jobs whose Workloads exist."""
        return [job for job in self.jobs if job.turns[-1].ended is None or job.turns[-1].ended > self.at - FINISHED_SECONDS]

    def fill_cluster(self, path):
        """Adds the Workloads to the database of a `berth up` that does not run."""
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            revision = int(database.execute("SELECT value FROM meta WHERE key='revision'").fetchone()[0])
            for job in self.present():
                revision += 1
                body = self.workload(job)
                database.execute("INSERT INTO object VALUES(?,?,?,?,?,?,?)", ("workloads.kueue.x-k8s.io", job.namespace, job.name, revision,
                                                                              body["apiVersion"], body["kind"], json.dumps(body)))
            # The log of changes does not have these objects: watches start again.
            database.execute("DELETE FROM change")
            database.execute("UPDATE meta SET value=? WHERE key IN ('revision', 'log_floor')", (revision,))

    # The ledger -----------------------------------------------------------------------------------
    def attempt(self, job, number, turn):
        started = None if turn.started is None else turn.started + READY_SECONDS
        if started is not None and turn.ended is not None and started > turn.ended:
            started = None
        return {"uid": job.uid, "attempt": number, "namespace": job.namespace, "name": job.name, "owner_kind": "Job", "owner_name": job.name,
                "local_queue": job.local_queue, "cluster_queue": job.cluster_queue, "priority": 0, "labels": f"team={job.namespace}",
                "created": self.second(job.turns[0].queued), "queued": self.second(turn.queued), "reserved": self.second(turn.started),
                "admitted": self.second(turn.started), "started": self.second(started), "ended": self.second(turn.ended), "outcome": turn.outcome,
                "reason": "InCohortReclamation" if turn.outcome == "Preempted" else turn.outcome, "message": "", "preemptor": turn.preemptor,
                "user": job.row.get("user", ""), "hourly_nano": None, "image": "example.com/train:1", "declared": None, "checkpoint": None}

    def fill_ledger(self, path):
        """Adds all attempts to a ledger that no program has open."""
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            for job in self.jobs:
                for number, turn in enumerate(job.turns, 1):
                    row = self.attempt(job, number, turn)
                    database.execute(f"INSERT INTO attempt({','.join(row)}) VALUES({','.join('?' * len(row))})", list(row.values()))
                    flavor = job.flavors[0] if turn.started is not None else ""
                    uses = {name: int(amount) * job.pods * (1000 if name == "cpu" else 1) for name, amount in job.requests.items()}
                    if "nvidia.com/gpu" in uses:
                        uses["berth.dev/gpus"] = uses["nvidia.com/gpu"] * 1_000_000  # millionths
                    database.executemany("INSERT INTO resource VALUES(?,?,?,?,?)", [(job.uid, number, flavor, name, amount) for name, amount in uses.items()])
                    database.execute("INSERT INTO wait VALUES(?,?,?,?)", (job.uid, number, self.second(turn.queued), "WaitingForQuota"))
            database.execute("UPDATE meta SET value=? WHERE key='last_write'", (self.second(self.at),))
            # The queues have had their quota all the time.
            database.execute("UPDATE quota SET since=?", (self.second(0),))

    def counts(self):
        found = collections.Counter(job.state for job in self.present())
        return f"{found['waiting']} wait, {found['running']} run, {found['ended']} have ended; the ledger has {sum(len(job.turns) for job in self.jobs)} attempts"
