"""Goal: scripts written for kueuectl work with berth: create, stop, resume and list of Kueue's kinds and
of the pods of a job, with its flags and columns.

Method: the commands in a story on `berth up`; kubectl reads what they made."""

from berth_up import BerthUpTest
from waiting import wait_until

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: big, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "none:1", resources: {requests: {cpu: "9"}}}]
"""

POD = """
apiVersion: v1
kind: Pod
metadata: {name: big-0, labels: {batch.kubernetes.io/job-name: big}}
spec:
  restartPolicy: Never
  containers: [{name: main, image: "none:1", command: [sleep, "60"]}]
"""


class KueuectlTest(BerthUpTest):
    def test_a_story(self):
        self.cluster = self.start_cluster()
        berth = self.cluster.berth
        done = berth("create", "rf", "spot", "--node-labels", "tier=spot", "--tolerations", "spot:NoSchedule")
        self.assertEqual(done.stdout, "resourceflavor.kueue.x-k8s.io/spot created\n")
        refused = berth("create", "localqueue", "q", "-c", "team", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("--ignore-unknown-cq", refused.stderr)
        dry = berth("create", "cq", "team", "--nominal-quota", "spot:cpu=4", "--dry-run", "server")
        self.assertIn("team created (server dry run)", dry.stdout)
        self.assertIsNone(self.cluster.get("clusterqueue", "team"))
        berth("create", "clusterqueue", "team", "--cohort", "all", "--queuing-strategy", "StrictFIFO",
              "--nominal-quota", "spot:cpu=4;memory=1Gi", "--borrowing-limit", "spot:cpu=1;memory=0")
        berth("create", "lq", "q", "--clusterqueue", "team")
        queue = self.cluster.get("clusterqueue", "team")["spec"]
        self.assertEqual((queue["cohortName"], queue["queueingStrategy"]), ("all", "StrictFIFO"))
        self.assertEqual(queue["resourceGroups"][0]["flavors"][0]["resources"][0],
                         {"name": "cpu", "nominalQuota": "4", "borrowingLimit": "1"})
        self.cluster.apply(JOB)

        def listed():
            rows = berth("list", "workload", "--status", "pending", "--for", "job/big").stdout.splitlines()
            return len(rows) == 2 and rows[1].split()[1:7]
        self.assertEqual(wait_until(listed, "the workload is listed"),
                         ["job.batch", "big", "q", "team", "PENDING", "0"])
        self.assertEqual(berth("list", "wl", "--status", "admitted").stdout, "No resources found\n")
        wait_until(lambda: berth("list", "cq", "--active", "true").stdout.splitlines()[1:]
                   and berth("list", "cq").stdout.splitlines()[1].split()[:5] == ["team", "all", "1", "0", "true"],
                   "the queue's numbers")
        self.assertIn("tier=spot", berth("list", "resourceflavors").stdout)
        self.assertEqual(berth("list", "pods", "--for", "job/big").stdout, "No resources found\n")
        self.cluster.apply(POD)
        rows = berth("list", "pods", "--for", "jobs.batch/big", "--chunk-size", "1").stdout.splitlines()
        self.assertEqual(rows[0].split(), ["NAME", "READY", "STATUS", "RESTARTS", "AGE"])
        self.assertEqual([row.split()[0] for row in rows[1:]], ["big-0"])
        self.activity()
        # The list of berth itself is unchanged.
        self.assertIn("REASON", berth("list").stdout)

    def activity(self):
        berth = self.cluster.berth

        def policy(kind, name):
            return self.cluster.get(kind, name)["spec"].get("stopPolicy", "None")
        self.assertEqual(berth("stop", "clusterqueue", "team", "--keep-already-running").stdout,
                         "clusterqueue.kueue.x-k8s.io/team stopped\n")
        self.assertEqual(policy("clusterqueue", "team"), "Hold")
        berth("stop", "cq", "team")
        self.assertEqual(policy("clusterqueue", "team"), "HoldAndDrain")
        berth("resume", "cq", "team")
        self.assertEqual(policy("clusterqueue", "team"), "None")
        berth("stop", "lq", "q", "-n", "default")
        self.assertEqual(policy("localqueue", "q"), "HoldAndDrain")
        berth("resume", "lq", "q")
        name = self.cluster.items("workloads")[0]["metadata"]["name"]
        berth("stop", "workload", name)
        self.assertFalse(self.cluster.get("workload", name)["spec"]["active"])
        self.assertEqual(berth("resume", "wl", name).stdout, f"workload.kueue.x-k8s.io/{name} resumed\n")
        self.assertTrue(self.cluster.get("workload", name)["spec"]["active"])
        missing = berth("stop", "cq", "none", check=False)
        self.assertEqual(missing.returncode, 1)
        self.assertIn('"none" not found', missing.stderr)
