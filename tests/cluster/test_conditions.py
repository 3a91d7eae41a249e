"""Goal: the matchConditions of the webhooks leave out exactly the writes that no rule needs to see:
a write that a rule refuses is refused, and a write of other fields calls no webhook.

Method: a real API server, the webhooks served by a controller that runs no other part, so that
every write is the test's own. One row per write: the calls that the API server counts, and the
verdict. Each condition is evaluated without an error."""

import copy
import json
import re

from cluster_test import ClusterTest

GROUP = "kueue.x-k8s.io/"
NOW = "2026-01-01T00:00:00Z"
GATES = {GROUP + "admission-gated-by": "example.com/gate"}
PODS = {"spec": {"restartPolicy": "Never", "containers": [
    {"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}]}}


def merged(base, patch):
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    result = dict(base) if isinstance(base, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def conditions(*types, **more):
    """Conditions that are true, and with NAME="False" some that are not."""
    states = {**dict.fromkeys(types, "True"), **more}
    return [{"type": name, "status": state, "reason": "R", "message": "m", "lastTransitionTime": NOW}
            for name, state in states.items()]


def admission(cpu="4", name="main", **more):
    return {"clusterQueue": "cq", "podSetAssignments": [
        {"name": name, "count": 4, "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": cpu}, **more}]}


def status(*types, **fields):
    return {"status": {"conditions": conditions(*types), **fields}}


def check(state, **updates):
    entry = {"name": "c", "state": state, "message": "m", "lastTransitionTime": NOW}
    if updates:
        entry["podSetUpdates"] = [{"name": "main", **updates}]
    return [entry]


def labels(**more):
    return {"metadata": {"labels": {GROUP + key.replace("_", "-"): value for key, value in more.items()}}}


def annotations(**more):
    return {"metadata": {"annotations": {GROUP + key.replace("_", "-"): value
                                         for key, value in more.items()}}}


def of_pods(**more):
    return {"spec": {"template": annotations(**more)}}


WORKLOAD = {"apiVersion": GROUP + "v1beta2", "kind": "Workload",
            "spec": {"queueName": "q", "podSets": [{"name": "main", "count": 4, "template": PODS}]}}
GATED = merged(WORKLOAD, {"metadata": {"annotations": GATES}})
RESERVED = status("QuotaReserved", admission=admission())
READY = status("QuotaReserved", admission=admission(), admissionChecks=check("Ready", labels={"a": "b"}))
RECLAIMED = status("QuotaReserved", admission=admission(), reclaimablePods=[{"name": "main", "count": 2}])
PLAIN = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": PODS, "parallelism": 4}}
JOB = merged(PLAIN, labels(queue_name="q"))
COMPLETE = merged(merged(PLAIN, labels(queue_name="q", priority_class="p")), {"spec": {"suspend": True}})
RUNS = {"spec": {"suspend": False}}
LEAST = annotations(job_min_parallelism="2")
QUOTA = {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [
    {"name": "f", "resources": [{"name": "cpu", "nominalQuota": "1"}]}]}]}
BAD_QUOTA = {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [
    {"name": "f", "resources": [{"name": "cpu", "nominalQuota": "-1"}]}]}]}


def kueue(kind, **spec):
    return {"apiVersion": GROUP + "v1beta2", "kind": kind, "spec": spec}


QUEUE = kueue("ClusterQueue", namespaceSelector={}, **QUOTA)
POLICY = {"apiVersion": "provisioning.berth.dev/v1alpha1", "kind": "ProvisioningPolicy",
          "spec": {"steps": [{"name": "a"}]}}
LABEL = {"metadata": {"labels": {"seen": "yes"}}}
W, J, JM = "vworkload.kb.io", "vjob.kb.io", "mjob.kb.io"
# (name, the object, earlier writes, the write or None: the create, calls or None: any, part of the
# refusal; "": accepted). A write with a status goes to the subresource.
ROWS = [
    ("a workload comes", WORKLOAD, [], None, {W: 1}, ""),
    ("a workload with a bad request comes", merged(WORKLOAD, {"spec": {"podSets": [
        {"name": "main", "count": 1, "template": {"metadata": {"labels": {"a": "b c"}},
                                                  "spec": PODS["spec"]}}]}}),
     [], None, {W: 1}, "must be"),
    ("a label of a workload", WORKLOAD, [], LABEL, {W: 0}, ""),
    ("a finalizer of a workload", WORKLOAD, [], {"metadata": {"finalizers": ["a.b/c"]}}, {W: 0}, ""),
    ("an explanation", WORKLOAD, [], {"metadata": {"annotations": {"berth.dev/explanation": "x"}}},
     {W: 0}, ""),
    ("the spec of a workload", WORKLOAD, [], {"spec": {"active": False}}, {W: 1}, ""),
    ("pod sets while quota is held", WORKLOAD, [RESERVED], {"spec": {"podSets": [
        {"name": "main", "count": 5, "template": PODS}]}}, {W: 1}, "field is immutable"),
    ("a workload that waits", WORKLOAD, [], status(QuotaReserved="False"), {W: 0}, ""),
    ("quota", WORKLOAD, [], RESERVED, {W: 1}, ""),
    ("quota without admission", WORKLOAD, [], status("QuotaReserved"), {W: 1},
     "must be set when quota is reserved"),
    ("quota of an unknown pod set", WORKLOAD, [], status("QuotaReserved", admission=admission(
        name="other")), {W: 1}, "must be the name of a podSet"),
    ("an admission without quota", WORKLOAD, [], status(admission=admission(name="other")), {W: 1},
     "must be the name of a podSet"),
    ("usage that is no multiple", WORKLOAD, [], status("QuotaReserved", admission=admission("4001m")),
     {W: 1}, "is not a multiple of 4"),
    ("negative usage", WORKLOAD, [], status("QuotaReserved", admission=admission("-4")), {W: 1},
     "must be greater than or equal to 0"),
    ("quota comes to an admission that was there", WORKLOAD, [status(admission=admission())], RESERVED,
     {W: 1}, ""),
    ("admitted", WORKLOAD, [RESERVED], status("QuotaReserved", "Admitted", admission=admission()),
     {W: 0}, ""),
    ("pods are ready", WORKLOAD, [RESERVED], status("QuotaReserved", "PodsReady",
                                                     admission=admission()), {W: 0}, ""),
    ("finished", WORKLOAD, [RESERVED], status("QuotaReserved", "Finished", admission=admission()),
     {W: 0}, ""),
    ("evicted", WORKLOAD, [RESERVED], {"status": {"admission": None, "conditions": conditions(
        "Evicted", QuotaReserved="False")}}, {W: 0}, ""),
    ("another admission", WORKLOAD, [RESERVED], status("QuotaReserved", admission=admission("8")),
     {W: 1}, "field is immutable"),
    ("a topology assignment", WORKLOAD, [RESERVED], status("QuotaReserved", admission=admission(
        topologyAssignment={"levels": ["l"], "slices": [
            {"domainCount": 1, "podCounts": {"universal": 4}, "valuesPerLevel": [
                {"universal": "a"}]}]})), {W: 1}, ""),
    ("the admission goes, the quota stays", WORKLOAD, [RESERVED], {"status": {"admission": None}},
     {W: 1}, "must be set when quota is reserved"),
    ("reclaimable pods", WORKLOAD, [RESERVED], RECLAIMED, {W: 1}, ""),
    ("reclaimable pods of an unknown pod set", WORKLOAD, [RESERVED], {"status": {"reclaimablePods": [
        {"name": "other", "count": 1}]}}, {W: 1}, "supported values"),
    ("too many reclaimable pods", WORKLOAD, [RESERVED], {"status": {"reclaimablePods": [
        {"name": "main", "count": 5}]}}, {W: 1}, "should be less or equal to 4"),
    ("fewer reclaimable pods", WORKLOAD, [RECLAIMED], {"status": {"reclaimablePods": [
        {"name": "main", "count": 1}]}}, {W: 1}, "cannot be less"),
    ("no reclaimable pods any more", WORKLOAD, [RECLAIMED], {"status": {"reclaimablePods": None}},
     {W: 1}, "cannot be removed"),
    ("a check without updates", WORKLOAD, [RESERVED], {"status": {"admissionChecks": check("Ready")}},
     {W: 0}, ""),
    ("a check with updates", WORKLOAD, [RESERVED], READY, {W: 1}, ""),
    ("a check with a bad label", WORKLOAD, [RESERVED], {"status": {"admissionChecks": check(
        "Ready", labels={"a": "b c"})}}, {W: 1}, "a valid label must be"),
    ("another message of a check", WORKLOAD, [READY], {"status": {"admissionChecks": [
        {**READY["status"]["admissionChecks"][0], "message": "other"}]}}, {W: 0}, ""),
    ("other updates of a ready check", WORKLOAD, [READY], {"status": {"admissionChecks": check(
        "Ready", labels={"a": "c"})}}, {W: 1}, "field is immutable"),
    ("a ready check loses its updates", WORKLOAD, [READY], {"status": {"admissionChecks": check(
        "Ready")}}, {W: 1}, "field is immutable"),
    ("a gate is added", WORKLOAD, [], {"metadata": {"annotations": GATES}}, {W: 1},
     "gates cannot be added"),
    ("a gate goes", GATED, [], {"metadata": {"annotations": {GROUP + "admission-gated-by": None}}},
     {W: 1}, ""),
    ("a boost", WORKLOAD, [], annotations(priority_boost="1"), {W: 1}, ""),
    ("a workload of the old version", {**WORKLOAD, "apiVersion": GROUP + "v1beta1"}, [], None, {W: 1}, ""),
    ("pod sets, old, while quota is held", {**WORKLOAD, "apiVersion": GROUP + "v1beta1"}, [RESERVED],
     {"spec": {"podSets": [{"name": "main", "count": 5, "template": PODS}]}}, {W: 1},
     "field is immutable"),
    ("a label of a workload, old", {**WORKLOAD, "apiVersion": GROUP + "v1beta1"}, [RESERVED], LABEL,
     {W: 0}, ""),
    ("a job of a queue", JOB, [], None, {J: 1, JM: 1}, ""),
    ("a job without a queue", PLAIN, [], None, {J: 0, JM: 1}, ""),
    ("a job that has all defaults", COMPLETE, [], None, {J: 1, JM: 0}, ""),
    # Its pod template gets the gate of elastic jobs.
    ("an elastic job that is suspended and has all labels", merged(COMPLETE, annotations(elastic_job="true")),
     [], None, {J: 1, JM: 1}, ""),
    ("a job with a bad queue", merged(PLAIN, labels(queue_name="No_Queue")), [], None, {J: 1}, "No_Queue"),
    ("an empty queue", merged(PLAIN, labels(queue_name="")), [], None, {J: 1}, "queue-name"),
    ("a bad time of a job without a queue", merged(PLAIN, labels(max_exec_time_seconds="no")), [], None,
     {J: 1}, "must be a whole number"),
    ("a bad least parallelism without a queue", merged(PLAIN, annotations(job_min_parallelism="9")), [],
     None, {J: 1}, "should be between 0 and 3"),
    ("a bad tie without a queue", merged(PLAIN, annotations(job_completions_equal_parallelism="no")),
     [], None, {J: 1}, "must be true or false"),
    ("a bad topology", merged(JOB, {"spec": {"template": {"metadata": {"annotations": {
        GROUP + "podset-required-topology": "b c"}}}}}), [], None, {J: 1}, "podset-required-topology"),
    ("an empty gate of a job without a queue", merged(PLAIN, annotations(admission_gated_by="a/b,")), [],
     None, {J: 1}, "empty gate"),
    ("a gate for a job", JOB, [], {"metadata": {"annotations": GATES}}, {J: 1},
     "cannot add admission gate"),
    ("a job loses its gate", merged(JOB, {"metadata": {"annotations": GATES}}), [],
     annotations(admission_gated_by=None), {J: 1}, ""),
    ("a job starts", JOB, [], RUNS, {J: 0, JM: 0}, ""),
    ("a job starts with what its pods get", COMPLETE, [], merged(RUNS, of_pods(workload="w")), {J: 0, JM: 0}, ""),
    ("another topology", COMPLETE, [], of_pods(podset_required_topology="a.b/c"), {J: 1}, ""),
    ("no topology", merged(COMPLETE, of_pods(podset_required_topology="a.b/c")), [],
     of_pods(podset_required_topology=None), {J: 1}, ""),
    ("a label of a job", JOB, [], LABEL, {J: 0}, ""),
    ("a label of a job without a queue", PLAIN, [], LABEL, {J: 0}, ""),
    ("other parallelism of a job without a queue", PLAIN, [], {"spec": {"parallelism": 3}}, {J: 0}, ""),
    # These have rules where manageJobsWithoutQueueName is set.
    ("a priority class of a job without a queue", PLAIN, [], labels(priority_class="p"), {J: 1}, ""),
    ("a topology of a job without a queue", merged(PLAIN, {"spec": {"template": {"metadata": {
        "annotations": {GROUP + "podset-required-topology": "b c"}}}}}), [], None, {J: 1}, ""),
    ("a workload with a bad name", merged(PLAIN, annotations(prebuilt_workload_name="No_Name")), [], None,
     {J: 1}, "No_Name"),
    ("another queue", JOB, [], labels(queue_name="other"), {J: 1}, ""),
    ("another queue of a running job", JOB, [RUNS], labels(queue_name="other"), {J: 1},
     "field is immutable"),
    ("no queue for a running job", JOB, [RUNS], labels(queue_name=None), {J: 1}, "field is immutable"),
    ("a queue for a running job", PLAIN, [], labels(queue_name="q"), {J: 1}, "field is immutable"),
    ("a workload for a running job", JOB, [RUNS], labels(prebuilt_workload_name="w"), {J: 1},
     "field is immutable"),
    ("a time for a running job", JOB, [RUNS], labels(max_exec_time_seconds="9"), {J: 1},
     "field is immutable"),
    ("no priority class any more", COMPLETE, [], labels(priority_class=None), {J: 1}, "cannot be removed"),
    ("an elastic job", JOB, [], annotations(elastic_job="true"), {J: 1}, "field is immutable"),
    ("a least parallelism", JOB, [], LEAST, {J: 1}, ""),
    ("a bad least parallelism", JOB, [], annotations(job_min_parallelism="4"), {J: 1},
     "should be between 0 and 3"),
    ("other parallelism of a running job", merged(JOB, LEAST), [RUNS], {"spec": {"parallelism": 3}},
     {J: 1}, "cannot change when partial admission"),
    ("a slice larger than the parallelism", merged(JOB, {"spec": {"template": {"metadata": {
        "annotations": {GROUP + "podset-slice-size": "4",
                        GROUP + "podset-slice-required-topology": "l"}}}}}), [],
     {"spec": {"parallelism": 3}}, {J: 1}, "must not be greater than pod set count 3"),
    ("a bad topology later", JOB, [], {"spec": {"template": {"metadata": {"annotations": {
        GROUP + "podset-required-topology": "b c"}}}}}, {J: 1}, "podset-required-topology"),
    ("a label of a queue", QUEUE, [], LABEL, {"vclusterqueue.kb.io": 0}, ""),
    ("a quota", QUEUE, [], {"spec": BAD_QUOTA}, {"vclusterqueue.kb.io": 1}, "nominalQuota"),
    ("a queue with a bad quota", kueue("ClusterQueue", namespaceSelector={}, **BAD_QUOTA), [], None,
     {"vclusterqueue.kb.io": 1}, "nominalQuota"),
    ("a label of a cohort", kueue("Cohort", **QUOTA), [], LABEL, {"vcohort.kb.io": 0}, ""),
    ("a cohort's quota", kueue("Cohort", **QUOTA), [], {"spec": BAD_QUOTA}, {"vcohort.kb.io": 1},
     "nominalQuota"),
    ("a label of a flavor", kueue("ResourceFlavor", nodeLabels={"a": "b"}), [], LABEL,
     {"vresourceflavor.kb.io": 0}, ""),
    ("a flavor's labels", kueue("ResourceFlavor", nodeLabels={"a": "b"}), [],
     {"spec": {"nodeLabels": {"a": "b c"}}}, {"vresourceflavor.kb.io": 1}, "nodeLabels"),
    ("a flavor's price", kueue("ResourceFlavor", nodeLabels={"a": "b"}), [],
     {"metadata": {"annotations": {"berth.dev/price-per-hour": "-1"}}}, {"vresourceflavor.kb.io": 1},
     "USD for one node and hour"),
    ("a label of a policy", POLICY, [], LABEL, {"vprovisioningpolicy.kb.io": 0}, ""),
    ("a policy's steps", POLICY, [], {"spec": {"steps": [{"name": "b", "zones": ["z"]}]}},
     {"vprovisioningpolicy.kb.io": 1}, ""),
    ("a label of a check", kueue("AdmissionCheck", controllerName="a"), [], LABEL,
     {"vadmissioncheck.kb.io": 0}, ""),
    ("a check's controller", kueue("AdmissionCheck", controllerName="a"), [],
     {"spec": {"controllerName": "b"}}, None, "field is immutable"),
    ("a label of a local queue", kueue("LocalQueue", clusterQueue="a"), [], LABEL,
     {"vlocalqueue.kb.io": 0}, ""),
    ("a local queue's queue", kueue("LocalQueue", clusterQueue="a"), [], {"spec": {"clusterQueue": "b"}},
     None, "field is immutable"),
    ("a label of a topology", kueue("Topology", levels=[{"nodeLabel": "a"}]), [], LABEL,
     {"vtopology.kb.io": 0}, ""),
    ("a topology's levels", kueue("Topology", levels=[{"nodeLabel": "a"}]), [],
     {"spec": {"levels": [{"nodeLabel": "b"}]}}, None, "levels can only change"),
]
COUNTER = re.compile(r'^apiserver_admission_webhook_admission_duration_seconds_count\{(.*)\} (\S+)$',
                     re.MULTILINE)
ERRORS = re.compile(r'^apiserver_admission_match_condition_evaluation_errors_total\{.*\} (\S+)$',
                    re.MULTILINE)


class ConditionsTest(ClusterTest):
    NODES = 0
    FLAGS = ("--controllers=",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.plane.wait_until(cls.is_reviewed, "the webhooks answer")

    @classmethod
    def is_reviewed(cls):
        done = cls.plane.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(
            merged(WORKLOAD, {"metadata": {"name": "probe"}})), check=False)
        return done.returncode == 0

    @classmethod
    def metrics(cls):
        return cls.plane.kubectl("get", "--raw", "/metrics").stdout

    @classmethod
    def calls(cls):
        """Name of a webhook -> how many calls."""
        found = {}
        for text, value in COUNTER.findall(cls.metrics()):
            name = re.search(r'name="([^"]*)"', text).group(1)
            found[name] = found.get(name, 0) + int(float(value))
        return found

    def create(self, item, name, *flags):
        body = merged(item, {"metadata": {"name": name}})
        return self.plane.kubectl("create", "-f", "-", *flags, stdin=json.dumps(body), check=False)

    def patch(self, item, name, patch, *flags):
        group, version = item["apiVersion"].split("/")
        flags += ("--subresource=status",) if "status" in patch else ()
        return self.plane.kubectl("patch", f"{item['kind'].lower()}s.{version}.{group}".replace(
            "topologys", "topologies").replace("policys", "policies"), name, "--type", "merge", "-p", json.dumps(patch), *flags,
            check=False)

    def test_each_write_is_seen_by_the_rules_that_it_needs(self):
        for number, (name, item, earlier, write, calls, refusal) in enumerate(copy.deepcopy(ROWS)):
            with self.subTest(name):
                made = f"row-{number}"
                if write is not None:
                    for done in [self.create(item, made)] + [self.patch(item, made, patch)
                                                             for patch in earlier]:
                        self.assertEqual(done.returncode, 0, done.stderr)
                before = self.calls()
                done = self.create(item, made) if write is None else self.patch(item, made, write)
                after = self.calls()
                self.assertEqual(done.returncode == 0, refusal == "", done.stdout + done.stderr)
                self.assertIn(refusal, done.stderr)
                for hook, count in (calls or {}).items():
                    self.assertEqual(after.get(hook, 0) - before.get(hook, 0), count, hook)

    def test_creations_and_statuses_of_the_controller_call_no_webhook(self):
        name = "system:serviceaccount:%s:kueue-controller-manager"
        # kubectl reads what it patches: more rights than the controller has.
        account = ("--as=" + name % "kueue-system", "--as-group=system:masters")
        another = ("--as=" + name % "default", "--as-group=system:masters")
        steps = [(lambda: self.create(WORKLOAD, "own", *account), 0),
                 (lambda: self.patch(WORKLOAD, "own", RESERVED, *account), 0),
                 (lambda: self.patch(WORKLOAD, "own", {"spec": {"active": False}}, *account), 1),
                 (lambda: self.create(WORKLOAD, "of-another", *another), 1)]
        for number, (step, calls) in enumerate(steps):
            with self.subTest(number):
                before = self.calls().get(W, 0)
                done = step()
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.calls().get(W, 0) - before, calls)

    def test_no_condition_fails(self):
        self.assertEqual([value for value in ERRORS.findall(self.metrics()) if float(value) > 0], [])
        hooks = [hook for kind in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
                 for item in self.plane.items(kind) for hook in item.get("webhooks", [])]
        self.assertGreaterEqual(sum("matchConditions" in hook for hook in hooks), 9)
