"""Goal: /metrics of `berth up` has kube-apiserver's names and labels, and counts what clients do; only users
with the right read it; clients cannot make series at will.

Method: kubectl acts, and the text is read as promtool reads it."""

import subprocess

import exposition
from berth_up import BerthUpTest
from scratch import die_with_parent
from waiting import wait_until

REQUEST = ("component", "group", "resource", "scope", "subresource", "verb", "version")
WATCH = ("group", "resource", "version")
# The labels of each metric, as a kube-apiserver 1.36 has them.
LABELS = {
    "apiserver_request_total": ("code", "dry_run", *REQUEST),
    "apiserver_request_duration_seconds_bucket": ("dry_run", "le", *REQUEST),
    "apiserver_response_sizes_bucket": ("le", *REQUEST),
    "apiserver_longrunning_requests": REQUEST,
    "apiserver_current_inflight_requests": ("request_kind",),
    "apiserver_watch_events_total": WATCH,
    "apiserver_watch_events_sizes_bucket": ("le", *WATCH),
    "apiserver_storage_objects": ("resource",),
    "apiserver_resource_objects": ("group", "resource"),
    "process_cpu_seconds_total": (),
    "process_open_fds": (),
    "process_max_fds": (),
    "process_resident_memory_bytes": (),
    "process_virtual_memory_bytes": (),
    "process_start_time_seconds": (),
}
CALL = ("name", "operation", "type")
LABELS_OF_WEBHOOKS = {
    "apiserver_admission_webhook_admission_duration_seconds_bucket": ("le", "rejected", *CALL),
    "apiserver_admission_webhook_request_total": ("code", "rejected", *CALL),
    "apiserver_admission_webhook_rejection_count": ("error_type", "rejection_code", *CALL),
    "apiserver_admission_webhook_fail_open_count": ("name", "type"),
}
# Nothing listens there.
DEAD_WEBHOOKS = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: dead}
webhooks:
- &hook
  name: open.example.com
  clientConfig: {url: "https://127.0.0.1:1/x"}
  failurePolicy: Ignore
  sideEffects: None
  admissionReviewVersions: [v1]
  rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]
- <<: *hook
  name: closed.example.com
  failurePolicy: Fail
"""
CONFIG_MAPS = {"group": "", "version": "v1", "resource": "configmaps", "subresource": ""}


class ApiMetricsTest(BerthUpTest):
    def setUp(self):
        super().setUp()
        self.cluster = self.start_cluster(flags=["--no-controllers"])

    def scrape(self):
        return exposition.read(self.cluster.kubectl("get", "--raw", "/metrics").stdout)

    def start_watch(self):
        watch = subprocess.Popen(
            [self.cluster.kubectl_program, "get", "configmaps", "--watch", "-o", "name"],
            env=self.cluster.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=die_with_parent)
        self.addCleanup(watch.wait)
        self.addCleanup(watch.kill)
        wait_until(lambda: exposition.value(self.scrape(), "apiserver_longrunning_requests", verb="WATCH",
                                            **CONFIG_MAPS) == 1, "the watch is open")
        return watch

    def test_names_and_labels(self):
        self.start_watch()
        self.cluster.kubectl("create", "configmap", "seen")
        wait_until(lambda: exposition.value(self.scrape(), "apiserver_watch_events_total", resource="configmaps"),
                   "the watch has sent")
        samples = self.scrape()
        self.assertEqual({name: exposition.label_names(samples, name) for name in LABELS},
                         {name: {tuple(sorted(labels))} for name, labels in LABELS.items()})

    def test_requests_are_counted(self):
        for name in ("a", "b", "c"):
            self.cluster.kubectl("create", "configmap", name)
        self.cluster.kubectl("create", "configmap", "a", check=False)
        self.cluster.kubectl("create", "configmap", "d", "--dry-run=server")
        self.cluster.kubectl("get", "configmap", "a")
        self.cluster.kubectl("get", "configmaps")
        self.cluster.kubectl("get", "configmaps", "-A")
        self.cluster.kubectl("apply", "--server-side", "-f", "-", stdin="apiVersion: v1\nkind: ConfigMap\n"
                             "metadata: {name: e}\n")
        samples = self.scrape()

        def count(**labels):
            return exposition.value(samples, "apiserver_request_total", **CONFIG_MAPS, **labels)
        self.assertEqual(count(verb="POST", scope="resource", code="201", dry_run=""), 3)
        self.assertEqual(count(verb="POST", scope="resource", code="409"), 1)
        self.assertEqual(count(verb="POST", scope="resource", code="201", dry_run="All"), 1)
        self.assertEqual(count(verb="GET", scope="resource", code="200"), 1)
        self.assertEqual(count(verb="LIST", scope="namespace", code="200"), 1)
        self.assertEqual(count(verb="LIST", scope="cluster", code="200"), 1)
        self.assertEqual(count(verb="APPLY", scope="resource", code="201"), 1)
        self.assertEqual(exposition.value(samples, "apiserver_request_duration_seconds_count", verb="POST",
                                          dry_run="", **CONFIG_MAPS), 4)
        self.assertGreater(exposition.value(samples, "apiserver_response_sizes_sum", verb="LIST", scope="cluster",
                                            **CONFIG_MAPS), 1000)

    def test_watches_and_objects(self):
        before = self.scrape()
        self.assertIsNone(exposition.value(before, "apiserver_longrunning_requests", verb="WATCH", **CONFIG_MAPS))
        watch = self.start_watch()
        self.cluster.kubectl("create", "configmap", "seen")
        wait_until(lambda: exposition.value(self.scrape(), "apiserver_watch_events_total", resource="configmaps"),
                   "the watch has sent")
        after = self.scrape()
        self.assertEqual(exposition.value(after, "apiserver_storage_objects", resource="configmaps"),
                         exposition.value(before, "apiserver_storage_objects", resource="configmaps") + 1)
        self.assertEqual(exposition.value(after, "apiserver_resource_objects", group="apiextensions.k8s.io"),
                         exposition.value(after, "apiserver_storage_objects",
                                          resource="customresourcedefinitions.apiextensions.k8s.io"))
        self.assertEqual(exposition.value(after, "apiserver_current_inflight_requests", request_kind="readOnly"), 1)
        watch.kill()
        wait_until(lambda: exposition.value(self.scrape(), "apiserver_longrunning_requests", verb="WATCH",
                                            **CONFIG_MAPS) == 0, "the watch is closed")

    def test_calls_of_webhooks(self):
        self.cluster.kubectl("apply", "-f", "-", stdin=DEAD_WEBHOOKS)
        self.cluster.kubectl("create", "configmap", "a", check=False)
        samples = self.scrape()
        self.assertEqual({name: exposition.label_names(samples, name) for name in LABELS_OF_WEBHOOKS},
                         {name: {tuple(sorted(labels))} for name, labels in LABELS_OF_WEBHOOKS.items()})
        create = {"operation": "CREATE", "type": "validating"}
        for name, rejected in (("open.example.com", "false"), ("closed.example.com", "true")):
            self.assertEqual(exposition.value(samples, "apiserver_admission_webhook_request_total", name=name,
                                              rejected=rejected, code="503", **create), 1)
        self.assertEqual(exposition.value(samples, "apiserver_admission_webhook_fail_open_count",
                                          name="open.example.com"), 1)
        self.assertEqual(exposition.value(samples, "apiserver_admission_webhook_rejection_count",
                                          name="closed.example.com", error_type="calling_webhook_error"), 1)

    def test_unknown_resources_make_no_series(self):
        for path in ("/api/v1/nonsense", "/apis/no.group/v1/things", "/nowhere/at/all"):
            self.cluster.kubectl("get", "--raw", path, check=False)
        samples = self.scrape()
        resources = {sample.labels.get("resource") for sample in samples}
        self.assertFalse(resources & {"nonsense", "things"})
        self.assertEqual(exposition.value(samples, "apiserver_request_total", code="404", resource="", verb="GET"), 3)

    def test_rights(self):
        def read():
            return self.cluster.kubectl("get", "--raw", "/metrics", "--as=prometheus", check=False)
        self.assertIn('cannot get path "/metrics"', read().stderr)
        self.cluster.kubectl("create", "clusterrolebinding", "scrape", "--clusterrole=system:monitoring",
                             "--user=prometheus")
        exposition.read(wait_until(lambda: read().stdout, "the reader is let in"))
