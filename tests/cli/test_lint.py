"""Goal: `berth lint` names mistakes of manifests with file and line, reads what a cluster would make of them, and its exit code
says whether there are errors.

Method: the program on files of the test; test_lint_project.py has the manifests of the project."""

import json
import os
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "py"))
from scratch import ScratchTest  # noqa: E402

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
CLEAN = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: t4}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: t4, resources: [{name: cpu, nominalQuota: 8}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: main}
spec: {clusterQueue: team}
"""
# Its namespaceSelector selects nothing: it is there to lend.
LENDER = """\
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: lender}
spec:
  cohortName: org
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: t4, resources: [{name: cpu, nominalQuota: 8}]}]
"""
POD = "spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: 9}}}]}"
# The queue has 8.
POD_MAKERS = f"""\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: deployment   # deployment
  labels: {{kueue.x-k8s.io/queue-name: main}}
spec: {{replicas: 3, selector: {{}}, template: {{metadata: {{labels: {{a: b}}}}, {POD}}}}}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: alone   # alone
spec: {{replicas: 3, template: {{metadata: {{labels: {{kueue.x-k8s.io/queue-name: main}}}}, {POD}}}}}
---
apiVersion: v1
kind: Pod
metadata:
  name: pod   # pod
  labels: {{kueue.x-k8s.io/queue-name: main}}
{POD}
---
apiVersion: batch/v1
kind: CronJob
metadata:
  name: cron   # cron
spec:
  schedule: "* * * * *"
  jobTemplate: {{metadata: {{labels: {{kueue.x-k8s.io/queue-name: main}}}}, spec: {{template: {{{POD}}}}}}}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: labels   # labels
spec: {{template: {{metadata: {{labels: {{kueue.x-k8s.io/queue-name: main}}}}, {POD}}}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: set   # set
  labels: {{kueue.x-k8s.io/queue-name: main}}
spec: {{replicas: 1, selector: {{}}, template: {{metadata: {{labels: {{a: b}}}}, {POD}}}}}
"""
UNREADABLE = f"""\
apiVersion: batch/v1
kind: Job
metadata:
  generateName: gen-
  labels:
    kueue.x-k8s.io/queue-name: main
    kueue.x-k8s.io/priority-class: high   # no-class
spec: {{template: {{{POD}}}}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: train, labels: {{kueue.x-k8s.io/queue-name: main}}}}
spec:
  runtimeRef: {{name: torch}}   # no-runtime
---
apiVersion: batch/v1
kind: Job
metadata: {{generateName: gen-, labels: {{kueue.x-k8s.io/queue-name: main}}}}
spec:
  parallelism: few   # wrong
---
apiVersion: batch/v1
kind: Job
metadata: {{name: one}}
spec: {{template: {{{POD}}}}}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: one   # again
spec: {{template: {{{POD}}}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings}}
data:
  a: b
  a: c   # repeated
"""
TRAIN = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train, labels: {kueue.x-k8s.io/queue-name: main}}
spec: {runtimeRef: {name: torch}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch}
spec:
  mlPolicy: {numNodes: 1}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: i, resources: {requests: {cpu: 9}}}]}}}
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
        self.assertIn("error: ResourceFlavor t4: the object is defined twice", self.lint(twice, again, code=1))

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
        self.assertIn("broken.yaml:2: error: yaml: line 2: did not find expected node content [not-readable]\n",
                      self.lint(broken, code=1))
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

    def test_every_object_of_which_a_cluster_makes_pods(self):
        queues = self.write("queues.yaml", CLEAN)
        objects = self.write("objects.yaml", POD_MAKERS)
        text = self.lint(queues, objects, code=1)
        for mark in ("deployment", "alone", "pod", "cron", "labels", "set"):
            self.assertIn(f"{objects}:{marked(POD_MAKERS, mark)}: error: ", text)
        self.assertIn("6 errors, 0 warnings\n", text)
        self.lint(queues, self.write("objects.yaml", POD_MAKERS.replace("cpu: 9", "cpu: 8")))

    def test_each_object_that_cannot_be_read_is_a_finding_of_its_own(self):
        queues = self.write("queues.yaml", CLEAN)
        jobs = self.write("jobs.yaml", UNREADABLE)
        text = self.lint(queues, jobs, self.write("more/queues.yaml", CLEAN), self.write("broken.yaml", "a: [\n"), code=1)
        for mark, rule in (("no-class", "unknown-priority"), ("no-runtime", "unknown-runtime"), ("wrong", "not-readable"),
                           ("again", "object-twice"), ("repeated", "key-twice")):
            self.assertRegex(text, rf"{jobs}:{marked(UNREADABLE, mark)}: error: .* \[{rule}\]\n")
        self.assertIn("more/queues.yaml:3: error: ResourceFlavor t4: the object is defined twice", text)
        self.assertIn("broken.yaml:2: error: yaml: line 2", text)
        self.assertIn("Job gen-*2: spec.parallelism: ", text)

    def test_a_runtime_among_the_files(self):
        queues = self.write("queues.yaml", CLEAN)
        self.lint(queues, self.write("train.yaml", TRAIN.replace("cpu: 9", "cpu: 8")))
        self.assertIn("TrainJob default/train: can never be admitted", self.lint(queues, self.write("train.yaml", TRAIN), code=1))

    def test_what_is_no_error(self):
        lender = CLEAN.replace("namespaceSelector: {}", "namespaceSelector: {}\n  cohortName: org") + LENDER
        job = self.write("claims.yaml", JOB.replace("restartPolicy: Never", "restartPolicy: Never\n      resourceClaims: "
                                                    "[{name: gpu, resourceClaimTemplateName: one}]").replace('"3"', '"2"'))
        self.lint("--strict", self.write("queues.yaml", lender), job)
        alone = CLEAN.replace("  namespaceSelector: {}\n", "")
        self.assertIn("[no-namespace]", self.lint(self.write("queues.yaml", alone), code=1))

    def test_the_frameworks_of_a_configuration(self):
        config = self.write("config.yaml", "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
                            "integrations: {frameworks: [batch/job]}\n")
        text = self.lint("--config", config, self.write("queues.yaml", CLEAN), self.write("objects.yaml", POD_MAKERS), code=1)
        self.assertIn('warning: Deployment deployment: integrations.frameworks of the Configuration lacks "deployment"', text)
        self.assertIn("2 errors, 4 warnings\n", text)

    def test_the_default_local_queue_takes_jobs_that_name_none(self):
        queues = self.write("queues.yaml", CLEAN.replace("{name: main}", "{name: default}"))
        job = self.write("job.yaml", JOB.replace("  labels: {kueue.x-k8s.io/queue-name: main}\n", ""))
        self.assertIn("Job default/large: can never be admitted", self.lint(queues, job, code=1))

    def test_folders_in_folders(self):
        self.write("all/queues.yaml", CLEAN)
        self.write("all/jobs/large.yaml", JOB)
        folder = os.path.join(self.folder, "all")
        self.assertIn(f"note: {folder}/jobs is skipped: -R reads", self.lint(folder))
        self.assertIn("[never-admitted]", self.lint("-R", folder, code=1))


if __name__ == "__main__":
    unittest.main()
