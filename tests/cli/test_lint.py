"""Goal: `berth lint` names mistakes of manifests with file and line, its exit code says whether there are errors, and the
samples of the project have none.

Method: the program on files of the test and on manifests/samples."""

import json
import os
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
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
