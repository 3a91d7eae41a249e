"""Goal: tools/docs builds a site with search, a dark scheme and a folder for each version, whose links lead somewhere and
whose pages fetch nothing from other servers; and it notices where that does not hold.

Method: the site of this tree, and of a copy with a broken link; planted loads."""

import json
import pathlib
import shutil
import subprocess
import sys
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(PROJECT / "tools" / "site"), str(PROJECT / "tests" / "py")]

import hooks  # noqa: E402
from scratch import ScratchTest  # noqa: E402


def docs(root, *words):
    return subprocess.run([root / "tools" / "docs", *words], text=True, capture_output=True, timeout=120, check=False)


class SiteTest(ScratchTest):
    @classmethod
    def setUpClass(cls):
        installed = docs(PROJECT, "--install")
        if installed.returncode != 0:
            raise unittest.SkipTest(f"mkdocs-material cannot be installed: {installed.stderr[-300:]}")

    def test_the_site(self):
        self.write("site/0.0.9/index.html", "")
        site = pathlib.Path(self.folder, "site")
        done = docs(PROJECT, "--version", "0.1.0", "--output", site)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([each["version"] for each in json.loads((site / "versions.json").read_text())], ["0.1.0", "0.0.9"])
        self.assertIn('href="0.1.0/index.html"', (site / "index.html").read_text())
        index = json.loads((site / "0.1.0" / "search" / "search_index.json").read_text())
        self.assertIn("reference/limits/volumes.html", {each["location"] for each in index["docs"]})
        page = (site / "0.1.0" / "guide" / "capacity.html").read_text()
        self.assertIn("slate", page)
        self.assertNotIn('href="../../manifests', page)
        self.assertEqual(hooks.loads_from_elsewhere(site), [])

    def test_a_broken_link(self):
        copy = pathlib.Path(self.folder, "copy")
        copy.mkdir()
        for name in ("docs", "tools"):
            shutil.copytree(PROJECT / name, copy / name)
        for name in ("mkdocs.yml", "CMakeLists.txt", "README.md"):
            shutil.copy(PROJECT / name, copy)
        with open(copy / "docs" / "start" / "dws.md", "a", encoding="utf-8") as file:
            file.write("[away](nowhere.md), [below](try-it.md#nothing)\n")
        done = docs(copy)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("nowhere.md", done.stderr)
        self.assertIn("nothing", done.stderr)


class LoadsTest(ScratchTest):
    def test_loads(self):
        rows = [
            ("a.html", '<script src="https://example.org/a.js"></script>', True),
            ("a.html", '<link rel="stylesheet" href="//example.org/a.css">', True),
            ("a.html", '<img alt="x" src=https://example.org/a.png>', True),
            ("a.css", "@import 'https://example.org/a.css';", True),
            ("a.css", "a {background: url(https://example.org/a.png)}", True),
            ("a.js", 'load("https://unpkg.com/mermaid@11/a.js")', True),
            ("a.html", '<a href="https://example.org">there</a>', False),
            ("a.html", '<script src="assets/a.js"></script>', False),
            ("a.css", "a {background: url(data:image/png;base64,AA)}", False),
        ]
        for name, text, loads in rows:
            with self.subTest(text=text):
                self.write(f"site/{name}", text)
                self.assertEqual(len(hooks.loads_from_elsewhere(f"{self.folder}/site")), int(loads))
                pathlib.Path(self.folder, "site", name).unlink()

    def test_links_that_leave_the_documentation(self):
        def text(source, link):
            return hooks.LINK.sub(hooks.leave("guide/capacity.md", source), link)
        self.assertEqual(text("", "[a job](../../jobs/a.yaml)"), "a job (`jobs/a.yaml`)")
        self.assertEqual(text("https://example.org/tree", "[a job](../../jobs/a.yaml)"),
                         "[a job](https://example.org/tree/jobs/a.yaml)")
        self.assertEqual(text("", "[install](../operate/install.md#aks)"), "[install](../operate/install.md#aks)")


if __name__ == "__main__":
    unittest.main()
