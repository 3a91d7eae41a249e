"""Goal: the recipes of docs/guide/capacity.md are accepted by `berth up` and run a job; `berth plan` tells beforehand what the
job meets, `berth capacity` and `--cost` what it met.

Method: the files of manifests/samples/capacity with kubectl, the pools' times shortened; the second job of the chain finds no
spot machines."""

import json
import os

from berth_up import SAMPLES, BerthUpTest
from waiting import wait_until

RECIPES = {"dws-only": "queued", "reservation-then-dws": "reservation", "spot-flex-demand": "spot"}


def path_of(name):
    return os.path.join(SAMPLES, "capacity", name + ".yaml")


def sample(name):
    with open(path_of(name), encoding="utf-8") as file:
        return file.read().replace("bootSeconds: 5", "bootSeconds: 1").replace("idleSeconds: 30", "idleSeconds: 2")


class Capacity(BerthUpTest):
    def setUp(self):
        self.cluster = self.start_cluster()

    def plan(self, queue):
        answer = self.cluster.berth("plan", "-f", path_of("job"), "--queue", queue, "-o", "json")
        (job,) = json.loads(answer.stdout)["jobs"]
        return job["checks"][0]["steps"]

    def run_job(self, name, queue, seconds="2s"):
        job = sample("job").replace("name: train", f"name: {name}").replace('"2s"', f'"{seconds}"')
        self.cluster.apply(job.replace("queue-name: spot-flex-demand", f"queue-name: {queue}"))

    def test_each_recipe_runs_a_job(self):
        for recipe, first in RECIPES.items():
            with self.subTest(recipe=recipe):
                self.cluster.apply(sample(recipe))
                wait_until(lambda recipe=recipe: self.cluster.is_true("clusterqueue", recipe, "Active"), "an active queue")
                steps = self.plan(recipe)
                self.assertEqual([step["step"] for step in steps if step["asksFirst"]], [first])
                self.assertEqual([step["passedOver"] for step in steps], [None] * len(steps))
                self.assertIsNone(self.cluster.get("job", recipe), "a plan creates nothing")
                self.run_job(recipe, recipe)
                self.cluster.wait_complete(recipe)
        self.assertIn("granted", self.cluster.berth("capacity").stdout.lower())

    def test_a_plan_knows_what_was_met(self):
        self.cluster.apply(sample("spot-flex-demand"))
        self.assertEqual(self.plan("spot-flex-demand")[0]["basis"], "prior")
        self.run_job("long", "spot-flex-demand", seconds="600s")
        wait_until(lambda: self.cluster.is_true("workload", self.workload_of("long"), "Admitted"), "an admitted job")
        # The leader writes what it has learned within seconds.
        wait_until(lambda: self.plan("spot-flex-demand")[0]["basis"] == "observed", "the outcome is remembered")
        listed = json.loads(self.cluster.berth("list", "--cost", "-o", "json").stdout)["items"]
        self.assertEqual([each["cost"]["usdPerHour"] for each in listed], ["0.26"])
        self.assertRegex(self.cluster.berth("status", "--cost").stdout, r"(?m)^spot-flex-demand +1 +0 +0\.26 ")
        self.cluster.kubectl("patch", "provisioningpolicy", "spot-flex-demand", "--type=merge", "-p",
                             '{"spec": {"maxPricePerHour": "0.3"}}')
        passed_over = [step["passedOver"] for step in self.plan("spot-flex-demand")]
        self.assertEqual([each and each["reason"] for each in passed_over],
                         [None, "PriceLimitExceeded", "PriceLimitExceeded"])

    def workload_of(self, job):
        for item in self.cluster.items("workloads"):
            if item["metadata"]["name"].startswith(f"job-{job}-"):
                return item["metadata"]["name"]
        return ""
