"""Goal: on `berth up` the controller forecasts the starts of waiting jobs, and `berth eta` tells these forecasts without
a draw of its own.

Method: a job that holds the whole quota for minutes, and one that waits for it; a round of forecasts each second."""

import json

from berth_up import BerthUpTest
from waiting import wait_until

POOL = """
apiVersion: cloud.berth.dev/v1alpha1
kind: NodePool
metadata: {name: machines}
spec: {machineType: n1-standard-2, zones: [z], minNodes: 1, maxNodes: 1, bootSeconds: 0, stock: 1}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: NAME, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  suspend: true
  activeDeadlineSeconds: 900
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "shell:1", args: ["-c", "sleep 600"], resources: {requests: {cpu: 100m}}}]
"""


class EtaTest(BerthUpTest):
    def eta(self, *words):
        return json.loads(self.cluster.berth("eta", *words, "-o", "json").stdout)

    def forecast(self):
        (job,) = self.eta("job/next")["jobs"]
        return job["forecastAt"]

    def test_the_controllers_forecast_is_told(self):
        self.cluster = self.start_cluster(images=["shell:1=/bin/sh"], flags=["--eta-interval", "1s"])
        berth = self.cluster.berth
        self.cluster.apply(POOL)
        berth("create", "rf", "default")
        berth("create", "cq", "team", "--nominal-quota", "default:cpu=100m")
        berth("create", "lq", "q", "--clusterqueue", "team")
        self.cluster.apply(JOB.replace("NAME", "long"))
        wait_until(lambda: self.cluster.get("job", "long")["status"].get("active"), "the first job runs")
        self.cluster.apply(JOB.replace("NAME", "next"))
        wait_until(lambda: any(each["metadata"]["ownerReferences"][0]["name"] == "next"
                               for each in self.cluster.items("workloads")), "the second job is queued")
        wait_until(self.forecast, "the controller has forecast the second job")
        view = self.eta("--all")
        (job,) = view["jobs"]
        self.assertEqual((view["draws"], job["name"], job["clusterQueue"]), (0, "next", "team"))
        seconds = [job["startSeconds"][each] for each in ("p10", "p50", "p90")]
        self.assertEqual(seconds, sorted(seconds))
        self.assertLessEqual(seconds[2], 901)  # by then the first job has ended
        self.assertIn("forecast", berth("eta", "job/next").stdout)
        drawn = self.eta("--all", "--draw")
        self.assertGreater(drawn["draws"], 0)
        self.assertIsNone(drawn["jobs"][0]["forecastAt"])
