"""Goal: topology-aware scheduling works with real kubectl and real processes: pods are gated, ungated
for the nodes of one rack, moved when a node is lost, and kept after kill -9."""

from berth_up import BerthUpTest, read_sample
from waiting import wait_until

RACKS = {"n1": "r1", "n2": "r1", "n3": "r1", "n4": "r2"}
NODE = """
apiVersion: v1
kind: Node
metadata:
  name: {name}
  labels:
    kubernetes.io/hostname: {name}
    cloud.provider.com/node-group: racks
    cloud.provider.com/topology-block: b1
    cloud.provider.com/topology-rack: {rack}
"""
STATUS = {"allocatable": {"cpu": "2", "memory": "8Gi", "pods": "10"},
          "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "fine"}]}


class TopologyTest(BerthUpTest):
    def place(self, cluster, workload_of):
        """Node → pods, as the Workload's status assigns them."""
        for workload in cluster.items("workloads"):
            owner = workload["metadata"]["ownerReferences"][0]["name"]
            if owner != workload_of or "admission" not in workload.get("status", {}):
                continue
            assignment = workload["status"]["admission"]["podSetAssignments"][0]
            places = {}
            for part in assignment["topologyAssignment"]["slices"]:
                values = part["valuesPerLevel"][-1]
                nodes = [values["universal"]] if "universal" in values else [
                    values["individual"].get("prefix", "") + root +
                    values["individual"].get("suffix", "") for root in values["individual"]["roots"]]
                counts = part["podCounts"].get("individual") or [
                    part["podCounts"]["universal"]] * len(nodes)
                places.update(zip(nodes, counts))
            return places
        return None

    def running(self, cluster, job):
        """Nodes of the job's running pods, sorted."""
        return sorted(pod["spec"]["nodeName"] for pod in cluster.items("pods")
                      if pod["metadata"]["labels"].get("batch.kubernetes.io/job-name") == job
                      and pod["status"]["phase"] == "Running")

    def submit(self, cluster, name, pods):
        cluster.apply(read_sample("racks", "job.yaml")
                      .replace("generateName: close-together-", f"name: {name}")
                      .replace("parallelism: 4", f"parallelism: {pods}\n  backoffLimit: 20")
                      .replace("completions: 4", f"completions: {pods}")
                      .replace('"60s"', '"600s"'))

    def test_one_rack(self):
        cluster = self.start_cluster()
        for name, rack in RACKS.items():
            cluster.apply(NODE.format(name=name, rack=rack))
            cluster.patch_status(f"/api/v1/nodes/{name}", STATUS)
        cluster.apply(read_sample("racks", "queues.yaml"))
        self.submit(cluster, "close", 4)
        wait_until(lambda: self.running(cluster, "close") == ["n1", "n1", "n2", "n2"],
                   "four pods in rack r1")
        self.assertEqual(self.place(cluster, "close"), {"n1": 2, "n2": 2})
        for pod in cluster.items("pods"):
            self.assertEqual(pod["spec"]["nodeSelector"]["kubernetes.io/hostname"],
                             pod["spec"]["nodeName"])
            self.assertFalse(pod["spec"].get("schedulingGates"))

        cluster.kubectl("delete", "node", "n1")
        wait_until(lambda: self.running(cluster, "close") == ["n2", "n2", "n3", "n3"],
                   "the lost node's pods on the third one")
        self.assertEqual(self.place(cluster, "close"), {"n2": 2, "n3": 2})

        # Half of rack r2 would suffice, but used room must not be assigned.
        cluster.kill()
        cluster.start()
        self.submit(cluster, "next", 3)
        wait_until(lambda: "fit" in cluster.berth("why", "job/next", check=False).stdout,
                   "berth why says how many fit")
        self.assertIsNone(self.place(cluster, "next"))
        cluster.kubectl("delete", "job", "close")
        wait_until(lambda: len(self.running(cluster, "next")) == 3, "the next job in rack r1")
        self.assertEqual(sum(self.place(cluster, "next").values()), 3)
        self.assertNotIn("n4", self.place(cluster, "next"))
        self.assertEqual(cluster.stop(), 0)
