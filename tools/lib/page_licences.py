"""The npm packages in the page that a program of Berth serves, with their licences."""

import json
import os

import archives
import program_files

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOCK = os.path.join(ROOT, "dashboard", "package-lock.json")
PAGE = os.path.join(ROOT, "build", "dashboard", "packages")


def has_page(program):
    return b"/assets/page.js" in archives.read(program)


def packages(lock):
    """(name, version, entry) of the packages that the page contains, from the text of package-lock.json."""
    entries = json.loads(lock)["packages"]
    return [(path.rpartition("node_modules/")[2], entry["version"], entry) for path, entry in sorted(entries.items())
            if path and not entry.get("dev")]


def texts(program):
    """(title, text) of each package in the program's page; none where it has no page."""
    if not has_page(program):
        return []
    installed = os.path.join(PAGE, "installed-lock.json")
    lock = archives.read(LOCK)
    if not os.path.exists(installed) or archives.read(installed) != lock:
        raise program_files.PackingError("the packages of dashboard/package-lock.json are not in build/dashboard: "
                                         "build the program here, with node and npm: tools/build")
    return [(f"npm package {name}", archives.read(os.path.join(PAGE, "node_modules", name, "LICENSE")).decode())
            for name, _, _ in packages(lock.decode())]
