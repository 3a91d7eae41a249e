#!/usr/bin/env python3
"""Makes the files of this folder: reduce.py RECORDING.json.gz… writes each as NAME.json.gz beside itself.

A recording is a `List` of all objects of a cluster on which Kueue was at work (Kueue at commit ff69552e79,
Kubernetes 1.36.3, kwok nodes; frameworks batch/job, pod, deployment, statefulset). The reduced
copy lacks what every control plane makes by itself (Namespaces, PriorityClasses) and the
resourceVersions; everything else is as recorded: uids, owners, status, managedFields."""

import gzip
import json
import os
import sys

LEFT_OUT = ("Namespace", "PriorityClass")


def reduced(recording):
    items = [item for item in recording["items"] if item["kind"] not in LEFT_OUT]
    for item in items:
        item["metadata"].pop("resourceVersion", None)
    return {"apiVersion": "v1", "kind": "List", "items": items}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for path in sys.argv[1:]:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            text = json.dumps(reduced(json.load(file)), separators=(",", ":"), sort_keys=True)
        name = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.path.basename(path))
        with open(name, "wb") as file:
            file.write(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
