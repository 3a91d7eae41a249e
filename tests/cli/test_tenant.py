"""Goal: status, list and why work with the rights of one namespace, request only the objects that
they need, and survive a lost connection.

Method: the program with a small API of the test, which refuses requests and drops connections on command.
"""

import json
import os
import select
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from fake_api import FakeApi
from scratch import die_with_parent

BERTH = os.environ["BERTH"]
PATIENCE_SECONDS = 60
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
LONG_AGO = "2026-01-01T00:00:00Z"


def of_namespace(name):
    return lambda path: f"/namespaces/{name}/" in path


def condition(kind, status, reason, message=""):
    return {"type": kind, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": LONG_AGO}


def cluster(api):
    """Two teams that share a ClusterQueue: a job of each waits, one of team-b runs."""
    api.add(KUEUE + "/clusterqueues", {
        "metadata": {"name": "shared", "uid": "q"},
        "spec": {"namespaceSelector": {}, "resourceGroups": [{
            "coveredResources": ["cpu"],
            "flavors": [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": "8"}]}]}]},
        "status": {"pendingWorkloads": 2, "admittedWorkloads": 1, "flavorsReservation": [
            {"name": "f", "resources": [{"name": "cpu", "total": "6", "borrowed": "0"}]}]}})
    for kind in ("cohorts", "admissionchecks", "resourceflavors"):
        api.objects[KUEUE + "/" + kind] = {}
    api.objects["/apis/cloud.berth.dev/v1alpha1/nodepools"] = {}
    api.objects["/api/v1/nodes"] = {}
    for team in ("team-a", "team-b"):
        here = "/namespaces/" + team
        api.add(KUEUE + here + "/localqueues", {
            "metadata": {"name": "q", "namespace": team}, "spec": {"clusterQueue": "shared"},
            "status": {"pendingWorkloads": 1, "admittedWorkloads": 0}})
        for kind in ("/apis/autoscaling.x-k8s.io/v1" + here + "/provisioningrequests",
                     "/api/v1" + here + "/pods"):
            api.objects[kind] = {}
        add_job(api, team, "train", [condition(
            "QuotaReserved", "False", "Pending", "couldn't assign flavors: insufficient quota")])
    add_job(api, "team-b", "runs", [condition("QuotaReserved", "True", "QuotaReserved"),
                                    condition("Admitted", "True", "Admitted")],
            {"clusterQueue": "shared", "podSetAssignments": [
                {"name": "main", "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "6"}, "count": 1}]})


def add_job(api, team, name, conditions, admission=None):
    uid = f"uid-{team}-{name}"
    job = {"metadata": {"name": name, "namespace": team, "uid": uid, "creationTimestamp": LONG_AGO,
                        "labels": {"kueue.x-k8s.io/queue-name": "q"}},
           "spec": {"template": {"spec": {"containers": []}}}}
    api.add(f"/apis/batch/v1/namespaces/{team}/jobs", job)
    workload = {"metadata": {"name": "job-" + name, "namespace": team, "uid": "w" + uid,
                             "creationTimestamp": LONG_AGO,
                             "labels": {"kueue.x-k8s.io/job-uid": uid},
                             "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job",
                                                  "name": name, "uid": uid, "controller": True}]},
                "spec": {"queueName": "q", "active": True, "podSets": [
                    {"name": "main", "count": 2, "template": {"spec": {"containers": [
                        {"name": "c", "resources": {"requests": {"cpu": "1500m"}}}]}}}]},
                "status": {"conditions": conditions}}
    if admission:
        workload["status"]["admission"] = admission
    api.add(f"{KUEUE}/namespaces/{team}/workloads", workload)


class TenantTest(unittest.TestCase):
    def api(self, **options):
        api = FakeApi(**options)
        self.addCleanup(api.close)
        cluster(api)
        return api

    def berth(self, api, *words, code=0):
        done = subprocess.run([BERTH, *words], env={"KUBECONFIG": api.kubeconfig, "HOME": "/nonexistent"},
                              capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stderr

    def test_status_shows_the_namespace_and_says_what_is_hidden(self):
        api = self.api(rights=of_namespace("team-a"), namespace="team-a")
        for words in ((), ("-A",), ("-n", "team-a")):
            screen = self.berth(api, "status", *words)
            self.assertIn("namespace team-a", screen)
            self.assertIn("LOCAL QUEUE", screen)
            self.assertIn("team-a/train", screen)
            self.assertNotIn("team-b", screen)
            self.assertIn("hidden (no right to list them): clusterqueues", screen)
        self.assertIn("only of namespace team-a (no right to list them in others): localqueues, "
                      "workloads, provisioningrequests\n", self.berth(api, "status"))
        self.assertIn("team-a/train", self.berth(api, "status", "q"))
        out = json.loads(self.berth(api, "status", "-o", "json"))
        self.assertEqual(out["namespace"], "team-a")
        self.assertEqual(out["localQueues"][0]["waiting"], 1)
        self.assertIn("workloads", out["narrowed"])

    def test_list_shows_the_namespace(self):
        api = self.api(rights=of_namespace("team-a"), namespace="team-a")
        for words in ((), ("-A",)):
            self.assertIn("train", self.berth(api, "list", *words))
        items = json.loads(self.berth(api, "list", "-o", "json"))["items"]
        self.assertEqual(items[0]["requests"],
                         [{"resource": "cpu", "unit": "milliCPU", "amount": 3000}])

    def test_why_answers_and_says_what_it_could_not_see(self):
        api = self.api(rights=of_namespace("team-a"), namespace="team-a")
        story = self.berth(api, "why", "job/train")
        self.assertIn("team-a/train has waited", story)
        self.assertIn("insufficient quota", story)
        self.assertNotIn("does not exist", story)
        self.assertIn("hidden (no right to list them): ", story)
        self.assertIn("clusterqueues", story)
        self.assertIn("only of namespace team-a (no right to list them in others): workloads", story)
        self.assertIn("did you mean train?", self.berth(api, "why", "job/trian", code=1))
        self.assertIn("name one with -n", self.berth(api, "why", "-A", "job/train", code=1))

    def test_why_asks_the_visibility_api_for_the_position(self):
        """Only where the Workloads of other namespaces are hidden, of whom some stand before the tenant's."""
        asked = "/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/team-a/localqueues/q/pendingworkloads"
        api = self.api(rights=of_namespace("team-a"), namespace="team-a")
        self.assertNotIn("before it", self.berth(api, "why", "job/train"))
        self.assertIn(asked, [path.partition("?")[0] for path in api.asked])
        for name, position in (("job-other", 3), ("job-train", 7)):
            api.add(asked, {"metadata": {"name": name, "namespace": "team-a"},
                            "positionInClusterQueue": position})
        self.assertIn("workloads before it in ClusterQueue shared: 7\n", self.berth(api, "why", "job/train"))
        api.add(asked, {"metadata": {"name": "job-train"}, "positionInClusterQueue": "soon"})
        self.assertNotIn("before it", self.berth(api, "why", "job/train"))
        api = self.api(namespace="team-a")
        self.berth(api, "why", "job/train")
        self.assertFalse([path for path in api.asked if "visibility" in path])

    def places(self, api, *words):
        waiting = json.loads(self.berth(api, "status", "-o", "json", *words))["waiting"]
        return {item["namespace"]: item["position"] for item in waiting}

    def test_places_are_the_schedulers_where_a_queue_has_an_order(self):
        api = self.api(namespace="team-a")
        self.assertEqual(self.places(api), {"team-a": 1, "team-b": 2})
        self.assertFalse([path for path in api.asked if "visibility" in path], "the queue has no order of its own")
        api.add(KUEUE + "/cohorts", {"metadata": {"name": "lab", "annotations": {"berth.dev/order": "FairByUser"}},
                                     "spec": {}})
        queue = api.objects[KUEUE + "/clusterqueues"]["shared"]
        queue["spec"]["cohortName"] = "lab"
        asked = "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/shared/pendingworkloads"
        not_told = ("places are by priority and time, since the visibility API gives no order of ClusterQueues: shared\n")
        for words in ((), ("list", "-A"), ("why", "job/train")):
            self.assertIn(not_told, self.berth(api, *(words or ("status",))), words)
        for position, team in enumerate(("team-b", "team-a")):
            api.add(asked, {"metadata": {"name": "job-train", "namespace": team, "uid": team},
                            "positionInClusterQueue": position})
            api.objects[asked][team] = api.objects[asked].pop("job-train")
        self.assertEqual(self.places(api), {"team-a": 2, "team-b": 1})
        story = self.berth(api, "why", "job/train")
        self.assertIn("stands before it: team-b/train", story)
        self.assertNotIn("keeps a place", story)
        api.objects[asked]["team-a"]["metadata"]["annotations"] = {
            "berth.dev/place-kept-from": "2026-01-05T14:20:00Z", "berth.dev/place-kept-after": "259200s"}
        self.assertIn("the queue keeps a place for it at 2026-01-05T14:20:00Z: it has waited longer than 3d",
                      self.berth(api, "why", "job/train"))
        self.assertNotIn(not_told, self.berth(api, "status"))
        rows = [line.split()[0] for line in self.berth(api, "list", "-A").splitlines() if "train" in line]
        self.assertEqual(rows, ["team-b", "team-a"])
        del queue["spec"]["cohortName"]
        queue["spec"]["admissionScope"] = {"admissionMode": "UsageBasedAdmissionFairSharing"}
        self.assertEqual(self.places(api), {"team-a": 2, "team-b": 1}, "admission fair sharing is an order, too")

    def test_a_tenants_places_come_from_the_own_local_queue(self):
        api = self.api(rights=of_namespace("team-a"), namespace="team-a")
        add_job(api, "team-a", "zz", [condition("QuotaReserved", "False", "Pending", "insufficient quota")])
        names = lambda: [item["name"] for item in json.loads(self.berth(api, "list", "-o", "json"))["items"]]
        self.assertEqual(names(), ["train", "zz"])
        asked = "/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/team-a/localqueues/q/pendingworkloads"
        for name, position in (("job-zz", 4), ("job-train", 7)):
            api.add(asked, {"metadata": {"name": name, "namespace": "team-a"}, "positionInClusterQueue": position})
        self.assertEqual(names(), ["zz", "train"])

    def test_no_rights_at_all_are_said(self):
        api = self.api(rights=lambda path: False, namespace="team-a")
        for words in (("status",), ("list",)):
            self.assertIn("no right to list workloads", self.berth(api, *words, code=1))
        self.assertIn("no right to read jobs of namespace team-a",
                      self.berth(api, "why", "job/train", code=1))

    def test_all_namespaces_mean_something_everywhere(self):
        api = self.api(namespace="team-a")
        self.assertNotIn("runs", self.berth(api, "list"))
        self.assertIn("runs", self.berth(api, "list", "-A"))
        self.assertIn("team-b/train", self.berth(api, "status"))
        self.assertNotIn("team-b/train", self.berth(api, "status", "-n", "team-a"))
        self.assertIn("team-b/train", self.berth(api, "status", "-A", "-n", "team-a"))
        self.berth(api, "why", "job/runs", code=1)
        self.assertIn("team-b/runs runs since", self.berth(api, "why", "-A", "job/runs"))
        self.assertIn("several namespaces have a train: team-a, team-b",
                      self.berth(api, "why", "-A", "train", code=1))

    def test_why_asks_for_what_it_needs(self):
        api = self.api(namespace="team-b")
        api.asked.clear()
        self.berth(api, "why", "job/runs")
        for path in api.asked:
            self.assertIn("/namespaces/team-b/", path)
        self.assertEqual(len([path for path in api.asked if "/workloads" in path]), 1, api.asked)
        self.assertTrue(any("labelSelector=kueue.x-k8s.io/job-uid%3D" in path for path in api.asked))
        api.asked.clear()
        self.assertIn("stands before it: team-a/train", self.berth(api, "why", "job/train"))
        self.assertFalse([path for path in api.asked if "/nodes" in path or "/cohorts" in path])

    def test_screens_ask_for_what_they_show(self):
        api = self.api()
        for words, left_out in ((("status",), ("/jobs", "/pods", "/nodes", "/resourceflavors")),
                                (("list", "-A"), ("/jobs", "/nodes", "/cohorts"))):
            api.asked.clear()
            self.berth(api, *words)
            for plural in left_out:
                self.assertFalse([path for path in api.asked if path.split("?")[0].endswith(plural)],
                                 (words, plural))
        self.assertIn("train", self.berth(api, "list", "-A", "-l", "kueue.x-k8s.io/queue-name=q"))
        api.add("/apis/cloud.berth.dev/v1alpha1/nodepools",
                {"metadata": {"name": "pool"}, "spec": {"machineType": "big"}})
        api.add("/api/v1/nodes", {"metadata": {"name": "n1", "labels": {
            "cloud.google.com/gke-nodepool": "pool"}}})
        self.assertIn("pool  big      -    1", self.berth(api, "status"))

    def test_used_and_running_agree_while_the_status_lags(self):
        api = self.api()
        workloads = api.objects[f"{KUEUE}/namespaces/team-b/workloads"]
        workloads["job-runs"]["status"]["conditions"].append(condition("Finished", "True", "Succeeded"))
        queue = json.loads(self.berth(api, "status", "-o", "json"))["clusterQueues"][0]
        self.assertEqual((queue["running"], queue["resources"][0]["used"]), (0, 0))

    # Reads the output of `watching` until it contains `words`.
    def shown(self, watching, words):
        deadline = time.monotonic() + PATIENCE_SECONDS
        seen = ""
        while time.monotonic() < deadline:
            if select.select([watching.stdout], [], [], 0.1)[0]:
                text = os.read(watching.stdout.fileno(), 65536).decode()
                if not text:
                    break
                seen += text
            if words in seen:
                return seen
        raise AssertionError(f"not shown: {words!r}\n{seen[-2000:]}\n{watching.poll()}")

    def test_watching_goes_on_after_a_lost_connection(self):
        for rights, namespace in ((lambda path: True, "default"), (of_namespace("team-a"), "team-a")):
            api = self.api(rights=rights, namespace=namespace)
            with subprocess.Popen([BERTH, "status", "-w"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  env={"KUBECONFIG": api.kubeconfig}, preexec_fn=die_with_parent) as watching:
                self.addCleanup(watching.kill)
                self.shown(watching, "team-a/train")
                api.closed = True
                self.assertIn("team-a/train", self.shown(watching, "connection lost, this is from "))
                add_job(api, "team-a", "late", [])
                api.closed = False
                self.shown(watching, "team-a/late")
                api.rights = lambda path: False
                self.assertEqual(watching.wait(timeout=PATIENCE_SECONDS), 1)


if __name__ == "__main__":
    unittest.main()
