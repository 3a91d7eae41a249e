"""Goal: the CRDs accept and refuse the same objects as Kueue's, in both versions;
maps that have one owner are replaced as a whole.

Method: a real API server with the CRDs alone: no webhooks, no conversion, so that a verdict is that
of the schema and of the rules in CEL. One row per object, with the verdict."""

import json
import os
import shutil
import ssl
import unittest
import urllib.error
import urllib.request

from control_plane import ADMIN_TOKEN, PROGRAMS, ROOT, ControlPlane
from scratch import scratch_folder

GROUP = "kueue.x-k8s.io"
PLURALS = {"AdmissionCheck": "admissionchecks", "ClusterQueue": "clusterqueues", "Cohort": "cohorts",
           "LocalQueue": "localqueues", "MultiKueueCluster": "multikueueclusters",
           "MultiKueueConfig": "multikueueconfigs",
           "ProvisioningRequestConfig": "provisioningrequestconfigs",
           "ResourceFlavor": "resourceflavors", "Topology": "topologies", "Workload": "workloads",
           "WorkloadPriorityClass": "workloadpriorityclasses"}
NOW = "2026-01-01T00:00:00Z"
HOST = "kubernetes.io/hostname"


def thing(kind, version, spec=None, status=None, **more):
    result = {"apiVersion": f"{GROUP}/{version}", "kind": kind, **more}
    if spec is not None:
        result["spec"] = spec
    if status is not None:
        result["status"] = status
    return result


def pod_sets(count, **more):
    return [{"name": f"p{number}", "count": 1, "template": {"spec": {"containers": []}}, **more}
            for number in range(count)]


def workload(version, sets=1, status=None, **spec):
    return thing("Workload", version, {"podSets": pod_sets(sets), **spec}, status)


def condition(kind):
    return {"type": kind, "status": "True", "reason": "R", "message": "m", "lastTransitionTime": NOW}


def reserved(**admission):
    return {"conditions": [condition("QuotaReserved")],
            "admission": {"clusterQueue": "q", "podSetAssignments": [{"name": "p0", **admission}]}}


def placed(domains, counts, *levels):
    """A workload with quota and a topology assignment of one slice."""
    return reserved(topologyAssignment={
        "levels": [f"level-{number}" for number in range(len(levels))],
        "slices": [{"domainCount": domains, "podCounts": counts, "valuesPerLevel": list(levels)}]})


def levels(version, *labels):
    return thing("Topology", version, {"levels": [{"nodeLabel": label} for label in labels]})


def quotas(kind, version, **quota):
    return thing(kind, version, {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [
        {"name": "f", "resources": [{"name": "cpu", "nominalQuota": "1", **quota}]}]}]})


def flavor(version, labels=None, topology="t", **spec):
    spec = {"nodeLabels": labels or {"a": "b"}, **spec}
    return thing("ResourceFlavor", version, {**spec, "topologyName": topology} if topology else spec)


def clusters(version, **spec):
    return thing("MultiKueueCluster", version, spec)


def flavors_status(flavors, resources=1, **more):
    return {"flavors": [{"name": f"f{number}", "resources": [f"r{item}" for item in range(resources)],
                         **more} for number in range(flavors)]}


SECRET = {"location": "s"}
PLACES = {"individual": {"roots": ["a", "b"]}}
OLD, NEW = "v1beta1", "v1beta2"
# (name, the object, a later write or None, part of the refusal; "": accepted)
ROWS = [
    ("queueName goes under reservation", workload(NEW, queueName="q", status=reserved()),
     workload(NEW, status=reserved()), "queueName is immutable"),
    ("queueName comes under reservation", workload(NEW, status=reserved()),
     workload(NEW, queueName="q", status=reserved()), "queueName is immutable"),
    ("queueName goes without", workload(NEW, queueName="q"), workload(NEW), ""),
    ("queueName goes, old", workload(OLD, queueName="q", status=reserved()),
     workload(OLD, status=reserved()), "queueName is immutable"),
    ("one count for each domain", workload(NEW, status=placed(2, {"individual": [1, 2]}, PLACES)),
     None, ""),
    ("a count too few", workload(NEW, status=placed(2, {"individual": [1]}, PLACES)),
     None, "podCounts.individual must have"),
    ("a name too many", workload(NEW, status=placed(1, {"universal": 1}, PLACES)),
     None, "individual.roots must have"),
    ("18 pod sets, old", workload(OLD, 18), None, ""),
    ("18 pod sets", workload(NEW, 18), None, ""),
    ("19 pod sets, old", workload(OLD, 19), None, "Too many: 19: must have at most 18"),
    ("long level, old", thing("Workload", OLD, {"podSets": pod_sets(
        1, topologyRequest={"required": "l" * 64, "subGroupCount": -1})}), None, ""),
    ("long level", thing("Workload", NEW, {"podSets": pod_sets(
        1, topologyRequest={"required": "l" * 64})}), None, "Too long"),
    ("17 conditions, old", workload(OLD, status={
        "conditions": [condition(f"C{number}") for number in range(17)]}), None, ""),
    ("17 conditions", workload(NEW, status={
        "conditions": [condition(f"C{number}") for number in range(17)]}), None, "Too many: 17"),
    ("9 unhealthy nodes, old", workload(OLD, status={
        "unhealthyNodes": [{"name": f"n{number}"} for number in range(9)]}), None, ""),
    ("9 unhealthy nodes", workload(NEW, status={
        "unhealthyNodes": [{"name": f"n{number}"} for number in range(9)]}), None, "Too many: 9"),
    ("levels change at the hostname", levels(NEW, "a", HOST), levels(NEW, HOST), ""),
    ("levels change, old", levels(OLD, "a", HOST), levels(OLD, HOST), "field is immutable"),
    ("levels change elsewhere", levels(NEW, "a", "b"), levels(NEW, "a"), "levels can only change"),
    ("the hostname above another, old", levels(OLD, HOST, "a"), None, "only be used at the lowest"),
    ("a level twice, old", levels(OLD, "a", "a"), None, "must be unique"),
    ("64 flavors, old", thing("LocalQueue", OLD, {}, flavors_status(64)), None, ""),
    ("64 resources, old", thing("LocalQueue", OLD, {}, flavors_status(1, 64)), None, ""),
    ("65 flavors, old", thing("LocalQueue", OLD, {}, flavors_status(65)), None, "Too many: 65"),
    ("a taint of any effect, old", thing("LocalQueue", OLD, {}, flavors_status(
        1, nodeTaints=[{"key": "k", "effect": "Sometimes"}])), None, ""),
    ("a root cohort's limit", quotas("Cohort", NEW, borrowingLimit="1"), None, ""),
    ("a root cohort's limit, old", quotas("Cohort", OLD, borrowingLimit="1"), None, ""),
    ("a queue's limit without cohort", quotas("ClusterQueue", NEW, borrowingLimit="1"), None,
     "borrowingLimit must be nil when cohort is empty"),
    ("any mode, old", thing("ClusterQueue", OLD, {"admissionScope": {"admissionMode": "x"}}), None, ""),
    ("any mode", thing("ClusterQueue", NEW, {"admissionScope": {"admissionMode": "x"}}), None,
     "Unsupported value"),
    ("long controller, old", thing("AdmissionCheck", OLD, {"controllerName": "c" * 254}), None, ""),
    ("long controller", thing("AdmissionCheck", NEW, {"controllerName": "c" * 254}), None, "Too long"),
    ("long description, old", thing("WorkloadPriorityClass", OLD, value=1, description="d" * 2049),
     None, ""),
    ("a selector twice, old", thing("ProvisioningRequestConfig", OLD, {
        "provisioningClassName": "c", "podSetUpdates": {"nodeSelector": [
            {"key": "k", "valueFromProvisioningClassDetail": "v"}] * 2}}), None, ""),
    ("labels of a flavor with a topology", flavor(NEW), flavor(NEW, {"a": "c"}), ""),
    ("tolerations of a flavor with a topology", flavor(NEW),
     flavor(NEW, tolerations=[{"key": "k", "operator": "Exists"}]), ""),
    ("another topology", flavor(NEW), flavor(NEW, topology="u"), "topologyName is immutable"),
    ("no topology any more, old", flavor(OLD), flavor(OLD, topology=None), "topologyName is immutable"),
    ("a cluster by kubeconfig", clusters(NEW, clusterSource={"kubeConfig": SECRET}), None, ""),
    ("a cluster by profile",
     clusters(NEW, clusterSource={"clusterProfileRef": {"name": "p"}}), None, ""),
    ("a cluster by both", clusters(NEW, clusterSource={
        "kubeConfig": SECRET, "clusterProfileRef": {"name": "p"}}), None, "exactly one of"),
    ("a cluster by nothing", clusters(NEW, clusterSource={}), None, "exactly one of"),
    ("a cluster without a place",
     clusters(NEW, clusterSource={"kubeConfig": {"location": ""}}), None, "should be at least 1"),
    ("a cluster, old", clusters(OLD, kubeConfig=SECRET), None, ""),
    ("a cluster by profile alone, old", clusters(OLD, clusterProfileRef={"name": "p"}), None,
     "kubeConfig: Required"),
    ("clusters", thing("MultiKueueConfig", NEW, {"clusters": ["b", "a"],
                                                 "quotaManagement": "Automated"}), None, ""),
    ("a cluster twice", thing("MultiKueueConfig", NEW, {"clusters": ["a", "a"]}), None, "unique"),
    ("a cluster twice, old", thing("MultiKueueConfig", OLD, {"clusters": ["a", "a"]}), None,
     "Duplicate value"),
    ("no clusters", thing("MultiKueueConfig", NEW, {"clusters": []}), None, "at least 1 items"),
    ("21 clusters", thing("MultiKueueConfig", NEW, {"clusters": [f"c{n}" for n in range(21)]}), None,
     "Too many: 21"),
]


class CrdsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not os.path.exists(os.path.join(PROGRAMS, "kwok")):
            raise unittest.SkipTest("no control plane: build one with tools/kubernetes")
        folder = scratch_folder("berth-cluster-")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.plane = ControlPlane(folder, parent_ends_all=True)
        cls.addClassCleanup(cls.plane.stop)
        cls.plane.start()
        cls.plane.kubectl("apply", "--server-side", "-k", os.path.join(ROOT, "manifests", "crds"))
        for item in cls.plane.items("crd"):
            cls.plane.kubectl("patch", "crd", item["metadata"]["name"], "--type", "merge", "-p",
                              '{"spec": {"conversion": {"strategy": "None", "webhook": null}}}')
        cls.context = ssl.create_default_context(cafile=cls.plane.file("ca.crt"))
        cls.plane.wait_until(cls.served, "every kind is served in both versions")

    @classmethod
    def served(cls):
        for version in (OLD, NEW):
            code, answer = cls.call("GET", f"/apis/{GROUP}/{version}")
            if code != 200 or not set(PLURALS.values()) <= {item["name"] for item in answer["resources"]}:
                return False
        return True

    @classmethod
    def call(cls, method, path, body=None, media="application/json"):
        request = urllib.request.Request(
            cls.plane.server + path, method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": "Bearer " + ADMIN_TOKEN, "Content-Type": media})
        try:
            with urllib.request.urlopen(request, timeout=30, context=cls.context) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    @staticmethod
    def place(item):
        namespace = "/namespaces/default" if item["kind"] in ("Workload", "LocalQueue") else ""
        return f"/apis/{item['apiVersion']}{namespace}/{PLURALS[item['kind']]}"

    def write(self, item, name, version=""):
        """Creates or replaces the object; returns the verdict of the first refusal, or ""."""
        body = {**item, "metadata": {"name": name}}
        path = self.place(item)
        if version:
            body["metadata"]["resourceVersion"] = version
            code, answer = self.call("PUT", f"{path}/{name}", body)
        else:
            code, answer = self.call("POST", path, body)
            if code == 201 and "status" in item:
                body["metadata"]["resourceVersion"] = answer["metadata"]["resourceVersion"]
                code, answer = self.call("PUT", f"{path}/{name}/status", body)
        if code >= 300:
            self.assertEqual(code, 422, answer)
            return answer["message"], ""
        return "", answer["metadata"]["resourceVersion"]

    def test_what_is_let_in(self):
        for number, (name, first, then, refusal) in enumerate(ROWS):
            with self.subTest(name):
                said, version = self.write(first, f"row-{number}")
                if then is not None:
                    self.assertEqual(said, "")
                    said, _ = self.write(then, f"row-{number}", version)
                self.assertEqual(said == "", refusal == "", said)
                self.assertIn(refusal, said)

    def test_maps_of_one_owner_are_replaced(self):
        def apply(kind, spec, manager):
            item = {**thing(kind, NEW, spec), "metadata": {"name": "map"}}
            code, answer = self.call("PATCH", f"{self.place(item)}/map?fieldManager={manager}&force=true",
                                     item, "application/apply-patch+yaml")
            self.assertLess(code, 300, answer)
            return answer["spec"]

        apply("ClusterQueue", {"namespaceSelector": {"matchLabels": {"a": "1"}}}, "one")
        now = apply("ClusterQueue", {"namespaceSelector": {"matchLabels": {"b": "2"}}}, "two")
        self.assertEqual(now["namespaceSelector"], {"matchLabels": {"b": "2"}})
        apply("ResourceFlavor", {"nodeLabels": {"a": "1"}}, "one")
        now = apply("ResourceFlavor", {"nodeLabels": {"b": "2"}}, "two")
        self.assertEqual(now["nodeLabels"], {"b": "2"})

    def test_every_kind_is_there_with_its_short_name(self):
        for kind, short in (("MultiKueueCluster", "mkc"), ("MultiKueueConfig", "mkconf")):
            self.assertEqual(self.plane.kubectl("get", short).returncode, 0, kind)
