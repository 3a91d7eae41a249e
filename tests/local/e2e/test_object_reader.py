"""Goal: tests that read objects without kubectl see what kubectl shows.

Method: a real `berth up` without controllers, so that nothing changes between two looks; the same words for the reader of
the tests and for kubectl."""

import json

from berth_up import BerthUpTest, read_sample
from object_reader import NotUnderstood, ObjectReader

QUESTIONS = (
    ("clusterqueues",), ("cq",), ("clusterqueue.kueue.x-k8s.io",), ("resourceflavors,localqueues",), ("jobs", "-A"),
    ("clusterrole", "cluster-admin"), ("namespaces",), ("ns", "default"), ("jobs",),
    ("cm", "-A", "-l", "chosen=yes"), ("cm", "a"), ("cm", "missing"), ("cm", "a", "-n", "missing"))
MAPS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: a, labels: {chosen: "yes"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b, labels: {chosen: "no"}}
"""


class ObjectReaderTest(BerthUpTest):
    def setUp(self):
        self.cluster = self.start_cluster(flags=["--no-controllers"])
        self.reader = ObjectReader(self.cluster.kubeconfig)
        self.cluster.apply(MAPS)
        self.cluster.apply(read_sample("first", "queues.yaml"))

    def asked_of_kubectl(self, words):
        done = self.cluster.kubectl("get", *words, "-o", "json", check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    @staticmethod
    def told(answer):
        """The objects of the answer; newer versions of kubectl leave managedFields out."""
        objects = answer.get("items", [answer]) if answer is not None else None
        for each in objects or []:
            each["metadata"].pop("managedFields", None)
        return objects

    def test_the_reader_answers_as_kubectl_does(self):
        for words in QUESTIONS:
            with self.subTest(words=words):
                self.assertEqual(self.told(self.reader.get(*words)), self.told(self.asked_of_kubectl(words)))

    def test_the_reader_finds_a_server_that_has_started_again(self):
        self.assertIsNotNone(self.reader.get("cm", "a"))
        self.cluster.kill()
        self.assertIsNone(self.reader.get("cm", "a"))
        self.cluster.start()
        self.assertIsNotNone(self.reader.get("cm", "a"))

    def test_other_questions_are_left_to_kubectl(self):
        for words in (("pods", "a", "b"), ("pod/a",), ("--raw", "/version"), ("pods", "-w"), ("nokinds",), ()):
            with self.subTest(words=words), self.assertRaises(NotUnderstood):
                self.reader.get(*words)
