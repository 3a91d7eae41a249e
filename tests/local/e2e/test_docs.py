"""Goal: the guide is true: its manifests are accepted, its links lead somewhere, its reference is that of the
program, and it names every alert, every label and every kind that there is.

Method: a `berth up` takes the manifests; texts are compared with the sources."""

import glob
import importlib.machinery
import importlib.util
import json
import os
import re
import subprocess
import unittest

from berth_up import BERTH, ROOT, BerthUpTest
from waiting import wait_until

DOCS = os.path.join(ROOT, "docs")
# Pages of the guide whose manifests fit together in one cluster; tests of their own play those of other pages.
APPLIED = ("fair-sharing", "preemption", "provisioning", "queues", "topology")


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def pages():
    return sorted(glob.glob(os.path.join(DOCS, "**", "*.md"), recursive=True))


def anchors(text):
    """GitHub's names of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


class GuideTest(BerthUpTest):
    def test_manifests_are_accepted(self):
        cluster = self.start_cluster()
        for page in [os.path.join(DOCS, "guide", f"{name}.md") for name in APPLIED]:
            text = read(page)
            self.assertNotIn("```yml", text)
            for manifest in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL):
                done = None

                def accepted(manifest=manifest):
                    nonlocal done
                    done = cluster.kubectl("apply", "-f", "-", stdin=manifest, check=False)
                    return done.returncode == 0
                try:
                    wait_until(accepted, "accepted", 60)
                except AssertionError:
                    self.fail(f"{page}: {done.stderr}")
        self.assertTrue(cluster.get("clusterqueue", "research"))
        # The queue in the guide admits the Job in the guide.
        wait_until(lambda: cluster.is_true("clusterqueue", "research", "Active"), "the queue is active")
        wait_until(lambda: any(condition["type"] == "Admitted" and condition["status"] == "True"
                               for item in cluster.items("workloads")
                               for condition in item.get("status", {}).get("conditions", [])),
                   "the job is admitted")


class TextTest(unittest.TestCase):
    maxDiff = None

    def test_links_lead_somewhere(self):
        broken = []
        for page in [*pages(), *(os.path.join(ROOT, name) for name in ("README.md", "CHANGELOG.md", "SECURITY.md"))]:
            for target in re.findall(r"\]\(([^)\s]+)\)", read(page)):
                path, _, anchor = target.partition("#")
                if ":" in path:
                    continue
                where = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
                if not os.path.exists(where):
                    broken.append(f"{page}: {target}")
                elif anchor and anchor not in anchors(read(where)):
                    broken.append(f"{page}: no heading #{anchor} in {path or 'the page'}")
        self.assertEqual(broken, [])

    def test_the_reference_is_that_of_the_program(self):
        done = subprocess.run([os.path.join(ROOT, "tools", "cli-reference"), "--check", "--program", BERTH],
                              text=True, capture_output=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_the_recording_has_the_commands_of_the_pages(self):
        loader = importlib.machinery.SourceFileLoader("recording", os.path.join(ROOT, "tools", "terminal-recording"))
        tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("recording", loader))
        loader.exec_module(tool)
        header, *events = map(json.loads, read("docs", "pictures", "start.cast").splitlines())
        self.assertEqual((header["version"], header["width"], header["height"]), (2, tool.COLUMNS, tool.LINES))
        self.assertEqual([text for _, kind, text in events if kind == "m"], [block for _, block in tool.blocks_of_pages()],
                         "the pages have changed: record them again with tools/terminal-recording")
        self.assertEqual([seconds for seconds, _, _ in events], sorted(seconds for seconds, _, _ in events))
        shown = "".join(text for _, kind, text in events if kind == "o")
        self.assertIn("default/large has waited", shown)

    def test_every_alert_is_described(self):
        alerts = re.findall(r"- alert: (\w+)", read("manifests", "monitoring", "alerts.yaml"))
        for alert in alerts:
            self.assertIn(f"`{alert}`", read("docs", "reference", "metrics.md"))

    def test_every_label_is_described(self):
        labels = read("api", "labels.h").partition("// Labels of Kubernetes.")[0]
        names = set(re.findall(r'"([a-z0-9.]+/[a-z-]+)"', labels))
        for header in glob.glob(os.path.join(ROOT, "api", "**", "*.h"), recursive=True):
            names |= set(re.findall(r'"((?:[a-z]+\.)?berth\.dev/[a-z-]+)"', read(header)))
        known_elsewhere = {"cloud.google.com/gke-nodepool", "kueue.x-k8s.io/provisioning-request",
                           "berth.dev/reactive-capacity"}  # the latter two are names of controllers
        page = read("docs", "reference", "annotations.md")
        missing = {name for name in names - known_elsewhere if f"`{name}`" not in page}
        self.assertEqual(missing, set())

    def test_every_kind_is_described(self):
        page = read("docs", "reference", "annotations.md")
        found = []
        for path in glob.glob(os.path.join(ROOT, "manifests", "**", "*.yaml"), recursive=True):
            text = read(path)
            group = re.search(r"^  group: ([a-z]+\.berth\.dev)$", text, re.MULTILINE)
            if group and "kind: CustomResourceDefinition" in text:
                kind = re.search(r"^    kind: (\w+)$", text, re.MULTILINE)[1]
                version = re.search(r"^  - name: (v\w+)$", text, re.MULTILINE)[1]
                found.append(f"{kind} (`{group[1]}/{version}`)")
        self.assertEqual(len(found), 3)
        self.assertEqual([each for each in found if f"| {each} |" not in page], [])

    def test_every_page_can_be_found(self):
        """From the README, over links."""
        seen, left = set(), [os.path.join(ROOT, "README.md")]
        while left:
            page = left.pop()
            if page in seen or not page.endswith(".md"):
                continue
            seen.add(page)
            for target in re.findall(r"\]\(([^)#\s]+)", read(page)):
                if ":" not in target:
                    left.append(os.path.normpath(os.path.join(os.path.dirname(page), target)))
        lost = [page for page in pages() if page not in seen and "decisions" not in page]
        self.assertEqual(lost, [])
