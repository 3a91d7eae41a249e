"""Goal: `berth simulate --full` plays the objects of a running cluster as it plays the manifests that made them, and as it
plays what `kubectl get -o json` tells of them.

Method: the sample of queued provisioning on a real `berth up`, with a node that a pool has made."""

import json
import os

from berth_up import BerthUpTest, read_sample
from waiting import wait_until

JOBS = "submit,gpu,run\n0,1,100\n0,1,50\n"
KINDS = "namespaces,nodes,nodepools,clusterqueues,localqueues,resourceflavors,admissionchecks,provisioningrequestconfigs"


class SimulateTest(BerthUpTest):
    def write(self, name, text):
        path = os.path.join(self.cluster.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def simulate(self, *words):
        done = self.cluster.berth("simulate", *words, "--full", "--workload", "-", "-o", "json", stdin=JOBS)
        report = json.loads(done.stdout)
        report["pools"].sort(key=lambda pool: pool["pool"])
        return report

    def test_a_cluster_and_its_manifests(self):
        self.cluster = self.start_cluster()
        queues, pools = read_sample("dws", "queues.yaml"), read_sample("dws", "nodepools.yaml")
        self.cluster.apply(queues)
        self.cluster.apply(pools)
        wait_until(lambda: self.cluster.items("nodes", "-l", "cloud.google.com/gke-nodepool=system-nodepool"), "the standing node is there")
        expected = self.simulate("-f", self.write("manifests.yaml", queues + "\n---\n" + pools))
        self.assertEqual(expected["total"]["finished"], 2)
        self.assertEqual(self.simulate("--from-cluster"), expected)
        dump = self.cluster.kubectl("get", KINDS, "-A", "-o", "json").stdout
        self.assertEqual(self.simulate("-f", self.write("dump.json", dump)), expected)
