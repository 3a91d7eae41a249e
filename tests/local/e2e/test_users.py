"""Goal: a user with rights to one namespace works there with kubectl and berth, and nowhere else;
programs that show the token of a ServiceAccount have the rights of the account.

Method: a real `berth up` with queues of two teams; `berth user add` makes the users."""

import json
import os
import stat

from berth_up import KUBECTLS, ROOT, BerthUpTest
from waiting import wait_until

ROOM = {"cpu": "4", "memory": "4Gi", "pods": "20"}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "laptop"},
        "status": {"allocatable": ROOM, "capacity": ROOM}}
ROLES = os.path.join(ROOT, "manifests", "rbac", "user_roles.yaml")
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: %s, namespace: %s, labels: {kueue.x-k8s.io/queue-name: %s}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: "sh:1", command: [sh, -c, "exit 0"], resources: {requests: {cpu: %s}}}]
"""
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
metadata: {name: both}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: any, resources: [{name: cpu, nominalQuota: "1"}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: team-a}
spec: {clusterQueue: both}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: team-b}
spec: {clusterQueue: both}
"""


class UsersTest(BerthUpTest):
    def setUp(self):
        super().setUp()
        self.cluster = self.start_cluster(images=["kubectl:1=" + KUBECTLS[0]])
        self.data = os.path.join(self.cluster.folder, "data")
        self.cluster.apply(QUEUES)

    def add_user(self, name, *flags):
        path = os.path.join(self.cluster.folder, name + ".kubeconfig")
        self.cluster.berth("user", "add", name, "--data-dir", self.data, "--kubeconfig",
                           self.cluster.kubeconfig, "--out", path, *flags)
        return path

    def as_user(self, kubeconfig, program, *arguments, **options):
        """Runs kubectl or berth with another kubeconfig: the words and the exit code."""
        run = self.cluster.kubectl if program == "kubectl" else self.cluster.berth
        return run(*arguments, "--kubeconfig", kubeconfig, check=False, **options)

    def test_a_tenant_has_its_namespace(self):
        self.cluster.kubectl("apply", "-f", ROLES)
        jane = self.add_user("jane", "--group", "team-a", "-n", "team-a")
        self.assertEqual(stat.S_IMODE(os.stat(jane).st_mode), 0o600)
        who = self.as_user(jane, "kubectl", "auth", "whoami", "-o", "json")
        user = json.loads(who.stdout)["status"]["userInfo"]
        self.assertEqual((user["username"], user["groups"]), ("jane", ["team-a", "system:authenticated"]))
        refused = self.as_user(jane, "kubectl", "get", "jobs")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn('jobs.batch is forbidden: User "jane" cannot list resource "jobs" in API group '
                      '"batch" in the namespace "team-a"', refused.stderr)

        for role in ("edit", "kueue-batch-user-role"):
            self.cluster.kubectl("create", "rolebinding", role, "-n", "team-a", "--clusterrole", role,
                                 "--group", "team-a")
        made = self.as_user(jane, "kubectl", "apply", "-f", "-", stdin=JOB % ("first", "team-a", "q", 1))
        self.assertEqual(made.returncode, 0, made.stderr)
        self.as_user(jane, "kubectl", "apply", "-f", "-", stdin=JOB % ("second", "team-a", "q", 2))
        wait_until(lambda: self.has_quota("first"), "the first job has quota")
        why = wait_until(lambda: self.explains(jane), "berth why names the missing quota")
        self.assertIn("cpu", why)
        status = self.as_user(jane, "berth", "status", "-n", "team-a")
        self.assertEqual(status.returncode, 0, status.stderr)
        self.assertIn("second", status.stdout)

        for words in (["get", "jobs", "-n", "team-b"], ["get", "jobs", "-A"], ["get", "nodes"],
                      ["get", "clusterqueues"], ["delete", "namespace", "team-a"],
                      ["create", "rolebinding", "more", "--clusterrole", "edit", "--user", "joe"],
                      ["get", "--raw", "/metrics"], ["get", "pods", "--as", "kubernetes-admin"]):
            answer = self.as_user(jane, "kubectl", *words)
            self.assertNotEqual(answer.returncode, 0, words)
            self.assertRegex(answer.stderr, "(?i)forbidden", words)
        can = self.as_user(jane, "kubectl", "auth", "can-i", "--list")
        self.assertIn("jobs.batch", can.stdout)
        self.assertEqual(self.as_user(jane, "kubectl", "auth", "can-i", "create", "jobs").stdout.strip(), "yes")
        self.assertEqual(
            self.as_user(jane, "kubectl", "auth", "can-i", "create", "jobs", "-n", "team-b").stdout.strip(), "no")

    def has_quota(self, job):
        return any(condition["type"] == "QuotaReserved" and condition["status"] == "True"
                   for item in self.cluster.items("workloads", "-n", "team-a")
                   if item["metadata"]["ownerReferences"][0]["name"] == job
                   for condition in item.get("status", {}).get("conditions", []))

    def explains(self, kubeconfig):
        answer = self.as_user(kubeconfig, "berth", "why", "job/second", "-n", "team-a")
        return answer.stdout if "cpu" in answer.stdout else None

    def test_a_token_of_an_account(self):
        self.cluster.kubectl("create", "serviceaccount", "robot", "-n", "team-a")
        self.cluster.kubectl("create", "rolebinding", "robot", "-n", "team-a", "--clusterrole", "view",
                             "--serviceaccount", "team-a:robot")
        token = self.cluster.kubectl("create", "token", "robot", "-n", "team-a", "--duration", "15m").stdout.strip()

        def get(*words):
            return self.cluster.kubectl("get", *words, "--kubeconfig", self.bare(), "--token", token, check=False)
        self.assertEqual(get("jobs", "-n", "team-a").returncode, 0)
        self.assertIn("system:serviceaccount:team-a:robot", get("jobs", "-n", "team-b").stderr)
        self.cluster.kubectl("delete", "serviceaccount", "robot", "-n", "team-a")
        gone = get("jobs", "-n", "team-a")
        self.assertNotEqual(gone.returncode, 0)
        self.assertRegex(gone.stderr, "(?i)logged in|unauthorized")

    def test_programs_of_pods_are_their_account(self):
        self.cluster.apply(json.dumps(NODE))
        self.cluster.kubectl("create", "serviceaccount", "robot")
        self.cluster.kubectl("create", "rolebinding", "robot", "--clusterrole", "view",
                             "--serviceaccount", "default:robot")
        self.assertIn('"system:serviceaccount:default:default"', self.says("who", "auth", "whoami", "-o", "json"))
        self.assertIn('User "system:serviceaccount:default:default" cannot list resource "pods"',
                      self.says("refused", "get", "pods"))
        self.assertIn("refused-", self.says("reader", "get", "pods", "-o", "name", serviceAccountName="robot"))
        self.assertNotIn("serviceaccount",
                         self.says("nobody", "auth", "whoami", automountServiceAccountToken=False))

    def test_a_projected_token_is_where_clients_in_clusters_look(self):
        self.cluster.apply(json.dumps(NODE))
        no_kubeconfig = {"env": [{"name": "HOME", "value": "/"}]}
        said = self.says("inside", "auth", "whoami", "-o", "json", container=no_kubeconfig)
        user = json.loads(said)["status"]["userInfo"]
        self.assertEqual(user["username"], "system:serviceaccount:default:default")
        pod = self.cluster.items("pods", "-l", "job-name=inside")[0]["metadata"]
        self.assertEqual(user["extra"]["authentication.kubernetes.io/pod-uid"], [pod["uid"]])
        said = self.says("outside", "auth", "whoami", "-o", "json", automountServiceAccountToken=False,
                         container=no_kubeconfig)
        self.assertNotIn("serviceaccount:default", said)

    def says(self, name, *arguments, container=None, **spec):
        """What kubectl says that runs as a Job in the namespace default."""
        self.cluster.apply(json.dumps({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"backoffLimit": 0, "template": {"spec": {
                "restartPolicy": "Never", **spec,
                "containers": [{"name": "c", "image": "kubectl:1", "args": list(arguments),
                                **(container or {})}]}}}}))
        wait_until(lambda: self.cluster.is_true("job", name, "Complete") or self.cluster.is_true("job", name, "Failed"),
                   f"job {name} ends")
        return self.cluster.kubectl("logs", "job/" + name).stdout

    def bare(self):
        """The kubeconfig without credentials."""
        path = os.path.join(self.cluster.folder, "bare.kubeconfig")
        with open(self.cluster.kubeconfig, encoding="utf-8") as file:
            lines = [line for line in file if "token:" not in line]
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(lines)
        return path

    def test_bad_users_are_refused(self):
        for words, message in ((["system:admin"], "are the cluster's"), (["x" * 65], "1 to 64 characters"),
                               (["jane", "--days", "0"], "write 1 to 3650"),
                               (["jane", "--group", "system:nodes"], "are the cluster's"),
                               (["jane", "--data-dir", self.cluster.folder], "start `berth up`")):
            flags = ["--data-dir", self.data] if "--data-dir" not in words else []
            answer = self.cluster.berth("user", "add", *words, *flags, "--kubeconfig",
                                        self.cluster.kubeconfig, check=False)
            self.assertNotEqual(answer.returncode, 0, words)
            self.assertIn(message, answer.stderr)
