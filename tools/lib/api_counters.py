"""What the API server counted, and what programs used: for tools/bench-cluster."""

import os
import re


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_megabytes(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1)) / 1024


def counted(plane, metric, number=lambda text: int(float(text))):
    """The labels and the value of each series of a counter of the API server."""
    text = plane.kubectl("get", "--raw", "/metrics").stdout
    for labels, value in re.findall(rf"^{metric}{{(.*)}} (\S+)$", text, re.MULTILINE):
        yield dict(re.findall(r'(\w+)="([^"]*)"', labels)), number(value)


def request_name(label):
    """"APPLY workloads/status"."""
    subresource = label["subresource"]
    return f"{label['verb']} {label['resource']}" + (f"/{subresource}" if subresource else "")


def writes(plane):
    """(verb, resource) -> how many requests."""
    found = {}
    for label, value in counted(plane, "apiserver_request_total"):
        if label["verb"] not in ("WATCH", "LIST", "GET"):
            key = request_name(label)
            found[key] = found.get(key, 0) + value
    return found


def request_seconds(plane):
    """(verb, resource) -> the seconds that the API server took for all requests."""
    found = {}
    for label, value in counted(plane, "apiserver_request_duration_seconds_sum", float):
        key = request_name(label)
        found[key] = found.get(key, 0) + value
    return found


def webhook_calls(plane):
    found = {}
    for label, value in counted(plane, "apiserver_admission_webhook_admission_duration_seconds_count"):
        found[label["name"]] = found.get(label["name"], 0) + value
    for label, value in counted(plane, "apiserver_crd_conversion_webhook_duration_seconds_count"):
        key = "conversion of " + label["crd_name"]
        found[key] = found.get(key, 0) + value
    return found


def growth(after, before):
    return {key: after[key] - before.get(key, 0) for key in sorted(after)
            if after[key] > before.get(key, 0)}
