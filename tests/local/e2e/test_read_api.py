"""Goal: `berth up --read-api-listen` serves /api/v1: the forms of `berth list|status|why -o json`, pages, events with
resume; a tenant reads own namespaces and no name of others; a restarted server tells clients to list again.

Method: real HTTPS with the authority of the kubeconfig, tokens of ServiceAccounts, RBAC of the embedded API."""

import base64
import http.client
import json
import re
import ssl
import threading
import unittest

from harness import ClusterTest, wait_until

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
SECONDS = 60


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


class ReadApiTest(ClusterTest):
    def setUp(self):
        super().setUp()
        self.cluster = self.start_cluster(flags=["--read-api-listen", "127.0.0.1:0"])
        self.cluster.apply(QUEUES)
        config = json.loads(self.cluster.kubectl("config", "view", "--raw", "-o", "json").stdout)
        authority = config["clusters"][0]["cluster"]["certificate-authority-data"]
        self.tls = ssl.create_default_context(cadata=base64.b64decode(authority).decode())
        self.cluster.kubectl("create", "clusterrolebinding", "reader", "--clusterrole", "cluster-admin",
                             "--serviceaccount", "default:admin")
        self.cluster.kubectl("create", "serviceaccount", "admin")
        self.admin = self.cluster.kubectl("create", "token", "admin").stdout.strip()

    def connect(self, path, token=None, headers=None):
        port = int(re.findall(r"read API: https://localhost:(\d+)/api/v1", self.cluster.log())[-1])
        connection = http.client.HTTPSConnection("localhost", port, context=self.tls, timeout=SECONDS)
        self.addCleanup(connection.close)
        sent = {"Authorization": f"Bearer {token}"} if token else {}
        connection.request("GET", path, headers={**sent, **(headers or {})})
        return connection

    def get(self, path, token=None, headers=None):
        answer = self.connect(path, token, headers).getresponse()
        body = answer.read().decode()
        return answer.status, json.loads(body) if body else None, answer

    def items(self, path, token=None):
        status, body, _ = self.get(f"/api/v1/{path}", token or self.admin)
        self.assertEqual(status, 200, body)
        return body["items"]

    def wait_for_jobs(self, *names):
        def queued():
            return sorted(names) == sorted(row["name"] for row in self.items("workloads?fields=name,state&state=waiting"))
        wait_until(queued, f"{names} wait")

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
                if len(keys) < 12 or {key: row[key] for key in keys} != {key: match[key] for key in keys}:
                    return False
            return rows
        rows = wait_until(same, "the rows are those of berth list")
        self.assertEqual([row["cause"] for row in rows], ["quota", "quota"])
        self.assertEqual(rows[0]["reason"]["tried"][0]["asked"], 2000)
        queues = self.items("queues?fields=name,resources")
        self.assertEqual([row["name"] for row in queues], ["only-b", "shared"])
        self.assertEqual(queues[1]["resources"][0]["nominal"], 1000)
        name = rows[0]["workload"]
        status, body, _ = self.get(f"/api/v1/workloads/team-a/{name}", self.admin)
        self.assertEqual(status, 200, body)
        why = json.loads(self.cluster.berth("why", f"workload/{name}", "-n", "team-a", "-o", "json").stdout)
        self.assertEqual(set(body["story"]), set(why))
        self.assertEqual([step["name"] for step in body["story"]["steps"]], [step["name"] for step in why["steps"]])
        self.assertEqual(body["workload"], rows[0])
        # The document describes every field of a row.
        status, document, _ = self.get("/api/v1/openapi.json")
        self.assertEqual(status, 200)
        self.assertEqual(set(rows[0]), set(document["components"]["schemas"]["Workloads"]["properties"]))

    def test_a_tenant_reads_own_namespaces(self):
        self.cluster.kubectl("create", "role", "reader", "-n", "team-a", "--verb=list",
                             "--resource=workloads.kueue.x-k8s.io,localqueues.kueue.x-k8s.io,"
                             "provisioningrequests.autoscaling.x-k8s.io")
        self.cluster.kubectl("create", "serviceaccount", "robot", "-n", "team-a")
        self.cluster.kubectl("create", "rolebinding", "robot", "-n", "team-a", "--role", "reader",
                             "--serviceaccount", "team-a:robot")
        tenant = self.cluster.kubectl("create", "token", "robot", "-n", "team-a").stdout.strip()
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


if __name__ == "__main__":
    unittest.main()
