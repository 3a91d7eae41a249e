"""Goal: no request that a tenant can make names what is in another namespace: every path, filter, order, field, cursor,
stream, history and what-if, also where jobs there run, wait, were preempted and preempt; nor do malformed and oversized requests, or headers.

Method: the OpenAPI document of a real `berth up` says what can be asked; each parameter gets values of the own and of the other
namespace. Everything in the other namespace has the name "unseen" in it."""

import base64
import itertools
import json

from test_read_api import JOB, QUEUES, Events, ReadApiCluster
from waiting import wait_until

UNSEEN = """---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: unseen-queue}
spec:
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: any, resources: [{name: cpu, nominalQuota: "1"}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: unseen-local, namespace: team-b}
spec: {clusterQueue: unseen-queue}
---
apiVersion: v1
kind: PodTemplate
metadata: {name: unseen-template, namespace: team-b}
template: {spec: {containers: [{name: c, image: "none:1"}]}}
---
apiVersion: autoscaling.x-k8s.io/v1
kind: ProvisioningRequest
metadata: {name: unseen-request, namespace: team-b}
spec: {provisioningClassName: unseen.example.com, podSets: [{count: 1, podTemplateRef: {name: unseen-template}}]}
"""
URGENT = """---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: urgent}
value: 100
"""
FLOOR = """---
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}
"""
VALUES = ("team-a", "team-b", "shared", "unseen-queue", "unseen-local", "unseen.example.com", "job-unseen", "waiting", "quota", "0", "1", "7",
          "-priority", "name", "reason,notPreempted,remark", "namespace", "clusterQueue", "state", "csv", "x" * 257, "\r\nSet-Cookie: a=b", "\0", "%", "*", "../x")


class ReadApiSecretsTest(ReadApiCluster):
    def setUp(self):
        super().setUp()
        self.cluster.apply(UNSEEN)
        self.cluster.apply(JOB % ("mine", "team-a", 2))
        self.cluster.apply((JOB % ("unseen", "team-b", 2)).replace("queue-name: q", "queue-name: unseen-local"))
        self.wait_for_jobs("mine", "unseen")
        self.tenant = self.make_tenant()
        self.unseen = self.named("unseen", "team-b")
        self.mine = self.named("mine", "team-a")
        wait_until(lambda: self.items("capacityrequests?namespace=team-b"), "the unseen request")
        self.preempt()
        # A tenant who may list nodes.
        self.cluster.apply(FLOOR)
        self.cluster.kubectl("create", "clusterrole", "floor", "--verb=list", "--resource=nodes,topologies.kueue.x-k8s.io")
        self.cluster.kubectl("create", "clusterrolebinding", "floor", "--clusterrole", "floor", "--serviceaccount", "team-a:robot")
        wait_until(lambda: self.raw("/api/v1/topology?namespace=team-a")[0].status == 200, "the right to list nodes")

    def named(self, job, space):
        return next(row["workload"] for row in self.items(f"workloads?namespace={space}") if row["name"] == job)

    def preempt(self):
        """Jobs of team-b run, were preempted, and have preempted a job of the tenant; the ledger knows."""
        def urgent(name, local):
            job = JOB % (name, "team-b", 1)
            return job.replace("queue-name: q", f"queue-name: {local}, kueue.x-k8s.io/priority-class: urgent")

        def state(job, space):
            return next((row["state"] for row in self.items(f"workloads?namespace={space}") if row["name"] == job), None)
        self.cluster.kubectl("patch", "clusterqueue", "shared", "--type=merge", "-p", json.dumps({"spec": {"preemption": {"withinClusterQueue": "LowerPriority"}}}))
        self.cluster.apply(URGENT)
        self.cluster.apply(JOB % ("victim", "team-a", 1))
        self.cluster.apply((JOB % ("unseen-low", "team-b", 1)).replace("queue-name: q", "queue-name: unseen-local"))
        wait_until(lambda: (state("victim", "team-a"), state("unseen-low", "team-b")) == ("running", "running"), "both run")
        self.cluster.apply(urgent("unseen-winner", "q"))
        self.cluster.apply(urgent("unseen-high", "unseen-local"))
        wait_until(lambda: [state(job, space) for job, space in (("victim", "team-a"), ("unseen-low", "team-b"), ("unseen-winner", "team-b"), ("unseen-high", "team-b"))]
                   == ["waiting", "waiting", "running", "running"], "both are preempted")
        self.victim = self.named("victim", "team-a")

        def told():
            turns = self.get(f"/api/v1/workloads/team-a/{self.victim}/history", self.admin)[1]["attempts"]
            return any("unseen-winner" in turn["preemptor"] for turn in turns)
        wait_until(told, "the ledger names the preemptor")

    def raw(self, path, headers=None, token=None):
        connection = self.connect(path, token or self.tenant, headers)
        try:
            answer = connection.getresponse()
            return answer, answer.read().decode()
        finally:
            connection.close()  # the server keeps 1,024 connections at most

    def assert_blind(self, path):
        answer, text = self.raw(path)
        self.assertIn(answer.status, (200, 304, 400, 403, 404, 503), path)
        asked = dict(part.partition("=")[::2] for part in path.partition("?")[2].split("&"))
        shown = str(answer.headers) + text
        for name in ("clusterQueue", "cohort"):
            shown = shown.replace(f'{{"{name}":"{asked.get(name)}"', "")  # the name that was asked for, of a queue or of none
        self.assertNotIn("unseen", shown, path)
        self.assertNotIn(self.unseen, shown, path)
        self.assertNotIn("Set-Cookie", str(answer.headers), path)
        return answer.status

    def gets(self):
        document = self.get("/api/v1/openapi.json")[1]
        for path, item in document["paths"].items():
            if "get" in item and path != "/api/v1/events":
                yield path, [each["name"] for each in item["get"].get("parameters", []) if each["in"] == "query"]

    def test_no_parameter_shows_another_namespace(self):
        quoted = ["".join(c if c.isalnum() or c in "-_.," else f"%{ord(c):02x}" for c in value) for value in VALUES]
        asked = good = 0
        for template, parameters in self.gets():
            for space, name in (("team-a", self.mine), ("team-a", self.victim), ("team-b", self.unseen), ("team-a", self.unseen)):
                path = template.replace("{namespace}", space).replace("{name}", name)
                if path == template and space == "team-b":
                    continue
                for scope in ("", "namespace=team-a", "namespace=team-b", "namespace=team-a,team-b", "namespace="):
                    good += self.assert_blind(f"{path}?{scope}") == 200
                    asked += 1
                for parameter, value in itertools.product(set(parameters) - {"namespace"}, quoted):
                    good += self.assert_blind(f"{path}?namespace=team-a&{parameter}={value}") == 200
                    asked += 1
                if path == template:
                    break
        self.assertGreater(asked, 500)
        self.assertGreater(good, 50)  # not all is refused

    def test_cursors_streams_and_forecasts_show_nothing(self):
        # The pages of one who sees all, with their cursors, for one who does not.
        for sort in ("", "priority", "waitingSince", "-createdAt"):
            page = self.get(f"/api/v1/workloads?limit=1&sort={sort}" if sort else "/api/v1/workloads?limit=1", self.admin)[1]
            order = f"&sort={sort}" if sort else ""
            self.assertEqual(self.assert_blind(f"/api/v1/workloads?namespace=team-a&limit=1{order}&cursor={page['next']}"), 200)
        events = Events(self.connect("/api/v1/events?namespace=team-a&cursor=" + page["revision"].split(".")[0] + ".0", self.tenant))
        self.cluster.kubectl("label", "job", "unseen", "-n", "team-b", "a=b")
        self.cluster.kubectl("delete", "job", "unseen", "-n", "team-b")
        self.cluster.apply(JOB % ("mine-too", "team-a", 2))
        text = events.wait_for("mine-too")
        self.assertNotIn("unseen", text)
        for path in ("events", "events?namespace=team-b", "events?namespace=team-a,team-b", "events?resources=queues", "events?cursor=" + "9" * 2000):
            self.assertIn(self.assert_blind(f"/api/v1/{path}"), (400, 403))
        # A forecast tells of all jobs: it needs the right to see all of them.
        for changes in ({"stop": ["shared"]}, {"quota": ["unseen-queue/any/cpu=5"]}, {"priority": ["job/unseen=5"]}):
            status, body = self.post("whatif", self.tenant, changes)
            self.assertEqual(status, 403)
            self.assertNotIn("unseen", json.dumps(body))
        for body in ("", "[]", "{", "\0", "x" * 40_000, json.dumps({"stop": ["q"] * 10_000}), "[" * 20_000):
            answer = self.connect("/api/v1/whatif", self.admin, {"Content-Type": "application/json"}, "POST", body).getresponse()
            self.assertIn(answer.status, (400, 413), body[:20])

    def test_headers_of_requests_change_nothing(self):
        for headers in ({"Impersonate-User": "kubernetes-admin"}, {"X-Remote-User": "kubernetes-admin", "X-Forwarded-User": "admin"},
                        {"X-Forwarded-For": "127.0.0.1"}, {"Cookie": "__Host-berth-1=" + self.admin}, {"Last-Event-ID": "a\tb"},
                        {"If-None-Match": "*"}, {"Host": "evil.example"}, {"X-HTTP-Method-Override": "DELETE"}):
            answer, text = self.raw("/api/v1/workloads", headers)
            self.assertEqual(answer.status, 403, headers)
            self.assertNotIn("unseen", text)
            self.assertNotIn("evil", str(answer.headers))
        # A token elsewhere than in the header counts for nothing.
        for path in (f"/api/v1/workloads?token={self.admin}", f"/api/v1/workloads?access_token={self.admin}", f"/api/v1/events?token={self.admin}",
                     f"/api/v1/capacity?id_token={self.admin}", f"/?token={self.admin}"):
            self.assertIn(self.connect(path).getresponse().status, (400, 401, 403), path)
        basic = base64.b64encode(f"admin:{self.admin}".encode()).decode()
        self.assertEqual(self.connect("/api/v1/workloads", None, {"Authorization": f"Basic {basic}"}).getresponse().status, 401)
        big = self.connect("/api/v1/workloads", self.tenant, {"X-Large": "x" * 60_000}).getresponse()
        self.assertIn(big.status, (400, 431))
