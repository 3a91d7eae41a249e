"""Goal: `berth controller` runs with an API as on a cluster: from a kubeconfig and Kueue's
Configuration file, one leading replica by the lease, with its own metrics and webhooks; and
beside `berth up`, which holds the lease, it only follows.

Method: real processes on free ports; a replica is killed with SIGKILL."""

import json
import os
import re
import shutil
import ssl
import time
import urllib.request

import exposition
from berth_up import BerthUpTest
from replica import Replica
from scratch import scratch_folder
from waiting import PATIENCE_SECONDS, wait_until

HEAD = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
"""
CONFIG = HEAD + """
leaderElection: {leaderElect: true}
featureGates: {MultiKueue: true}
"""
QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
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
"""
KINDS = HEAD + """
leaderElection: {leaderElect: true}
integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset, kubeflow.org/mpijob, ray.io/rayjob]}
"""
JOB_SET_CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: jobsets.jobset.x-k8s.io}
spec:
  group: jobset.x-k8s.io
  scope: Namespaced
  names: {kind: JobSet, plural: jobsets, singular: jobset, listKind: JobSetList}
  versions:
  - name: v1alpha2
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
    subresources: {status: {}}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, labels: {{kueue.x-k8s.io/queue-name: q}}}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers:
      - {{name: main, image: none, resources: {{requests: {{cpu: "1"}}}}}}
"""
LEASE = ("lease", "c1f6bfd2.kueue.x-k8s.io", "-n", "kueue-system")


class ControllerTest(BerthUpTest):
    def start_replica(self, cluster, name, *flags):
        replica = Replica(cluster, name, *flags)
        self.addCleanup(replica.kill)
        return replica

    def write(self, cluster, name, text):
        path = os.path.join(cluster.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def holder(self, cluster):
        return ((cluster.get(*LEASE) or {}).get("spec") or {}).get("holderIdentity", "")

    def wait_admitted(self, cluster, job):
        def admitted():
            found = cluster.get("job", job)
            return found and found["spec"]["suspend"] is False
        wait_until(admitted, f"job {job} is let run")

    def test_a_replica_admits_and_another_takes_over(self):
        cluster = self.start_cluster(flags=["--no-controllers"])
        config = self.write(cluster, "config.yaml", CONFIG)
        first = self.start_replica(cluster, "first", "--config", config)
        first.port("metrics")
        self.assertIn("featureGates.MultiKueue", first.log())
        wait_until(lambda: self.holder(cluster), "a replica leads")
        cluster.apply(QUEUES)
        cluster.apply(JOB.format(name="one"))
        self.wait_admitted(cluster, "one")
        self.assertIn("kueue_admitted_workloads_total", self.metrics(cluster, first))
        self.assertEqual(first.ask("health", "/healthz"), (200, "ok\n"))
        self.check_webhook(cluster, first)

        second = self.start_replica(cluster, "second")
        second.port("metrics")
        leader = self.holder(cluster)
        first.kill()
        cluster.apply(JOB.format(name="two"))
        # A lease lasts 15 s; followers read it every two to four seconds.
        self.wait_admitted(cluster, "two")
        self.assertNotEqual(self.holder(cluster), leader)

    def test_a_kind_without_objects_costs_one_watch_and_one_that_is_not_installed_none(self):
        cluster = self.start_cluster(flags=["--no-controllers"])
        self.start_replica(cluster, "one", "--config", self.write(cluster, "kinds.yaml", KINDS))
        wait_until(lambda: self.holder(cluster), "a replica leads")
        cluster.apply(QUEUES)
        cluster.apply(JOB.format(name="one"))
        self.wait_admitted(cluster, "one")

        def scrape():
            return exposition.read(cluster.kubectl("get", "--raw", "/metrics").stdout)

        def asked(samples, group, verbs):
            return sum(sample.value for sample in samples if sample.name == "apiserver_request_total"
                       and sample.labels["group"] == group and sample.labels["verb"] in verbs)

        def open_watches(samples, group):
            return sum(sample.value for sample in samples if sample.name == "apiserver_longrunning_requests"
                       and sample.labels["group"] == group and sample.labels["verb"] == "WATCH")

        samples = scrape()
        self.assertGreaterEqual(open_watches(samples, "batch"), 1, "the watches of Jobs are counted")
        for group in ("jobset.x-k8s.io", "kubeflow.org", "ray.io"):
            self.assertEqual((asked(samples, group, ("LIST", "WATCH")), open_watches(samples, group)), (0, 0), group)

        cluster.apply(JOB_SET_CRD)
        wait_until(lambda: open_watches(scrape(), "jobset.x-k8s.io") == 1, "JobSets are watched")
        cluster.apply(JOB.format(name="two"))
        self.wait_admitted(cluster, "two")
        samples = scrape()
        self.assertEqual(open_watches(samples, "jobset.x-k8s.io"), 1)
        self.assertEqual(asked(samples, "jobset.x-k8s.io", ("LIST",)), 1)

    def metrics(self, cluster, replica):
        with open(cluster.kubeconfig, encoding="utf-8") as file:
            token = re.search(r"token: (\S+)", file.read()).group(1)
        status, text = replica.metrics(token)
        self.assertEqual(status, 200, text)
        return text

    def check_webhook(self, cluster, replica):
        """The webhook answers a review over TLS, with the certificate in the Secret."""
        context = ssl.create_default_context(cadata=replica.authority())
        context.check_hostname = False  # the certificate is for the Service's name, which does not exist here
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                  "request": {"uid": "u-1", "operation": "CREATE",
                              "kind": {"group": "kueue.x-k8s.io", "version": "v1beta2",
                                       "kind": "ClusterQueue"},
                              "resource": {"group": "kueue.x-k8s.io", "version": "v1beta2",
                                           "resource": "clusterqueues"},
                              "object": {"apiVersion": "kueue.x-k8s.io/v1beta2",
                                         "kind": "ClusterQueue", "metadata": {"name": "c"},
                                         "spec": {"cohortName": "not a name!"}}}}
        request = urllib.request.Request(
            f"https://127.0.0.1:{replica.port('webhook')}"
            "/validate-kueue-x-k8s-io-v1beta2-clusterqueue",
            data=json.dumps(review).encode(), headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60, context=context) as answer:
            response = json.load(answer)["response"]
        self.assertEqual(response["uid"], "u-1")
        self.assertFalse(response["allowed"])

    def test_a_configuration_that_cannot_be_is_refused(self):
        cluster = self.start_cluster(flags=["--no-controllers"])
        for field, text in (("waitForPodsReady.timeout", "waitForPodsReady: {timeout: never}"),
                            ("featureGates.NoSuchGate", "featureGates: {NoSuchGate: true}")):
            config = self.write(cluster, "bad.yaml", HEAD + text + "\n")
            replica = self.start_replica(cluster, "bad", "--config", config)
            self.assertEqual(replica.process.wait(timeout=PATIENCE_SECONDS), 1)
            self.assertIn(field, replica.log())

    def test_another_namespace_holds_the_lease_and_the_certificate(self):
        folder = scratch_folder("berth-config-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        config = os.path.join(folder, "config.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(HEAD + "namespace: queues\nmetrics: {bindAddress: ':1'}\n")
        cluster = self.start_cluster(flags=["--config", config])
        for kind, name in (("lease", LEASE[1]), ("secret", "kueue-webhook-server-cert")):
            self.assertIsNotNone(cluster.get(kind, name, "-n", "queues"), kind)
            self.assertIsNone(cluster.get(kind, name, "-n", "kueue-system"), kind)
        # The API server calls the Service in kueue-system by name.
        refused = cluster.apply(QUEUES.replace("namespaceSelector: {}", "cohortName: 'no name!'"),
                                check=False)
        self.assertIn("cohortName", refused.stderr)
        self.assertIn("metrics.bindAddress", cluster.log())  # berth up serves no metrics, and warns

    def test_beside_berth_up_it_follows(self):
        cluster = self.start_cluster()
        leader = self.holder(cluster)
        self.assertTrue(leader.startswith("berth-up_"), leader)
        self.assertEqual(cluster.get(*LEASE)["spec"]["leaseDurationSeconds"], 60)
        beside = self.start_replica(cluster, "beside")
        beside.port("metrics")
        cluster.apply(QUEUES)
        cluster.apply(JOB.format(name="one"))
        self.wait_admitted(cluster, "one")
        self.assertEqual(self.holder(cluster), leader)
        self.assertNotIn("kueue_admitted_workloads_total{", self.metrics(cluster, beside))
        beside.kill()
        # The lease of a killed run does not delay the next run.
        cluster.kill()
        begun = time.monotonic()
        cluster.start()
        self.assertLess(time.monotonic() - begun, 45)
        self.assertNotEqual(self.holder(cluster), leader)
