"""Goal: what Berth relies on of an API server is what a real kube-apiserver does.

Method: the requests of api_rows.py; api_rows.json has the outcomes. tests/local/e2e/test_api_rows.py sends the same
requests to `berth up`. With --write this program writes api_rows.json."""

import json
import os
import shutil
import ssl
import sys
import unittest
import urllib.error
import urllib.request

import api_rows
from control_plane import ADMIN_TOKEN, PROGRAMS, ROOT, ControlPlane
from established import wait_established
from scratch import scratch_folder


def sender(server, token, context):
    def send(method, path, text, kind):
        method, _, user = method.partition("@")
        headers = {"Content-Type": kind, "Authorization": "Bearer " + token}
        if user:
            headers["Impersonate-User"] = user
        request = urllib.request.Request(
            server + path, data=text.encode() or None, method="GET" if method == "WATCH" else method,
            headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=60, context=context) as answer:
                if method == "WATCH":
                    return answer.status, {"events": [json.loads(line) for line in answer]}
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            text = refused.read().decode()
            return refused.code, json.loads(text) if text.startswith("{") else {}
    return send


class ApiTest(unittest.TestCase):
    maxDiff = None

    def test_rows(self):
        if not os.path.exists(os.path.join(PROGRAMS, "kwok")):
            raise unittest.SkipTest("no control plane: build one with tools/kubernetes")
        folder = scratch_folder("berth-cluster-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        plane = ControlPlane(folder, parent_ends_all=True)
        self.addCleanup(plane.stop)
        plane.start()
        plane.wait_until(lambda: plane.get("configmap", "kube-root-ca.crt"), "the ConfigMap that the rows count")
        plane.programs["kube-controller-manager"].end()  # it would work on the Jobs
        plane.kubectl("apply", "--server-side", "-k", os.path.join(ROOT, "manifests", "crds"))
        wait_established(plane.kubectl, "workloads.kueue.x-k8s.io")
        context = ssl.create_default_context(cafile=plane.file("ca.crt"))
        outcomes = api_rows.play(sender(plane.server, ADMIN_TOKEN, context))
        if WRITE:
            with open(api_rows.FILE, "w", encoding="utf-8") as file:
                json.dump(outcomes, file, indent=1, sort_keys=True)
                file.write("\n")
        self.assertEqual(outcomes, api_rows.recorded())


WRITE = "--write" in sys.argv
if __name__ == "__main__":
    unittest.main(argv=[word for word in sys.argv if word != "--write"])
