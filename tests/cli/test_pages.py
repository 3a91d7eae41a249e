"""Goal: the page of `berth simulate --html` shows the run to anybody with a browser: light and dark, on a telephone and on
paper, without any request; words of manifests and workloads stand in it as text.

Method: the program; an XML parser; the page in headless Chromium (screenshots, sizes, console, PDF)."""

import os
import re
import struct
import subprocess
import sys
import unittest
import xml.etree.ElementTree
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "py"))
from scratch import ScratchTest  # noqa: E402

TEAMS = os.path.join(ROOT, "manifests", "samples", "two-teams", "queues.yaml")
DAY = """submit,queue,class,pods,gpu,run
0,a-queue,,3,4,1h
600,b-queue,urgent,1,8,30m
601,b-queue,,1,1,60
700,a-queue,,1,999,60
"""
POOL = """apiVersion: cloud.berth.dev/v1alpha1
kind: NodePool
metadata: {name: t4}
spec: {machineType: n1-standard-4, accelerator: {type: nvidia-tesla-t4, count: 1}, maxNodes: 6, bootSeconds: 60, idleSeconds: 300}
"""
POOL_QUEUES = """apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: t4}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors: [{name: t4, resources: [{name: nvidia.com/gpu, nominalQuota: 6}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: main}
spec: {clusterQueue: team}
"""
FRAME = """<!DOCTYPE html><html><body><iframe id="f" src="PAGE" style="width:WIDTHpx;height:900px;border:0"></iframe>
<script>document.getElementById("f").onload = function () {
document.body.setAttribute("data-width", this.contentDocument.documentElement.scrollWidth); };</script></body></html>"""


def pixels(path):
    """Rows of (red, green, blue) of a PNG file of 8 bits a channel."""
    with open(path, "rb") as file:
        data = file.read()
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", body[:10])
        if kind == b"IDAT":
            packed += body
        at += 12 + length
    assert depth == 8 and color in (2, 6), (depth, color)
    size = 3 if color == 2 else 4
    raw, line, rows = zlib.decompress(packed), bytearray(width * size), []
    for y in range(height):
        start = y * (width * size + 1)
        how, previous, line = raw[start], line, bytearray(raw[start + 1:start + 1 + width * size])
        for i, byte in enumerate(line):
            left = line[i - size] if i >= size else 0
            above, corner = previous[i], previous[i - size] if i >= size else 0
            if how == 4:
                guess = left + above - corner
                left = min((left, above, corner), key=lambda each, guess=guess: abs(guess - each))
            line[i] = (byte + (0, left, above, (left + above) // 2, left)[how]) & 255
        rows.append([tuple(line[i:i + 3]) for i in range(0, len(line), size)])
    return rows


class PagesTest(ScratchTest):
    def simulate(self, *words):
        return subprocess.run([os.environ["BERTH"], "simulate", *words], capture_output=True, text=True, timeout=120,
                              check=False, env={"PATH": os.environ["PATH"], "HOME": self.folder})

    def page(self, *words, name="page.html"):
        path = os.path.join(self.folder, name)
        done = self.simulate(*words, "--html", path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(path, encoding="utf-8") as file:
            return path, file.read()

    def day(self):
        return self.page("-f", TEAMS, "--workload", self.write("day.csv", DAY))

    def browse(self, page, *flags):
        done = subprocess.run(
            ["chromium-headless-shell", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr",
             "--allow-file-access-from-files", f"--user-data-dir={self.folder}/browser", *flags, "file://" + page],
            capture_output=True, text=True, timeout=100, check=False, env={"PATH": os.environ["PATH"], "HOME": self.folder})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("CONSOLE", done.stderr)
        return done.stdout

    def test_the_page_has_each_picture_and_table(self):
        _, text = self.day()
        tree = xml.etree.ElementTree.fromstring(text)
        labels = [each.get("aria-label") for each in tree.iter("svg")]
        self.assertEqual(labels, ["Waits of the jobs that started", "nvidia.com/gpu: quota and use", "Jobs that wait",
                                  "nvidia.com/gpu in use by ClusterQueue", "What ran where"])
        tables = {row[0].text: [cell.text for cell in row] for row in tree.iter("tr")}
        self.assertEqual(tables["team-a/a-queue"][2:5], ["2", "1", "1"])
        tips = [each.text for each in tree.iter("title")]
        self.assertIn("line 2 of team-a/a-queue, 10m, ended early", tips)
        self.assertIn("line 3 of team-b/b-queue, 30m", tips)
        self.assertIn("never finished: 1 of team-a/a-queue", text)

    def test_the_page_asks_for_nothing(self):
        _, text = self.day()
        self.assertIsNone(re.search(r"https?://|\bsrc=|url\(|@import|<script|<link|\bhref=", text))
        self.assertIn("default-src 'none'", text)

    def test_nodes_are_rows(self):
        queues, pools = self.write("queues.yaml", POOL_QUEUES), self.write("pools.yaml", POOL)
        workload = self.write("day.csv", "submit,pods,gpu,run\n0,2,1,10m\n900,1,1,10m\n")
        _, text = self.page("-f", queues, "--pools", pools, "--workload", workload)
        words = [each.text for each in xml.etree.ElementTree.fromstring(text).iter("text")]
        self.assertEqual([word for word in words if word.startswith("t4-")], ["t4-0", "t4-1"])
        self.assertIn("nvidia.com/gpu of nodes and in use", text)
        self.assertEqual(text.count("<title>boots</title>"), 2)

    def test_a_comparison_has_both(self):
        with open(TEAMS, encoding="utf-8") as file:
            larger = self.write("larger.yaml", file.read().replace("nominalQuota: 8\n", "nominalQuota: 16\n"))
        _, text = self.page("-f", TEAMS, "--compare", larger, "--workload", self.write("day.csv", DAY))
        tree = xml.etree.ElementTree.fromstring(text)
        self.assertEqual(len(list(tree.iter("svg"))), 10)
        self.assertEqual([each.text for each in tree.iter("h2")], ["Before", "After", "After less before"])
        tables = {row[0].text: [cell.text for cell in row] for row in tree.iter("tr")}
        self.assertEqual(tables["all"][10], "-1")  # preemptions

    def test_words_of_others_stand_as_text(self):
        workload = self.write("<img src=x onerror=alert(1)>&.csv", DAY)
        _, text = self.page("-f", TEAMS, "--workload", workload)
        tree = xml.etree.ElementTree.fromstring(text)
        self.assertEqual(tree.find("body/h1").text, "Simulated: " + workload)
        self.assertEqual(list(tree.iter("img")), [])

    def test_a_file_that_cannot_be_written(self):
        done = self.simulate("-f", TEAMS, "--workload", self.write("day.csv", DAY), "--html", self.folder + "/none/page.html")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, f"berth: --html: cannot write {self.folder}/none/page.html\n")

    def test_light_and_dark(self):
        page, _ = self.day()
        corners = {}
        for scheme, number in (("dark", 0), ("light", 1)):
            picture = os.path.join(self.folder, scheme + ".png")
            self.browse(page, f"--blink-settings=preferredColorScheme={number}", f"--screenshot={picture}", "--window-size=900,1400")
            rows = pixels(picture)
            corners[scheme] = rows[0][0]
            colors = {pixel for row in rows[::3] for pixel in row[::3]}
            self.assertGreater(len(colors), 20, "the pictures have colors")
        self.assertEqual(corners, {"dark": (0x12, 0x16, 0x1d), "light": (255, 255, 255)})

    def test_a_telephone_needs_no_sideways_scroll(self):
        page, _ = self.day()
        for width in (360, 1200):
            frame = self.write(f"frame-{width}.html", FRAME.replace("PAGE", "file://" + page).replace("WIDTH", str(width)))
            shown = self.browse(frame, "--dump-dom", "--window-size=1300,1000")
            self.assertEqual(re.search(r'data-width="(\d+)"', shown)[1], str(width))

    def test_it_prints(self):
        page, _ = self.day()
        pdf = os.path.join(self.folder, "page.pdf")
        self.browse(page, f"--print-to-pdf={pdf}", "--blink-settings=preferredColorScheme=0")
        with open(pdf, "rb") as file:
            data = file.read()
        self.assertTrue(data.startswith(b"%PDF"))
        self.assertGreaterEqual(len(re.findall(rb"/Type\s*/Page\b", data)), 2)

    def test_equal_runs_give_equal_pages(self):
        self.assertEqual(self.day()[1], self.day()[1])


if __name__ == "__main__":
    unittest.main()
