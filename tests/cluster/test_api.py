"""Goal: what Berth relies on of an API server is what a real kube-apiserver does.

Method: the requests of api_rows.py; api_rows.json has the outcomes. tests/local/e2e/test_api_rows.py sends the same
requests to `berth up`. With WRITE_API_ROWS=1 in the environment the test writes api_rows.json."""

import json
import os
import shutil
import ssl
import unittest

import api_rows
from control_plane import ADMIN_TOKEN, NEWEST_PROGRAMS, PROGRAMS, ROOT, ControlPlane
from established import wait_established
from scratch import scratch_folder


# Messages have other words in other minors; Kubernetes 1.32 writes the annotation, which Berth does not read.
OF_THE_MINOR = ("message", "kubernetes.io/initial-events-list-blueprint")


def is_served(step):
    """Whether the minor has the kind that was asked for: the message of an object that is not there names the object."""
    return step.get("status") != 404 or step.get("message", "").endswith(" not found")


def comparable(outcomes, recorded):
    """Both without what differs between minors of Kubernetes, kinds that are not served among it."""
    def shared(value):
        if isinstance(value, dict):
            return {key: shared(each) for key, each in value.items() if key not in OF_THE_MINOR}
        return [shared(each) for each in value] if isinstance(value, list) else value
    found, known = shared(outcomes), shared(recorded)
    for row, steps in outcomes.items():
        served = [is_served(step) for step in steps]
        found[row], known[row] = ([step for step, is_kept in zip(side[row], served) if is_kept] for side in (found, known))
    return found, known


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
        outcomes = api_rows.play(api_rows.sender(plane.server, ADMIN_TOKEN, context))
        if os.environ.get("WRITE_API_ROWS"):
            with open(api_rows.FILE, "w", encoding="utf-8") as file:
                json.dump(outcomes, file, indent=1, sort_keys=True)
                file.write("\n")
        recorded = api_rows.recorded()
        if PROGRAMS != NEWEST_PROGRAMS:
            outcomes, recorded = comparable(outcomes, recorded)
        self.assertEqual(outcomes, recorded)
