"""Goal: the packages of the read API's clients install without a network, in Python and in node, and ask a server.

Method: pip and npm install the archives that tools/release writes, each into an environment of its own; a server of the test
notes what the clients ask. The program of the readme for node is run as it stands."""

import collections
import csv
import http.server
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import threading
import zipfile

from berth_up import ROOT
from scratch import ScratchTest

sys.path += [os.path.join(ROOT, "tools", "lib"), os.path.join(ROOT, "tools", "releasing")]
import clients  # noqa: E402 (after the change of sys.path)
import program_files  # noqa: E402

VERSION = program_files.version(ROOT)
PACKAGES = os.path.join(ROOT, "build", "dashboard", "packages", "node_modules")
SECONDS = program_files.FILES_FROM
ROWS = [{"namespace": "default", "name": "first"}, {"namespace": "default", "name": "second"}]
PYTHON = """
import sys
import berth_client
api = berth_client.ReadApi(sys.argv[1], "secret")
print([row["name"] for row in api.rows(api.list_workloads, state=["waiting", "running"], limit=1)])
try:
    api.read_workload("default", "none")
except berth_client.Problem as problem:
    print(problem)
"""
TYPED = """
import { ReadApi, type WorkloadsPage } from "berth-client";
const api = new ReadApi(async () => { throw new Error("no request is made"); });
export const page: Promise<WorkloadsPage> = api.listWorkloads({ state: ["waiting"], limit: 3 });
// @ts-expect-error: there is no such field
export const wrong = api.listWorkloads({ nothing: 1 });
"""


def run(*arguments, **options):
    done = subprocess.run(arguments, text=True, capture_output=True, timeout=300, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: {done.stdout}{done.stderr}")
    return done.stdout


class Answers(http.server.BaseHTTPRequestHandler):
    """Two pages of Workloads, for the bearer of the token."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.server.asked[self.path] += 1
        status, body = 404, {"status": 404, "message": "no such Workload"}
        if self.headers["Authorization"] != "Bearer secret":
            status, body = 401, {"status": 401, "message": "no token"}
        elif self.path.startswith("/api/v1/workloads?"):
            second = "cursor=more" in self.path
            status, body = 200, {"items": ROWS[1:] if second else ROWS[:1], "revision": "1", **({} if second else {"next": "more"})}
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class ClientTest(ScratchTest):
    def serve(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        server.asked = collections.Counter()
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        return server, f"http://127.0.0.1:{server.server_address[1]}"

    def keep(self, made):
        """The path of an archive (name, bytes)."""
        path = os.path.join(self.folder, made[0])
        with open(path, "wb") as file:
            file.write(made[1])
        return path

    def node_project(self):
        """A folder where npm has installed the package, without a registry."""
        project = os.path.dirname(self.write("project/package.json", '{"name": "a", "version": "1.0.0", "private": true}'))
        archive = self.keep(clients.npm_package(ROOT, VERSION, SECONDS, PACKAGES))
        run("npm", "install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", archive, cwd=project,
            env={**os.environ, "npm_config_cache": os.path.join(self.folder, "cache")})
        return project

    def test_python(self):
        server, address = self.serve()
        wheel = self.keep(clients.wheel(ROOT, VERSION, SECONDS))
        environment = os.path.join(self.folder, "environment")
        run(sys.executable, "-m", "venv", environment)
        python = os.path.join(environment, "bin", "python")
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", wheel)
        self.assertEqual(run(python, "-I", "-W", "error", "-c", PYTHON, address), "['first', 'second']\n404: no such Workload\n")
        self.assertEqual(dict(server.asked), {"/api/v1/workloads?state=waiting%2Crunning&limit=1": 1,
                                              "/api/v1/workloads?state=waiting%2Crunning&limit=1&cursor=more": 1,
                                              "/api/v1/workloads/default/none": 1})
        shown = run(python, "-m", "pip", "show", "--disable-pip-version-check", "berth-client")
        self.assertRegex(shown, rf"Name: berth-client\nVersion: {re.escape(VERSION)}\n")
        run(python, "-m", "pip", "check", "--disable-pip-version-check")

    def test_the_record_of_the_wheel(self):
        with zipfile.ZipFile(io.BytesIO(clients.wheel(ROOT, VERSION, SECONDS)[1])) as archive:
            record = archive.read(f"berth_client-{VERSION}.dist-info/RECORD").decode()
            self.assertEqual([row[0] for row in csv.reader(io.StringIO(record))], archive.namelist())
            self.assertIn(f"berth_client-{VERSION}.dist-info/licenses/LICENSE", archive.namelist())

    def test_node(self):
        server, address = self.serve()
        program, = re.findall(r"```js\n(.*?)```", clients.NPM_README, re.DOTALL)
        program = 'const token = "secret";\n' + program.replace("https://localhost:8090", address)
        project = self.node_project()
        self.write("project/main.mjs", program + "console.log(JSON.stringify(page.items));\n")
        self.assertEqual(json.loads(run("node", "main.mjs", cwd=project)), ROWS[:1])
        self.assertEqual(dict(server.asked), {"/api/v1/workloads?state=waiting": 1})

    def test_types(self):
        project = self.node_project()
        self.write("project/main.ts", TYPED)
        run(os.path.join(PACKAGES, ".bin", "tsc"), "--noEmit", "--strict", "--module", "esnext", "--moduleResolution", "bundler",
            "--target", "es2022", "main.ts", cwd=project)

    def test_the_archive_is_one_of_npm_pack(self):
        project = self.node_project()
        packed, = json.loads(run("npm", "pack", "--json", "--dry-run", "--offline", cwd=os.path.join(project, "node_modules", "berth-client")))
        _, content = clients.npm_package(ROOT, VERSION, SECONDS, PACKAGES)
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            self.assertEqual({entry.name for entry in archive if entry.isfile()}, {"package/" + file["path"] for file in packed["files"]})
        self.assertEqual((packed["name"], packed["version"]), ("berth-client", VERSION))
