"""What Berth relies on of an API server, as sequences of requests with the outcome of each.

    outcomes = play(send)      # send(method, path, body, content_type) -> (status, JSON)

The method WATCH is a GET whose answer has one event a line: `send` returns {"events": [JSON, …]}. "POST@jane" is a
POST on behalf of the user jane (impersonation). "UNTIL 422 POST" repeats the request until its status is 422, because a
real server follows changes of policies with a delay; such requests have to be dry.

api_rows.json has the outcomes of a real kube-apiserver: tests/cluster/test_api.py compares them there, and
tests/local/e2e/test_api_rows.py compares those of `berth up`. Outcomes hold what does not depend on the run:
the status, reason and message, whether the resourceVersion changed, the generation, the field managers, and the
part of the object that the row is about."""

import json
import os
import re
import time
import urllib.error
import urllib.request

import api_kind_rows

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "api_rows.json")

TIME = r"\d{4}-\d\d-\d\dT[\d:.]+Z"
MERGE, APPLY, PLAIN = ("application/merge-patch+json", "application/apply-patch+yaml", "application/json")
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
WORKLOADS = KUEUE + "/namespaces/default/workloads"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
MAPS = "/api/v1/namespaces/default/configmaps"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
ROLE_BINDINGS = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
POLICY_BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
OWN_OBJECTS = (WORKLOADS + "/w", WORKLOADS + "/x", MAPS + "/m", JOBS + "/j", LEASES + "/l", ROLES + "/r",
               ROLES + "/s", ROLE_BINDINGS + "/b", ROLE_BINDINGS + "/c", POLICIES + "/p", POLICY_BINDINGS + "/b")
UNTIL = 120  # seconds
THEN = "2026-01-01T00:00:00Z"
POD = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}}


def sender(server, token, context):
    def send(method, path, text, kind):
        method, _, user = method.partition("@")
        headers = {"Content-Type": kind, "Authorization": "Bearer " + token}
        if user:
            headers["Impersonate-User"] = user
        request = urllib.request.Request(
            server + path, data=text.encode() or None, method="GET" if method == "WATCH" else method,
            headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=60, context=context) as answer:
                if method == "WATCH":
                    return answer.status, {"events": [json.loads(line) for line in answer]}
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            text = refused.read().decode()
            return refused.code, json.loads(text) if text.startswith("{") else {}
    return send


def workload(name, **meta):
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": name, **meta},
            "spec": {"queueName": "q", "podSets": [{"name": "main", "count": 1, "template": POD}]}}


def status_of(name, **status):
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": name},
            "status": status}


def check(state="Pending", **more):
    return {"name": "c", "state": state, "message": "", "lastTransitionTime": THEN, **more}


def condition(kind, status="True"):
    return {"type": kind, "status": status, "reason": "R", "message": "", "lastTransitionTime": THEN}


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def job(name, **spec):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"suspend": True, "template": POD, **spec}}


def lease(holder, **meta):
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l", **meta},
            "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15}}


def role(name, *rules):
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name},
            "rules": [{"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split()}
                      for verbs, group, resources in rules]}


def role_binding(name, of, *users):
    group = "rbac.authorization.k8s.io"
    return {"apiVersion": group + "/v1", "kind": "RoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": "Role", "name": of},
            "subjects": [{"apiGroup": group, "kind": "User", "name": user} for user in users]}


def policy(expression, **spec):
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": "p"},
            "spec": {"matchConstraints": {"resourceRules": [rule]},
                     "validations": [{"expression": expression}], **spec}}


def policy_binding(*actions, **spec):
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": "b"},
            "spec": {"policyName": "p", "validationActions": list(actions), **spec}}


def by(user, request):
    method, *rest = request
    return (f"{method}@{user}", *rest)


def refused(body, user="", status=422):
    """A creation that a policy refuses as soon as the server knows the policy."""
    return (f"UNTIL {status} POST" + ("@" + user if user else ""), MAPS + "?dryRun=All", body, PLAIN)


# The policy of the row before is forgotten.
FORGOTTEN = ("UNTIL 201 POST", MAPS + "?dryRun=All", config_map("m", a="1", b="2"), PLAIN)


def applied(path, body, manager, *flags):
    query = "&".join((f"fieldManager={manager}", *flags))
    return ("PATCH", f"{path}?{query}", body, APPLY)


def merged(path, body, *flags):
    return ("PATCH", path + ("?" + "&".join(flags) if flags else ""), body, MERGE)


def watched(*flags):
    return ("WATCH", f"{MAPS}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dm&" + "&".join(flags),
            None, PLAIN)


def created(path, body, *flags):
    return ("POST", path + ("?" + "&".join(flags) if flags else ""), body, PLAIN)


STATUS = WORKLOADS + "/w/status"
# Name -> (part of the object that is compared, requests). "$VERSION" is the object's first resourceVersion,
# "$UID" its uid.
ROWS = {
    "an entry of another manager remains after its owner, and the status is refused": ("/status", [
        created(WORKLOADS, workload("w")),
        applied(STATUS, status_of("w", admissionChecks=[check()]), "kueue-admission", "force=true"),
        applied(STATUS, status_of("w", admissionChecks=[{"name": "c", "retryCount": 1}]), "check"),
        applied(STATUS, status_of("w", conditions=[condition("Evicted")]), "kueue-admission", "force=true"),
        merged(STATUS, {"status": {"admissionChecks": None}}, "fieldManager=kueue-admission"),
        applied(STATUS, status_of("w", conditions=[condition("Evicted")]), "kueue-admission", "force=true"),
    ]),
    "an apply that is repeated writes nothing": ("/spec/queueName", [
        applied(WORKLOADS + "/w", workload("w"), "one"),
        applied(WORKLOADS + "/w", workload("w"), "one"),
        applied(STATUS, status_of("w", conditions=[condition("A")]), "one"),
        applied(STATUS, status_of("w", conditions=[condition("A")]), "one"),
        merged(WORKLOADS + "/w", {"metadata": {"labels": {}}}),
        merged(WORKLOADS + "/w", {"spec": {"queueName": "q"}}),
    ]),
    "the generation counts changes of spec": ("/metadata/generation", [
        created(WORKLOADS, workload("w")),
        merged(WORKLOADS + "/w", {"metadata": {"labels": {"a": "b"}}}),
        merged(STATUS, {"status": {"conditions": [condition("A")]}}),
        merged(WORKLOADS + "/w", {"spec": {"active": False}}),
        merged(WORKLOADS + "/w", {"spec": {"active": False}}),
        merged(WORKLOADS + "/w", {"metadata": {"finalizers": ["x.io/y"]}}),
        merged(WORKLOADS + "/w", {"metadata": {"finalizers": None}}),
    ]),
    "spec and status keep to their paths": ("/status/conditions", [
        created(WORKLOADS, {**workload("w"), "status": {"conditions": [condition("A")]}}),
        merged(WORKLOADS + "/w", {"status": {"conditions": [condition("B")]}}),
        merged(STATUS, {"spec": {"active": False}, "status": {"conditions": [condition("C")]}}),
        merged(STATUS, {"metadata": {"labels": {"a": "b"}}, "status": {"conditions": [condition("D")]}}),
    ]),
    "a patch of an older state is a conflict": ("/metadata/labels", [
        created(WORKLOADS, workload("w")),
        merged(WORKLOADS + "/w", {"metadata": {"labels": {"a": "1"}}}),
        merged(WORKLOADS + "/w", {"metadata": {"labels": {"a": "2"}, "resourceVersion": "$VERSION"}}),
        applied(STATUS, {**status_of("w", conditions=[condition("A")]), "metadata": {
            "name": "w", "resourceVersion": "$VERSION"}}, "one"),
        merged(WORKLOADS + "/w", {"metadata": {"labels": {"a": "3"},
                                               "uid": "00000000-0000-4000-8000-000000000000"}}),
        merged(WORKLOADS + "/w", {"metadata": {"labels": {"a": "4"}, "uid": "$UID"}}),
        applied(WORKLOADS + "/w", {**workload("w"), "metadata": {
            "name": "w", "uid": "00000000-0000-4000-8000-000000000000"}}, "one", "force=true"),
    ]),
    "managers own what they wrote": ("/data", [
        applied(MAPS + "/m", config_map("m", a="1", b="1"), "one"),
        applied(MAPS + "/m", config_map("m", a="2"), "two"),
        applied(MAPS + "/m", config_map("m", a="2"), "two", "force=true"),
        applied(MAPS + "/m", config_map("m", a="2"), "one"),
        applied(MAPS + "/m", config_map("m", b="1"), "one"),
        merged(MAPS + "/m", {"data": {"c": "1"}}, "fieldManager=three"),
        merged(MAPS + "/m", {"data": {"b": None}}, "fieldManager=three"),
        applied(MAPS + "/m", config_map("m"), "two"),
        applied(MAPS + "/m", {**config_map("m"), "metadata": {
            "name": "m", "managedFields": [{"manager": "one"}]}}, "one"),
    ]),
    "what is there and what is not": ("/data", [
        created(MAPS, config_map("m", a="1")),
        created(MAPS, config_map("m", a="2")),
        merged(MAPS + "/none", {"data": {"a": "1"}}),
        ("PUT", MAPS + "/none", config_map("none"), PLAIN),
        ("DELETE", MAPS + "/m", {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {
            "uid": "00000000-0000-4000-8000-000000000000"}}, PLAIN),
        ("DELETE", MAPS + "/m", {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {
            "uid": "$UID"}}, PLAIN),
        ("DELETE", MAPS + "/m", None, PLAIN),
        ("GET", MAPS + "/m", None, PLAIN),
    ]),
    "a finalizer holds the object": ("/metadata/finalizers", [
        created(WORKLOADS, workload("w", finalizers=["kueue.x-k8s.io/resource-in-use"])),
        ("DELETE", WORKLOADS + "/w", None, PLAIN),
        merged(WORKLOADS + "/w", {"metadata": {"finalizers": ["x.io/new"]}}),
        merged(WORKLOADS + "/w", {"spec": {"active": False}}),
        merged(STATUS, {"status": {"conditions": [condition("A")]}}),
        merged(WORKLOADS + "/w", {"metadata": {"finalizers": None}}),
        ("GET", WORKLOADS + "/w", None, PLAIN),
    ]),
    "a lease has one writer at a time": ("/spec/holderIdentity", [
        created(LEASES, lease("a")),
        created(LEASES, lease("b")),
        ("PUT", LEASES + "/l", lease("b", resourceVersion="$VERSION"), PLAIN),
        ("PUT", LEASES + "/l", lease("c", resourceVersion="$VERSION"), PLAIN),
        ("PUT", LEASES + "/l", lease("d"), PLAIN),
    ]),
    "a job's template is open while it is suspended": ("/spec/suspend", [
        created(JOBS, job("j", parallelism=2)),
        merged(JOBS + "/j", {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}),
        merged(JOBS + "/j", {"spec": {"suspend": False}}),
        merged(JOBS + "/j", {"spec": {"template": {"spec": {"nodeSelector": {"a": "c"}}}}}),
        merged(JOBS + "/j", {"spec": {"completions": -1}}),
        merged(JOBS + "/j", {"spec": {"suspend": True}}),
    ]),
    "watches begin where they are told to": ("/data", [
        created(MAPS, config_map("m", a="1")),
        watched(),
        watched("resourceVersion=0"),
        merged(MAPS + "/m", {"data": {"a": "2"}}),
        watched("resourceVersion=$VERSION"),
        watched("sendInitialEvents=true", "resourceVersionMatch=NotOlderThan", "allowWatchBookmarks=true"),
        watched("sendInitialEvents=true"),
        ("DELETE", MAPS + "/m", None, PLAIN),
        watched("resourceVersion=$VERSION"),
    ]),
    "lists": ("/metadata/remainingItemCount", [
        created(MAPS, config_map("m", a="1")),
        ("GET", MAPS + "?fieldSelector=metadata.name%3Dm", None, PLAIN),
        ("GET", MAPS + "?limit=1", None, PLAIN),
        ("GET", MAPS + "?labelSelector=a%3D%3D%3D", None, PLAIN),
        ("GET", WORKLOADS + "?fieldSelector=spec.nope%3Da", None, PLAIN),
    ]),
    "fields that no schema knows": ("/spec", [
        created(WORKLOADS, {**workload("w"), "extra": 1}, "fieldValidation=Strict"),
        created(WORKLOADS, {**workload("w"), "extra": 1}),
        merged(WORKLOADS + "/w", {"spec": {"nope": 1}}, "fieldValidation=Strict"),
        merged(WORKLOADS + "/w", {"spec": {"nope": 1}}),
        applied(WORKLOADS + "/w", {**workload("w"), "extra": 1}, "one", "force=true"),
        created(WORKLOADS, {**workload("x"), "spec": {**workload("x")["spec"], "queueName": "UPPER"}}),
        created(WORKLOADS, {**workload("x"), "spec": {"queueName": "q", "podSets": []}}),
    ]),
    "rights come from roles": ("/data", [
        created(MAPS, config_map("m", a="1")),
        by("jane", ("GET", MAPS + "/m", None, PLAIN)),
        by("jane", ("GET", MAPS, None, PLAIN)),
        by("jane", ("GET", "/api/v1/nodes", None, PLAIN)),
        by("jane", ("GET", "/api/v1/namespaces/default/pods/p/log", None, PLAIN)),
        by("jane", ("PUT", JOBS + "/j/status", job("j"), PLAIN)),
        by("jane", ("GET", "/metrics", None, PLAIN)),
        created(ROLES, role("r", ("get", "", "configmaps"))),
        created(ROLE_BINDINGS, role_binding("b", "r", "jane")),
        by("jane", ("UNTIL 200 GET", MAPS + "/m", None, PLAIN)),
        by("jane", ("GET", MAPS, None, PLAIN)),
        by("jane", merged(MAPS + "/m", {"data": {"a": "2"}})),
        by("jane", ("DELETE", MAPS + "/m", None, PLAIN)),
        by("jane", ("DELETE", MAPS, None, PLAIN)),
        by("jane", ("GET", "/api/v1/namespaces/kube-system/configmaps/m", None, PLAIN)),
    ]),
    "nobody grants more than they have": ("/rules", [
        created(ROLES, role("r", ("get list", "", "configmaps"),
                            ("create update", "rbac.authorization.k8s.io", "roles rolebindings"))),
        created(ROLE_BINDINGS, role_binding("b", "r", "jane")),
        by("jane", ("UNTIL 201 POST", ROLES, role("s", ("get", "", "configmaps")), PLAIN)),
        by("jane", ("PUT", ROLES + "/s", role("s", ("get list watch", "", "configmaps secrets")), PLAIN)),
        by("jane", created(ROLE_BINDINGS, role_binding("c", "s", "joe"))),
        created(ROLES, role("w", ("delete", "batch", "jobs"))),
        by("jane", created(ROLE_BINDINGS, role_binding("d", "w", "joe"))),
        by("jane", created(ROLE_BINDINGS, role_binding("d", "none", "joe"))),
        ("DELETE", ROLES + "/w", None, PLAIN),
        ("PUT", ROLE_BINDINGS + "/b", role_binding("b", "s", "jane"), PLAIN),
        created(ROLES, {"metadata": {"name": "t"}, "rules": [{"verbs": [], "apiGroups": [""], "resources": []}]}),
    ]),
    "a policy is checked when it is written": ("/spec/failurePolicy", [
        created(POLICIES, policy("params.a == 1")),
        created(POLICIES, policy("variables.a == 1")),
        created(POLICIES, policy("true", matchConstraints={})),
        created(POLICIES, policy("true", validations=[])),
        created(POLICIES, policy("true", validations=[{"expression": "true", "reason": "Because"}])),
        created(POLICIES, policy("true", variables=[{"name": "a-b", "expression": "true"}])),
        created(POLICIES, policy("true", paramKind={"apiVersion": "v1"})),
        created(POLICIES, policy("true")),
        created(POLICY_BINDINGS, policy_binding()),
        created(POLICY_BINDINGS, policy_binding("Deny", "Warn")),
        created(POLICY_BINDINGS, policy_binding("Deny", "Deny")),
        created(POLICY_BINDINGS, policy_binding("Deny", paramRef={"parameterNotFoundAction": "Deny"})),
        created(POLICY_BINDINGS, policy_binding("Deny", paramRef={"name": "a"})),
    ]),
    "a policy refuses": ("/data", [
        FORGOTTEN,
        created(POLICIES, policy("object.data.size() < 2")),
        created(POLICY_BINDINGS, policy_binding("Deny")),
        refused(config_map("m", a="1", b="2")),
        created(MAPS, config_map("m", a="1"), "dryRun=All"),
    ]),
    "a policy refuses with its own words": ("/data", [
        FORGOTTEN,
        created(POLICIES, policy("", variables=[{"name": "n", "expression": "size(object.data)"}], validations=[
            {"expression": "variables.n < 2", "reason": "Forbidden", "message": "plain",
             "messageExpression": "'at most one, not ' + string(variables.n)"}])),
        created(POLICY_BINDINGS, policy_binding("Deny")),
        refused(config_map("m", a="1", b="2"), status=403),
    ]),
    "a policy that fails refuses": ("/data", [
        FORGOTTEN,
        created(POLICIES, policy("object.data.missing == 'x'")),
        created(POLICY_BINDINGS, policy_binding("Deny")),
        refused(config_map("m", a="1")),
    ]),
    "a variable that fails refuses": ("/data", [
        FORGOTTEN,
        created(POLICIES, policy("variables.n == 'x'", variables=[
            {"name": "n", "expression": "object.data.missing"}])),
        created(POLICY_BINDINGS, policy_binding("Deny")),
        refused(config_map("m", a="1")),
    ]),
    "a policy without its params refuses": ("/data", [
        FORGOTTEN,
        created(POLICIES, policy("params != null", paramKind={"apiVersion": "v1", "kind": "ConfigMap"})),
        created(POLICY_BINDINGS, policy_binding("Deny", paramRef={
            "name": "none", "namespace": "default", "parameterNotFoundAction": "Deny"})),
        refused(config_map("m", a="1")),
    ]),
    "a policy asks for rights": ("/data", [
        FORGOTTEN,
        created(POLICIES, policy(
            "authorizer.group('batch').resource('jobs').namespace('default').check('delete').allowed() || "
            "authorizer.requestResource.check('break-glass').allowed()")),
        created(POLICY_BINDINGS, policy_binding("Deny")),
        created(ROLES, role("r", ("create", "", "configmaps"))),
        created(ROLE_BINDINGS, role_binding("b", "r", "jane")),
        refused(config_map("m", a="1"), "jane"),
        created(MAPS, config_map("m", a="1"), "dryRun=All"),
    ]),
    **api_kind_rows.ROWS,
}


def normal(text):
    """Without what differs from run to run, and without whole objects."""
    text = re.sub(r'Invalid value: "?\{.*', "Invalid value: …", text)
    # The words differ between minors of Kubernetes.
    text = re.sub(r"too old resource version: .*", "too old resource version", text)
    text = re.sub(r"fulfilled on .*precondition.*", "fulfilled: precondition", text)
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID", text)
    return re.sub(TIME, "TIME", text)


def part(value, pointer):
    for key in pointer.strip("/").split("/"):
        value = (value or {}).get(key)
    return value


def outcome_of(pointer, status, body, known):
    """`known`: resourceVersion after the request before."""
    if "events" in body:
        return {"status": status, "events": [
            [event["type"], event["object"].get("reason", ""),
             event["object"].get("metadata", {}).get("annotations", {}), part(event["object"], pointer)]
            for event in body["events"]
            # Other bookmarks come at any time.
            if event["type"] != "BOOKMARK" or "annotations" in event["object"]["metadata"]]}
    if "items" in body:
        return {"status": status, "kind": body["kind"], "items": len(body["items"]),
                "continues": bool(body["metadata"].get("continue")), "part": part(body, pointer)}
    if body.get("kind") == "Status" and "code" in body:
        return {"status": status, "reason": body.get("reason", ""), "message": normal(body.get("message", ""))}
    meta = body.get("metadata", {})
    if "resourceVersion" not in meta:
        return {"status": status}
    managers = sorted(f"{entry['manager']} {entry['operation']} {entry.get('subresource', '')}".strip()
                      for entry in meta.get("managedFields", [])
                      if entry["manager"] != "kube-controller-manager")
    return {"status": status, "written": meta["resourceVersion"] != known, "managers": managers,
            "ending": "deletionTimestamp" in meta,
            "part": json.loads(re.sub(TIME, "TIME", json.dumps(part(body, pointer))))}


def send_until(send, method, path, text, kind):
    wanted = None
    if method.startswith("UNTIL "):
        _, wanted, method = method.split()
    ends = time.monotonic() + UNTIL
    while True:
        status, answer = send(method, path, text, kind)
        if wanted in (None, str(status)) or time.monotonic() > ends:
            return status, answer
        time.sleep(0.1)


def play(send):
    """name -> outcomes. Each row begins without the objects of the others."""
    outcomes = {}
    for name, (pointer, requests) in ROWS.items():
        for path in (*OWN_OBJECTS, *(collection + "/k" for collection in api_kind_rows.COLLECTIONS)):
            send("DELETE", path + "?propagationPolicy=Background", "", PLAIN)
        first, known, got = {}, None, []
        for method, path, body, kind in requests:
            text = json.dumps(body) if body is not None else ""
            text = text.replace("$VERSION", first.get("resourceVersion", "")).replace(
                "$UID", first.get("uid", ""))
            path = path.replace("$VERSION", first.get("resourceVersion", ""))
            status, answer = send_until(send, method, path, text, kind)
            got.append(outcome_of(pointer, status, answer, known))
            if "items" not in answer:
                known = answer.get("metadata", {}).get("resourceVersion", known)
            if not first and "uid" in answer.get("metadata", {}):
                first = answer["metadata"]
        outcomes[name] = got
    return outcomes


def recorded():
    with open(FILE, encoding="utf-8") as file:
        return json.load(file)
