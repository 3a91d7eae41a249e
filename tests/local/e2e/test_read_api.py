"""Goal: `berth up --read-api-listen` serves /api/v1: the forms of `berth list|status|why -o json`, pages, events with
resume; a tenant reads own namespaces and no name of others; a restarted server tells clients to list again; capacity,
topology, cost, forecasts of a change and writes have the rights of the caller.

Method: real HTTPS with the authority of the kubeconfig, tokens of ServiceAccounts, RBAC of the embedded API."""

import http.client
import json
import os
import re
import subprocess
import sys
import threading

from berth_up import ROOT, BerthUpTest, read_sample
from object_reader import access_of
from waiting import wait_until
from openapi_forms import Forms

sys.path.append(os.path.join(ROOT, "readapi", "clients"))
from berth_read_api import Problem, ReadApi

QUEUES = """
apiVersion: v1
kind: Namespace
metadata: {name: team-a}
---
apiVersion: v1
kind: Namespace
metadata: {name: team-b}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: shared}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: any, resources: [{name: cpu, nominalQuota: "1"}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: only-b}
spec: {namespaceSelector: {}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: team-a}
spec: {clusterQueue: shared}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: team-b}
spec: {clusterQueue: shared}
"""
TAINTED = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: tainted}
spec: {nodeTaints: [{key: gpu, value: "yes", effect: NoSchedule}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: tainted}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: tainted, resources: [{name: cpu, nominalQuota: "1"}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: tainted, namespace: team-b}
spec: {clusterQueue: tainted}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: %s, namespace: %s, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: "none:1", resources: {requests: {cpu: "%s"}}}]
"""
GANG = """---
apiVersion: batch/v1
kind: Job
metadata: {name: gang, namespace: team-b, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  suspend: true
  parallelism: 4
  completions: 4
  template:
    metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: example.com/rack}}
    spec:
      restartPolicy: Never
      containers: [{name: c, image: "none:1", resources: {requests: {cpu: "2"}}}]
"""
SUPPLY = """
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1, example.com/rack: r1}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: racks}
spec: {levels: [{nodeLabel: example.com/rack}, {nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: priced, annotations: {berth.dev/price-per-hour: "2.5"}}
"""
NODE_STATUS = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"},
               "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "fine"}]}
SECONDS = 60
DOCUMENT = "/api/v1/openapi.json"


class Events:
    """A client of the event stream: what it has received so far."""

    def __init__(self, connection):
        self.answer = connection.getresponse()
        self.text = ""
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        try:
            while piece := self.answer.read1(65536):
                self.text += piece.decode()
        except (AttributeError, OSError, http.client.HTTPException):
            pass  # closed by the test, or the server was killed

    def wait_for(self, part):
        wait_until(lambda: part in self.text, f"{part} in the events")
        return self.text

    def last_id(self):
        return re.findall(r"^id: (.*)$", self.text, re.MULTILINE)[-1]


class ReadApiCluster(BerthUpTest):
    """A cluster with two teams, and clients of its read API."""
    known_forms = None

    def setUp(self):
        super().setUp()
        self.cluster = self.start_cluster(flags=["--read-api-listen", "127.0.0.1:0", "--read-api-actions", "--image", "say:1=/bin/echo",
                                                 "--image", "wait:1=/bin/sleep"])
        self.cluster.apply(QUEUES)
        self.tls = access_of(self.cluster.kubeconfig).trust
        self.cluster.kubectl("create", "clusterrolebinding", "reader", "--clusterrole", "cluster-admin",
                             "--serviceaccount", "default:admin")
        self.cluster.kubectl("create", "serviceaccount", "admin")
        self.admin = self.cluster.token("admin")

    def port(self):
        return int(re.findall(r"read API: https://localhost:(\d+)/api/v1", self.cluster.log())[-1])

    def client(self, token):
        return ReadApi(f"https://localhost:{self.port()}", token, self.tls, SECONDS)

    def connect(self, path, token=None, headers=None, method="GET", body=None):
        port = self.port()
        connection = http.client.HTTPSConnection("localhost", port, context=self.tls, timeout=SECONDS)
        self.addCleanup(connection.close)
        sent = {"Authorization": f"Bearer {token}"} if token else {}
        connection.request(method, path, body=body, headers={**sent, **(headers or {})})
        return connection

    def post(self, path, token, body, headers=None):
        sent = {"Content-Type": "application/json", **(headers or {})}
        connection = self.connect(f"/api/v1/{path}", token, sent, "POST", json.dumps(body))
        answer = connection.getresponse()
        text = json.loads(answer.read())
        connection.close()
        if answer.status == 200:
            self.forms().check(path, text, "post")
        return answer.status, text

    def forms(self):
        """Of the document that the server gives."""
        if self.known_forms is None:
            self.known_forms = Forms(json.loads(self.connect(DOCUMENT).getresponse().read()))
        return self.known_forms

    def get(self, path, token=None, headers=None):
        connection = self.connect(path, token, headers)
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        parsed = json.loads(body) if body else None
        # Every answer has the form that the document gives, and no key more.
        if answer.status == 200 and path.startswith("/api/v1/") and path != DOCUMENT:
            self.forms().check(path.removeprefix("/api/v1/").split("?")[0], parsed)
        return answer.status, parsed, answer

    def items(self, path, token=None):
        status, body, _ = self.get(f"/api/v1/{path}", token or self.admin)
        self.assertEqual(status, 200, body)
        return body["items"]

    def wait_for_jobs(self, *names):
        def queued():
            return sorted(names) == sorted(row["name"] for row in self.items("workloads?fields=name,state&state=waiting"))
        wait_until(queued, f"{names} wait")

    def make_tenant(self):
        """The token of an account that may list what is queued in team-a."""
        self.cluster.kubectl("create", "role", "reader", "-n", "team-a", "--verb=list",
                             "--resource=workloads.kueue.x-k8s.io,localqueues.kueue.x-k8s.io,"
                             "provisioningrequests.autoscaling.x-k8s.io")
        self.cluster.kubectl("create", "serviceaccount", "robot", "-n", "team-a")
        self.cluster.kubectl("create", "rolebinding", "robot", "-n", "team-a", "--role", "reader",
                             "--serviceaccount", "team-a:robot")
        return self.cluster.token("robot", "team-a")


class ReadApiTest(ReadApiCluster):
    def test_the_forms_are_those_of_the_commands(self):
        for name, space in (("first", "team-a"), ("second", "team-b")):
            self.cluster.apply(JOB % (name, space, 2))
        self.wait_for_jobs("first", "second")

        def same():
            rows = self.items("workloads")
            listed = json.loads(self.cluster.berth("list", "-A", "-o", "json").stdout)["items"]
            for row in rows:
                match = next(item for item in listed if item["workload"] == row["workload"])
                # Reasons have candidates of preemption in a field of their own here.
                keys = (set(row) & set(match)) - {"reason"}
                if set(row) - set(match) - {"id", "notPreempted"} or {key: row[key] for key in keys} != {key: match[key] for key in keys}:
                    return False
            return rows
        rows = wait_until(same, "the rows are those of berth list")
        self.assertEqual([row["cause"] for row in rows], ["too large", "too large"])
        self.assertEqual(rows[0]["reason"]["tried"][0]["asked"], 2000)
        queues = self.items("queues?fields=name,resources")
        self.assertEqual([row["name"] for row in queues], ["only-b", "shared"])
        self.assertEqual(queues[1]["resources"][0]["nominal"], 1000)
        name = rows[0]["workload"]
        status, body, _ = self.get(f"/api/v1/workloads/team-a/{name}", self.admin)
        self.assertEqual(status, 200, body)
        why = json.loads(self.cluster.berth("why", f"workload/{name}", "-n", "team-a", "-o", "json").stdout)
        self.assertEqual(set(body["story"]), set(why))
        self.assertEqual(set(body["forecasts"]), {"since", "byP10", "byP50", "byP90", "later"})
        self.assertEqual([step["name"] for step in body["story"]["steps"]], [step["name"] for step in why["steps"]])
        self.assertEqual((body["pods"], body["before"]), ([], 0))
        self.assertEqual(body["workload"], rows[0])
        # The document describes every field of a row.
        status, document, _ = self.get("/api/v1/openapi.json")
        self.assertEqual(status, 200)
        self.assertEqual(set(rows[0]), set(document["components"]["schemas"]["Workloads"]["properties"]))

    def story_of(self, space, name, token=None):
        status, body, _ = self.get(f"/api/v1/workloads/{space}/{name}", token or self.admin)
        self.assertEqual(status, 200, body)
        return body

    def test_the_story_is_that_of_why(self):
        """Of jobs that wait for quota, for a flavor, for a stock, behind others, and of one that runs."""
        self.cluster.apply(read_sample("dws", "nodepools.yaml"))
        self.cluster.apply(TAINTED)
        self.cluster.apply("---".join([JOB % ("first", "team-a", 2), JOB % ("second", "team-b", 3), JOB % ("small", "team-a", "100m")])
                           + "---" + (JOB % ("refused", "team-b", 1)).replace("queue-name: q", "queue-name: tainted"))
        # Their order: jobs of equal priority may have been made in the same second.
        for name, priority in (("first", 5), ("second", 3)):
            row = wait_until(lambda name=name: self.items(f"workloads?name={name}"), f"the {name} job")[0]["id"]
            self.assertEqual(self.post("actions", self.admin, {"action": "priority", "workload": row, "priority": priority})[0], 200)
            wait_until(lambda name=name, priority=priority: self.items(f"workloads?name={name}&priority={priority}"), f"the {name} job has its place")

        def same():
            told = {}
            for row in self.items("workloads"):
                body = self.story_of(row["namespace"], row["workload"])
                why = json.loads(self.cluster.berth("why", f"workload/{row['workload']}", "-n", row["namespace"], "-o", "json").stdout)
                told[row["name"]] = body
                if any(body["story"][key] != why[key] for key in ("steps", "wouldStartIf", "notSeen", "givesUp")):
                    return None  # the cluster changed between the two
            is_whole = sorted(told) == ["first", "refused", "second", "small"] and told["small"]["pods"]
            return is_whole and all(told[name]["story"]["wouldStartIf"] for name in ("first", "refused", "second")) and told
        told = wait_until(same, "the stories are those of berth why")
        self.assertIn("it tolerated the taint gpu=yes:NoSchedule of flavor tainted", told["refused"]["story"]["wouldStartIf"])
        self.assertEqual([told[name]["before"] for name in ("first", "second", "small")], [0, 1, None])
        self.assertIn("stands before it: team-a/first", [line for step in told["second"]["story"]["steps"] for line in step["lines"]])
        self.assertEqual([(pod["name"].startswith("small-"), set(pod)) for pod in told["small"]["pods"]], [(True, {"name", "phase", "node"})])
        # A tenant gets the number of those before, no name, and is told what is not seen.
        tenant = self.make_tenant()
        self.cluster.apply("---" + JOB % ("third", "team-a", 4))
        mine = wait_until(lambda: self.items("workloads?namespace=team-a&name=third", tenant), "the third job")[0]
        body = wait_until(lambda: (story := self.story_of("team-a", mine["workload"], tenant))["before"] == 2 and story, "two stand before it")
        self.assertNotIn("second", json.dumps(body))
        self.assertIn("pods", json.dumps(body["story"]["notSeen"]))
        self.assertIn("workloads before it in ClusterQueue shared: 2", json.dumps(body["story"]["steps"]))

    def test_a_job_is_found_by_its_name(self):
        self.cluster.apply("---".join(JOB % (name, "team-a", 2) for name in ("train-one", "train-two", "other")))
        self.wait_for_jobs("train-one", "train-two", "other")
        self.assertEqual([row["name"] for row in self.items("workloads?name=train")], ["train-one", "train-two"])
        self.assertEqual({row["name"] for row in self.items("workloads?name=oth,train-t&state=waiting&sort=-createdAt")}, {"other", "train-two"})
        self.assertEqual(self.items("workloads?name=rain"), [])

    def test_several_namespaces_have_histories_and_reports(self):
        self.cluster.apply(JOB % ("one", "team-a", "100m") + "---" + JOB % ("two", "team-b", "100m"))
        lines = wait_until(lambda: len(made := self.get("/api/v1/reports?by=namespace&days=1&namespace=team-a,team-b", self.admin)[1]["lines"]) == 2 and made,
                           "both attempts are in the ledger", seconds=SECONDS)
        self.assertEqual([line["key"] for line in lines], ["team-a", "team-b"])
        for path in ("history?clusterQueue=shared", "capacity/history?days=1", "history/cohort?cohort=none", "history/workloads?days=1"):
            mark = "&" if "?" in path else "?"
            status, body, _ = self.get(f"/api/v1/{path}{mark}namespace=team-a,team-b", self.admin)
            self.assertEqual(status, 200, body)

    def test_a_tenant_reads_own_namespaces(self):
        tenant = self.make_tenant()
        for name, space in (("mine", "team-a"), ("hidden", "team-b")):
            self.cluster.apply(JOB % (name, space, 2))
        self.wait_for_jobs("mine", "hidden")
        events = Events(self.connect("/api/v1/events?namespace=team-a", tenant))
        events.wait_for("id: ")
        self.assertEqual([row["name"] for row in self.items("workloads?namespace=team-a", tenant)], ["mine"])
        self.assertEqual([row["name"] for row in self.items("queues?namespace=team-a", tenant)], ["shared"])
        self.assertEqual([row["namespace"] for row in self.items("localqueues?namespace=team-a", tenant)], ["team-a"])
        for path in ("workloads", "workloads?namespace=team-b", "workloads?namespace=team-a,team-b", "queues",
                     "events", "events?namespace=team-b", "workloads/team-b/job-hidden"):
            status, body, _ = self.get(f"/api/v1/{path}", tenant)
            self.assertEqual(status, 403, path)
            self.assertNotIn("hidden", json.dumps(body), path)
        self.assertEqual(self.get("/api/v1/workloads")[0], 401)
        self.assertEqual(self.get("/api/v1/workloads", "forged")[0], 401)
        self.assertEqual(self.get(f"/api/v1/workloads?token={self.admin}")[0], 403)
        self.cluster.apply(JOB % ("hidden-too", "team-b", 2))
        self.cluster.apply(JOB % ("mine-too", "team-a", 2))
        text = events.wait_for("mine-too")
        self.assertNotIn("hidden", text)
        self.assertNotIn("team-b", text)

    def test_events_resume_and_a_restart_resyncs(self):
        status, page, answer = self.get("/api/v1/workloads", self.admin)
        self.assertEqual((status, page["items"]), (200, []))
        self.assertEqual(self.get("/api/v1/workloads", self.admin, {"If-None-Match": answer.headers["ETag"]})[0], 304)
        self.cluster.apply(JOB % ("first", "team-a", 2))
        events = Events(self.connect(f"/api/v1/events?resources=workloads&cursor={page['revision']}", self.admin))
        events.wait_for('"name":"first"')
        position = events.last_id()
        self.cluster.apply(JOB % ("second", "team-a", 2))
        again = Events(self.connect("/api/v1/events?resources=workloads", self.admin, {"Last-Event-ID": position}))
        again.wait_for('"name":"second"')
        self.assertNotIn("resync", again.text)
        self.cluster.kubectl("delete", "job", "second", "-n", "team-a")
        again.wait_for('"removed"')
        self.cluster.kill()
        self.cluster.start()
        # Until the caches have synced, the answer is 503 with Retry-After.
        wait_until(lambda: self.get("/api/v1/workloads", self.admin)[0] == 200, "the caches have synced")
        back = Events(self.connect("/api/v1/events?resources=workloads", self.admin, {"Last-Event-ID": again.last_id()}))
        back.wait_for("event: resync")
        self.assertEqual([row["name"] for row in self.items("workloads")], ["first"])

    def test_the_clients_are_those_of_the_document(self):
        self.cluster.apply("---".join(JOB % (f"job-{i}", "team-a", 2) for i in range(3)))
        self.wait_for_jobs("job-0", "job-1", "job-2")
        file = os.path.join(self.cluster.folder, "openapi.json")
        with open(file, "w", encoding="utf-8") as out:
            json.dump(self.get("/api/v1/openapi.json")[1], out)
        done = subprocess.run([sys.executable, "-B", os.path.join(ROOT, "tools", "read-api-clients"), "--check", file], capture_output=True,
                              text=True, timeout=SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        api = self.client(self.admin)
        rows = list(api.rows(api.list_workloads, limit=1, state=["waiting", "running"], fields=["name", "turn"]))
        self.assertEqual([row["name"] for row in rows], ["job-0", "job-1", "job-2"])
        story = api.read_workload("team-a", rows[0]["id"].split("/")[1])
        self.assertEqual(set(story["story"]["steps"][0]) - {"name", "state", "since", "lines", "reason", "assigned"}, set())
        history = api.read_history(cluster_queue="shared", days=1)
        self.assertEqual(len(history["parts"]), 24)
        wait_until(lambda: api.read_workload_history("team-a", rows[0]["id"].split("/")[1])["attempts"], "the turn is in the ledger")
        page = api.list_workloads()
        self.cluster.kubectl("delete", "job", "job-0", "-n", "team-a")
        event, cursor, change = next(one for one in api.stream_events(resources=["workloads"], cursor=page["revision"]) if "removed" in one[2])
        self.assertEqual((event, change["removed"]["id"]), ("change", rows[0]["id"]))
        self.assertTrue(cursor)
        with self.assertRaises(Problem) as refused:
            api.list_workloads(sort="remark")
        self.assertEqual(refused.exception.status, 400)

    def test_capacity_topology_and_cost_have_the_rights_of_the_caller(self):
        self.cluster.apply(SUPPLY)
        self.cluster.patch_status("/api/v1/nodes/n1", NODE_STATUS)
        self.cluster.apply(JOB % ("mine", "team-a", 2) + GANG)
        self.wait_for_jobs("mine", "gang")
        tenant = self.make_tenant()
        api = self.client(self.admin)
        capacity = api.read_capacity()
        listed = json.loads(self.cluster.berth("capacity", "-o", "json").stdout)
        self.assertEqual(set(capacity) - {"prices", "machines"}, set(listed))
        self.assertIn("cpu", {each["resource"] for each in capacity["machines"]})
        self.assertEqual(capacity["nodePools"], listed["nodePools"])
        self.assertEqual(capacity["prices"], [{"flavor": "priced", "usdPerHour": "2.5"}])
        topology = api.read_topology()
        self.assertEqual([(node["name"], node["domain"]) for node in topology["nodes"]], [("n1", ["r1", "n1"])])
        self.assertEqual([(gang["name"], gang["fits"], gang["domains"][0]["pods"]) for gang in topology["gangs"]], [("team-b/gang", False, 2)])
        mine = [row["workload"] for row in self.items("workloads?namespace=team-a")][0]
        self.assertIsNone(api.read_cost("team-a", mine)["cost"])  # it does not run
        over_time = api.read_capacity_history(days=1)
        self.assertEqual((len(over_time["times"]), over_time["classes"]), (24, []))
        self.assertEqual(self.get("/api/v1/capacity/history?namespace=team-a", tenant)[1]["prices"], [])
        for path in ("capacity/history", "capacity/history?namespace=team-b"):
            self.assertEqual(self.get(f"/api/v1/{path}", tenant)[0], 403, path)
        for by in ("user", "pool", "team"):
            self.assertEqual(api.read_report(by=by, days=1)["by"], by)
            self.assertEqual(len(api.read_report_history(by=by, days=1)["times"]), 24)
        # The tenant's token may not list nodes, and shows no more of the rest than own namespaces.
        self.assertEqual(self.get("/api/v1/topology?namespace=team-a", tenant)[0], 403)
        for path, expected in (("capacity", 403), ("topology", 403), ("capacity?namespace=team-b", 403), ("workloads/team-b/job-gang/cost", 403)):
            status, body, _ = self.get(f"/api/v1/{path}", tenant)
            self.assertEqual(status, expected, path)
            self.assertNotIn("gang", json.dumps(body))
        status, body, _ = self.get("/api/v1/capacity?namespace=team-a", tenant)
        self.assertEqual((status, body["nodePools"], body["prices"]), (200, [], []))
        self.assertIn("nodes", body["hidden"])
        self.assertNotIn("machines", body)
        self.assertIn("resourceflavors", body["hidden"])
        self.cluster.kubectl("create", "clusterrole", "floor", "--verb=list", "--resource=nodes,topologies.kueue.x-k8s.io")
        self.cluster.kubectl("create", "clusterrolebinding", "floor", "--clusterrole", "floor", "--serviceaccount", "team-a:robot")
        status, body, _ = wait_until(lambda: (answer := self.get("/api/v1/topology?namespace=team-a", tenant))[0] == 200 and answer, "the new right")
        self.assertEqual([node["name"] for node in body["nodes"]], ["n1"])
        self.assertNotIn("team-b", json.dumps(body))

    def test_locations_have_the_rights_of_the_caller(self):
        self.cluster.apply(SUPPLY)
        self.cluster.patch_status("/api/v1/nodes/n1", NODE_STATUS)
        sleeps = 'image: "wait:1", args: ["600"]'
        self.cluster.apply((JOB % ("sleeper", "team-a", "500m")).replace('image: "none:1"', sleeps))
        api = self.client(self.admin)
        (runs,) = wait_until(lambda: [row["id"] for row in self.items("workloads?state=running")], "the job runs")
        self.cluster.apply(JOB % ("large", "team-b", 1))
        self.wait_for_jobs("large")
        every = [runs] + [row["id"] for row in self.items("workloads?state=waiting")]
        self.assertEqual(len(every), 2)
        nodes = [{"id": runs, "remark": "any: n1"}]
        wait_until(lambda: api.read_locations(workload=every) == {"items": nodes, "failed": [], "namespacesWithoutPods": []}, "their pods run")
        # The tenant may list Workloads, not pods.
        tenant = self.make_tenant()
        root = f"/api/v1/locations?workload={','.join(every)}"
        self.assertEqual(self.get(root, tenant)[0], 403)
        status, body, _ = self.get(f"{root}&namespace=team-a", tenant)
        self.assertEqual((status, body), (200, {"items": [{"id": runs, "remark": "any"}], "failed": [], "namespacesWithoutPods": ["team-a"]}))
        for query, words in (("", "name Workloads"), ("?workload=sleeper", "write NAMESPACE/NAME"), ("?workload=a/b&pod=c", "use namespace and workload"),
                             ("?workload=" + ",".join(f"a/{i}" for i in range(33)), "more than 32 values")):
            answer = self.get(f"/api/v1/locations{query}", self.admin)
            self.assertEqual(answer[0], 400, query)
            self.assertIn(words, answer[1]["message"])

    def test_objects_and_logs_have_the_rights_of_the_caller(self):
        self.cluster.apply(SUPPLY)
        self.cluster.patch_status("/api/v1/nodes/n1", NODE_STATUS)
        self.cluster.apply((JOB % ("speaker", "team-a", 1)).replace('image: "none:1"', 'image: "say:1", args: ["good", "morning"]'))
        wait_until(lambda: [row["state"] for row in self.items("workloads")] == ["succeeded"], "the job ends")
        api = self.client(self.admin)
        name = self.items("workloads")[0]["workload"]
        reasons = {"SuccessfulCreate", "FinishedWorkload"}  # earlier stages are left out where events wait

        def told_with_events():
            answer = api.read_workload_objects("team-a", name)
            return answer if reasons <= {each["reason"] for each in answer["events"]} else None
        told = wait_until(told_with_events, f"the events {reasons}")
        self.assertEqual([each["kind"] for each in told["objects"]], ["Workload", "Job"])
        self.assertIn("\n  name: speaker\n", told["objects"][1]["yaml"])
        self.assertNotIn("managedFields", told["objects"][0]["yaml"])
        self.assertEqual((told["eventsLeftOut"], told["hidden"]), (0, []))
        (pod,) = [each["name"] for each in api.read_workload("team-a", name)["pods"]]
        log = api.read_log("team-a", name, pod=pod)
        self.assertEqual(log, {"pod": pod, "container": "c", "containers": ["c"], "text": "good morning\n", "cut": False})
        root = f"/api/v1/workloads/team-a/{name}"
        for query, status, words in ((f"?pod={pod}&container=d", 404, 'has no container "d"; it has c'), ("?pod=none", 404, "not found"),
                                     ("", 400, "name the pod"), (f"?pod={pod}&lines=3", 400, "use pod and container")):
            answer = self.get(f"{root}/log{query}", self.admin)
            self.assertEqual(answer[0], status, query)
            self.assertIn(words, answer[1]["message"])
        # The tenant may list Workloads, and read nothing else.
        tenant = self.make_tenant()
        status, body, _ = self.get(f"{root}/objects", tenant)
        self.assertEqual((status, body["objects"], body["events"]), (200, [], []))
        self.assertEqual(sorted(set(body["hidden"])), ["events", "manifests", "pods"])
        self.assertEqual(self.get(f"{root}/log?pod={pod}", tenant)[0], 403)
        self.assertEqual(self.get(f"/api/v1/workloads/team-b/{name}/objects", tenant)[0], 403)

    def test_writes_and_forecasts_have_the_rights_of_the_caller(self):
        self.cluster.apply(JOB % ("mine", "team-a", 2) + "---" + JOB % ("other", "team-b", 1))
        self.wait_for_jobs("mine")
        tenant = self.make_tenant()
        before = self.cluster.kubectl("get", "clusterqueue", "shared", "-o", "jsonpath={.spec}").stdout
        answer = self.client(self.admin).ask_what_if({"quota": ["shared/any/cpu=+2"]})
        self.assertIn(("mine", "possible", False), [(job["name"], job["effect"], job["worseOff"]) for job in answer["jobs"]])
        self.assertIn('nominalQuota: "3"', answer["apply"])
        self.assertEqual(self.cluster.kubectl("get", "clusterqueue", "shared", "-o", "jsonpath={.spec}").stdout, before)
        for body, code in (({"quota": ["none/any/cpu=1"]}, 404), ({"quota": ["shared"]}, 400), ({"files": ["/etc/passwd"]}, 400), ({}, 400)):
            self.assertEqual(self.post("whatif", self.admin, body)[0], code, body)
        status, answer = self.post("whatif", tenant, {"quota": ["shared/any/cpu=+2"]})
        self.assertEqual(status, 403)
        self.assertNotIn("other", json.dumps(answer))

        mine = next(row for row in self.items("workloads?namespace=team-a"))["id"]
        actions = ({"action": "stop", "clusterQueue": "shared"}, {"action": "deactivate", "workload": mine},
                   {"action": "priority", "workload": mine, "priority": 7})
        for action in actions:
            status, answer = self.post("actions", tenant, action)
            self.assertEqual(status, 403, answer)
            self.assertEqual(self.post("actions", self.admin, action, {"Origin": "https://elsewhere"})[0], 403)
        self.assertEqual(self.post("actions", "forged", actions[0])[0], 401)
        self.assertEqual(self.post("actions", self.admin, {"action": "stop", "clusterQueue": "none"})[0], 404)
        self.assertEqual(self.cluster.kubectl("get", "clusterqueue", "shared", "-o", "jsonpath={.spec}").stdout, before)
        pool = {"action": "stock", "nodePool": "dws-t4-nodepool", "stock": 5}
        self.cluster.apply(read_sample("dws", "nodepools.yaml"))
        self.assertEqual(self.post("actions", tenant, pool)[0], 403)
        self.assertEqual(self.post("actions", self.admin, pool), (200, {"done": "NodePool dws-t4-nodepool: stock 5"}))
        self.assertEqual(self.cluster.get("nodepool", "dws-t4-nodepool")["spec"]["stock"], 5)
        self.assertEqual(self.post("actions", self.admin, {**pool, "stock": None})[0], 200)
        self.assertNotIn("stock", self.cluster.get("nodepool", "dws-t4-nodepool")["spec"])
        self.cluster.kubectl("create", "role", "editor", "-n", "team-a", "--verb=patch", "--resource=workloads.kueue.x-k8s.io")
        self.cluster.kubectl("create", "rolebinding", "editor", "-n", "team-a", "--role", "editor", "--serviceaccount", "team-a:robot")
        self.assertEqual(self.post("actions", tenant, actions[2]), (200, {"done": f"Workload {mine}: priority 7"}))
        wait_until(lambda: self.items("workloads?namespace=team-a")[0]["priority"] == 7, "the priority is shown")
        self.assertEqual(self.post("actions", tenant, actions[1])[0], 200)
        wait_until(lambda: self.items("workloads?namespace=team-a")[0]["state"] == "deactivated", "the workload has left the queue")
        self.assertEqual(self.post("actions", self.admin, {"action": "stop", "clusterQueue": "shared", "drain": True})[0], 200)
        wait_until(lambda: self.items("queues?stopPolicy=HoldAndDrain"), "the queue is stopped")
        self.assertEqual(self.post("actions", self.admin, {"action": "resume", "clusterQueue": "shared"})[0], 200)
        wait_until(lambda: not self.items("queues?stopPolicy=HoldAndDrain"), "the queue goes on")
