"""Which tests a difference reaches.

A program is reached by its sources, their headers, and the files that its sources name; a test in Python also by the
modules that the script imports and by the programs of the build that ctest gives to the test."""

import os
import pathlib
import re
import subprocess

from changes import changed_files

IMPORT = re.compile(r"^\s*(?:from|import)\s+(\w+)", re.MULTILINE)
EVERYTHING = ("CMakeLists.txt", "CMakePresets.json", "tools/cmake/")  # reach every program


class Inputs:
    """What the programs of a build are made from."""

    def __init__(self, root, build):
        self.root, self.build = root, build
        self.paths = {}
        self.headers = self.read_headers()

    def ninja(self, *words):
        return subprocess.run(["ninja", "-C", str(self.build), "-t", *words], capture_output=True, text=True, check=True).stdout

    def path(self, text):
        """From the root; None: outside of the project."""
        if text not in self.paths:
            path = os.path.normpath(os.path.join(self.build, text))
            self.paths[text] = path.removeprefix(f"{self.root}/") if path.startswith(f"{self.root}/") else None
        return self.paths[text]

    def read_headers(self):
        """Of each object that has been compiled."""
        headers, current = {}, None
        for line in self.ninja("deps").splitlines():
            if line.startswith("    "):
                headers[current].add(line.strip())
            elif ":" in line:
                current = line.partition(":")[0]
                headers[current] = set()
        return headers

    def of_target(self, target):
        """Paths from the root."""
        inputs = set(self.ninja("inputs", target).splitlines())
        for name in list(inputs):
            inputs |= self.headers.get(name, set())
        return {path for path in map(self.path, inputs) if path}


def modules_of(root, script, seen=None):
    """The script and the modules of the project that it imports, directly or not."""
    seen = set() if seen is None else seen
    if script in seen:
        return seen
    seen.add(script)
    folders = [(root / script).parent, root / "tests/py", root / "tools/lib", root / "tools/checks", root / "tools/releasing"]
    for name in IMPORT.findall((root / script).read_text(encoding="utf-8")):
        found = next((folder / f"{name}.py" for folder in folders if (folder / f"{name}.py").exists()), None)
        if found:
            modules_of(root, str(found.relative_to(root)), seen)
    return seen


def names_of(path):
    """How a test may name the file: its path, its name, its folder (manifests/samples/dws, not tests/cluster)."""
    folder, _, name = path.rpartition("/")
    return {path, f'"{name}"', f"/{name}"} | ({folder} if folder.count("/") > 1 else set())


def is_named(changed, texts):
    return any(name in text for path in changed if not path.endswith((".cc", ".h", ".md")) for name in names_of(path) for text in texts)


def tests_reached(root, build, tests, commit):
    """(names of programs of GoogleTest, names of other tests) of `tests`."""
    changed = changed_files(root, commit)
    everything = any(path.startswith(EVERYTHING) for path in changed)
    inputs = Inputs(root, build)
    texts = {}

    def text(path):
        if path not in texts:
            is_source = (path.endswith((".py", ".cc", ".h")) or "." not in path) and (root / path).is_file()
            texts[path] = (root / path).read_text(encoding="utf-8") if is_source else ""
        return texts[path]
    by_target = {}

    def builds(target):
        if target not in by_target:
            by_target[target] = everything or bool(changed & inputs.of_target(target))
        return by_target[target]
    programs = {program.name for program in tests.gtest
                if builds(program.target) or is_named(changed, [text(source) for source in program.sources])}
    others = set()
    for test in tests.others:
        words = test.get("command", [])
        files = {path for word in words if word.startswith(f"{root}/") and not word.startswith(f"{build}/")
                 and (path := word.removeprefix(f"{root}/"))}
        # tools/demo runs tools/lib/demo*.
        files |= {str(path.relative_to(root)) for name in files if name.startswith("tools/") and name.count("/") == 1
                  for path in (root / "tools/lib").glob(pathlib.Path(name).name + "*")}
        scripts = {module for path in files if path.endswith(".py") for module in modules_of(root, path)}
        if (changed & (files | scripts) or is_named(changed, [text(path) for path in files | scripts])
                or any(builds(target) for target in tests.targets_of(test))):
            others.add(test["name"])
    return programs, others
