"""The base of tests of Berth on a control plane."""

import json
import os
import shutil
import unittest

import audited_rights
import shared_plane
from control_plane import PROGRAMS, ControlPlane
from installation import ACCOUNT, NAMESPACE, Installation
from scratch import scratch_folder


class ClusterTest(unittest.TestCase):
    """Tests of one control plane with Berth installed; each test has a namespace of its own."""

    SHARES_PLANE = False  # True: with other classes of the process, one after the other; what the tests make is deleted
    NODES = 2
    CERTIFICATES_FROM = None  # when the control plane's certificates begin, as "-1d"
    FLAGS = ()  # flags of the controller
    API_FLAGS = ()  # more flags of kube-apiserver
    AUDITED = False  # True: a request of the controller that was refused for lack of a right fails the class
    NEEDS_API = None  # a group and version that older minors of Kubernetes lack; the class is skipped there
    COUNTED = None  # a component, each of whose rights these tests use; such a class is audited

    @classmethod
    def setUpClass(cls):
        if not os.path.exists(os.path.join(PROGRAMS, "kwok")):
            raise unittest.SkipTest("no control plane: build one with tools/kubernetes")
        if cls.SHARES_PLANE:
            cls.plane, cls.berth = shared_plane.take()
        else:
            cls.start_plane()
        if cls.NEEDS_API and cls.NEEDS_API not in cls.plane.kubectl("api-versions").stdout.split():
            raise unittest.SkipTest(f"this minor of Kubernetes does not serve {cls.NEEDS_API}")
        cls.folder = cls.plane.folder
        for number in range(1, cls.NODES + 1):
            cls.plane.add_node(f"node-{number}", cpu="8", memory="32Gi")
        cls.controller = cls.start_first()

    @classmethod
    def start_plane(cls):
        folder = scratch_folder("berth-cluster-")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.plane = ControlPlane(folder, parent_ends_all=True, certificates_from=cls.CERTIFICATES_FROM, api_flags=cls.API_FLAGS,
                                 audited=f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}" if cls.AUDITED or cls.COUNTED else None)
        cls.addClassCleanup(cls.plane.stop)
        cls.plane.start()
        cls.berth = Installation(cls.plane)
        cls.addClassCleanup(cls.berth.stop)
        cls.apply_manifests()

    @classmethod
    def tearDownClass(cls):
        if cls.AUDITED:
            audited_rights.used(cls.plane.file("audit.log"))
        if cls.COUNTED is not None:
            unused = audited_rights.unused(cls.plane.file("audit.log"), cls.COUNTED)
            assert not unused, f"rights of manifests/components/{cls.COUNTED} that nothing used: {unused}"

    @classmethod
    def start_first(cls):
        return cls.berth.start(flags=cls.FLAGS)

    @classmethod
    def apply_manifests(cls):
        cls.berth.apply_manifests()

    def describe_failure(self):
        """The objects and the last lines of the programs; tests/py/run.py adds them to a failure."""
        logs = {name: program.tail() for name, program in self.plane.programs.items() if name in ("kwok", "kube-scheduler")}
        logs |= {name: controller.log()[-3000:] for name, controller in self.berth.controllers.items()}
        return self.plane.show_objects() + "\n".join(f"{name}:\n{log}" for name, log in logs.items())

    SHOWN = ("workloads",)  # kinds that a failed wait prints

    def wait_until(self, condition, what):
        try:
            return self.plane.wait_despite_lost_writes(condition, what)
        except AssertionError as late:
            shown = "\n".join(json.dumps(self.plane.items(kind), indent=1) for kind in self.SHOWN)
            raise AssertionError(f"{late}\n{shown}") from None

    def condition(self, name, kind):
        """The condition of the first Workload whose name begins so; {}: none."""
        for each in self.plane.items("workloads"):
            if each["metadata"]["name"].startswith(name):
                found = {c["type"]: c for c in each.get("status", {}).get("conditions", [])}
                return found.get(kind, {})
        return {}

    def is_true(self, name, kind):
        return self.condition(name, kind).get("status") == "True"

    def apply_when_accepted(self, text, *flags):
        """Applies when the webhooks answer: then their configurations have the CA."""
        done = None

        def accepted():
            nonlocal done
            done = self.plane.kubectl("apply", *flags, "-f", "-", stdin=text, check=False)
            return done.returncode == 0
        try:
            self.plane.wait_until(accepted, "the objects are accepted")
        except AssertionError as late:
            raise AssertionError(f"{late}\n{done.stderr}") from None
