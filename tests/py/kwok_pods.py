"""Pods that wait for a write of kwok or of kube-scheduler.

kwok 0.8 does not repeat a write that the API server answers with 500 or cuts, and kube-scheduler repeats a lost
binding after minutes. Both programs look again at a pod that has changed."""

import datetime
import re

LATE = 5  # seconds
DURATIONS = ("test.berth.dev/run-for", "pod-complete.stage.kwok.x-k8s.io/delay")  # annotations, as in stages.yaml
UNITS = {"h": 3600, "m": 60, "s": 1, "ms": 0.001}


def seconds_of(duration):
    """Of a duration of Go, such as 1m30s."""
    return sum(float(number) * UNITS[unit] for number, unit in re.findall(r"([\d.]+)(ms|h|m|s)", duration))


def age(timestamp, now):
    return (now - datetime.datetime.fromisoformat(timestamp)).total_seconds()


def is_overdue(pod, now):
    """Whether the next stage of tests/py/stages.yaml is late. Gated pods wait for Berth, never for kwok."""
    meta, status = pod["metadata"], pod.get("status", {})
    if "deletionTimestamp" in meta:
        return age(meta["deletionTimestamp"], now) > LATE
    if status.get("phase") == "Pending":
        return "schedulingGates" not in pod["spec"] and age(meta["creationTimestamp"], now) > LATE
    if status.get("phase") == "Running" and "startTime" in status:
        if not any(owner["kind"] == "Job" for owner in meta.get("ownerReferences", [])):
            return False
        annotations = meta.get("annotations", {})
        runs = next((annotations[name] for name in DURATIONS if name in annotations), "1s")
        return age(status["startTime"], now) > seconds_of(runs) + LATE
    return False
