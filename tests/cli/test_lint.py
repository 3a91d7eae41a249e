"""Goal: `berth lint` names mistakes of manifests with file and line, its exit code says whether there are errors, and the
samples of the project have none.

Method: the program on files of the test and on manifests/samples."""

import json
import os
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "py"))
from scratch import ScratchTest  # noqa: E402

SAMPLES = os.path.join(ROOT, "manifests", "samples")

# The line of each mistake is marked.
QUEUES = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: t4}
---
# A comment of two lines,
# and a list:
apiVersion: v1
kind: List
items:
- apiVersion: kueue.x-k8s.io/v1beta1
  kind: ClusterQueue
  metadata:
    name: team
  spec:
    cohort: org
    namespaceSelector: {}
    resourceGroups:
    - coveredResources: [cpu]
      flavors:
      - name: t4
        resources:
        - name: cpu
          nominalQuota: 8
          borrowingLimit: 3   # limit-out-of-reach
- apiVersion: kueue.x-k8s.io/v1beta1
  kind: LocalQueue
  metadata: {name: main}
  spec:
    clusterQueue: team
- apiVersion: kueue.x-k8s.io/v1beta1
  kind: LocalQueue
  metadata: {name: lost}
  spec:
    clusterQueue: nobody   # unknown-queue
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: large   # never-admitted
  labels: {kueue.x-k8s.io/queue-name: main}
spec:
  parallelism: 3
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: train
        resources: {requests: {cpu: "3"}}
"""


def marked(text, rule):
    return next(number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# " + rule))


class LintTest(ScratchTest):
    def lint(self, *words, code=0):
        answer = subprocess.run([os.environ["BERTH"], "lint", *words], capture_output=True, text=True, timeout=60,
                                check=False)
        self.assertEqual(answer.returncode, code, answer.stdout + answer.stderr)
        return answer.stdout if not answer.stderr else answer.stderr

    def test_findings_have_file_and_line(self):
        queues = self.write("queues.yaml", QUEUES)
        job = self.write("job.yaml", JOB)
        text = self.lint(queues, job, code=1)
        self.assertIn(f"{queues}:{marked(QUEUES, 'unknown-queue')}: error: LocalQueue default/lost: ClusterQueue nobody is "
                      "not among the files: jobs of the LocalQueue are inadmissible [unknown-queue]\n", text)
        self.assertIn(f"{queues}:{marked(QUEUES, 'limit-out-of-reach')}: warning: ClusterQueue team: the cohort can lend 0 "
                      "cpu of flavor t4 at most, the limit is 3 [limit-out-of-reach]\n", text)
        self.assertIn(f"{job}:{marked(JOB, 'never-admitted')}: error: Job default/large: can never be admitted: ", text)
        self.assertIn("2 errors, 1 warning\n", text)

    def test_what_cannot_be_decoded_is_a_finding(self):
        wrong = QUEUES.replace("nominalQuota: 8", "nominalQuota: many   # not-readable")
        queues = self.write("queues.yaml", wrong)
        job = self.write("job.yaml", JOB.replace("parallelism: 3", "parallelism: few   # not-readable"))
        text = self.lint(queues, job, code=1)
        self.assertIn(f"{queues}:{marked(wrong, 'not-readable')}: error: ClusterQueue team: "
                      "spec.resourceGroups[0].flavors[0].resources[0]", text)
        self.assertIn(f"{job}:7: error: Job large: spec.parallelism", text)
        # The rest is checked, and the queue counts as there.
        self.assertIn("LocalQueue default/lost: ClusterQueue nobody is not among the files", text)
        self.assertNotIn("ClusterQueue team is not among", text)
        twice = self.write("twice/a.yaml", QUEUES.replace("nobody", "team"))
        again = self.write("twice/b.yaml", QUEUES.partition("---")[0])
        self.assertIn("error: ResourceFlavor t4: the object stands twice", self.lint(twice, again, code=1))

    def test_flavors_and_nodes(self):
        queues = self.write("queues.yaml", QUEUES.replace("nobody", "team").replace(
            "metadata: {name: t4}", "metadata: {name: t4}\nspec: {nodeLabels: {gpu: t4}}").replace("borrowingLimit: 3", ""))
        node = "apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {gpu: %s}}\n"
        self.lint("--strict", queues)
        self.lint("--strict", queues, self.write("node.yaml", node % "t4"))
        self.assertIn("queues.yaml:4: warning: ResourceFlavor t4: no Node and no NodePool of the files has these labels",
                      self.lint("--strict", queues, self.write("node.yaml", node % "a100"), code=1))

    def test_json_and_strict(self):
        queues = self.write("queues.yaml", QUEUES.replace("nobody", "team"))
        self.lint(queues)
        view = json.loads(self.lint(queues, "--strict", "-o", "json", code=1))
        (finding,) = view["findings"]
        self.assertEqual(finding["line"], marked(QUEUES, "limit-out-of-reach"))
        self.assertEqual((finding["severity"], finding["rule"], finding["field"]),
                         ("warning", "limit-out-of-reach", "spec.resourceGroups.0.flavors.0.resources.0.borrowingLimit"))
        clean = self.write("clean.yaml", QUEUES.replace("nobody", "team").replace("borrowingLimit: 3", ""))
        self.assertIn("5 objects, nothing found\n".replace("5", "4"), self.lint(clean, "--strict"))

    def test_what_cannot_be_read(self):
        broken = self.write("broken.yaml", "a: [\n")
        self.assertIn("broken.yaml: yaml: line", self.lint(broken, code=1))
        self.assertIn("cannot read", self.lint(os.path.join(self.folder, "none.yaml"), code=1))

    def test_node_pools_of_other_clouds(self):
        pool = ("apiVersion: cloud.berth.dev/v1alpha1\nkind: NodePool\nmetadata: {name: a}\nspec: {machineType: n1-standard-4}\n"
                "---\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {template: {}}\n"
                "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: f}\nspec: {nodeLabels: {of: karpenter}}\n")
        text = self.lint(self.write("pools.yaml", pool))
        for rule in ("object-twice", "not-readable", "flavor-without-nodes"):
            self.assertNotIn(rule, text)

    def test_an_unreadable_policy_ends_no_lint(self):
        text = ("apiVersion: provisioning.berth.dev/v1alpha1\nkind: ProvisioningPolicy\nmetadata: {name: p}\nspec: {maxWaitSeconds: ten}\n"
                "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: lonely}\n")
        found = self.lint(self.write("policy.yaml", text), code=1)
        self.assertRegex(found, r"policy\.yaml:\d+: error: ProvisioningPolicy p: ")
        self.assertIn("[not-readable]", found)
        self.assertIn("ResourceFlavor lonely", found)

    def test_the_samples_have_no_errors(self):
        for name in sorted(os.listdir(SAMPLES)):
            with self.subTest(sample=name):
                files = [os.path.join(SAMPLES, name, file) for file in sorted(os.listdir(os.path.join(SAMPLES, name)))
                         if file.endswith(".yaml")]
                # Two spellings of the same objects; the same queues with another quota; a workload.
                files = [file for file in files
                         if not file.endswith(("-v1beta1.yaml", "/without-queue.yaml", "/day.yaml"))]
                self.lint(*files)


if __name__ == "__main__":
    unittest.main()
