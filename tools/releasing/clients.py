"""The clients of the read API as packages: a wheel for Python, and an archive as `npm pack` makes them."""

import base64
import hashlib
import json
import os
import tempfile

import archives
import program_files

SUMMARY = "A client of the read API of Berth, batch job queues for Kubernetes"
PYTHON_README = """# berth-client

A client of the read API of Berth (`/api/v1`): queues, Workloads, the reasons of waits, reports and events.
It needs Python 3.11 or later, and no other package.

```python
import ssl
from berth_client import ReadApi

api = ReadApi("https://localhost:8090", token, ssl.create_default_context(cafile="ca.crt"))
for row in api.rows(api.list_workloads, state=["waiting"], sort="waitingSince"):
    print(row["namespace"], row["name"])
```

The version is that of Berth. `docs/reference/read-api.md` describes the API.
"""
NPM_README = """# berth-client

A client of the read API of Berth (`/api/v1`): queues, Workloads, the reasons of waits, reports.
It has types, and needs no other package. The caller makes the requests:

```js
import { ReadApi } from "berth-client";

const api = new ReadApi(async (method, path, query, body) => {
  const address = new URL(path, "https://localhost:8090");
  for (const [name, value] of Object.entries(query)) if (value !== undefined) address.searchParams.set(name, String(value));
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const answer = await fetch(address, { method, headers, body: body === undefined ? null : JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
  return answer.json();
});
const page = await api.listWorkloads({ state: ["waiting"] });
```

The version is that of Berth. `docs/reference/read-api.md` describes the API.
"""
METADATA = """Metadata-Version: 2.1
Name: berth-client
Version: {version}
Summary: {summary}
License: Apache-2.0
Requires-Python: >=3.11
Description-Content-Type: text/markdown

{readme}"""
WHEEL = """Wheel-Version: 1.0
Generator: tools/release
Root-Is-Purelib: true
Tag: py3-none-any
"""
COMPILER = ("--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler", "--lib", "es2022", "--strict", "--declaration",
            "--newLine", "lf")


def client(root, suffix):
    return os.path.join(root, "readapi", "clients", "berth_read_api" + suffix)


def record(files, path):
    """The table of a wheel's files with their digests."""
    rows = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(content)}\n")
    return "".join([*rows, f"{path},,\n"]).encode()


def wheel(root, version, seconds):
    """(name of the file, bytes)"""
    info = f"berth_client-{version}.dist-info"
    files = {
        "berth_client/__init__.py": archives.read(client(root, ".py")),
        "berth_client/py.typed": b"",
        f"{info}/METADATA": METADATA.format(version=version, summary=SUMMARY, readme=PYTHON_README).encode(),
        f"{info}/WHEEL": WHEEL.encode(),
        f"{info}/licenses/LICENSE": archives.read(os.path.join(root, "LICENSE")),
    }
    files[f"{info}/RECORD"] = record(files, f"{info}/RECORD")
    return f"berth_client-{version}-py3-none-any.whl", archives.zipped(files, seconds)


def description(version):
    """package.json"""
    return {"name": "berth-client", "version": version, "description": SUMMARY, "license": "Apache-2.0", "type": "module",
            "exports": {".": {"types": "./berth_read_api.d.ts", "default": "./berth_read_api.js"}}, "types": "./berth_read_api.d.ts",
            "engines": {"node": ">=18"}, "sideEffects": False}


def npm_package(root, version, seconds, packages):
    """(name of the file, bytes). `packages`: the folder with the compiler of the page."""
    files = {"package.json": (json.dumps(description(version), indent=2) + "\n").encode(), "README.md": NPM_README.encode(),
             "LICENSE": archives.read(os.path.join(root, "LICENSE"))}
    with tempfile.TemporaryDirectory(prefix="berth-client-") as folder:
        program_files.run(os.path.join(packages, ".bin", "tsc"), *COMPILER, "--outDir", folder, client(root, ".ts"), cwd=folder)
        for suffix in (".js", ".d.ts"):
            files["berth_read_api" + suffix] = archives.read(os.path.join(folder, "berth_read_api" + suffix))
    entries = {"package/" + name: (archives.FILE, content) for name, content in files.items()}
    return f"berth-client-{version}.tgz", archives.packed(archives.tar(entries, seconds), 9)
