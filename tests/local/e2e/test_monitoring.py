"""Goal: the board and the alerts of manifests/monitoring use metrics and labels of the table of metrics, the
controller serves its metrics with these labels, and the ServiceMonitor selects the Service and the port of the metrics.

Method: every expression is split into metrics with their labels, and each has to be in the table
(api/metric_table.cc, as `tools/metrics --json` prints it). A `berth controller` with all metrics enabled plays one
story in which a cohort's queues admit, refuse, preempt and finish; its series are compared with the table. promtool
reads the rules and the series, and plays series of minutes and hours for which each alert has to fire."""

import json
import os
import re
import subprocess
import sys
import unittest

import yaml
from berth_up import ROOT, BerthUpTest
from replica import Replica
from scratch import ScratchTest
from waiting import wait_until

PROMTOOL = os.path.join(ROOT, "build", "bin", "promtool")
MONITORING = os.path.join(ROOT, "manifests", "monitoring")
CONFIG = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
metrics: {enableClusterQueueResources: true, localQueueMetrics: {enable: true}}
fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare]}
featureGates: {LocalQueueMetrics: true}
"""
QUEUES = """
apiVersion: cloud.berth.dev/v1alpha1
kind: NodePool
metadata: {name: machines}
spec: {machineType: n1-standard-2, zones: [z], minNodes: 1, maxNodes: 1, bootSeconds: 0, stock: 1}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: research}
spec:
  cohortName: org
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {name: plain, resources: [{name: cpu, nominalQuota: 200m}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {namespace: default, name: lab}
spec: {clusterQueue: research}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 1000
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  name: %s
  labels: {kueue.x-k8s.io/queue-name: lab%s}
  annotations: {berth.dev/deadline: "2026-01-01T00:00:00Z"}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: c, image: gcr.io/k8s-staging-perf-tests/sleep:v0.0.3, args: ["%s"],
         resources: {requests: {cpu: %s}}}
"""
HIGH = ", kueue.x-k8s.io/priority-class: high"

# PromQL. Labels that Prometheus itself adds are not among the controller's.
WORDS = {"by", "without", "on", "ignoring", "group_left", "group_right", "and", "or", "unless", "bool",
         "offset", "le", "inf", "nan"}
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\[[^\]]*\]|\$?[A-Za-z_:][A-Za-z0-9_:]*|=~|!~|!=|[{}(),=]|\S')
COMMON = {"replica_role"}  # a label of many series, which the table does not list
GROUPING = {"by", "without", "on", "ignoring", "group_left", "group_right"}


def names_until(tokens, position, end):
    """The label names of a list that begins at `position`, and the position behind it."""
    names = set()
    while tokens[position] != end:
        if re.match(r"[A-Za-z_]", tokens[position]) and tokens[position - 1] in "{(,":
            names.add(tokens[position])
        position += 1
    return names, position + 1


def used_by(expression):
    """(metrics with their matchers' labels, labels of all groupings) of a PromQL expression."""
    tokens = TOKEN.findall(expression)
    metrics, grouping, position = [], set(), 0
    while position < len(tokens):
        token = tokens[position]
        following = tokens[position + 1] if position + 1 < len(tokens) else ""
        position += 1
        if token in GROUPING and following == "(":
            names, position = names_until(tokens, position + 1, ")")
            grouping |= names
        elif re.match(r"[A-Za-z_:]", token) and (
                token not in WORDS and following not in ("(", "by", "without")):
            labels = set()
            if following == "{":
                labels, position = names_until(tokens, position + 1, "}")
            metrics.append((token, labels))
    return metrics, grouping


def board_expressions():
    with open(os.path.join(MONITORING, "board.json"), encoding="utf-8") as file:
        board = json.load(file)
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            shown = set(re.findall(r"\{\{\s*(\w+)\s*\}\}", target["legendFormat"]))
            yield panel["title"], target["expr"], shown
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)",
                                         variable["query"]["query"]).groups()
            yield variable["name"], f"{metric}{{{label}=~\".*\"}}", set()


def alert_rules():
    with open(os.path.join(MONITORING, "alerts.yaml"), encoding="utf-8") as file:
        groups = yaml.safe_load(file)["spec"]["groups"]
    return [rule for group in groups for rule in group["rules"]]


def alert_expressions():
    for rule in alert_rules():
        shown = set(re.findall(r"\$labels\.(\w+)", json.dumps(rule["annotations"])))
        yield rule["alert"], rule["expr"], shown


def rows():
    """Name of each series of the table of metrics -> (the metric's row, the names of the series' labels)."""
    text = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "metrics"), "--json"], text=True,
                          capture_output=True, timeout=60, check=True).stdout
    found = {}
    for row in json.loads(text):
        ends = {"": set()} if row["kind"] != "histogram" else {"_bucket": {"le"}, "_sum": set(), "_count": set()}
        for end, more in ends.items():
            found[row["name"] + end] = (row, set(row["labels"]) | more)
    return found


class ExpressionTest(unittest.TestCase):
    maxDiff = None

    def test_an_expression_is_split(self):
        self.assertEqual(
            used_by('histogram_quantile(0.5, sum by (le, q) (rate(a_bucket{q=~"$q", r!="x"}[5m]))) > 1'),
            ([("a_bucket", {"q", "r"})], {"le", "q"}))
        self.assertEqual(used_by("a unless on (b) c > 2 or vector(0)"),
                         ([("a", set()), ("c", set())], {"b"}))

    def test_every_expression_uses_metrics_of_the_table(self):
        table, wrong = rows(), []
        for where, expression, shown in [*board_expressions(), *alert_expressions()]:
            metrics, grouping = used_by(expression)
            self.assertTrue(metrics, expression)
            known = set()
            for metric, labels in metrics:
                if metric.startswith("apiserver_"):  # served by kube-apiserver
                    continue
                if metric not in table:
                    wrong.append(f"{where}: no series {metric}")
                    continue
                known |= table[metric][1] | COMMON
                wrong += [f"{where}: {metric} has no label {label}"
                          for label in labels - table[metric][1] - COMMON]
            wrong += [f"{where}: no metric of the expression has the label {label}"
                      for label in (grouping | shown) - known]
        self.assertEqual(wrong, [])

    def test_every_alert_says_what_to_do(self):
        for rule in alert_rules():
            self.assertEqual(set(rule["annotations"]), {"summary", "remedy"}, rule["alert"])
            self.assertIn(rule["labels"]["severity"], ("info", "warning", "critical"))

    def test_the_monitor_selects_the_service(self):
        with open(os.path.join(MONITORING, "service_monitor.yaml"), encoding="utf-8") as file:
            spec = yaml.safe_load(file)["spec"]
        with open(os.path.join(ROOT, "manifests", "controller", "services.yaml"),
                  encoding="utf-8") as file:
            service = next(item for item in yaml.safe_load_all(file)
                           if "metrics" in item["metadata"]["name"])
        self.assertLessEqual(spec["selector"]["matchLabels"].items(),
                             service["metadata"]["labels"].items())
        self.assertEqual([end["port"] for end in spec["endpoints"]],
                         [port["name"] for port in service["spec"]["ports"]])
        self.assertEqual(spec["endpoints"][0]["tlsConfig"]["serverName"],
                         "kueue-controller-manager-metrics-service.kueue-system.svc")


# Alert -> (series, minutes until it fires, labels). A series: name, values of each minute in promtool's notation.
QUEUE = 'cluster_queue="q"'
FIRING = {
    "BerthDown": ([], 6, {}),
    "BerthWebhooksUnreachable": (
        [('apiserver_admission_webhook_rejection_count{name="m.kb.io",error_type="calling_webhook_error"}', "0+1x20")],
        12, {}),
    "BerthNoLeader": ([("kueue_build_info", "1x20")], 5, {}),
    "BerthTwoLeaders": ([(f'berth_refused_workload_writes_total{{replica_role="leader",pod="{pod}"}}', "0x20")
                         for pod in "ab"], 8, {}),
    "BerthWritesRefused": ([('berth_refused_workload_writes_total{replica_role="leader"}', "0+1x60")], 40, {}),
    "BerthSlowCycles": ([(f'kueue_admission_attempt_duration_seconds_bucket{{le="{bound}"}}', f"0+{step}x60")
                         for bound, step in (("1", 1), ("5", 9), ("+Inf", 9))], 40, {}),
    "BerthAdmissionsFail": ([(f'kueue_admission_attempts_total{{result="{result}"}}', "0+5x60")
                             for result in ("success", "failed")], 40, {}),
    "KueueClusterQueueInactive": ([(f'kueue_cluster_queue_status{{{QUEUE},status="active"}}', "0x30")], 20,
                                  {"cluster_queue": "q", "status": "active"}),
    "KueueQueueStandsStill": ([(f'kueue_pending_workloads{{{QUEUE},status="active"}}', "3x200"),
                               (f"kueue_quota_reserved_workloads_total{{{QUEUE}}}", "7x200")], 130,
                              {"cluster_queue": "q", "status": "active"}),
    "KueueChecksTakeLong": ([(f"kueue_reserving_active_workloads{{{QUEUE}}}", "2x800"),
                             (f"kueue_admitted_active_workloads{{{QUEUE}}}", "1x800"),
                             (f"kueue_admitted_workloads_total{{{QUEUE}}}", "1x800")], 730, {"cluster_queue": "q"}),
    "BerthDeadlinesInDanger": ([(f"berth_deadlines_in_danger{{{QUEUE}}}", "2x30")], 12, {"cluster_queue": "q"}),
    "KueueManyEvictions": ([(f"kueue_evicted_workloads_total{{{QUEUE}}}", "0+1x200"),
                            (f"kueue_admitted_workloads_total{{{QUEUE}}}", "0+1x200")], 120, {"cluster_queue": "q"}),
    "KueueEvictedForNotReadyPods": (
        [(f'kueue_evicted_workloads_total{{{QUEUE},reason="PodsReadyTimeout"}}', "0+1x100")], 60, {"cluster_queue": "q"}),
}
# A leader and a queue at which nothing is wrong.
CALM = [("kueue_build_info", "1x800"), ('berth_refused_workload_writes_total{replica_role="leader"}', "0x800"),
        ('kueue_admission_attempts_total{result="success"}', "0+5x800"),
        ('kueue_admission_attempt_duration_seconds_bucket{le="1"}', "0+5x800"),
        ('kueue_admission_attempt_duration_seconds_bucket{le="+Inf"}', "0+5x800"),
        (f'kueue_cluster_queue_status{{{QUEUE},status="active"}}', "1x800"),
        (f'kueue_pending_workloads{{{QUEUE},status="active"}}', "3x800"),
        (f"kueue_quota_reserved_workloads_total{{{QUEUE}}}", "0+1x800"),
        (f"kueue_reserving_active_workloads{{{QUEUE}}}", "2x800"), (f"kueue_admitted_active_workloads{{{QUEUE}}}", "2x800"),
        (f"kueue_admitted_workloads_total{{{QUEUE}}}", "0+1x800"),
        (f'kueue_evicted_workloads_total{{{QUEUE},reason="Preempted"}}', "0x800")]


def promtool(*words, stdin=None):
    return subprocess.run([PROMTOOL, *words], input=stdin, text=True, capture_output=True, timeout=60, check=False)


@unittest.skipUnless(os.path.exists(PROMTOOL), "tools/promtool has not run")
class PromtoolTest(ScratchTest):
    maxDiff = None

    def setUp(self):
        super().setUp()
        with open(os.path.join(MONITORING, "alerts.yaml"), encoding="utf-8") as file:
            self.rules = self.write("rules.yaml", yaml.safe_dump(yaml.safe_load(file)["spec"]))

    def test_the_rules_are_read(self):
        done = promtool("check", "rules", self.rules)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_alert_fires_and_a_calm_day_is_calm(self):
        rules = {rule["alert"]: rule for rule in alert_rules()}
        self.assertEqual(sorted(FIRING), sorted(rules))
        tests = []
        for alert, (series, minutes, labels) in FIRING.items():
            for shown, expected in ((series, [{"exp_labels": {**labels, **rules[alert]["labels"]}}]), (CALM, [])):
                tests.append({"interval": "1m", "input_series": [{"series": name, "values": values}
                                                                 for name, values in shown],
                              "alert_rule_test": [{"eval_time": f"{minutes}m", "alertname": alert,
                                                   "exp_alerts": expected}]})
        for test in tests:  # promtool compares the texts, too: they are those of the rule
            for case in test["alert_rule_test"]:
                for one in case["exp_alerts"]:
                    texts = rules[case["alertname"]]["annotations"]
                    one["exp_annotations"] = {
                        name: re.sub(r"\{\{ \$labels\.cluster_queue \}\}", "q", text).replace("{{ $value }}", "2")
                        for name, text in texts.items()}
        path = self.write("tests.yaml", yaml.safe_dump({"rule_files": ["rules.yaml"], "evaluation_interval": "1m",
                                                        "tests": tests}))
        done = promtool("test", "rules", path)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class SeriesTest(BerthUpTest):
    maxDiff = None

    def scrape(self):
        """Adds the series of this instant to self.series: name -> set of labels' names."""
        status, body = self.replica.ask("metrics", "/metrics")
        self.assertEqual(status, 200, body)
        self.text = body
        for line in body.splitlines():
            found = re.match(r"(\w+)(?:\{(.*)\})? ", line)
            if found and not line.startswith("#"):
                labels = re.findall(r'(\w+)="(?:\\.|[^"\\])*"', found.group(2) or "")
                self.series.setdefault(found.group(1), set()).update(labels)

    def scrape_until(self, names):
        def there():
            self.scrape()
            return names <= set(self.series)
        wait_until(there, f"the metrics have {sorted(names)}")

    def play(self):
        cluster = self.start_cluster(flags=["--no-controllers"])
        path = os.path.join(cluster.folder, "config.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(CONFIG)
        self.replica = Replica(cluster, "controller", "--no-metrics-secure", "--config", path, "--eta-interval", "1s")
        self.addCleanup(self.replica.kill)
        self.series = {}
        wait_until(lambda: cluster.kubectl("apply", "-f", "-", stdin=QUEUES, check=False).returncode == 0,
                   "the queues are accepted")

        def admitted(job):
            return any(condition["type"] == "Admitted" and condition["status"] == "True"
                       for item in cluster.items("workloads")
                       if item["metadata"]["ownerReferences"][0]["name"] == job
                       for condition in item.get("status", {}).get("conditions", []))
        cluster.apply(JOB % ("low", "", "600s", "200m"))
        wait_until(lambda: admitted("low"), "the first job is admitted")
        self.scrape_until({"kueue_cohort_subtree_resource_reservations"})
        cluster.apply(JOB % ("too-large", "", "1s", "300m"))
        cluster.apply(JOB % ("high", HIGH, "1s", "200m"))
        cluster.wait_complete("high")
        self.scrape_until({"kueue_finished_workloads_total", "kueue_evicted_workloads_total",
                           "kueue_cluster_queue_resource_pending", "berth_deadlines_in_danger"})

    def test_series_have_the_labels_of_the_table(self):
        self.play()
        table = rows()
        self.assertEqual(sorted(set(self.series) - set(table)), [])
        self.assertEqual({name: labels - COMMON for name, labels in self.series.items()},
                         {name: table[name][1] for name in self.series})
        used = {metric for _, expression, _ in [*board_expressions(), *alert_expressions()]
                for metric, _ in used_by(expression)[0]}
        self.assertEqual({name for name in used if not name.startswith("apiserver_")} - set(self.series), set())
        if os.path.exists(PROMTOOL):
            done = promtool("check", "metrics", stdin=self.text)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
