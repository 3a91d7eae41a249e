"""Goal: `berth list KIND` asks for pages, and `berth list pods` finds the pods of a job.

Method: the program against a small API of the test.
"""

import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from fake_api import FakeApi

BERTH = os.environ["BERTH"]
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
PODS = "/api/v1/namespaces/default/pods"


class ListsTest(unittest.TestCase):
    def setUp(self):
        self.api = FakeApi()
        self.addCleanup(self.api.close)
        for i in range(7):
            self.api.add(f"{KUEUE}/clusterqueues", {"metadata": {"name": f"q{i}"}})
        self.api.add("/apis/batch/v1/namespaces/default/jobs",
                     {"metadata": {"name": "train", "namespace": "default"}})
        for i, job in enumerate(("train", "train", "other")):
            self.api.add(PODS, {"metadata": {"name": f"p{i}", "namespace": "default", "labels": {
                "batch.kubernetes.io/job-name": job, "zone": f"z{i}"}}})

    def run_berth(self, *words, **more):
        environment = {"PATH": os.environ["PATH"], "KUBECONFIG": self.api.kubeconfig, **more}
        return subprocess.run([BERTH, *words], env=environment, capture_output=True, text=True,
                              timeout=60, check=False)

    def pages(self):
        return [path for path in self.api.asked if path.startswith(f"{KUEUE}/clusterqueues")]

    def test_pages(self):
        for words, more, asked in ((["--chunk-size", "3"], {}, 3),
                                   ([], {"KUEUECTL_LIST_REQUEST_LIMIT": "4"}, 2),
                                   ([], {}, 1)):
            self.api.asked.clear()
            answer = self.run_berth("list", "clusterqueue", *words, **more)
            self.assertEqual(answer.returncode, 0, answer.stderr)
            for i in range(7):
                self.assertIn(f"q{i} ", answer.stdout)
            self.assertEqual(len(self.pages()), asked, self.pages())
        self.api.asked.clear()
        self.run_berth("list", "clusterqueue", "--chunk-size=0")
        self.assertEqual(self.pages(), [f"{KUEUE}/clusterqueues"], "one request without a limit")

    def test_bad_page_sizes(self):
        for words, more in ((["--chunk-size", "-1"], {}), (["--chunk-size", "x"], {}),
                            ([], {"KUEUECTL_LIST_REQUEST_LIMIT": "x"})):
            answer = self.run_berth("list", "clusterqueue", *words, **more)
            self.assertEqual(answer.returncode, 2, answer.stdout)
            self.assertIn("chunk-size", answer.stderr)

    def test_pods_of_a_job(self):
        answer = self.run_berth("list", "pods", "--for", "job/train", "--chunk-size", "1")
        self.assertEqual(answer.stdout.split(), ["NAME", "p0", "p1"], answer.stderr)
        answer = self.run_berth("list", "pods", "--for", "jobs.batch/train", "-l", "zone=z1")
        self.assertEqual(answer.stdout.split(), ["NAME", "p1"])
        answer = self.run_berth("list", "po", "--for", "job/train", "-A")
        self.assertEqual(answer.stdout.split()[:4], ["NAMESPACE", "NAME", "default", "p0"])
        answer = self.run_berth("list", "pods", "--for", "job/train", "-o", "json")
        self.assertIn('"p1"', answer.stdout)
        self.assertNotIn('"p2"', answer.stdout)

    def test_pods_of_no_job(self):
        answer = self.run_berth("list", "pods", "--for", "job/absent")
        self.assertEqual((answer.returncode, answer.stdout), (0, "No resources found\n"))
        answer = self.run_berth("list", "pods", "--for", "deployment/x")
        self.assertEqual(answer.returncode, 2)
        self.assertIn("TYPE[.GROUP]/NAME", answer.stderr)
        self.assertEqual(self.run_berth("list", "pods").returncode, 2, "--for is required")
        answer = self.run_berth("list", "pods", "--for", "rayjob/x")
        self.assertEqual(answer.returncode, 1, "the cluster has no such kind")


if __name__ == "__main__":
    unittest.main()
