"""Tests of the page in a browser: `berth up --dashboard`, Debian's Chromium, axe."""

import http.client
import json
import os
import re
import unittest
import urllib.parse
from shutil import which

from berth_up import ROOT, BerthUpTest
from browser import PROGRAM, Browser
from object_reader import access_of

AXE = os.path.join(ROOT, "build", "dashboard", "packages", "node_modules", "axe-core", "axe.min.js")
SECONDS = 60
LOOKS = (("dark", 360), ("light", 1280))  # both themes and both widths, each once


@unittest.skipUnless(which(PROGRAM), f"{PROGRAM} is not installed")
@unittest.skipUnless(os.path.exists(AXE), "the page has not been built: tools/build with node and npm")
class PageTest(BerthUpTest):
    def setUp(self):
        super().setUp()
        self.cluster = self.start_cluster(flags=["--dashboard", "--read-api-actions"])
        _, self.tls, self.admin = access_of(self.cluster.kubeconfig)
        self.browser = Browser(self.cluster.folder)
        self.addCleanup(self.browser.close)

    # The server ----------------------------------------------------------------------------------
    def printed(self):
        """The address with a code, of the latest start."""
        return re.findall(r"dashboard: (https://localhost:\d+/sign-in#code=\S+)", self.cluster.log())[-1]

    def root(self):
        return self.printed().split("/sign-in")[0]

    def ask(self, method, path, body=None, **headers):
        connection = http.client.HTTPSConnection(urllib.parse.urlsplit(self.root()).netloc, context=self.tls, timeout=SECONDS)
        self.addCleanup(connection.close)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body=None if body is None else json.dumps(body), headers=sent)
        answer = connection.getresponse()
        answer.text = answer.read()
        return answer

    def sign_in(self, **secret):
        answer = self.ask("POST", "/api/v1/session", secret, Content_Type="application/json")
        return answer, (answer.headers["Set-Cookie"] or "").split(";")[0]

    def page_files(self):
        """The files of the page, for FakeReadApi."""
        files = {}
        for path in ("/", "/assets/page.js", "/assets/page.css", "/assets/icon.svg"):
            answer = self.ask("GET", path)
            files[path] = (answer.headers["Content-Type"], answer.text)
        return files

    # The page ------------------------------------------------------------------------------------
    def open(self, address=None, **how):
        return self.browser.open(address or self.printed(), **how)

    def open_with(self, token, path, **how):
        """A view for the holder of a token."""
        page = self.open(self.root() + path, **how)
        page.wait_for("document.querySelector('input[type=password]')")
        page.run("document.querySelector('input[type=password]').focus()")
        page.type(token)
        page.press("Enter", text="\r")
        page.wait_for("document.querySelector('.connection')")
        return page

    def assert_quiet(self, page):
        self.assertEqual(page.problems, [])
        elsewhere = [url for url in page.requests if not url.startswith((self.root() + "/", "about:"))]
        self.assertEqual(elsewhere, [])

    def assert_accessible(self, page, what):
        if not page.run("'axe' in window"):  # once a document
            page.call("Page.setBypassCSP", enabled=True)
            with open(AXE, encoding="utf-8") as script:
                page.run(script.read() + "; 0")
        found = page.run("axe.run({resultTypes: ['violations'], rules: {'target-size': {enabled: true}}}).then(r => r.violations.map(v => "
                         "v.id + ': ' + v.nodes.slice(0, 3).map(n => n.target + ' ' + n.failureSummary).join('; ')))")
        self.assertEqual(found, [], what)

    def assert_accessible_in_each_look(self, page, what):
        for theme, width in LOOKS:
            page.size(width, 800)
            page.theme(theme)
            page.wait_for(f"innerWidth === {width}")
            self.assertLessEqual(page.run("document.documentElement.scrollWidth"), width, what)
            self.assert_accessible(page, f"{what} {theme} {width}")
