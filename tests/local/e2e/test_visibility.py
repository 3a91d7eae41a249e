"""Goal: kubectl reads the visibility API on `berth up` as on a cluster with Kueue: pending workloads of both
kinds of queue in their order, with the reasons; discovery names the group and changes no other kind's name.

Method: a queue whose quota is used up, kubectl get --raw and kubectl api-resources."""

import json

from berth_up import BerthUpTest
from waiting import wait_until

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
    flavors: [{name: default, resources: [{name: cpu, nominalQuota: 1}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: a, namespace: default}
spec: {clusterQueue: team}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: b, namespace: default}
spec: {clusterQueue: team}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
  labels: {{kueue.x-k8s.io/queue-name: {queue}}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{{name: main, image: "none:1", resources: {{requests: {{cpu: "{cpu}"}}}}}}]
"""
ROOT = "/apis/visibility.kueue.x-k8s.io"
MESSAGE = "berth.dev/pending-message"


class VisibilityTest(BerthUpTest):
    def raw(self, path, check=True):
        return self.cluster.kubectl("get", "--raw", path, check=check)

    def pending(self, path, version="v1beta2"):
        return json.loads(self.raw(f"{ROOT}/{version}/{path}/pendingworkloads").stdout)

    def names(self, path):
        done = self.raw(f"{ROOT}/v1beta2/{path}/pendingworkloads", check=False)
        if done.returncode != 0:  # the queue is not known yet
            return []
        return [item["metadata"]["ownerReferences"][0]["name"] for item in json.loads(done.stdout)["items"]]

    def test_pending_workloads(self):
        self.cluster = self.start_cluster()
        self.cluster.apply(QUEUES)
        for name, queue, cpu in (("big-1", "a", 2), ("big-2", "b", 2), ("big-3", "a", 3)):
            self.cluster.apply(JOB.format(name=name, queue=queue, cpu=cpu))
            wait_until(lambda: name in self.names("clusterqueues/team"), f"{name} is in the queue")
        # Creation times are whole seconds; equal ones are ordered by UID.
        everything = self.names("clusterqueues/team")
        self.assertEqual(sorted(everything), ["big-1", "big-2", "big-3"])

        def explained():
            items = self.pending("clusterqueues/team")["items"]
            return all(MESSAGE in item["metadata"].get("annotations", {}) for item in items) and items
        items = wait_until(explained, "each says why it waits")
        for position, item in enumerate(items):
            self.assertEqual(item["positionInClusterQueue"], position)
            self.assertEqual(item["priority"], 0)
            # big-1 and big-2 are equal: of the two one alone may be tried.
            self.assertRegex(item["metadata"]["annotations"][MESSAGE],
                             "insufficient quota|Bypassed scheduling evaluation")
        of_a = self.pending("namespaces/default/localqueues/a", "v1beta1")
        self.assertEqual(of_a["apiVersion"], "visibility.kueue.x-k8s.io/v1beta1")
        self.assertEqual(of_a["kind"], "PendingWorkloadsSummary")
        self.assertEqual([item["positionInLocalQueue"] for item in of_a["items"]], [0, 1])
        self.assertEqual({item["localQueueName"] for item in of_a["items"]}, {"a"})
        page = json.loads(self.raw(f"{ROOT}/v1beta2/clusterqueues/team/pendingworkloads?offset=1&limit=1").stdout)
        # 0 is no limit of its own, as it is in Kueue.
        whole = json.loads(self.raw(f"{ROOT}/v1beta2/clusterqueues/team/pendingworkloads?limit=0").stdout)
        self.assertEqual(len(whole["items"]), 3)
        self.assertEqual([item["positionInClusterQueue"] for item in page["items"]], [1])
        self.refusals()
        self.discovery()

    def refusals(self):
        for path, text in (("clusterqueues/none/pendingworkloads", '"none" not found'),
                           ("namespaces/default/localqueues/none/pendingworkloads", '"none" not found'),
                           ("clusterqueues/team/pendingworkloads?limit=x", 'limit: "x" is not a whole'),
                           ("clusterqueues/team", "could not find the requested resource")):
            done = self.raw(f"{ROOT}/v1beta2/{path}", check=False)
            self.assertEqual(done.returncode, 1, path)
            self.assertIn(text, done.stderr)

    def discovery(self):
        group = json.loads(self.raw(ROOT).stdout)
        self.assertEqual([entry["version"] for entry in group["versions"]], ["v1beta2", "v1beta1"])
        versions = self.cluster.kubectl("api-versions").stdout.split()
        self.assertIn("visibility.kueue.x-k8s.io/v1beta1", versions)
        resources = self.cluster.kubectl("api-resources").stdout
        self.assertIn("kueue.x-k8s.io/v1beta2", resources)
        # kubectl goes on taking the kinds of Kueue by their short names.
        self.assertEqual(self.cluster.get("clusterqueue", "team")["apiVersion"], "kueue.x-k8s.io/v1beta2")
        self.assertEqual(self.cluster.kubectl("explain", "clusterqueue.spec").returncode, 0)
        index = json.loads(self.raw("/openapi/v3").stdout)["paths"]
        self.raw(index["apis/visibility.kueue.x-k8s.io/v1beta2"]["serverRelativeURL"])

    def test_without_controllers_the_group_is_absent(self):
        self.cluster = self.start_cluster(flags=["--no-controllers"])
        self.assertNotEqual(self.raw(ROOT, check=False).returncode, 0)
        self.assertNotIn("visibility", self.cluster.kubectl("api-versions").stdout)
