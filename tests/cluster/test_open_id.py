"""Goal: a person signs in to the page at an OpenID provider that the API server trusts, and sees what the groups of the
provider's token may see; a sign-in that the person refuses is named.

Method: a real provider (oidc-provider, with the form of its developers' mode), kube-apiserver with its --oidc-… flags, the
controller with the rights of manifests/, Chromium. The provider's host is another site than the page's."""

import json
import os
import shutil
import subprocess
from shutil import which

from browser import PROGRAM, Browser
from cluster_test import ClusterTest
from control_plane import ROOT, free_ports
from installation import ANY_PORT
from scratch import die_with_parent, scratch_folder
from team_queues import plain_queues

PACKAGES = os.path.join(ROOT, "build", "openid-provider")
SECRET = "a secret of the test"
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: big, namespace: default, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "none:1", resources: {requests: {cpu: "2"}}}]
"""


class OpenIdTest(ClusterTest):
    @classmethod
    def start_plane(cls):
        cls.scratch = scratch_folder("berth-openid-")
        cls.addClassCleanup(shutil.rmtree, cls.scratch, ignore_errors=True)
        cls.issuer = f"https://127.0.0.1:{free_ports(1)[0]}"
        cls.start_provider()
        cls.API_FLAGS = (f"--oidc-issuer-url={cls.issuer}", "--oidc-client-id=berth", f"--oidc-ca-file={cls.scratch}/provider.crt",
                         "--oidc-username-prefix=oidc:", "--oidc-groups-claim=groups", "--oidc-groups-prefix=oidc:")
        super().start_plane()

    @classmethod
    def start_provider(cls):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=provider", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{cls.scratch}/provider.key",
                        "-out", f"{cls.scratch}/provider.crt"], check=True, capture_output=True, timeout=60)
        provider = subprocess.Popen(
            ["node", os.path.join(ROOT, "tests", "cluster", "open-id-provider", "provider.mjs"), cls.issuer,
             f"{cls.scratch}/provider.key", f"{cls.scratch}/provider.crt"], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            preexec_fn=die_with_parent,
            env={"PATH": os.environ["PATH"], "PACKAGES": PACKAGES, "CLIENT_SECRET": SECRET, "GROUPS": json.dumps({"ada": ["team"]})})
        cls.addClassCleanup(provider.stdout.close)
        cls.addClassCleanup(provider.wait)
        cls.addClassCleanup(provider.kill)
        assert provider.stdout.readline() == "ready\n", "the provider did not start"

    @classmethod
    def start_first(cls):
        cls.plane.write("client-secret", SECRET)
        return cls.berth.start(flags=["--read-api-listen", ANY_PORT, "--read-api-openid-issuer", cls.issuer, "--read-api-openid-client", "berth",
                                      "--read-api-openid-secret-file", cls.plane.file("client-secret"),
                                      "--read-api-openid-ca", f"{cls.scratch}/provider.crt", "--read-api-openid-scopes", "openid groups"])

    def setUp(self):
        super().setUp()
        if which(PROGRAM) is None:
            self.skipTest(f"{PROGRAM} is not installed")
        self.browser = Browser(self.plane.folder)
        self.addCleanup(self.browser.close)

    def leave(self, page):
        """Goes from the page to the provider."""
        button = "[...document.querySelectorAll('button')].find((each) => each.textContent.startsWith('Sign in at'))"
        page.wait_for(f"{button} && !{button}.disabled")
        page.run(f"{button}.click()")

    def fill_form(self, page, name):
        page.wait_for("document.querySelector('input[name=login]')")
        page.run(f"document.querySelector('input[name=login]').value = {json.dumps(name)}")
        page.run("document.querySelector('input[name=password]').value = 'any'")
        page.run("document.querySelector('form').submit()")
        page.wait_for("document.querySelector('input[name=prompt][value=consent]')")

    def test_person_signs_in_at_the_provider(self):
        self.apply_when_accepted(plain_queues(1))
        self.apply_when_accepted(JOB)
        self.plane.kubectl("create", "clusterrolebinding", "team", "--clusterrole=kueue-batch-admin-role", "--group=oidc:team")
        root = f"https://localhost:{self.controller.port('read_api')}"
        page = self.browser.open(f"{root}/workloads?state=waiting")
        self.leave(page)
        self.fill_form(page, "ada")
        page.run("document.querySelector('form').submit()")
        page.wait_for_text("oidc:ada")
        page.wait_for_text("big")  # the team may list workloads
        self.assertEqual(page.run("location.pathname + location.search"), "/workloads?state=waiting")
        stored = page.run("JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}])")
        self.assertNotIn("eyJ", stored)  # no token is in reach of scripts
        self.assertFalse([each for each in page.requests if "id_token" in each])

        # The provider knows the browser: no form comes.
        page.run("[...document.querySelectorAll('button')].find((each) => each.textContent.includes('Sign out')).click()")
        page.wait_for("document.querySelector('.sign-in')")
        self.assertEqual(page.run("document.querySelector('[role=alert]').textContent"), "")
        self.leave(page)
        page.wait_for_text("oidc:ada")

    def test_refused_sign_in_is_named(self):
        page = self.browser.open(f"https://localhost:{self.controller.port('read_api')}/")
        self.leave(page)
        self.fill_form(page, "eve")
        page.run("[...document.querySelectorAll('a')].find((each) => each.href.endsWith('/abort')).click()")
        page.wait_for_text("The OpenID provider answers: access_denied")
        self.leave(page)  # the person may try again
        page.wait_for("document.querySelector('form')")
