"""Goal: the DWS story works through all layers with real clients: kubectl of the newest version and
Debian's. Method: unmodified samples (shorter sleeps), every object checked with kubectl."""

import os

import berth_up
from berth_up import BerthUpTest, read_sample
from waiting import wait_until


class StoryTest(BerthUpTest):
    def tell(self, kubectl, queues):
        cluster = self.start_cluster(kubectl=kubectl)
        cluster.apply_dws(queues=queues)
        cluster.apply(read_sample("dws", "job-t4.yaml").replace("120s", "1s"))
        cluster.apply(read_sample("dws", "job-a100.yaml").replace("120s", "1s"))
        cluster.apply(read_sample("dws", "job-h100.yaml").replace("120s", "1s"))
        request = wait_until(
            lambda: next((r for r in cluster.items("provisioningrequests")
                          if r["metadata"]["name"].startswith("job-sample-job-h100-")
                          and r.get("status", {}).get("conditions")), None),
            "a ProvisioningRequest for the H100 that the cloud has seen")
        self.assertEqual(request["spec"]["provisioningClassName"], "queued-provisioning.gke.io")
        self.assertEqual(request["metadata"]["labels"]["kueue.x-k8s.io/managed"], "true")

        cluster.wait_complete("sample-job")
        cluster.wait_complete("sample-job-a100")
        self.assertTrue(cluster.get("job", "sample-job-h100")["spec"]["suspend"])
        why = cluster.berth("why", "job/sample-job-h100").stdout
        self.assertIn("for capacity", why)
        self.assertIn("none in stock", why)
        self.assertIn("sample-job-h100", cluster.berth("status").stdout)

        cluster.kubectl("patch", "nodepool", "dws-h100-nodepool", "--type", "merge", "-p",
                        '{"spec":{"stock":1}}')
        cluster.wait_complete("sample-job-h100")
        wait_until(lambda: not cluster.items("provisioningrequests"),
                   "requests gone when they are no longer needed")
        wait_until(lambda: not [n for n in cluster.items("nodes")
                                if "dws" in n["metadata"]["labels"].get(
                                    "cloud.google.com/gke-nodepool", "")],
                   "the GPU pools back at zero")
        self.assertEqual(cluster.stop(), 0)

    def test_newest_kubectl_applies_v1beta1(self):
        self.tell(berth_up.KUBECTLS[0], "queues-v1beta1.yaml")

    def test_every_other_kubectl_applies_v1beta2(self):
        if len(berth_up.KUBECTLS) < 2:
            self.skipTest("only one kubectl is here")
        for kubectl in berth_up.KUBECTLS[1:]:
            with self.subTest(kubectl=os.path.basename(kubectl)):
                self.tell(kubectl, "queues.yaml")


class DailyUseTest(BerthUpTest):
    """A user's everyday commands of kubectl on one cluster."""

    def test_commands(self):
        cluster = self.start_cluster()
        cluster.apply_dws()
        k = cluster.kubectl
        job = read_sample("dws", "job-h100.yaml")
        self.assertIn("created", cluster.apply(job).stdout)
        settings = ("apiVersion: v1\nkind: ConfigMap\n"
                    "metadata: {name: applied, namespace: default}\ndata: {a: b}\n")
        self.assertIn("created", cluster.apply(settings).stdout)
        self.assertIn("unchanged", cluster.apply(settings).stdout)
        self.assertIn("STATUS", k("get", "jobs").stdout)
        self.assertIn("dws-cluster-queue", k("get", "cq").stdout)
        self.assertIn("Pending Workloads".upper(), k("get", "lq", "-A").stdout)
        self.assertIn("Suspended", k("get", "job", "sample-job-h100").stdout)
        self.assertIn("Name:", k("describe", "job", "sample-job-h100").stdout)
        fields = k("explain", "job.spec", "--recursive").stdout
        self.assertRegex(fields, r"(?m)^ +backoffLimit\s*<integer>")
        self.assertRegex(fields, r"(?m)^ +imagePullPolicy\s*<string>")
        k("label", "job", "sample-job-h100", "team=vision")
        k("annotate", "job", "sample-job-h100", "note=x")
        self.assertIn("sample-job-h100", k("get", "jobs", "-l", "team=vision", "-o", "name").stdout)
        self.assertIn("sample-job-h100", cluster.berth("list", "-l", "team=vision").stdout)
        wait_until(lambda: cluster.items("workloads"), "a Workload")
        wait_until(lambda: "capacity" in cluster.berth("list", "--waiting").stdout,
                   "berth list says what it waits for")
        k("apply", "--server-side", "-f", "-", stdin="""
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default}
data: {a: "1"}
""")
        self.assertIn("diff", k("diff", "-f", "-", check=False, stdin="""
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default}
data: {a: "2"}
""").stdout)
        k("create", "namespace", "team-x")
        k("delete", "namespace", "team-x")
        self.assertIsNone(cluster.get("namespace", "team-x"))
        k("delete", "job", "sample-job-h100")
        wait_until(lambda: not cluster.items("workloads"), "the Workload collected with its Job")
        wait_until(lambda: not cluster.items("provisioningrequests"), "its request as well")

    def test_logs_are_followed_to_the_end(self):
        cluster = self.start_cluster(images=["speak:1=/bin/sh"])
        cluster.apply_dws()
        cluster.apply("""
apiVersion: batch/v1
kind: Job
metadata: {name: speak, namespace: default}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: c, image: "speak:1", args: ["-c", "echo one; sleep 1; echo two"]}
""")
        wait_until(lambda: [p for p in cluster.items("pods")
                            if p["status"].get("phase") in ("Running", "Succeeded")], "the pod runs")
        self.assertEqual(cluster.kubectl("logs", "-f", "job/speak").stdout, "one\ntwo\n")

    def test_unknown_image_says_how_to_map_it(self):
        cluster = self.start_cluster()
        cluster.apply_dws()
        cluster.kubectl("create", "job", "lost", "--image=example.com/nowhere:1")
        message = wait_until(
            lambda: next((s["state"]["waiting"]["message"] for p in cluster.items("pods")
                          for s in p["status"].get("containerStatuses", [])
                          if "waiting" in s["state"]
                          and s["state"]["waiting"]["reason"] in ("ErrImagePull", "ImagePullBackOff")),
                         None), "ErrImagePull")
        self.assertIn("--image", message)
