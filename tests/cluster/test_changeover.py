"""Goal: Berth takes over a cluster on which Kueue was at work, and Kueue could take it back. Nothing restarts:
every running pod runs on, no Workload is made anew or loses its admission, and what has not changed stays
as it was, byte for byte: Jobs, pods, pod groups, a Deployment's pods, a StatefulSet. What waits is admitted when
room comes, a preemption that was under way comes to its end, and pods that are lost are replaced and run.
`berth adopt --check` names the kinds that the Configuration leaves out. Afterwards the objects are such that Kueue's CRDs accept them, with Kueue's own field
managers and finalizers.

Method: three recordings of a live Kueue cluster (changeover/) are written into etcd with their uids, one
control plane each; `berth controller` runs behind a proxy that records every write. Of the first one a single number is
another: the failed request is tried again after 20 s, not 60."""

import collections
import json
import subprocess
import sys
import time

import recording
from api_proxy import ApiProxy
from cluster_test import ClusterTest
from installation import BERTH, NAMESPACE

KUEUE_KINDS = ("workloads", "clusterqueues", "localqueues", "cohorts", "resourceflavors", "admissionchecks",
               "provisioningrequestconfigs", "workloadpriorityclasses")
OTHERS = ("jobs.batch", "pods", "deployments.apps", "replicasets.apps", "statefulsets.apps",
          "provisioningrequests.autoscaling.x-k8s.io", "podtemplates")
# Field managers of Kueue's controllers and of the recorded cluster's other programs.
KUEUE_MANAGERS = {"kueue", "kueue-admission", "kueue-job-controller-PodsReady", "kueue-job-controller-Finished",
                  "kueue.x-k8s.io/provisioning-request", "kueue-reclaimable-pods"}
OTHER_MANAGERS = {"kubectl-client-side-apply", "kubectl-create", "kubectl-patch", "kubectl-scale"}
KUEUE_FINALIZERS = {"kueue.x-k8s.io/resource-in-use", "kueue.x-k8s.io/managed"}
BERTH_ANNOTATIONS = {"berth.dev/explanation", "berth.dev/preemption-plan"}
FAILED = "job-capacity-failed-22355"
FAILED_REQUEST = FAILED + "-prov-1"  # the next attempt replaces it
RETRY_SECONDS = 20  # until then, in the first recording; Berth comes to rest meanwhile
QUIET_SECONDS = 4
CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {frameworks: [batch/job, pod, deployment, statefulset]}
"""


class Witness(ApiProxy):
    """Records the writes of objects: neither leases, events, reviews nor the certificate's."""

    def __init__(self, kubeconfig):
        self.writes = []
        self.last = time.monotonic()
        super().__init__(kubeconfig)

    def note(self, client, body, status):
        path = client.path.partition("?")[0]
        ours = ("reviews", "/events", "/leases", "webhookconfigurations", "/secrets",
                "/customresourcedefinitions", "/apiservices")
        if client.command == "GET" or any(word in path for word in ours):
            return
        with self.lock:
            self.last = time.monotonic()
            self.writes.append((client.command, path, status, (body or b"").decode()))

    def is_quiet(self):
        with self.lock:
            return time.monotonic() - self.last > QUIET_SECONDS


class Changeover(ClusterTest):
    """One recording; the subclasses name it."""

    RECORDING = None
    NODES = 0
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.controller.end()
        cls.recorded = cls.read_recording()
        recording.load(cls.plane, cls.recorded)
        cls.plane.wait_until(lambda: len(cls.plane.items("workloads")) >= 17, "the objects are there")
        cls.settle()
        cls.before = cls.read_all()
        cls.findings = cls.adopt()
        cls.witness = Witness(cls.berth.write_inline_kubeconfig("witness.kubeconfig"))
        cls.addClassCleanup(cls.witness.close)
        cls.berth.add_components("pods", "serving")
        cls.controller = cls.berth.start("berth", kubeconfig=cls.witness.kubeconfig, flags=[
            "--config", cls.plane.write("configuration.yaml", CONFIGURATION)])
        cls.plane.wait_until(lambda: " leading lease=" in cls.controller.log(), "Berth leads")
        cls.witness.last = time.monotonic()
        cls.plane.wait_until(cls.witness.is_quiet, "Berth has written what it writes at its start")
        # The API server refuses a write while the webhooks do not lead to Berth yet; Berth repeats it.
        cls.first_writes = [write for write in cls.witness.writes if write[2] < 300]
        cls.after = cls.read_all()

    @classmethod
    def read_recording(cls):
        return recording.read(cls.RECORDING)

    @classmethod
    def settle(cls):
        """The control plane's own controllers look at the recorded objects first."""
        seen = None
        for _ in range(30):
            now = {key: value["metadata"]["resourceVersion"] for key, value in cls.read_all().items()}
            if now == seen:
                return
            seen = now
            time.sleep(2)
        raise AssertionError("the recorded objects do not come to rest")

    @classmethod
    def read_all(cls):
        """(kind, name) -> object."""
        return {(item["kind"], item["metadata"]["name"]): item
                for item in cls.plane.items(",".join((*KUEUE_KINDS, *OTHERS)), "-A",
                                            "--show-managed-fields")}

    @classmethod
    def adopt(cls):
        done = subprocess.run(
            [BERTH, "adopt", "--check", "-o", "json", "--kubeconfig", cls.plane.kubeconfig],
            text=True, capture_output=True, timeout=60, check=False, env={"HOME": cls.folder})
        return {(one["grade"], one["object"]) for one in json.loads(done.stdout)["findings"]}

    # What the tests say ---------------------------------------------------------------------------
    def of(self, objects, kind):
        return {name: item for (each, name), item in objects.items() if each == kind}

    def condition(self, workload, kind):
        return next((one for one in workload.get("status", {}).get("conditions", [])
                     if one["type"] == kind), {})

    def changed(self, kind):
        return {name for name, item in self.of(self.after, kind).items()
                # The control plane's own pod of the controller comes to rest when it likes.
                if item["metadata"].get("namespace") != NAMESPACE and item["metadata"]["resourceVersion"]
                != self.before[kind, name]["metadata"]["resourceVersion"]}

    def list_writes(self):
        counts = collections.Counter(f"{method} {path.rsplit('/apis/', 1)[-1]}"
                                     for method, path, _, _ in self.first_writes)
        return "\n".join(f"{count} {what}" for what, count in sorted(counts.items()))

    def check_nothing_is_made_anew(self):
        for kind in ("Workload", "Job", "Pod", "ProvisioningRequest"):
            uids = {name: item["metadata"]["uid"] for name, item in self.of(self.after, kind).items()}
            recorded = {item["metadata"]["name"]: item["metadata"]["uid"] for item in self.recorded
                        if item["kind"] == kind and item["metadata"]["name"] != FAILED_REQUEST}
            self.assertEqual({name: uids.get(name) for name in recorded}, recorded, kind)
        self.assertEqual(set(self.of(self.after, "Workload")), set(self.of(self.before, "Workload")))
        for name, pod in self.of(self.after, "Pod").items():
            self.assertNotIn("deletionTimestamp", pod["metadata"], name)

    def check_admissions_stay(self):
        for name, workload in self.of(self.before, "Workload").items():
            if self.condition(workload, "Evicted").get("status") == "True":
                continue
            if self.condition(workload, "Admitted").get("status") != "True":
                continue
            now = self.after["Workload", name]
            self.assertEqual(now["status"].get("admission"), workload["status"]["admission"], name)
            for kind in ("QuotaReserved", "Admitted", "PodsReady", "Evicted"):
                self.assertEqual(self.condition(now, kind), self.condition(workload, kind), name)

    def check_other_kinds_are_untouched(self):
        self.assertEqual(self.changed("Pod"), set(), self.list_writes())
        for kind in ("Deployment", "ReplicaSet", "StatefulSet"):
            self.assertEqual(self.changed(kind), set(), kind)
        for name in self.of(self.before, "Workload"):
            if not name.startswith("job-"):
                self.assertNotIn(name, self.changed("Workload"))

    def check_pods_are_taken_over(self):
        """What is lost comes back with the admission that Kueue gave; what ends gives its quota back."""
        workloads = {name: item["metadata"]["uid"] for name, item in self.of(self.before, "Workload").items()}
        lost = self.plane.get("pod", "db-1")["metadata"]["uid"]
        self.plane.kubectl("delete", "pod", "db-1", "--wait=false")

        def is_back():
            pod = self.plane.get("pod", "db-1")
            return (pod is not None and pod["metadata"]["uid"] != lost and pod["status"].get("phase") == "Running"
                    and pod["metadata"]["labels"].get("kueue.x-k8s.io/podset") == "main")
        self.plane.wait_until(is_back, "the StatefulSet's new pod runs")
        found = self.plane.get("workload", "statefulset-db-9a7d6")
        self.assertEqual(found["metadata"]["uid"], workloads["statefulset-db-9a7d6"])
        gone = next(name for name in self.of(self.before, "Pod") if name.startswith("web-"))
        self.plane.kubectl("delete", "pod", gone, "--wait=false")

        def replaced():
            pods = [pod for pod in self.plane.items("pods") if pod["metadata"]["name"].startswith("web-")]
            return len(pods) == 2 and all(
                pod["metadata"]["name"] != gone and pod["status"].get("phase") == "Running"
                or pod["metadata"]["name"] in self.of(self.before, "Pod") for pod in pods)
        self.plane.wait_until(replaced, "the Deployment's new pod runs")
        for name in ("lone-pod", "group-1", "group-2", "group-3"):
            self.plane.kubectl("patch", "pod", name, "--subresource=status", "--type=merge", "-p",
                               '{"status": {"phase": "Succeeded"}}')
        for name in ("g", "pod-lone-pod-070a8"):
            self.plane.wait_until(
                lambda name=name: self.condition(self.plane.get("workload", name), "Finished")
                .get("reason") == "Succeeded", f"{name} has finished")
        self.plane.wait_until(lambda: not self.plane.get("pod", "group-1")["metadata"].get("finalizers"),
                              "the ended pods are released")
        second = self.plane.get("pod", "short-group-1")
        self.assertIn({"name": "kueue.x-k8s.io/admission"}, second["spec"]["schedulingGates"])
        metadata = second["metadata"]
        self.plane.kubectl("create", "-f", "-", stdin=json.dumps({
            "apiVersion": "v1", "kind": "Pod", "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "100m"}}}]},
            "metadata": {"name": "short-group-2", "namespace": "default",
                         "labels": {key: metadata["labels"][key] for key in (
                             "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/pod-group-name")},
                         "annotations": {"kueue.x-k8s.io/pod-group-total-count": "2"}}}))
        self.plane.wait_until(lambda: self.is_admitted("short"), "the short group is whole, and runs")

    def check_kueue_would_take_it_back(self):
        self.controller.end()
        for (kind, name), item in self.read_all().items():
            if not item["apiVersion"].startswith("kueue.x-k8s.io"):
                continue
            meta = item["metadata"]
            # Kueue applies the status. What "berth" has merged beside it, such as owners, Kueue merges too.
            managers = {entry["manager"] for entry in meta["managedFields"]
                        if entry.get("subresource") == "status" or entry["manager"] != "berth"}
            self.assertLessEqual(managers, KUEUE_MANAGERS | OTHER_MANAGERS, (kind, name))
            self.assertLessEqual(set(meta.get("finalizers", [])), KUEUE_FINALIZERS, (kind, name))
            ours = {key for key in meta.get("annotations", {}) if "berth.dev" in key}
            self.assertLessEqual(ours, BERTH_ANNOTATIONS, (kind, name))
            if kind == "Workload":
                self.assertEqual(item["apiVersion"], "kueue.x-k8s.io/v1beta2")
        # No field that the CRDs (the fields are Kueue's: test_crds) do not know.
        text = self.plane.kubectl("get", ",".join(KUEUE_KINDS), "-A", "-o", "json").stdout
        done = self.plane.kubectl("replace", "--dry-run=server", "--validate=strict", "-f", "-",
                                  stdin=text, check=False)
        self.assertNotIn("unknown field", done.stderr)

    def set_quota(self, queue, cpu):
        path = "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota"
        self.plane.kubectl("patch", "clusterqueue", queue, "--type=json", "-p",
                           json.dumps([{"op": "replace", "path": path, "value": str(cpu)}]))

    def is_admitted(self, name):
        workload = self.plane.get("workload", name)
        return workload is not None and self.condition(workload, "Admitted").get("status") == "True"


class Running(Changeover):
    """Kueue was stopped while jobs ran, waited, asked for capacity."""

    RECORDING = "1-running"

    @classmethod
    def read_recording(cls):
        """With a shorter time until the next attempt: Kueue had not evicted the workload yet, so the time begins anew."""
        items = super().read_recording()
        failed, = (item for item in items if item["kind"] == "Workload" and item["metadata"]["name"] == FAILED)
        check, = failed["status"]["admissionChecks"]
        assert check["requeueAfterSeconds"] == 60, check
        check["requeueAfterSeconds"] = RETRY_SECONDS
        return items

    def test_changeover_and_back(self):
        print("Berth's first writes:\n" + self.list_writes(), file=sys.stderr)
        self.check_nothing_is_made_anew()
        self.check_admissions_stay()
        self.check_other_kinds_are_untouched()
        self.check_what_waits()
        self.check_writes(most_workloads=2 * len(WAITING_IN_1) + 2)
        self.check_adoption_report()
        self.check_failed_request_is_tried_again()
        # Room comes.
        self.assertFalse(self.is_admitted("job-waits-for-quota-73f83"))
        self.set_quota("cq", 20)
        self.plane.wait_until(lambda: self.is_admitted("job-waits-for-quota-73f83"), "what waited runs")
        self.plane.wait_until(lambda: not self.plane.get("job", "waits-for-quota")["spec"]["suspend"],
                              "its job is started")
        self.check_pods_are_taken_over()
        self.check_kueue_would_take_it_back()

    def check_what_waits(self):
        for name in WAITING_IN_1:
            before, now = self.before["Workload", name], self.after["Workload", name]
            self.assertEqual(now["spec"], before["spec"], name)
            self.assertNotIn("admission", now["status"], name)
            self.assertEqual(self.condition(now, "QuotaReserved")["reason"],
                             self.condition(before, "QuotaReserved")["reason"], name)

    def check_failed_request_is_tried_again(self):
        """The check's time has passed."""
        self.plane.wait_until(
            lambda: self.plane.get("provisioningrequest", FAILED + "-prov-2"),
            "the next attempt has the next number")
        self.assertEqual(
            self.plane.get("provisioningrequest", "job-capacity-asked-5a82a-prov-1")["metadata"]["uid"],
            self.before["ProvisioningRequest", "job-capacity-asked-5a82a-prov-1"]["metadata"]["uid"])

    def check_writes(self, most_workloads):
        """Explanations of what waits, counters of queues; no write of anything that runs."""
        of_workloads = [write for write in self.first_writes if "/workloads/" in write[1]
                        and "capacity-failed" not in write[1]]
        self.assertLessEqual(len(of_workloads), most_workloads, self.list_writes())
        of_queues = [write for write in self.first_writes if "queues/" in write[1]]
        self.assertLessEqual(len(of_queues), 16, self.list_writes())
        self.assertLessEqual(len(self.first_writes), 12, self.list_writes())
        of_jobs = [write for write in self.first_writes if "/jobs/" in write[1]]
        self.assertEqual(of_jobs, [], self.list_writes())

    def check_adoption_report(self):
        named = {name for _, name in self.findings}
        for workload in ("g", "pod-lone-pod-070a8", "pod-web-7bbfc5969d-8hhfd-0e5ae",
                         "pod-web-7bbfc5969d-l78pt-43ada", "statefulset-db-9a7d6"):
            self.assertIn(("stays", "workload default/" + workload), self.findings)
        self.assertIn(("missing", "pod default/short-group-1"), self.findings)
        for pod in ("lone-pod", "group-1", "group-2", "group-3"):
            self.assertIn(("differs", "pod default/" + pod), self.findings)
        for name in self.of(self.before, "Workload"):
            if name.startswith("job-"):
                self.assertNotIn("workload default/" + name, named)


WAITING_IN_1 = ("job-borrows-2-445d0", "job-never-fits-2c2e0", "job-no-queue-8c5f2",
                "job-waits-for-quota-73f83", "job-deactivated-0873b")


class Preempting(Changeover):
    """Kueue was stopped 0.8 s after two preemptors had come."""

    RECORDING = "2-preempting"

    def test_the_preemption_comes_to_its_end(self):
        print("Berth's first writes:\n" + self.list_writes(), file=sys.stderr)
        self.plane.wait_until(lambda: self.is_admitted("job-high-preempts-6d81b"), "the preemptor runs")
        self.plane.wait_until(lambda: self.is_admitted("job-reclaims-fc8d7"), "the owner has its quota")
        self.plane.wait_until(self.witness.is_quiet, "Berth is at rest")
        self.assertFalse(self.is_admitted("job-low-running-6fcf9"))
        now = self.read_all()
        self.assertEqual({name: item["metadata"]["uid"] for name, item in self.of(now, "Workload").items()},
                         {name: item["metadata"]["uid"]
                          for name, item in self.of(self.before, "Workload").items()})
        # Nothing is evicted that Kueue had not chosen.
        for name, workload in self.of(now, "Workload").items():
            evicted = self.condition(workload, "Evicted").get("status")
            if "capacity-failed" not in name and evicted == "True":
                self.assertEqual(
                    self.condition(self.before["Workload", name], "Evicted").get("status"), "True", name)
        for kind in ("Deployment", "ReplicaSet", "StatefulSet"):
            for name, item in self.of(now, kind).items():
                self.assertEqual(item["metadata"]["generation"],
                                 self.before[kind, name]["metadata"]["generation"])
        self.check_kueue_would_take_it_back()


class Preempted(Changeover):
    """Kueue was killed after the preemptions."""

    RECORDING = "3-preempted"

    def test_changeover_and_back(self):
        print("Berth's first writes:\n" + self.list_writes(), file=sys.stderr)
        self.check_nothing_is_made_anew()
        self.check_admissions_stay()
        self.check_other_kinds_are_untouched()
        self.assertFalse(self.is_admitted("job-low-running-6fcf9"))
        self.set_quota("cq", 20)
        self.plane.wait_until(lambda: self.is_admitted("job-low-running-6fcf9"),
                              "the victim of Kueue runs again")
        self.check_kueue_would_take_it_back()
