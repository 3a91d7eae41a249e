"""Goal: manifests/rbac gives `berth controller` exactly the rights that it uses.

Method: a proxy that knows the roles (api_proxy.py, rbac.py) stands between the controller and
`berth up --no-controllers`. Stories make the controller send every kind of request: queued
provisioning, preemption, topology with failed nodes, retention, finalizers, both event APIs,
certificates, two replicas and their lease, scrapes of its metrics; lost and refused
answers make it read back. In the end no request lacked a right, and every right had a request."""

import os
import re
import time
import unittest
from types import SimpleNamespace

from api_proxy import ApiProxy
from berth_up import ROOT, BerthUpTest, read_sample
from rbac import Right, Rights, installed_rights, needs, read_roles, roles_of, text_of
from replica import Replica
from waiting import wait_until

RBAC = os.path.join(ROOT, "manifests", "rbac")
# Rights that no story uses: (group, resource, verb) -> why the controller needs them.
NOT_REACHED = {
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "patch"):
        "no declared kind is ready here; cluster.kinds has one",
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations", "patch"):
        "no declared kind is ready here; cluster.kinds has one",
    ("apiregistration.k8s.io", "apiservices", "patch"): "`berth up` has no APIServices of the visibility API",
    **{("resource.k8s.io", kind, verb):
       "`berth up` serves no claims of devices; cluster.claims has some"
       for kind in ("deviceclasses", "resourceclaimtemplates", "resourceslices")
       for verb in ("list", "watch")},
    **{("karpenter.sh", kind, verb): "no check of reactive capacity is here: Karpenter is read for such a check alone"
       for kind in ("nodeclaims", "nodepools") for verb in ("list", "watch")},
    ("", "events", "list"): "the events of pods that wait are read for such a check alone"}
ACCOUNT = "kueue-controller-manager"
SERIES_SECONDS = 61  # a repeated event is written at most once a minute

HEAD = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
"""
FAIR = HEAD + "fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare]}\n"
SHORT_LIVED = HEAD + """
waitForPodsReady: {timeout: 20s, recoveryTimeout: 20s, requeuingStrategy: {backoffLimitCount: 0}}
objectRetentionPolicies: {workloads: {afterFinished: 1s, afterDeactivatedByKueue: 1s}}
"""
QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: all}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  cohortName: all
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: default
      resources: [{name: cpu, nominalQuota: "4"}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: default}
spec: {clusterQueue: team}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 100
---
apiVersion: integrations.berth.dev/v1alpha1
kind: JobKind
metadata: {name: built-in}
spec: {group: jobset.x-k8s.io, version: v1alpha2, kind: JobSet, suspend: spec.suspend, podSets: [{template: spec}]}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
  labels: {{kueue.x-k8s.io/queue-name: q{labels}}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers:
      - {{name: main, image: "{image}", args: ["-c", "{script}"], resources: {{requests: {{cpu: "{cpu}"}}}}}}
"""
NODE = """
apiVersion: v1
kind: Node
metadata:
  name: {name}
  labels:
    kubernetes.io/hostname: {name}
    cloud.provider.com/node-group: racks
    cloud.provider.com/topology-block: b1
    cloud.provider.com/topology-rack: r1
"""
POLICY = """
apiVersion: provisioning.berth.dev/v1alpha1
kind: ProvisioningPolicy
metadata: {name: plain}
spec: {}
"""
PLAIN_NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: plain}\n"
ALLOCATABLE = {"memory": "8Gi", "pods": "10"}
WORKLOADS = r"/workloads/[^/]+/status"


class RbacTest(BerthUpTest):
    maxDiff = None

    def setUp(self):
        self.replicas = {}  # replicas in each cluster

    def start_side(self, rights, counted=None):
        """A cluster and a proxy before it."""
        cluster = self.start_cluster(flags=["--no-controllers"], images=["shell:1=/bin/sh"])
        proxy = ApiProxy(cluster.kubeconfig, rights, counted)
        self.addCleanup(proxy.close)
        return cluster, proxy

    def start_replica(self, cluster, proxy, name, configuration, *flags):
        path = os.path.join(cluster.folder, name + ".yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(configuration)
        replica = Replica(cluster, name, "--config", path, *flags, kubeconfig=proxy.kubeconfig)
        self.addCleanup(replica.kill)
        self.replicas.setdefault(cluster, []).append(replica)
        replica.port("metrics")
        return replica

    def add_node(self, cluster, name, text, cpus):
        cluster.apply(text)
        cluster.patch_status(f"/api/v1/nodes/{name}", {"allocatable": {**ALLOCATABLE, "cpu": str(cpus)}, "conditions": [
            {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "fine"}]})

    def submit(self, cluster, name, labels="", image="shell:1", script="sleep 600", cpu=3):
        cluster.apply(JOB.format(name=name, labels=labels, image=image, script=script, cpu=cpu))

    def wait_suspended(self, cluster, job, suspended):
        def looked():
            found = cluster.get("job", job)
            return found and found["spec"]["suspend"] is suspended
        wait_until(looked, f"job {job} has suspend {suspended}")

    def set_policy(self, cluster, policy):
        cluster.kubectl("patch", "localqueue", "q", "--type", "merge", "-p",
                        '{"spec":{"stopPolicy":"%s"}}' % policy)

    # Parts of the story ---------------------------------------------------------------------------
    def drain(self, cluster, job):
        """The job is stopped with its LocalQueue and starts again: an event, the same each time."""
        self.wait_suspended(cluster, job, False)
        self.set_policy(cluster, "HoldAndDrain")
        self.wait_suspended(cluster, job, True)
        self.set_policy(cluster, "None")
        self.wait_suspended(cluster, job, False)

    def provision(self, cluster):
        cluster.apply_dws(queues="queues.yaml")
        cluster.apply(read_sample("dws", "job-h100.yaml"))
        wait_until(lambda: [r for r in cluster.items("provisioningrequests")
                            if r.get("status", {}).get("conditions")], "a request that waits")
        before = [t["metadata"]["uid"] for t in cluster.items("podtemplates")]
        cluster.kubectl("delete", "podtemplates", "--all")
        wait_until(lambda: [t for t in cluster.items("podtemplates")
                            if t["metadata"]["uid"] not in before], "the template is made again")
        cluster.apply(read_sample("dws", "job-t4.yaml").replace("120s", "1s"))
        cluster.wait_complete("sample-job")
        cluster.kubectl("delete", "job", "sample-job-h100")
        wait_until(lambda: not cluster.items("provisioningrequests"), "requests gone")
        self.remember_stock(cluster)

    def remember_stock(self, cluster):
        """With a policy the outcomes of requests are kept: the first makes the ConfigMap."""
        cluster.apply(POLICY)
        cluster.kubectl("annotate", "admissioncheck", "dws-prov",
                        "berth.dev/provisioning-policy=plain")

        def version():
            found = [m["metadata"]["resourceVersion"]
                     for m in cluster.items("configmaps", "-n", "kueue-system")
                     if m["metadata"]["name"].startswith("berth-stock-")]
            return found[0] if found else None
        known = None
        for _ in range(2):
            cluster.kubectl("delete", "job", "sample-job")
            cluster.apply(read_sample("dws", "job-t4.yaml").replace("120s", "1s"))
            cluster.wait_complete("sample-job")
            wait_until(lambda: version() not in (None, known), "the stock memory is written")
            known = version()

    def preempt(self, cluster, proxy):
        proxy.fail("PATCH", WORKLOADS, 409, times=2)
        self.submit(cluster, "high", labels=", kueue.x-k8s.io/priority-class: high")
        self.wait_suspended(cluster, "low", True)
        self.wait_suspended(cluster, "high", False)
        wait_until(proxy.failed, "writes that met a conflict")
        cluster.kubectl("delete", "job", "high")
        self.wait_suspended(cluster, "low", False)

    def running(self, cluster, job):
        return sorted(pod["spec"]["nodeName"] for pod in cluster.items("pods")
                      if pod["metadata"]["labels"].get("batch.kubernetes.io/job-name") == job
                      and pod["status"]["phase"] == "Running")

    def submit_close(self, cluster, name, pods, scheduler="default-scheduler"):
        cluster.apply(read_sample("racks", "job.yaml")
                      .replace("generateName: close-together-", f"name: {name}")
                      .replace("parallelism: 4", f"parallelism: {pods}\n  backoffLimit: 20")
                      .replace("completions: 4", f"completions: {pods}")
                      .replace("restartPolicy:", f"schedulerName: {scheduler}\n      restartPolicy:")
                      .replace('"60s"', '"600s"'))

    def place_and_lose_nodes(self, cluster, proxy):
        for name in ("n1", "n2", "n3", "n4", "n5"):
            self.add_node(cluster, name, NODE.format(name=name), cpus=2)
        cluster.apply(read_sample("racks", "queues.yaml"))
        proxy.fail("PATCH", r"/pods/[^/]+\?", None)  # ungated, but the answer is lost
        self.submit_close(cluster, "close", 4)
        wait_until(lambda: len(self.running(cluster, "close")) == 4, "four pods run")
        wait_until(proxy.failed, "an answer was lost")
        lost = self.running(cluster, "close")[0]
        cluster.kubectl("delete", "node", lost)
        wait_until(lambda: len(self.running(cluster, "close")) == 4 and
                   lost not in self.running(cluster, "close"), "the lost node's pods run elsewhere")

        # These pods are never bound: they wait for a node that is deleted.
        self.submit_close(cluster, "waits", 2, scheduler="nobody")

        def sent_to():
            return {p["spec"].get("nodeSelector", {}).get("kubernetes.io/hostname")
                    for p in cluster.items("pods") if p["spec"].get("schedulerName") == "nobody"
                    and p["status"].get("phase") == "Pending" and not p["spec"].get("schedulingGates")}
        node = wait_until(lambda: next(iter(sent_to() - {None}), None), "pods sent to a node")
        cluster.kubectl("delete", "node", node)
        wait_until(lambda: [p for p in cluster.items("pods")
                            if p["status"].get("phase") == "Failed"], "a pod that waited has failed")
        cluster.kubectl("delete", "jobs", "close", "waits")

    def take_down(self, cluster):
        for kind in ("localqueues", "clusterqueues", "cohorts", "resourceflavors",
                     "admissionchecks", "topologies.kueue.x-k8s.io"):
            cluster.kubectl("delete", kind, "--all", seconds=60)
            wait_until(lambda kind=kind: not cluster.items(kind), f"{kind} gone")

    def hand_over(self, cluster, proxy, first):
        """The first replica gives its lease back; the next finds no certificate that it can read."""
        cluster.kubectl("patch", "secret", "kueue-webhook-server-cert", "-n", "kueue-system",
                        "--type", "merge", "-p", '{"data":{"tls.crt":"bm8="}}')
        second = self.start_replica(cluster, proxy, "second", FAIR)
        self.assertEqual(first.stop(), 0)
        wait_until(lambda: "leading" in second.log(), "the second replica leads")
        return second

    def live_short(self, cluster):
        self.submit(cluster, "ends", script="exit 0", cpu=1)
        self.submit(cluster, "never-ready", image="example.com/nowhere:1", cpu=1)
        cluster.wait_complete("ends")

    def expect_short_lives(self, cluster):
        wait_until(lambda: not cluster.get("job", "never-ready"), "the deactivated job is deleted")
        wait_until(lambda: not cluster.items("workloads"), "workloads of what is over are deleted")

    # The whole ------------------------------------------------------------------------------------
    def test_every_right_is_used_and_none_is_missing(self):
        rights = Rights(installed_rights(ACCOUNT, RBAC))
        cluster, proxy = self.start_side(rights)
        other, other_proxy = self.start_side(rights, counted=proxy)
        try:
            self.tell(cluster, proxy, other, other_proxy)
        except AssertionError as late:
            state = [one.kubectl("get", "jobs,workloads,pods,nodes", check=False).stdout +
                     "".join(replica.log()[-3000:] for replica in self.replicas.get(one, ()))
                     for one in (cluster, other)]
            raise AssertionError("\n".join([str(late), *state, str(proxy.forbidden)])) from None
        self.judge(rights, proxy)

    def tell(self, cluster, proxy, other, other_proxy):
        with open(os.path.join(ROOT, "manifests", "webhook", "webhooks.yaml"),
                  encoding="utf-8") as file:
            # Their Service is unreachable here; the certificate is written all the same.
            cluster.apply(file.read().replace("failurePolicy: Fail", "failurePolicy: Ignore"))
        first = self.start_replica(cluster, proxy, "first", FAIR)
        other_proxy.fail("POST", "^/apis/events.k8s.io/", 404, times=1)
        self.start_replica(other, other_proxy, "other", SHORT_LIVED, "--no-leader-elect")
        for one in (cluster, other):
            one.apply(QUEUES)
            self.add_node(one, "plain", PLAIN_NODE, cpus=16)
            self.submit(one, "low")
            self.drain(one, "low")
        begun = time.monotonic()
        self.live_short(other)
        with open(cluster.kubeconfig, encoding="utf-8") as file:
            token = re.search(r"token: (\S+)", file.read()).group(1)
        self.assertEqual(first.metrics(token)[0], 200)
        self.provision(cluster)
        self.preempt(cluster, proxy)
        self.place_and_lose_nodes(cluster, proxy)
        wait_until(lambda: time.monotonic() - begun > SERIES_SECONDS, "the minute of an event's series",
                   SERIES_SECONDS)
        for one in (cluster, other):
            self.drain(one, "low")
            one.kubectl("delete", "job", "low")
        self.expect_short_lives(other)
        self.hand_over(cluster, proxy, first)
        self.take_down(cluster)

    def judge(self, rights, proxy):
        self.assertEqual(proxy.forbidden, {}, "requests that no rule allows")
        unused = [right for right in rights.all if right not in proxy.used]
        excused = {(r.group, r.resource, r.verb) for r in unused} & set(NOT_REACHED)
        unused = [r for r in unused if (r.group, r.resource, r.verb) not in NOT_REACHED]
        self.assertEqual("\n".join(f"{right.role}: {text_of(right)}" for right in unused), "",
                         "rights that no request used")
        self.assertEqual(set(NOT_REACHED) - excused, set(), "excuses that nothing needs")


class RolesTest(unittest.TestCase):
    """Tests of rbac.py: reading roles and requests."""

    def test_the_judge_sees_a_right_too_many_and_one_too_few(self):
        jobs = [Right("role", "", "batch", "jobs", "", "", verb) for verb in ("list", "watch")]
        excused = [Right("role", "", group, resource, "", "", verb)
                   for group, resource, verb in NOT_REACHED]
        rights = Rights(jobs + excused)
        used = dict.fromkeys(jobs, "GET /apis/batch/v1/jobs")
        RbacTest.judge(self, rights, SimpleNamespace(used=used, forbidden={}))
        with self.assertRaisesRegex(AssertionError, "watch jobs.batch"):
            RbacTest.judge(self, rights, SimpleNamespace(used={jobs[0]: ""}, forbidden={}))
        with self.assertRaisesRegex(AssertionError, "patch jobs.batch"):
            RbacTest.judge(self, rights, SimpleNamespace(
                used=used, forbidden={"patch jobs.batch j": "PATCH /apis/batch/v1/jobs/j"}))

    def test_a_right_counts_in_its_namespace_and_for_its_name(self):
        lease = Right("role", "kueue-system", "coordination.k8s.io", "leases", "l", "", "get")
        rights = Rights([lease])

        def find(namespace, name):
            path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}"
            return rights.find(next(needs("GET", path, b"", 200)))
        self.assertEqual(find("kueue-system", "l"), lease)
        self.assertIsNone(find("kueue-system", "other"))
        self.assertIsNone(find("default", "l"))

    def test_what_a_request_needs(self):
        def need(method, target, body=b"{}", status=200):
            return [(n.namespace, n.group, n.resource, n.name, n.path, n.verb)
                    for n in needs(method, target, body, status)]
        jobs = "/apis/batch/v1/namespaces/d/jobs"
        self.assertEqual(need("GET", "/apis/batch/v1/jobs?limit=5"),
                         [("", "batch", "jobs", "", "", "list")])
        self.assertEqual(need("GET", jobs + "?watch=true"), [("d", "batch", "jobs", "", "", "watch")])
        self.assertEqual(need("GET", jobs + "?watch=true&fieldSelector=metadata.name%3Dj"),
                         [("d", "batch", "jobs", "j", "", "watch")])
        self.assertEqual(need("GET", jobs + "?fieldSelector=metadata.name%3Dj,status.x%3D1"),
                         [("d", "batch", "jobs", "", "", "list")])
        self.assertEqual(need("GET", jobs + "/j"), [("d", "batch", "jobs", "j", "", "get")])
        self.assertEqual(need("DELETE", jobs), [("d", "batch", "jobs", "", "", "deletecollection")])
        self.assertEqual(need("PATCH", jobs + "/j/status"),
                         [("d", "batch", "jobs/status", "j", "", "patch")])
        self.assertEqual(need("PATCH", jobs + "/j", status=201),
                         [("d", "batch", "jobs", "j", "", "patch"),
                          ("d", "batch", "jobs", "", "", "create")])
        self.assertEqual(need("GET", "/api/v1/namespaces/d"),
                         [("", "", "namespaces", "d", "", "get")])
        self.assertEqual(need("GET", "/api/v1/nodes"), [("", "", "nodes", "", "", "list")])
        self.assertEqual(need("GET", "/metrics"), [("", "", "", "", "/metrics", "get")])
        self.assertEqual(need("GET", "/version"), [])
        self.assertEqual(need("GET", "/openapi/v3/apis/batch/v1"), [])
        owned = (b'{"metadata":{"ownerReferences":[{"kind":"Job","name":"j",'
                 b'"blockOwnerDeletion":true}]}}')
        workloads = "/apis/kueue.x-k8s.io/v1beta2/namespaces/d/workloads"
        self.assertEqual(need("POST", workloads, owned, 201),
                         [("d", "kueue.x-k8s.io", "workloads", "", "", "create"),
                          ("d", "batch", "jobs/finalizers", "j", "", "update")])
        self.assertEqual(need("PATCH", workloads + "/w", owned)[1:],
                         [("d", "kueue.x-k8s.io", "workloads", "w", "", "delete"),
                          ("d", "batch", "jobs/finalizers", "j", "", "update")])

    def test_the_controllers_roles_are_those_that_are_bound_to_it(self):
        bound = {name: roles_of(ACCOUNT, os.path.join(RBAC, name)) for name in os.listdir(RBAC)}
        self.assertEqual({name: roles for name, roles in bound.items() if roles},
                         {"manager_role.yaml": {"kueue-manager-role"},
                          # Aggregated; cluster.kinds shows that its rights suffice.
                          "job_kinds_role.yaml": {"kueue-job-kinds-role"},
                          "leader_election_role.yaml": {"kueue-leader-election-role"},
                          "metrics_role.yaml": {"kueue-metrics-auth-role"},
                          "visibility_role.yaml": {"kueue-visibility-server-auth-reader"}})

    def test_roles_are_read_to_the_last_right(self):
        roles = read_roles(os.path.join(RBAC, "leader_election_role.yaml"))
        rights = Rights(roles["kueue-leader-election-role"])
        self.assertEqual({right.namespace for right in rights.all}, {"kueue-system"})
        self.assertEqual(len(set(rights.all)), len(roles["kueue-leader-election-role"]))

    def test_users_roles_give_only_what_kueue_calls_view_and_edit(self):
        view = {"get", "list", "watch"}
        edit = view | {"create", "delete", "patch", "update"}
        for name, rights in read_roles(os.path.join(RBAC, "user_roles.yaml")).items():
            verbs = {r.verb for r in rights if "/" not in r.resource}
            if name.endswith("-viewer-role"):
                # Pending workloads have the subresource only.
                of_pending = name.startswith("kueue-pending-workloads-")
                self.assertEqual(verbs, set() if of_pending else view, name)
            elif name.endswith("-editor-role"):
                self.assertEqual(verbs, edit, name)
            else:
                self.assertIn(name, ("kueue-batch-admin-role", "kueue-batch-user-role"))
                self.assertEqual(rights, [], name)
            self.assertLessEqual({r.verb for r in rights if "/" in r.resource}, {"get"}, name)
