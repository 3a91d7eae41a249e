"""Goal: the visibility API works behind kube-apiserver: the aggregation layer trusts the controller's certificate,
the controller trusts the aggregation layer's word about the user, and RBAC decides who reads which queue.

Method: APIServices of manifests/visibility; users by kubectl --as, a ServiceAccount's token, and requests that claim
a user without the proxy's certificate. The Service is an ExternalName (installation.py)."""

import json
import ssl
import subprocess
import urllib.error
import urllib.request

from cluster_test import ClusterTest
from installation import BERTH
from team_queues import plain_queues

QUEUES = plain_queues(1)
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: big, namespace: default, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "none:1", resources: {requests: {cpu: "2"}}}]
"""
ROOT = "/apis/visibility.kueue.x-k8s.io"
OF_TEAM = ROOT + "/v1beta2/clusterqueues/team/pendingworkloads"
OF_Q = ROOT + "/v1beta1/namespaces/default/localqueues/q/pendingworkloads"


class VisibilityTest(ClusterTest):
    SHARES_PLANE = True

    def raw(self, path, *flags):
        return self.plane.kubectl("get", "--raw", path, *flags, check=False)

    def setUp(self):
        for version in ("v1beta1", "v1beta2"):
            self.plane.kubectl("wait", "--for=condition=Available", "--timeout=180s",
                               f"apiservice/{version}.visibility.kueue.x-k8s.io", seconds=200)
        self.apply_when_accepted(QUEUES)
        self.apply_when_accepted(JOB)

    def direct(self, path, **headers):
        """The status of a request to the controller itself, without kube-apiserver."""
        port = self.controller.port("visibility")
        request = urllib.request.Request(f"https://127.0.0.1:{port}{path}", headers={
            name.replace("_", "-"): value for name, value in headers.items()})
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            with urllib.request.urlopen(request, timeout=20, context=context) as answer:
                return answer.status
        except urllib.error.HTTPError as refused:
            return refused.code

    def why_of_jane(self):
        """`berth why` with the rights of one namespace: the position is from the visibility API."""
        with open(self.plane.kubeconfig, encoding="utf-8") as file:
            config = json.load(file)
        config["users"][0]["user"]["as"] = "jane"
        path = self.plane.write("jane.kubeconfig", json.dumps(config))
        done = subprocess.run([BERTH, "--kubeconfig", path, "why", "job/big"], text=True, capture_output=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_users_and_rights(self):
        def waiting():
            done = self.raw(OF_TEAM)
            return done.returncode == 0 and json.loads(done.stdout)["items"]
        item = self.plane.wait_until(waiting, "the workload waits in the queue")[0]
        self.assertEqual((item["localQueueName"], item["positionInClusterQueue"]), ("q", 0))
        self.assertEqual(item["metadata"]["ownerReferences"][0]["name"], "big")
        self.assertFalse(self.plane.get("apiservice", "v1beta2.visibility.kueue.x-k8s.io")["spec"]
                         .get("insecureSkipTLSVerify", False))
        # Nobody else has a right.
        done = self.raw(OF_TEAM, "--as", "jane", "--as-group", "system:authenticated")
        self.assertIn("forbidden", done.stderr)
        # A tenant has the right for queues of the own namespace, an admin for all.
        self.plane.kubectl("create", "rolebinding", "jane", "-n", "default", "--user", "jane",
                           "--clusterrole", "kueue-batch-user-role")
        self.plane.kubectl("create", "clusterrolebinding", "kim", "--user", "kim",
                           "--clusterrole", "kueue-batch-admin-role")
        self.plane.wait_until(lambda: self.raw(OF_Q, "--as", "jane").returncode == 0,
                              "jane reads the LocalQueue")
        self.assertIn("forbidden", self.raw(OF_TEAM, "--as", "jane").stderr)
        self.assertIn("workloads before it in ClusterQueue team: 0\n", self.why_of_jane())
        self.plane.wait_until(lambda: self.raw(OF_TEAM, "--as", "kim").returncode == 0,
                              "kim reads the ClusterQueue")
        # Past kube-apiserver: no user without a token or the proxy's certificate.
        self.assertEqual(self.direct(OF_TEAM), 401)
        self.assertEqual(self.direct(OF_TEAM, X_Remote_User="kim", X_Remote_Group="system:masters"), 401)
        self.plane.kubectl("create", "serviceaccount", "reader", "-n", "default")
        token = self.plane.kubectl("create", "token", "reader", "-n", "default").stdout.strip()
        self.assertEqual(self.direct(OF_TEAM, Authorization="Bearer " + token), 403)
        self.plane.kubectl("create", "clusterrolebinding", "reader", "--serviceaccount", "default:reader",
                           "--clusterrole", "kueue-batch-admin-role")
        self.plane.wait_until(lambda: self.direct(OF_TEAM, Authorization="Bearer " + token) == 200,
                              "the ServiceAccount reads with its token")

    def test_discovery(self):
        self.assertEqual(self.plane.get("clusterqueue", "team")["apiVersion"], "kueue.x-k8s.io/v1beta2")
        # Discovery follows the APIService.
        self.wait_until(lambda: "visibility.kueue.x-k8s.io/v1beta2" in self.plane.kubectl("api-versions").stdout,
                        "the group is known")
        self.wait_until(lambda: (done := self.plane.kubectl("api-resources", check=False)).returncode == 0
                        and not done.stderr, "every group tells its resources")

        def merged():
            return "visibility.kueue.x-k8s.io" in self.raw("/openapi/v2").stdout
        self.plane.wait_until(merged, "OpenAPI v2 has the group's paths")
