"""Goal: install.yaml and the chart of a release install what manifests/ and charts/berth install, with the image of the release.

Method: kubectl renders manifests/, helm packs and renders the chart; the objects are compared."""

import os
import subprocess
import sys
import tarfile

import yaml
from berth_up import ROOT
from scratch import ScratchTest

sys.path += [os.path.join(ROOT, "tools", "lib"), os.path.join(ROOT, "tools", "releasing")]
import chart  # noqa: E402 (after the change of sys.path)
import install_yaml  # noqa: E402
import program_files  # noqa: E402

VERSION = program_files.version(ROOT)
HELM = os.path.join(ROOT, "build", "bin", "helm")
KUBECTL = os.path.join(ROOT, "build", "bin", "kubectl")
CHART = os.path.join(ROOT, "charts", "berth")


def objects(text):
    """By kind, namespace and name."""
    found = {}
    for each in filter(None, yaml.safe_load_all(text)):
        key = (each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"])
        assert key not in found, key
        found[key] = each
    return found


class ManifestsTest(ScratchTest):
    maxDiff = None

    def run_program(self, program, *arguments):
        if not os.path.exists(program):
            self.skipTest(f"no {program}: tools/test -R release_manifests builds it")
        done = subprocess.run([program, *arguments], text=True, capture_output=True, timeout=120, check=False,
                              env={"PATH": os.environ["PATH"], "HOME": self.folder})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def chart_of_the_release(self):
        path = os.path.join(self.folder, f"berth-{VERSION}.tgz")
        with open(path, "wb") as file:
            file.write(chart.archive(ROOT, VERSION, program_files.FILES_FROM))
        return path

    def test_install_yaml(self):
        rendered = objects(self.run_program(KUBECTL, "kustomize", os.path.join(ROOT, "manifests")))
        container, = rendered["Deployment", "kueue-system", "kueue-controller-manager"]["spec"]["template"]["spec"]["containers"]
        self.assertEqual(container["image"], "berth:latest")
        container["image"] = f"berth:{VERSION}"
        self.assertEqual(objects(install_yaml.text(ROOT, VERSION)), rendered)

    def test_the_chart(self):
        made = self.chart_of_the_release()
        self.run_program(HELM, "lint", "--strict", made)
        self.run_program(HELM, "package", CHART, "--destination", self.folder + "/packed")
        with tarfile.open(f"{self.folder}/packed/berth-{VERSION}.tgz") as archive:
            wanted = {entry.name for entry in archive if entry.isfile()} - {"berth/.helmignore"}
        with tarfile.open(made) as archive:
            self.assertEqual({entry.name for entry in archive if entry.isfile()}, wanted)
        rendered = self.run_program(HELM, "template", "kueue", CHART, "--namespace", "kueue-system")
        self.assertEqual(rendered.count("berth:latest"), 1)
        self.assertEqual(self.run_program(HELM, "template", "kueue", made, "--namespace", "kueue-system"),
                         rendered.replace("berth:latest", f"berth:{VERSION}"))
