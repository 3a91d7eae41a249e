"""Writes image folders for tests: an OCI layout of layers that tests give as lists of entries."""

import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import tarfile

PLATFORM = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]


def layer(entries, pack=True):
    """A layer: (path, content) for files and folders ("path/", None), (path, content, {"mode": …, "type": …, "link": …})."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for path, content, *rest in entries:
            info = tarfile.TarInfo(path)
            fields = rest[0] if rest else {}
            info.mode = fields.get("mode", 0o755)
            info.uid, info.gid = fields.get("uid", 0), fields.get("gid", 0)
            info.type = fields.get("type", tarfile.DIRTYPE if content is None and "link" not in fields else tarfile.REGTYPE)
            info.linkname = fields.get("link", "")
            if "link" in fields and "type" not in fields:
                info.type = tarfile.SYMTYPE
            data = content or b""
            info.size = len(data) if info.type == tarfile.REGTYPE else 0
            archive.addfile(info, io.BytesIO(data))
    return gzip.compress(stream.getvalue()) if pack else stream.getvalue()


def write_layout(folder, layers, config):
    blobs = os.path.join(folder, "blobs", "sha256")
    os.makedirs(blobs)

    def blob(data, kind):
        digest = hashlib.sha256(data).hexdigest()
        with open(os.path.join(blobs, digest), "wb") as file:
            file.write(data)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(data)}

    config = blob(json.dumps({"architecture": PLATFORM, "os": "linux", "config": config}).encode(), "config.v1+json")
    stored = [blob(data, "layer.v1.tar+gzip" if data[:2] == b"\x1f\x8b" else "layer.v1.tar") for data in layers]
    manifest = blob(json.dumps({"schemaVersion": 2, "config": config, "layers": stored}).encode(), "manifest.v1+json")
    manifest["platform"] = {"os": "linux", "architecture": PLATFORM}
    with open(os.path.join(folder, "oci-layout"), "w", encoding="utf-8") as file:
        file.write('{"imageLayoutVersion":"1.0.0"}')
    with open(os.path.join(folder, "index.json"), "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 2, "manifests": [manifest]}, file)


def programs(*names):
    """Entries with these programs of the machine and their libraries."""
    paths = set()
    for name in names:
        program = subprocess.run(["which", name], check=True, capture_output=True, text=True).stdout.strip()
        listed = subprocess.run(["ldd", program], check=False, capture_output=True, text=True).stdout
        paths |= {program, *re.findall(r"(/\S+) \(0x", listed)}
    entries = []
    for path in sorted(paths):
        with open(path, "rb") as file:
            entries.append((path.lstrip("/"), file.read()))
    return entries
