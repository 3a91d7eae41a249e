"""A client of the read API of Berth, /api/v1. Made by tools/read-api-clients: do not edit.

    api = ReadApi("https://localhost:8090", token, ssl.create_default_context(cafile="ca.crt"))
    for row in api.rows(api.list_workloads, state=["waiting"], sort="waitingSince"): ...

Python 3.11 or later, the standard library alone. A ReadApi may be used by several threads. Errors: Problem, OSError."""

import http.client
import json
import ssl
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any, NotRequired, TypedDict


class Problem(Exception):
    """An answer other than 2xx."""

    def __init__(self, status: int, message: str):
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message


Action = TypedDict("Action", { "action": "str", "clusterQueue": "NotRequired[str]", "drain": "NotRequired[bool]",
    "localQueue": "NotRequired[str]", "nodePool": "NotRequired[str]", "priority": "NotRequired[int]",
    "stock": "NotRequired[int | None]", "workload": "NotRequired[str]", "zone": "NotRequired[str]", })
Advice = TypedDict("Advice", { "class": "str", "reason": "str", "remedy": "str", "who": "str", })
Amount = TypedDict("Amount", { "amount": "int", "resource": "str", "unit": "str", })
AskedPool = TypedDict("AskedPool", { "maxNodes": "int | None", "name": "str", "nodes": "int", "stock": "int | None",
    })
Assigned = TypedDict("Assigned", { "amount": "int", "flavor": "str", "podSet": "str", "resource": "str",
    "unit": "str", })
Capacity = TypedDict("Capacity", { "cost": "list[QueueCost]", "hidden": "list[str]",
    "karpenterNodePools": "NotRequired[list[KarpenterPool]]", "machines": "NotRequired[list[Machines]]",
    "narrowed": "list[str]", "nodePools": "list[CapacityPool]", "pendingPods": "NotRequired[list[PendingPods]]",
    "prices": "list[Price]", "requests": "list[OpenRequest]", "stock": "list[Stock]", "time": "str", })
CapacityAsked = TypedDict("CapacityAsked", { "advice": "NotRequired[Advice]", "class": "str",
    "nodePool": "NotRequired[AskedPool]", "policyStep": "NotRequired[str]", "provisioningRequest": "str", })
CapacityCounts = TypedDict("CapacityCounts", { "asked": "int", "failed": "int", "open": "int",
    "p50WaitSeconds": "int | None", "p90WaitSeconds": "int | None", "provisioned": "int", "stockouts": "int", })
CapacityHistory = TypedDict("CapacityHistory", { "classes": "list[CapacityLine]", "linesLeftOut": "int",
    "pools": "list[PoolLine]", "prices": "list[PriceSince]", "shapes": "list[CapacityLine]",
    "times": "list[HistoryTime]", })
CapacityLine = TypedDict("CapacityLine", { "hours": "list[HourCounts]", "key": "str",
    "parts": "list[CapacityCounts]", })
CapacityPool = TypedDict("CapacityPool", { "machineType": "str", "maxNodes": "int | None", "name": "str",
    "nodes": "int", "stock": "int | None", "stockByZone": "list[ZoneStock]", "totalStock": "int | None", })
CapacityTried = TypedDict("CapacityTried", { "advice": "Advice", "at": "str", "step": "str", })
Capacityrequests = TypedDict("Capacityrequests", { "class": "NotRequired[str]", "createdAt": "NotRequired[str]",
    "id": "str", "message": "NotRequired[str]", "name": "NotRequired[str]", "namespace": "NotRequired[str]",
    "state": "NotRequired[str]", "stateSince": "NotRequired[str | None]", "workload": "NotRequired[str]", })
CapacityrequestsPage = TypedDict("CapacityrequestsPage", { "counts": "NotRequired[list[Count]]",
    "items": "list[Capacityrequests]", "next": "NotRequired[str]", "revision": "str", })
CohortHistory = TypedDict("CohortHistory", { "cohort": "str", "queues": "list[CohortQueue]",
    "times": "list[HistoryTime]", })
CohortPart = TypedDict("CohortPart", { "used": "list[Amount]", })
CohortQueue = TypedDict("CohortQueue", { "clusterQueue": "str", "parts": "list[CohortPart]", })
Cohorts = TypedDict("Cohorts", { "fairWeightBillionths": "NotRequired[int | None]",
    "flavors": "NotRequired[list[Quota]]", "id": "str", "name": "NotRequired[str]",
    "parents": "NotRequired[list[str]]", "resources": "NotRequired[list[Use]]",
    "weightedShare": "NotRequired[int | None]", })
CohortsPage = TypedDict("CohortsPage", { "counts": "NotRequired[list[Count]]", "items": "list[Cohorts]",
    "next": "NotRequired[str]", "revision": "str", })
CostAnswer = TypedDict("CostAnswer", { "cost": "Money | None", "hidden": "list[str]", })
Count = TypedDict("Count", { "count": "int", "value": "str", })
Done = TypedDict("Done", { "done": "str", })
Forecast = TypedDict("Forecast", { "at": "str", "p10": "str | None", "p50": "str | None", "p90": "str | None", })
ForecastHits = TypedDict("ForecastHits", { "byP10": "int", "byP50": "int", "byP90": "int", "later": "int",
    "since": "str", })
Free = TypedDict("Free", { "free": "int", "largest": "list[LevelRoom]", "onWholeNodes": "int", "resource": "str",
    "unit": "str", })
Gang = TypedDict("Gang", { "cause": "str", "domains": "list[Room]", "fits": "bool", "id": "str", "level": "str",
    "mode": "str", "name": "str", "podSet": "str", "pods": "int", "remark": "str", })
HeldAmount = TypedDict("HeldAmount", { "amount": "int", "flavor": "str", "resource": "str", "unit": "str", })
HistoryPart = TypedDict("HistoryPart", { "admitted": "int", "from": "str", "p50WaitSeconds": "int | None",
    "p90WaitSeconds": "int | None", "preempted": "int", "quota": "list[Amount]", "to": "str", "used": "list[Amount]",
    })
HistoryTime = TypedDict("HistoryTime", { "from": "str", "to": "str", })
HourCounts = TypedDict("HourCounts", { "answered": "int", "provisioned": "int", "stockouts": "int", })
KarpenterPool = TypedDict("KarpenterPool", { "limits": "dict[str, str]", "name": "str", "ready": "bool | None",
    "used": "dict[str, str]", })
LevelRoom = TypedDict("LevelRoom", { "amount": "int", "level": "str", })
Levels = TypedDict("Levels", { "free": "list[Free]", "levels": "list[str]", "name": "str | None", })
Localqueues = TypedDict("Localqueues", { "clusterQueue": "NotRequired[str]", "id": "str", "name": "NotRequired[str]",
    "namespace": "NotRequired[str]", "running": "NotRequired[int]", "stopPolicy": "NotRequired[str]",
    "waiting": "NotRequired[int]", })
LocalqueuesPage = TypedDict("LocalqueuesPage", { "counts": "NotRequired[list[Count]]", "items": "list[Localqueues]",
    "next": "NotRequired[str]", "revision": "str", })
Location = TypedDict("Location", { "id": "str", "remark": "str", })
Locations = TypedDict("Locations", { "failed": "list[str]", "items": "list[Location]",
    "namespacesWithoutPods": "list[str]", })
Machines = TypedDict("Machines", { "all": "int", "ready": "int", "resource": "str", "unit": "str", })
MeasuredStops = TypedDict("MeasuredStops", { "count": "int", "lostSeconds": "int", })
Money = TypedDict("Money", { "measured": "NotRequired[bool]", "usd": "str", "usdPerHour": "str", })
NodeResource = TypedDict("NodeResource", { "allocatable": "int", "resource": "str", "unit": "str", "used": "int", })
ObjectText = TypedDict("ObjectText", { "kind": "str", "name": "str", "yaml": "str", })
Occupant = TypedDict("Occupant", { "id": "str | None", "name": "str", "pods": "int", })
OpenIdAddress = TypedDict("OpenIdAddress", { "address": "str", })
OpenIdReturn = TypedDict("OpenIdReturn", { "code": "str", "state": "str", })
OpenRequest = TypedDict("OpenRequest", { "ageSeconds": "int", "class": "str", "cost": "Money | None", "name": "str",
    "namespace": "str", "policyStep": "str | None", "state": "str", "workload": "str | None", })
PastNode = TypedDict("PastNode", { "class": "str", "from": "str", "gpus": "int", "namespace": "str", "node": "str",
    "pool": "str", "seconds": "int", "stands": "bool", "until": "str", "usdPerHour": "float | None",
    "workload": "str", })
PastReason = TypedDict("PastReason", { "count": "int", "first": "str | None", "last": "str | None", "message": "str",
    "reason": "str", })
PastRequest = TypedDict("PastRequest", { "class": "str", "created": "str", "ended": "str | None", "message": "str",
    "name": "str", "namespace": "str", "outcome": "str", "provisioned": "str | None", "reason": "str", "uid": "str",
    "workload": "str", })
PendingPods = TypedDict("PendingPods", { "ageSeconds": "int", "check": "str", "flavors": "list[str]",
    "message": "str", "namespace": "str", "state": "str", "workload": "str", })
PodLog = TypedDict("PodLog", { "container": "str", "containers": "list[str]", "cut": "bool", "pod": "str",
    "text": "str", })
PoolLine = TypedDict("PoolLine", { "parts": "list[PoolPart]", "pool": "str", })
PoolPart = TypedDict("PoolPart", { "booting": "float | None", "costUsd": "float", "idle": "float | None",
    "ready": "float | None", "standing": "float", })
Price = TypedDict("Price", { "class": "NotRequired[str]", "flavor": "str", "policy": "NotRequired[str]",
    "step": "NotRequired[str]", "usdPerHour": "str", })
PriceSince = TypedDict("PriceSince", { "flavor": "str", "since": "str", "usdPerHour": "float | None", })
QueueCost = TypedDict("QueueCost", { "localQueue": "str", "nodeSeconds": "int", "nodes": "int",
    "nodesWithoutPrice": "int", "usd": "str", "usdPerHour": "str", })
QueueHistory = TypedDict("QueueHistory", { "clusterQueue": "str", "parts": "list[HistoryPart]", })
Queues = TypedDict("Queues", { "cohort": "NotRequired[str]", "fairWeightBillionths": "NotRequired[int | None]",
    "flavors": "NotRequired[list[Quota]]", "id": "str", "inactive": "NotRequired[str]", "name": "NotRequired[str]",
    "parents": "NotRequired[list[str]]", "resources": "NotRequired[list[Use]]", "running": "NotRequired[int]",
    "stopPolicy": "NotRequired[str]", "strategy": "NotRequired[str]", "waiting": "NotRequired[int]",
    "weightedShare": "NotRequired[int | None]", })
QueuesPage = TypedDict("QueuesPage", { "counts": "NotRequired[list[Count]]", "items": "list[Queues]",
    "next": "NotRequired[str]", "revision": "str", })
Quota = TypedDict("Quota", { "borrowingLimit": "int | None", "flavor": "str", "lendingLimit": "int | None",
    "nominal": "int", "resource": "str", "unit": "str", "used": "NotRequired[int]", })
Reason = TypedDict("Reason", { "history": "NotRequired[list[PastReason]]", "kind": "str",
    "mayPreempt": "NotRequired[str]", "message": "str", "stops": "NotRequired[MeasuredStops]",
    "tried": "NotRequired[list[Tried]]", })
Report = TypedDict("Report", { "by": "str", "from": "str", "lines": "list[ReportLine]", "to": "str", })
ReportHistory = TypedDict("ReportHistory", { "by": "str", "lines": "list[ReportHistoryLine]", "otherLines": "int",
    "others": "list[ReportPart]", "times": "list[HistoryTime]", })
ReportHistoryLine = TypedDict("ReportHistoryLine", { "key": "str", "parts": "list[ReportPart]", })
ReportLine = TypedDict("ReportLine", { "attempts": "int", "chargedHours": "dict[str, float]", "costUsd": "float",
    "destroyedHours": "dict[str, float]", "key": "str", "measuredUsd": "float", "outcomes": "dict[str, float]",
    "stops": "StopCosts", "unpriced": "int", "usedHours": "dict[str, float]", "waitedHours": "float",
    "waitedHoursByResource": "dict[str, float]", "waits": "int", "workloads": "int", })
ReportPart = TypedDict("ReportPart", { "chargedHours": "dict[str, float]", "costUsd": "float",
    "destroyedHours": "dict[str, float]", "usedHours": "dict[str, float]", "waitedHours": "float", })
Room = TypedDict("Room", { "domain": "list[str]", "pods": "int", "topology": "str | None", })
Session = TypedDict("Session", { "actions": "NotRequired[bool]", "cluster": "NotRequired[str]",
    "csrf": "NotRequired[str]", "openId": "NotRequired[str]", "signedIn": "bool", "user": "NotRequired[str]", })
SignIn = TypedDict("SignIn", { "code": "NotRequired[str]", "openId": "NotRequired[OpenIdReturn]",
    "token": "NotRequired[str]", })
Spared = TypedDict("Spared", { "because": "str", "workload": "str", })
StatePart = TypedDict("StatePart", { "quota": "list[Amount]", "reserved": "float", "running": "float",
    "used": "list[Amount]", "waiting": "dict[str, float]", })
Step = TypedDict("Step", { "assigned": "NotRequired[list[Assigned]]", "capacity": "NotRequired[CapacityAsked]",
    "lines": "list[str]", "name": "str", "reason": "NotRequired[Reason]", "since": "str | None", "state": "str",
    "tried": "NotRequired[list[CapacityTried]]", })
Stock = TypedDict("Stock", { "askedInADay": "int", "class": "str", "failuresInARow": "int", "flavor": "str",
    "grantedInADay": "int", "leastPods": "int", "medianWaitSeconds": "int | None", "reason": "str | None",
    "restsUntil": "str | None", "shape": "str", "zone": "str", })
StopCosts = TypedDict("StopCosts", { "claimedHours": "float", "lostHours": "float", "measured": "int",
    "unmeasured": "int", })
Story = TypedDict("Story", { "givesUp": "str", "headline": "str", "notSeen": "list[str]", "steps": "list[Step]",
    "subject": "str", "wouldStartIf": "list[str]", })
StoryPod = TypedDict("StoryPod", { "name": "str", "node": "str | None", "phase": "str", })
ToldEvent = TypedDict("ToldEvent", { "count": "int", "kind": "str", "message": "str", "name": "str", "reason": "str",
    "time": "str | None", "type": "str", })
Topology = TypedDict("Topology", { "gangs": "list[Gang]", "gangsLeftOut": "int", "hidden": "list[str]",
    "nodes": "list[TopologyNode]", "nodesLeftOut": "int", "time": "str", "topologies": "list[Levels]", })
TopologyNode = TypedDict("TopologyNode", { "domain": "list[str]", "name": "str", "others": "int", "pool": "str",
    "ready": "bool", "resources": "list[NodeResource]", "schedulable": "bool", "topology": "str | None",
    "workloads": "list[Occupant]", })
Tried = TypedDict("Tried", { "asked": "NotRequired[int | None]", "available": "NotRequired[int | None]",
    "flavor": "NotRequired[str]", "limit": "NotRequired[str]", "message": "NotRequired[str]",
    "nominal": "NotRequired[int | None]", "podSet": "NotRequired[str]", "resource": "NotRequired[str]",
    "unit": "NotRequired[str]", })
Turn = TypedDict("Turn", { "admitted": "str | None", "attempt": "int", "clusterQueue": "str", "created": "str",
    "destroyedHours": "dict[str, float]", "ended": "str | None", "job": "str", "labels": "str", "localQueue": "str",
    "message": "str", "namespace": "str", "outcome": "str", "podsReady": "str | None", "preemptor": "str",
    "priority": "int", "queued": "str", "quotaReserved": "str | None", "reason": "str",
    "resources": "list[HeldAmount]", "uid": "str", "usdPerHour": "float | None", "user": "str",
    "waits": "list[WaitPart]", "workload": "str", })
Use = TypedDict("Use", { "borrowed": "int", "lent": "int", "nominal": "int", "resource": "str", "unit": "str",
    "used": "int", })
WaitPart = TypedDict("WaitPart", { "cause": "str", "from": "str", "seconds": "int", })
WhatIf = TypedDict("WhatIf", { "apply": "str", "at": "str", "changes": "list[str]", "draws": "int",
    "jobs": "list[WhatIfJob]", "leftOut": "list[str]", "seed": "int", "worseOff": "int", })
WhatIfChanges = TypedDict("WhatIfChanges", { "priority": "NotRequired[list[str]]", "quota": "NotRequired[list[str]]",
    "stop": "NotRequired[list[str]]", })
WhatIfJob = TypedDict("WhatIfJob", { "after": "WhatIfSide", "before": "WhatIfSide | None", "effect": "str",
    "kind": "str", "localQueue": "str", "name": "str", "namespace": "str", "runs": "bool", "shiftSeconds": "int",
    "workload": "str", "worseOff": "bool", })
WhatIfSide = TypedDict("WhatIfSide", { "chance": "float", "placeSeconds": "int | None", "preemptions": "float",
    "reason": "str | None", "startSeconds": "int | None", })
WorkloadHistory = TypedDict("WorkloadHistory", { "attempts": "list[Turn]", "capacityRequests": "list[PastRequest]",
    "nodes": "list[PastNode]", })
WorkloadObjects = TypedDict("WorkloadObjects", { "events": "list[ToldEvent]", "eventsLeftOut": "int",
    "hidden": "list[str]", "objects": "list[ObjectText]", })
WorkloadStates = TypedDict("WorkloadStates", { "parts": "list[StatePart]", "times": "list[HistoryTime]", })
WorkloadStory = TypedDict("WorkloadStory", { "before": "int | None", "forecasts": "ForecastHits | None",
    "pods": "list[StoryPod]", "podsLeftOut": "int", "story": "Story", "workload": "Workloads", })
Workloads = TypedDict("Workloads", { "cause": "NotRequired[str]", "clusterQueue": "NotRequired[str]",
    "createdAt": "NotRequired[str]", "eta": "NotRequired[Forecast | None]", "id": "str", "kind": "NotRequired[str]",
    "localQueue": "NotRequired[str]", "name": "NotRequired[str]", "namespace": "NotRequired[str]",
    "notPreempted": "NotRequired[list[Spared] | None]", "priority": "NotRequired[int]",
    "reason": "NotRequired[Reason | None]", "remark": "NotRequired[str]", "requests": "NotRequired[list[Amount]]",
    "state": "NotRequired[str]", "turn": "NotRequired[int | None]", "waitingSince": "NotRequired[str | None]",
    "workload": "NotRequired[str]", })
WorkloadsPage = TypedDict("WorkloadsPage", { "counts": "NotRequired[list[Count]]", "items": "list[Workloads]",
    "next": "NotRequired[str]", "revision": "str", })
ZoneStock = TypedDict("ZoneStock", { "totalStock": "int", "zone": "str", })


class ReadApi:
    def __init__(self, url: str, token: str, context: ssl.SSLContext | None = None, timeout: float = 30):
        """`timeout`: seconds without a byte of an answer."""
        self._address = urllib.parse.urlsplit(url)
        self._token = token
        self._context = context
        self._timeout = timeout

    def _open(self, method: str, path: str, query: dict[str, Any], body: Any = None) -> http.client.HTTPResponse:
        if self._address.scheme == "https":
            connection = http.client.HTTPSConnection(self._address.netloc, timeout=self._timeout, context=self._context)
        else:
            connection = http.client.HTTPConnection(self._address.netloc, timeout=self._timeout)
        given = {name: ",".join(map(str, value)) if isinstance(value, list) else str(value)
                 for name, value in query.items() if value is not None}
        headers = {"Authorization": f"Bearer {self._token}", "Connection": "close"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, path + ("?" + urllib.parse.urlencode(given) if given else ""),
                           body=None if body is None else json.dumps(body), headers=headers)
        answer = connection.getresponse()
        if answer.status // 100 == 2:
            return answer
        text = answer.read()
        connection.close()
        try:
            message = json.loads(text)["message"]
        except (ValueError, KeyError, TypeError):
            message = text.decode(errors="replace")
        raise Problem(answer.status, message)

    def _ask(self, method: str, path: str, query: dict[str, Any], body: Any = None) -> Any:
        with self._open(method, path, query, body) as answer:
            return json.loads(answer.read())

    def rows(self, operation: Callable[..., Any], **query: Any) -> Iterator[Any]:
        """The rows of all pages of a list."""
        while True:
            page = operation(**query)
            yield from page["items"]
            if "next" not in page:
                return
            query["cursor"] = page["next"]

    def _events(self, path: str, query: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
        with self._open("GET", path, query) as answer:
            event, cursor, data = "", "", None
            while line := answer.readline():
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "event":
                    event = value
                elif name == "id":
                    cursor = value
                elif name == "data":
                    data = json.loads(value)
                elif name == "" and event:
                    yield event, cursor, data
                    event, data = "", None

    def act( self, body: Action, ) -> Done:
        """a write with the rights of the token, off by default. stop (drain), resume: of clusterQueue or localQueue
        (NAMESPACE/NAME); priority, deactivate, activate: of workload (NAMESPACE/NAME); stock: the machines of a
        nodePool of the emulated cloud, or of its zone."""
        return self._ask("POST", "/api/v1/actions", {}, body)

    def read_capacity( self, *, namespace: list[str] | None = None, ) -> Capacity:
        """pools, prices, stock, measured cost, as `berth capacity`; `hidden`: the kinds that the token may not
        list."""
        return self._ask("GET", "/api/v1/capacity", {"namespace": namespace})

    def read_capacity_history( self, *, days: int | None = None, namespace: list[str] | None = None,
            ) -> CapacityHistory:
        """what was asked of clouds over time, by class and by shape, the nodes of pools, and prices, from the
        ledger; prices are for readers of all namespaces."""
        return self._ask("GET", "/api/v1/capacity/history", {"days": days, "namespace": namespace})

    def list_capacityrequests( self, *, namespace: list[str] | None = None, class_: list[str] | None = None,
            state: list[str] | None = None, sort: str | None = None, limit: int | None = None,
            count_by: str | None = None, fields: list[str] | None = None, cursor: str | None = None,
            ) -> CapacityrequestsPage:
        """the ProvisioningRequests: what was asked of the cloud."""
        return self._ask("GET", "/api/v1/capacityrequests", {"namespace": namespace, "class": class_, "state": state, "sort": sort, "limit": limit, "countBy": count_by, "fields": fields, "cursor": cursor})

    def list_cohorts( self, *, namespace: list[str] | None = None, sort: str | None = None, limit: int | None = None,
            fields: list[str] | None = None, cursor: str | None = None, ) -> CohortsPage:
        """the Cohorts: own quota, and the quota and use of all queues below; who sees a queue sees the Cohorts above
        it."""
        return self._ask("GET", "/api/v1/cohorts", {"namespace": namespace, "sort": sort, "limit": limit, "fields": fields, "cursor": cursor})

    def stream_events( self, *, resources: list[str] | None = None, namespace: list[str] | None = None,
            cursor: str | None = None, ) -> Iterator[tuple[str, str, Any]]:
        """server-sent events. `change`: {resource, row | set | removed}; `set` has the id and the fields that
        differ. `resync`: changes were missed, list again. `start`, without `cursor`: changes behind its id will
        come; a page of an older `revision` lacks some. Resume with the header Last-Event-ID, or with `cursor`."""
        return self._events("/api/v1/events", {"resources": resources, "namespace": namespace, "cursor": cursor})

    def read_history( self, *, cluster_queue: str | None = None, days: int | None = None,
            namespace: list[str] | None = None, ) -> QueueHistory:
        """usage and waits of a ClusterQueue over time, from the ledger."""
        return self._ask("GET", "/api/v1/history", {"clusterQueue": cluster_queue, "days": days, "namespace": namespace})

    def read_cohort_history( self, *, cohort: str | None = None, days: int | None = None,
            namespace: list[str] | None = None, ) -> CohortHistory:
        """what each ClusterQueue below a Cohort used over time, from the ledger; of 256 ClusterQueues at most."""
        return self._ask("GET", "/api/v1/history/cohort", {"cohort": cohort, "days": days, "namespace": namespace})

    def read_workload_states( self, *, days: int | None = None, namespace: list[str] | None = None,
            ) -> WorkloadStates:
        """how many workloads waited, by cause, had quota, and ran over time, from the ledger: mean numbers of each
        part of the period."""
        return self._ask("GET", "/api/v1/history/workloads", {"days": days, "namespace": namespace})

    def list_localqueues( self, *, namespace: list[str] | None = None, cluster_queue: list[str] | None = None,
            stop_policy: list[str] | None = None, sort: str | None = None, limit: int | None = None,
            count_by: str | None = None, fields: list[str] | None = None, cursor: str | None = None,
            ) -> LocalqueuesPage:
        """the LocalQueues."""
        return self._ask("GET", "/api/v1/localqueues", {"namespace": namespace, "clusterQueue": cluster_queue, "stopPolicy": stop_policy, "sort": sort, "limit": limit, "countBy": count_by, "fields": fields, "cursor": cursor})

    def read_locations( self, *, namespace: list[str] | None = None, workload: list[str] | None = None,
            ) -> Locations:
        """where Workloads run: the remark of each running one that is named, with the nodes of its pods; `failed`:
        those whose pods the API server has not given; `namespacesWithoutPods`: those whose pods the token may not
        list."""
        return self._ask("GET", "/api/v1/locations", {"namespace": namespace, "workload": workload})

    def list_queues( self, *, namespace: list[str] | None = None, cohort: list[str] | None = None,
            stop_policy: list[str] | None = None, sort: str | None = None, limit: int | None = None,
            count_by: str | None = None, fields: list[str] | None = None, cursor: str | None = None, ) -> QueuesPage:
        """the ClusterQueues: quota, usage, counts; a caller with rights in namespaces sees those that the
        LocalQueues there feed."""
        return self._ask("GET", "/api/v1/queues", {"namespace": namespace, "cohort": cohort, "stopPolicy": stop_policy, "sort": sort, "limit": limit, "countBy": count_by, "fields": fields, "cursor": cursor})

    def read_report( self, *, by: str | None = None, days: int | None = None, namespace: list[str] | None = None,
            format: str | None = None, ) -> Report:
        """the accounts of a period, from the ledger, as `berth report`."""
        return self._ask("GET", "/api/v1/reports", {"by": by, "days": days, "namespace": namespace, "format": format})

    def read_report_history( self, *, by: str | None = None, days: int | None = None,
            namespace: list[str] | None = None, ) -> ReportHistory:
        """the accounts of a period over time, from the ledger: hours used and destroyed, waits and costs of each
        part of the period. Further lines are summed."""
        return self._ask("GET", "/api/v1/reports/history", {"by": by, "days": days, "namespace": namespace})

    def read_topology( self, *, namespace: list[str] | None = None, ) -> Topology:
        """nodes by their levels, who is on them, what is free, where gangs would fit."""
        return self._ask("GET", "/api/v1/topology", {"namespace": namespace})

    def ask_what_if( self, body: WhatIfChanges, ) -> WhatIf:
        """what a change would do to the jobs, as `berth what-if`; nothing is written. quota:
        QUEUE/FLAVOR/RESOURCE=AMOUNT; priority: job/NAME=NUMBER; stop: QUEUE."""
        return self._ask("POST", "/api/v1/whatif", {}, body)

    def list_workloads( self, *, namespace: list[str] | None = None, name: list[str] | None = None,
            kind: list[str] | None = None, local_queue: list[str] | None = None,
            cluster_queue: list[str] | None = None, priority: list[int] | None = None,
            state: list[str] | None = None, cause: list[str] | None = None, sort: str | None = None,
            limit: int | None = None, count_by: str | None = None, fields: list[str] | None = None,
            cursor: str | None = None, ) -> WorkloadsPage:
        """the Workloads: state, place, reasons; `berth list -o json` has the same form."""
        return self._ask("GET", "/api/v1/workloads", {"namespace": namespace, "name": name, "kind": kind, "localQueue": local_queue, "clusterQueue": cluster_queue, "priority": priority, "state": state, "cause": cause, "sort": sort, "limit": limit, "countBy": count_by, "fields": fields, "cursor": cursor})

    def read_workload( self, namespace: str, name: str, ) -> WorkloadStory:
        """one Workload with the causal chain of its state, as `berth why`, and its pods; before: waiting Workloads
        of all namespaces before it in its ClusterQueue."""
        return self._ask("GET", f"/api/v1/workloads/{urllib.parse.quote(namespace, safe='')}/{urllib.parse.quote(name, safe='')}", {})

    def read_cost( self, namespace: str, name: str, ) -> CostAnswer:
        """what the nodes of a Workload cost; null: no price is known."""
        return self._ask("GET", f"/api/v1/workloads/{urllib.parse.quote(namespace, safe='')}/{urllib.parse.quote(name, safe='')}/cost", {})

    def read_workload_history( self, namespace: str, name: str, ) -> WorkloadHistory:
        """the turns of a Workload, from the ledger, as `berth history`: times, causes of waits, and the Workload for
        which it was preempted."""
        return self._ask("GET", f"/api/v1/workloads/{urllib.parse.quote(namespace, safe='')}/{urllib.parse.quote(name, safe='')}/history", {})

    def read_log( self, namespace: str, name: str, *, pod: str | None = None, container: str | None = None,
            ) -> PodLog:
        """the last lines of the log of a container, with the token's rights."""
        return self._ask("GET", f"/api/v1/workloads/{urllib.parse.quote(namespace, safe='')}/{urllib.parse.quote(name, safe='')}/log", {"pod": pod, "container": container})

    def read_workload_objects( self, namespace: str, name: str, ) -> WorkloadObjects:
        """a Workload and its job as YAML, and their events and those of the first pods; `hidden`: what the token may
        not read."""
        return self._ask("GET", f"/api/v1/workloads/{urllib.parse.quote(namespace, safe='')}/{urllib.parse.quote(name, safe='')}/objects", {})
