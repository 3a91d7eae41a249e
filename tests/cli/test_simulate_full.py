"""Goal: `berth simulate --full` plays jobs with every part of Berth: requests for queued capacity wait for stock, machines
of low priority are taken back, and where neither plays a part the scheduler alone says the same.

Method: the program, without any cluster, in virtual time. The times of the cloud are those of local/cloud/cloud_step.h:
a request is accepted a second after it was made, and granted five seconds later where there is stock."""

import json
import os
import subprocess
import sys
import unittest

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "py"))
from fake_api import FakeApi  # noqa: E402
from scratch import ScratchTest  # noqa: E402

DWS = os.path.join(ROOT, "manifests", "samples", "dws")
GPU = "nvidia.com/gpu"

QUEUE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: gpu}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors: [{name: gpu, resources: [{name: nvidia.com/gpu, nominalQuota: 2}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: main, namespace: default}
spec: {clusterQueue: team}
"""

POOL = """
apiVersion: cloud.berth.dev/v1alpha1
kind: NodePool
metadata: {name: pool}
spec:
  machineType: n1-standard-4
  accelerator: {type: nvidia-tesla-t4, count: 1}
  zones: [a]
  minNodes: 0
  maxNodes: 4
  bootSeconds: 60
  idleSeconds: 120
"""


class FullTest(ScratchTest):
    def simulate(self, *words, given):
        done = subprocess.run([os.environ["BERTH"], "simulate", *words, "--workload", "-", "-o", "json"], input=given,
                              capture_output=True, text=True, timeout=200, check=False,
                              env={"PATH": os.environ["PATH"], "HOME": self.folder})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_queued_capacity_waits_for_stock(self):
        with open(os.path.join(DWS, "nodepools.yaml"), encoding="utf-8") as file:
            t4 = file.read().split("\n---\n", maxsplit=1)[0]
        self.assertIn("maxNodes: 1", t4)
        pools = self.write("pools.yaml", t4.replace("maxNodes: 1", "maxNodes: 2").replace("idleSeconds: 600", "idleSeconds: 60"))
        words = ("-f", os.path.join(DWS, "queues.yaml"), "--pools", pools)
        # Two nodes may be there, one machine is in stock: the second job waits for the machine of the first.
        jobs = "submit,gpu,run\n0,1,100\n0,1,50\n"
        full = self.simulate(*words, "--full", given=jobs)
        total, [pool] = full["total"], full["pools"]
        self.assertEqual((total["finished"], total["preemptions"]), (2, 0))
        self.assertEqual(pool["peakNodes"], 1)
        # Accepted after 1 s, granted 5 s later, a boot of 60 s, and some seconds of controllers.
        self.assertTrue(66 <= total["waitP50"] <= 75, total)
        # The first job has ended at 166 s and more; its node goes a minute later and more, then the same again.
        self.assertTrue(280 <= total["waitP99"] <= 1200, total)
        self.assertEqual(self.simulate(*words, "--full", given=jobs), full)

    def test_what_never_comes_says_why(self):
        report = self.simulate("-f", os.path.join(DWS, "queues.yaml"), "--pools", os.path.join(DWS, "nodepools.yaml"), "--full",
                               given="submit,pods,gpu,run\n0,1,1,60\n1,1,16,60\n")
        self.assertEqual((report["total"]["finished"], report["total"]["unfinished"]), (1, 1))
        self.assertEqual(report["unfinished"][0]["firstLine"], 3)
        self.assertNotEqual(report["unfinished"][0]["why"], "")

    def test_a_declared_maximum_ends_a_run_of_the_whole_of_berth_alone(self):
        queues, pools = self.write("queues.yaml", QUEUE), self.write("pools.yaml", POOL)
        words = ("-f", queues, "--pools", pools)
        jobs = "submit,pods,gpu,run,walltime\n0,2,1,3000,900\n1,2,1,50,600\n2,2,1,50,\n"
        total = self.simulate(*words, given=jobs)["total"]
        self.assertEqual((total["finished"], total["unfinished"]), (3, 0))
        self.assertGreaterEqual(total["waitP99"], 3000)
        full = self.simulate(*words, "--full", given=jobs)
        total = full["total"]
        self.assertEqual((total["finished"], total["unfinished"]), (2, 1))
        self.assertEqual((full["unfinished"][0]["firstLine"], full["unfinished"][0]["why"]), (2, "The workload is deactivated due to exceeding the maximum execution time"))
        self.assertTrue(880 <= total["waitP50"] <= 920, total)

    def test_machines_that_are_taken_back(self):
        queues = self.write("queues.yaml", QUEUE)
        pools = self.write("pools.yaml", POOL + "  spot: true\n  eviction: {afterSeconds: 600, noticeSeconds: 30}\n")
        report = self.simulate("-f", queues, "--pools", pools, "--full", given="submit,gpu,run\n0,1,400\n0,1,500\n1000,1,60\n")
        total = report["total"]
        self.assertEqual(total["finished"], 3)
        # On demand the same jobs lose nothing.
        pools = self.write("demand.yaml", POOL)
        safe = self.simulate("-f", queues, "--pools", pools, "--full", given="submit,gpu,run\n0,1,400\n0,1,500\n1000,1,60\n")
        self.assertEqual(safe["total"]["destroyedHours"].get(GPU, 0), 0)
        # A run that begins on a used machine is lost when the machine is 600 s old, and runs anew.
        short = self.write("short.yaml", POOL.replace("maxNodes: 4", "maxNodes: 1") +
                           "  spot: true\n  eviction: {afterSeconds: 600, noticeSeconds: 30}\n")
        for mode in ((), ("--full",)):
            total = self.simulate("-f", queues, "--pools", short, *mode, given="submit,gpu,run\n0,1,300\n1,1,400\n")["total"]
            with self.subTest(mode=mode):
                self.assertEqual((total["finished"], total["evictions"]), (2, 1))
                self.assertGreater(total["destroyedHours"][GPU], 0.05)

    def test_preemption_and_the_scheduler_alone(self):
        queues = self.write("queues.yaml", QUEUE)
        pools = self.write("pools.yaml", POOL)
        jobs = "submit,priority,gpu,run\n0,,1,300\n0,-5,1,300\n100,10,1,200\n400,,1,50\n1000,,2,20\n"
        words = ("-f", queues, "--pools", pools)
        full = self.simulate(*words, "--full", given=jobs)
        alone = self.simulate(*words, given=jobs)
        for report in (full, alone):
            self.assertEqual((report["total"]["preemptions"], report["total"]["finished"], report["total"]["unfinished"]), (1, 4, 1))
        by_priority = [{row["priorityClass"]: row for row in report["queues"]} for report in (full, alone)]
        self.assertEqual(set(by_priority[0]), set(by_priority[1]))
        for priority, row in by_priority[0].items():
            self.assertAlmostEqual(row["waitMean"], by_priority[1][priority]["waitMean"], delta=10, msg=priority)
        self.assertAlmostEqual(full["total"]["destroyedHours"][GPU], alone["total"]["destroyedHours"][GPU], delta=0.01)

    def test_stages_wait_for_results(self):
        queues = self.write("queues.yaml", QUEUE)
        pools = self.write("pools.yaml", POOL.replace("minNodes: 0", "minNodes: 2"))
        graph = ("kind: JobGenerator\nsources:\n- queue: main\n  gpu: 1\n  run: 60\n  linger: 40\n"
                 "  stages: [{stages: 3, min: 1, max: 1}]\n")
        full = self.simulate("-f", queues, "--pools", pools, "--full", given=graph)
        self.assertEqual(full["total"]["finished"], 3)
        self.assertTrue(220 <= full["hours"] * 3600 <= 235, full["hours"] * 3600)

    def test_the_objects_of_a_cluster(self):
        """As of manifests: lists without kinds, nodes that a pool has made, and objects that are being deleted."""
        jobs = "submit,gpu,run\n0,1,300\n1,1,400\n2,1,60\n"
        check = ("apiVersion: kueue.x-k8s.io/v1beta2\nkind: AdmissionCheck\nmetadata: {name: nobody}\n"
                 "spec: {controllerName: example.com/nobody}\n")
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "standing", "labels": {"own": "yes"}},
                "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "10", GPU: "1"},
                           "capacity": {"cpu": "8", "memory": "8Gi", "pods": "10", GPU: "1"},
                           "conditions": [{"type": "Ready", "status": "True"}]}}
        objects = [*yaml.safe_load_all(QUEUE), *yaml.safe_load_all(check), node]
        pool, = yaml.safe_load_all(POOL)
        manifests = self.write("manifests.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        pools = self.write("pools.yaml", POOL)
        expected = self.simulate("-f", manifests, "--pools", pools, "--full", given=jobs)
        self.assertEqual(expected["total"]["finished"], 3)

        api = FakeApi()
        self.addCleanup(api.close)
        paths = {"Namespace": "/api/v1/namespaces", "Node": "/api/v1/nodes", "NodePool": "/apis/cloud.berth.dev/v1alpha1/nodepools",
                 "LocalQueue": "/apis/kueue.x-k8s.io/v1beta2/localqueues"}
        made = {**node, "metadata": {"name": "made", "labels": {"cloud.google.com/gke-nodepool": "pool"}}}
        leaving = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "leaving", "deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": {"cohortName": 7}}
        for each in (*objects, pool, made, leaving):
            path = paths.get(each["kind"], "/apis/kueue.x-k8s.io/v1beta2/" + each["kind"].lower() + "s")
            metadata = {"uid": "u-" + each["metadata"]["name"], "resourceVersion": "7", "generation": 2, **each["metadata"]}
            api.add(path, {**{key: value for key, value in each.items() if key not in ("kind", "apiVersion")}, "metadata": metadata})
        words = ("--from-cluster", "--kubeconfig", api.kubeconfig, "--full")
        self.assertEqual(self.simulate(*words, given=jobs), expected)
        # Other pools take the place of the cluster's; the nodes stay.
        fewer = self.write("fewer.yaml", POOL.replace("maxNodes: 4", "maxNodes: 1"))
        self.assertEqual(self.simulate(*words, "--pools", fewer, given=jobs), self.simulate("-f", manifests, "--pools", fewer, "--full", given=jobs))
        # The NodePools of the other side take their place on that side.
        single = {**pool, "metadata": {**pool["metadata"], "name": "single"}, "spec": {**pool["spec"], "maxNodes": 1}}
        other = self.write("other.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": [*objects[:-1], single]}))
        whole = self.write("whole.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": [*objects, single]}))
        compared = self.simulate(*words, "--compare", other, given=jobs)
        self.assertEqual(compared["before"], expected)
        self.assertEqual(compared["after"], self.simulate("-f", whole, "--full", given=jobs))
        # `kubectl get -o json` tells the objects with what an API server owns.
        owned = {"uid": "u", "resourceVersion": "7", "generation": 2, "creationTimestamp": "2026-01-01T00:00:00Z"}
        dump = [{**each, "metadata": {**owned, **each["metadata"]}} for each in (*objects, pool, made, leaving)]
        listed = self.write("dump.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": dump}))
        self.assertEqual(self.simulate("-f", listed, "--full", given=jobs), expected)
        self.assertFalse([path for path in api.asked if "workloads" in path or "jobs" in path or "pods" in path])
        api.rights = lambda path: "nodes" not in path
        done = subprocess.run([os.environ["BERTH"], "simulate", *words, "--workload", "-"], input=jobs, capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("no right to list nodes at ", done.stderr)

    def test_refusals(self):
        jobs = self.write("jobs.csv", "submit,gpu,run\n0,1,1\n")
        wrong = self.write("wrong.yaml", QUEUE.replace("nominalQuota: 2", "nominalQuota: -2"))
        for words, what in ((("-f", wrong, "--spread"), "--spread: not with --full"),
                            (("-f", wrong), "ClusterQueue team: ")):
            done = subprocess.run([os.environ["BERTH"], "simulate", "--full", "--workload", jobs, *words], capture_output=True,
                                  text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(what, done.stderr)


if __name__ == "__main__":
    unittest.main()
