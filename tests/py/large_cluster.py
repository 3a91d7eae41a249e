"""Answers of /api/v1 for a cluster of 1,000 ClusterQueues, 100,000 waiting Workloads, 2,000 nodes and 5,000 requests for
capacity, in the forms of the read API's document; FakeReadApi serves them."""

WORKLOADS = 100_000
QUEUES = 1_000
NODES = 2_000
REQUESTS = 5_000
CREATED = "2026-11-20T07:00:00Z"
GPU = "nvidia.com/gpu"
COHORTS = 40
GANGS = 50
# Each view of the page, and a text that stands there when the view has its data.
VIEWS = {"/": "100,000", "/workloads": "team-0/job-0", "/workloads/team-0/job-0": "Its turns", "/queues/queue-7": "Waiting, next first",
         "/capacity": f"8 {GPU} of flavor-11", "/topology": "team-0/gang-49", "/reports?by=clusterqueue": "Show all 1,000 lines"}


def workload(number):
    space = f"team-{number % 50}"
    return {"id": f"{space}/job-{number}", "namespace": space, "workload": f"job-{number}", "name": f"job-{number}", "kind": "Job",
            "localQueue": "q", "clusterQueue": f"queue-{number % QUEUES}", "priority": 0, "state": "waiting", "cause": "quota",
            "createdAt": CREATED, "waitingSince": CREATED, "turn": number, "eta": None, "requests": [],
            "remark": "quota: nvidia.com/gpu in flavor t4: needs 4, 0 free of 8", "reason": None, "notPreempted": None}


def cluster_queue(number):
    use = {"resource": GPU, "unit": "items", "used": 8, "nominal": 8, "borrowed": 0, "lent": 0}
    return {"id": f"queue-{number}", "name": f"queue-{number}", "cohort": f"cohort-{number % COHORTS}", "parents": ["company"], "waiting": 100,
            "running": 2, "strategy": "BestEffortFIFO", "stopPolicy": "None", "inactive": "", "weightedShare": None, "fairWeightBillionths": 10**9,
            "resources": [use], "flavors": [quota(8, used=8)]}


def quota(nominal, **more):
    return {"flavor": "t4", "resource": GPU, "unit": "items", "nominal": nominal, "borrowingLimit": None, "lendingLimit": 4, **more}


def cohort(number):
    """The last one is above the others."""
    is_root = number == COHORTS
    use = {"resource": GPU, "unit": "items", "used": 8_000 if is_root else 200, "nominal": 8_000 if is_root else 200, "borrowed": 0, "lent": 0}
    name = "company" if is_root else f"cohort-{number}"
    return {"id": name, "name": name, "parents": [] if is_root else ["company"], "fairWeightBillionths": 10**9, "weightedShare": None, "resources": [use],
            "flavors": [quota(0)] if is_root else []}


def capacity_request(number):
    space = f"team-{number % 50}"
    return {"id": f"{space}/request-{number}", "namespace": space, "name": f"request-{number}", "class": f"class-{number % 12}",
            "state": ("Accepted", "Provisioned", "Failed")[number % 3], "createdAt": CREATED, "workload": f"job-{number}", "message": "it waits"}


def parts_of(count):
    return [{"from": f"2026-11-{13 + i // 4}T{6 * (i % 4):02}:00:00Z", "to": f"2026-11-{13 + (i + 1) // 4}T{6 * ((i + 1) % 4):02}:00:00Z"} for i in range(count)]


def story():
    steps = [{"name": name, "state": state, "since": CREATED, "lines": ["a line"]} for name, state in
             (("queued", "done"), ("quota", "now"), ("capacity", "ahead"), ("running", "ahead"))]
    return {"subject": "job/job-0", "headline": "waits", "steps": steps, "wouldStartIf": ["4 of nvidia.com/gpu were free in queue-0"], "notSeen": [], "givesUp": ""}


def turns():
    turn = {"namespace": "team-0", "workload": "job-0", "uid": "uid-0", "job": "job/job-0", "localQueue": "q", "clusterQueue": "queue-0", "priority": 0,
            "labels": "", "user": "", "usdPerHour": None, "created": CREATED, "queued": CREATED, "quotaReserved": CREATED, "admitted": CREATED,
            "podsReady": None, "ended": CREATED, "outcome": "Preempted", "reason": "InCohortReclamation", "message": "", "preemptor": "",
            "waits": [{"cause": "WaitingForQuota", "from": CREATED, "seconds": 60}], "resources": [{"resource": GPU, "flavor": "t4", "amount": 8, "unit": "items"}],
            "destroyedHours": {GPU: 2.5}}
    request = {"namespace": "team-0", "name": "request-0", "uid": "uid-r", "class": "class-0", "workload": "job-0", "created": CREATED, "provisioned": CREATED,
               "ended": None, "outcome": "", "reason": "", "message": ""}
    node = {"node": "node-0", "pool": "pool-0", "class": "class-0", "namespace": "team-0", "workload": "job-0", "from": CREATED, "until": CREATED, "seconds": 60,
            "gpus": 8, "usdPerHour": 2.5, "stands": False}
    return {"attempts": [{**turn, "attempt": i + 1} for i in range(200)], "capacityRequests": [request], "nodes": [node]}


def cohort_history(query):
    used = [{"resource": GPU, "unit": "items", "amount": 8}]
    return {"cohort": query["cohort"], "times": parts_of(24),
            "queues": [{"clusterQueue": f"queue-{i}", "parts": [{"used": used}] * 24} for i in range(256)]}


def queue_history(query):
    used = [{"resource": GPU, "unit": "items", "amount": 8}]
    return {"clusterQueue": query["clusterQueue"], "parts": [{**part, "admitted": 5, "preempted": 1, "p50WaitSeconds": 60, "p90WaitSeconds": 600, "used": used, "quota": used}
                                                             for part in parts_of(24)]}


def states():
    amounts = [{"resource": GPU, "unit": "items", "amount": 8_000}]
    parts = [{"waiting": {"quota": 100_000.5}, "reserved": 0, "running": 2_000, "used": amounts, "quota": amounts}] * 24
    return {"times": parts_of(24), "parts": parts}


def capacity():
    pools = [{"name": f"pool-{i}", "machineType": "a2-highgpu-8g", "nodes": 40, "maxNodes": 64, "stock": i % 5, "totalStock": 40 + i % 5, "stockByZone": []} for i in range(50)]
    stock = [{"class": f"class-{i % 12}", "flavor": f"flavor-{i}", "zone": "", "shape": "8 gpu", "leastPods": 1, "askedInADay": 40, "grantedInADay": 12,
              "medianWaitSeconds": 3_000, "restsUntil": None, "failuresInARow": 0, "reason": None} for i in range(100)]
    cost = [{"localQueue": f"team-{i % 50}/q-{i}", "nodes": 2, "usdPerHour": "5.00", "nodeSeconds": 7_200, "usd": "10.00", "nodesWithoutPrice": 0} for i in range(QUEUES)]
    prices = [{"flavor": f"flavor-{i}", "usdPerHour": "2.5"} for i in range(100)]
    return {"time": CREATED, "requests": [], "nodePools": pools, "stock": stock, "cost": cost, "prices": prices,
            "machines": [{"resource": GPU, "unit": "items", "ready": 39_000, "all": 40_000}], "hidden": [], "narrowed": []}


def capacity_history():
    counts = {"asked": 9, "provisioned": 7, "failed": 1, "stockouts": 1, "open": 3, "p50WaitSeconds": 900, "p90WaitSeconds": 9_000}
    times = parts_of(28)
    hours = [{"answered": 9, "provisioned": hour % 10, "stockouts": 9 - hour % 10} for hour in range(24)]
    lines = [{"key": f"class-{i}", "parts": [counts] * len(times), "hours": hours} for i in range(12)]
    prices = [{"flavor": f"flavor-{i}", "since": CREATED, "usdPerHour": 2.5} for i in range(100)]
    return {"times": times, "classes": lines, "shapes": [{**line, "key": f"8 {GPU} of flavor-{i}"} for i, line in enumerate(lines)],
            "pools": [{"pool": f"pool-{i}", "parts": [{"standing": 38, "ready": 40, "booting": 1, "idle": 2, "costUsd": 900} for _ in times]} for i in range(12)], "prices": prices, "linesLeftOut": 38}


def topology():
    nodes = [{"name": f"node-{i}", "ready": i % 97 != 0, "schedulable": True, "pool": f"pool-{i // 40}", "topology": "racks",
              "domain": [f"block-{i // 400}", f"rack-{i // 20}", f"node-{i}"], "resources": [{"resource": GPU, "unit": "items", "allocatable": 8, "used": i % 9}],
              "workloads": [{"id": f"team-0/job-{i}", "name": f"team-0/job-{i}", "pods": 1}], "others": 3} for i in range(NODES)]
    levels = ["example.com/block", "example.com/rack", "kubernetes.io/hostname"]
    free = {"resource": GPU, "unit": "items", "free": 900, "onWholeNodes": 100, "largest": [{"level": "example.com/rack", "amount": 64}]}
    gangs = [{"id": f"team-0/job-{i}", "name": f"team-0/gang-{i}", "podSet": "main", "pods": 64, "level": "example.com/rack", "mode": "required", "fits": False,
              "domains": [{"topology": "racks", "domain": ["block-0", "rack-1"], "pods": 20}], "cause": "quota", "remark": "quota: nvidia.com/gpu"} for i in range(GANGS)]
    return {"time": CREATED, "hidden": [], "nodesLeftOut": 0, "gangsLeftOut": 150, "topologies": [{"name": "racks", "levels": levels, "free": [free]}], "nodes": nodes, "gangs": gangs}


def report(query):
    lines = [{"key": f"queue-{i}", "workloads": 100, "attempts": 120, "outcomes": {"Succeeded": 100}, "waits": 90, "waitedHours": 1_000.5, "waitedHoursByResource": {GPU: 8_004}, "usedHours": {GPU: 900.25, "cpu": 4_000},
              "destroyedHours": {GPU: 3}, "stops": {"measured": 12, "unmeasured": 1, "claimedHours": 6, "lostHours": 20.5},
              "chargedHours": {"nodes": 120, "berth.dev/gpus": 960}, "costUsd": 1_234.5, "measuredUsd": 1_000, "unpriced": 0}
             for i in range(QUEUES)]
    return {"by": query.get("by", "clusterqueue"), "from": "2026-11-13T07:00:00Z", "to": CREATED, "lines": lines}


def report_history(query):
    part = {"waitedHours": 40.5, "usedHours": {GPU: 32.25, "cpu": 140}, "destroyedHours": {GPU: 1}, "chargedHours": {"nodes": 5}, "costUsd": 44.5}
    return {"by": query.get("by", "clusterqueue"), "times": parts_of(28), "lines": [{"key": f"queue-{i}", "parts": [part] * 28} for i in range(12)],
            "others": [part] * 28, "otherLines": QUEUES - 12}


def answer(path, query):
    """The answer to what is no list of rows; None: there is none."""
    if path.startswith("workloads/"):
        parts = path.split("/")
        if parts[-1] == "cost":
            return {"cost": {"usdPerHour": "5.00", "usd": "10.00", "measured": True}, "hidden": []}
        if parts[-1] == "objects":
            return {"objects": [{"kind": "Workload", "name": parts[2], "yaml": f"kind: Workload\nmetadata:\n  name: {parts[2]}\n"}],
                    "events": [{"time": CREATED, "kind": "Job", "name": parts[2], "type": "Normal", "reason": "Started", "message": "Admitted", "count": 2}] * 100,
                    "eventsLeftOut": 3, "hidden": ["manifests"]}
        if parts[-1] == "log":
            return {"pod": "job-0-0", "container": "main", "containers": ["main", "side"], "text": "a line\n" * 500, "cut": True}
        if parts[-1] == "history":
            return turns()
        hits = {"since": CREATED, "byP10": 1, "byP50": 4, "byP90": 4, "later": 1}
        number = int(parts[2].rpartition("-")[2])
        pods = [{"name": f"job-{number}-{i}", "phase": "Running", "node": f"node-{i}"} for i in range(1_000)]
        return {"workload": workload(number), "before": number, "story": story(), "pods": pods, "podsLeftOut": 24, "forecasts": hits}
    of_query = {"history": queue_history, "history/cohort": cohort_history, "reports": report, "reports/history": report_history}.get(path)
    if of_query:
        return of_query(query)
    made = {"capacity": capacity, "capacity/history": capacity_history, "history/workloads": states, "topology": topology}.get(path)
    return made() if made else None
