"""Goal: `tools/demo --keep` prints the address of its page before the story begins; the address signs a reader in, who sees the
jobs of the story while it happens; SIGTERM ends the demo with all that it has started.

Method: the script itself, in a scratch folder; HTTPS without a browser."""

import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import urllib.parse

from berth_up import BERTH, ROOT
from scratch import ScratchTest, die_with_parent
from waiting import wait_until

SECONDS = 60


class DemoKeepTest(ScratchTest):
    def setUp(self):
        super().setUp()
        self.log_path = os.path.join(self.folder, "demo.log")
        environment = {**os.environ, "BERTH_BUILD": os.path.dirname(BERTH), "TMPDIR": self.folder}
        with open(self.log_path, "w", encoding="utf-8") as log:
            self.demo = subprocess.Popen([os.path.join(ROOT, "tools", "demo"), "--keep"], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                         env=environment, preexec_fn=die_with_parent)
        self.addCleanup(self.demo.kill)

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def printed(self):
        found = re.search(r"watch it: (https://localhost:\d+)/sign-in#code=(\S+)", self.log())
        if found is None and self.demo.poll() is not None:
            raise RuntimeError("the demo ended: " + self.log())
        return found

    def ask(self, root, method, path, body=None, **headers):
        """The certificate is that of a data folder whose kubeconfig the demo keeps to itself."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(urllib.parse.urlsplit(root).netloc, context=context, timeout=SECONDS)
        self.addCleanup(connection.close)
        connection.request(method, path, body=None if body is None else json.dumps(body),
                           headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        answer.text = answer.read()
        return answer

    def test_the_address_is_watched_and_the_demo_ends(self):
        root, code = wait_until(self.printed, "the address of the page", seconds=SECONDS).groups()
        page = self.ask(root, "GET", "/")
        self.assertEqual((page.status, page.headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        signed_in = self.ask(root, "POST", "/api/v1/session", {"code": code}, Content_Type="application/json")
        self.assertEqual(signed_in.status, 200, signed_in.text)
        cookie = signed_in.headers["Set-Cookie"].split(";")[0]

        def jobs():
            answer = self.ask(root, "GET", "/api/v1/workloads?fields=name", Cookie=cookie)
            return answer.status == 200 and {row["name"] for row in json.loads(answer.text)["items"]}
        wait_until(lambda: (jobs() or set()) >= {"haversine-t4", "haversine-a100", "haversine-h100"}, "the jobs of the story", seconds=3 * SECONDS)
        self.demo.send_signal(signal.SIGTERM)
        self.demo.wait(timeout=SECONDS)
        wait_until(lambda: not [each for each in os.listdir(self.folder) if each.startswith("berth-demo.")], "the scratch folder is gone")
        with self.assertRaises(OSError):
            self.ask(root, "GET", "/")
