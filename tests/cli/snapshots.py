"""A small cluster at one moment, as `kubectl get -o json` lists it: for tests of `berth eta` and `berth what-if`.

One ClusterQueue "team" of 8 GPUs. Twenty runs of train-N took ten minutes each. train-100 has run on all GPUs for four
minutes; train-101 and train-102 wait for all GPUs, big for more than there are, and small for one."""

import json
import os
import random

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
VERSION = "kueue.x-k8s.io/v1beta2"
GPU = "nvidia.com/gpu"


def time(seconds):
    return f"2026-11-23T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}Z"


NOW = 12 * 3600


def condition(kind, seconds, reason, status="True"):
    return {"type": kind, "status": status, "reason": reason, "message": "", "lastTransitionTime": time(seconds)}


def workload(name, gpus, created, priority=0, maximum=None):
    spec = {"queueName": "main", "priority": priority, "active": True, "podSets": [{
        "name": "main", "count": 1, "template": {"spec": {"restartPolicy": "Never", "containers": [
            {"name": "c", "image": "model:1", "resources": {"requests": {GPU: str(gpus)}}}]}}}]}
    if maximum:
        spec["maximumExecutionTimeSeconds"] = maximum
    return {"apiVersion": VERSION, "kind": "Workload", "spec": spec, "status": {}, "metadata": {
        "name": f"job-{name}", "namespace": "default", "uid": f"uid-{name}", "generation": 1,
        "creationTimestamp": time(created), "ownerReferences": [
            {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": f"job-uid-{name}", "controller": True}]}}


def admitted(name, gpus, start, ended=None):
    made = workload(name, gpus, start)
    made["status"] = {
        "admission": {"clusterQueue": "team", "podSetAssignments": [
            {"name": "main", "count": 1, "flavors": {GPU: "gpu"}, "resourceUsage": {GPU: str(gpus)}}]},
        "conditions": [condition("QuotaReserved", start, "QuotaReserved"), condition("Admitted", start, "Admitted")]}
    if ended is not None:
        made["status"]["conditions"].append(condition("Finished", ended, "Succeeded"))
    return made


def objects():
    yield {"apiVersion": VERSION, "kind": "ResourceFlavor", "metadata": {"name": "gpu"}}
    yield {"apiVersion": VERSION, "kind": "ClusterQueue", "metadata": {"name": "team"}, "spec": {
        "namespaceSelector": {}, "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [{"coveredResources": [GPU], "flavors": [
            {"name": "gpu", "resources": [{"name": GPU, "nominalQuota": "8"}]}]}]}}
    yield {"apiVersion": VERSION, "kind": "LocalQueue", "metadata": {"name": "main", "namespace": "default"},
           "spec": {"clusterQueue": "team"}}
    for number in range(20):
        yield admitted(f"train-{number}", 8, number * 600, (number + 1) * 600)
    yield admitted("train-100", 8, NOW - 240)
    yield workload("train-101", 8, NOW - 200)
    yield workload("train-102", 8, NOW - 100)
    yield workload("big", 16, NOW - 150)
    yield workload("small", 1, NOW)


def crowd():
    """The same queue with three of its kind in one cohort, and with hundreds of jobs that have finished, and dozens that
    run and wait; some were made and ended at one time."""
    queue = {each["kind"]: each for each in objects() if each["kind"] in ("ClusterQueue", "LocalQueue")}
    yield next(each for each in objects() if each["kind"] == "ResourceFlavor")
    for number in range(3):
        made = json.loads(json.dumps(queue))
        made["ClusterQueue"]["metadata"]["name"] = f"team-{number}"
        made["ClusterQueue"]["spec"]["cohortName"] = "all"
        made["LocalQueue"]["metadata"]["name"] = f"main-{number}"
        made["LocalQueue"]["spec"]["clusterQueue"] = f"team-{number}"
        yield from made.values()

    def of(number, each):
        each["spec"]["queueName"] = f"main-{number % 3}"
        if "admission" in each["status"]:
            each["status"]["admission"]["clusterQueue"] = f"team-{number % 3}"
        return each

    for number in range(700):  # more of a queue than are kept
        start = number // 40 * 900
        yield of(number, admitted(f"ended{number}x", 1 + number % 4, start, start + 300 + number % 7 * 200))
    for number in range(12):
        yield of(number, admitted(f"runs-{number}", 2, NOW - 100 * (number // 2)))
    for number in range(40):
        yield of(number, workload(f"waits-{number}", 1 + number % 5, NOW - 50 * (number // 3), number % 2, 900 if number % 3 else None))


def shuffled(items, seed, folder):
    """Writes the objects as lists in three files, in an order of the seed."""
    rng, items = random.Random(seed), list(items)
    rng.shuffle(items)
    paths = []
    for number in range(3):
        paths.append(os.path.join(folder, f"{rng.randrange(1000)}-{seed}-{number}.json"))
        write(paths[-1], items[number::3])
    rng.shuffle(paths)
    return paths


def is_finished(each):
    return any(one["type"] == "Finished" for one in each.get("status", {}).get("conditions", []))


PLURALS = {"ResourceFlavor": "resourceflavors", "ClusterQueue": "clusterqueues", "LocalQueue": "localqueues",
           "Workload": "workloads"}


def write(path, items=None):
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"apiVersion": "v1", "kind": "List", "items": list(items or objects())}, file)


def serve(api, among=None):
    for each in among or objects():
        namespace = each["metadata"].get("namespace")
        folder = f"{KUEUE}/namespaces/{namespace}" if namespace else KUEUE
        api.add(f"{folder}/{PLURALS[each['kind']]}", each)
