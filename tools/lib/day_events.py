"""What the events of `berth simulate --events` say of a day: waits of clusters, GPUs of nodes and GPUs in use.

    day = Day.read(path, {line: gpus of a job})

Times are seconds from the first submission. Only the standard library."""

import json

GPUS_PER_NODE = 2


class Day:
    def __init__(self):
        self.submitted = {}  # by line of the workload
        self.started = {}  # first start
        self.runs = []  # (line, start, end)
        self.nodes = []  # (ready, gone)

    @classmethod
    def read(cls, path):
        day = cls()
        running, ready = {}, {}
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
                elif kind == "nodeReady":
                    ready[event["node"]] = at
                elif kind == "nodeGone" and event["node"] in ready:
                    day.nodes.append((ready.pop(event["node"]), at))
        return day

    def waits(self, lines=None):
        return sorted(self.started[line] - self.submitted[line] for line in self.started if lines is None or line in lines)

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
