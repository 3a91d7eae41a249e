"""What the events of `berth simulate --events` say of a day: waits of clusters, GPUs of nodes and GPUs in use.

    day = Day.read(path, {line: gpus of a job})

Times are seconds from the first submission. Only the standard library."""

import json

GPUS_PER_NODE = 2
REGISTERS = 45  # seconds from the order of a node to its registration: it boots on, and is charged
STANDS = 3600  # a job that runs for longer than these seconds is no cluster


class Day:
    def __init__(self):
        self.submitted = {}  # by line of the workload
        self.started = {}  # first start
        self.runs = []  # (line, start, end)
        self.nodes = []  # (registered, gone)

    @classmethod
    def read(cls, path):
        day = cls()
        running, registered = {}, {}
        with open(path, encoding="utf-8") as file:
            for text in file:
                event = json.loads(text)
                at, kind, line = event["seconds"], event["event"], event.get("line")
                if kind == "submitted":
                    day.submitted.setdefault(line, at)
                elif kind == "started":
                    day.started.setdefault(line, at)
                    running[line] = at
                elif kind in ("finished", "preempted", "lost") and line in running:
                    day.runs.append((line, running.pop(line), at))
                elif kind == "nodeMade":
                    registered[event["node"]] = at + REGISTERS
                elif kind == "nodeReady":  # nodes that always stand are ready at once
                    registered[event["node"]] = min(at, registered.get(event["node"], at))
                elif kind == "nodeGone" and event["node"] in registered:
                    day.nodes.append((min(registered[event["node"]], at), at))
                    del registered[event["node"]]
        return day

    def clusters(self):
        standing = {line for line, start, end in self.runs if end - start > STANDS}
        return [line for line in self.submitted if line not in standing]

    def waits(self):
        """Of the clusters that have started."""
        return sorted(self.started[line] - self.submitted[line] for line in self.clusters() if line in self.started)

    def charged_hours(self):
        end = max(stop for _, _, stop in self.runs)
        return GPUS_PER_NODE * sum(max(0, min(gone, end) - since) for since, gone in self.nodes) / 3600

    def run_of(self, line):
        return next((end - start for each, start, end in self.runs if each == line), None)


def percentile(values, share):
    """By nearest rank; `values` rise."""
    return values[max(0, -int(-share * len(values) // 1) - 1)] if values else 0


def steps(spans, end, count):
    """Means over `count` equal steps until `end` of the sum of (start, end, value)."""
    width = end / count
    sums = [0.0] * count
    for start, stop, value in spans:
        first, last = max(0, int(start / width)), min(count - 1, int(stop / width))
        for at in range(first, last + 1):
            sums[at] += value * max(0.0, min(stop, (at + 1) * width) - max(start, at * width)) / width
    return sums
