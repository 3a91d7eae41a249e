"""Runs clang-tidy 14 on the sources of a build, a few at a time, and remembers the clean ones."""

import argparse
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import tree

TIDY = "clang-tidy-14"
NEWEST_STAMPS = 4000  # older ones are deleted
# A shorter path analysis: a third of the time, most of the findings.
SHALLOW = [f"--extra-arg={word}" for word in ("-Xclang", "-analyzer-config", "-Xclang",
                                              "mode=shallow")]


class Lint:
    def __init__(self, root, build, state, depth):
        self.tree = tree.Tree(root)
        self.root = self.tree.root
        self.state = state
        self.depth = depth
        self.commands = self.read_commands(build / "compile_commands.json")
        version = subprocess.run([TIDY, "--version"], capture_output=True, text=True, check=True)
        self.rules = " ".join(depth) + version.stdout + "".join(
            f"{path}\n{self.tree.text(path)}" for path in self.tree.files
            if path.endswith(".clang-tidy"))

    def read_commands(self, path):
        """Command of each source from the root; without the compiler launcher, which clang-tidy
        takes for the compiler."""
        commands = {}
        sources = set(self.tree.files)
        for entry in json.loads(path.read_text()):
            words = shlex.split(entry["command"])
            compiler = next((i for i, word in enumerate(words)
                             if os.path.basename(word) in ("c++", "g++", "clang++")
                             or os.path.basename(word).startswith("g++-")), None)
            file = pathlib.Path(entry["directory"], entry["file"])
            if compiler is None or not file.is_relative_to(self.root):
                continue  # CUDA, or outside the tree
            name = str(file.relative_to(self.root))
            if name not in sources:
                continue  # generated
            # One source compiled twice (two variants) is linted once.
            commands.setdefault(name, dict(entry, command=shlex.join(words[compiler:])))
        self.state.mkdir(parents=True, exist_ok=True)
        (self.state / "compile_commands.json").write_text(json.dumps(list(commands.values())))
        return commands

    def closure(self, path, seen=None):
        """`path` and every file of the project that it includes, directly or not."""
        seen = {path} if seen is None else seen
        for _, bracket, included, _ in self.tree.includes(path):
            if bracket == '"' and included not in seen and (self.root / included).is_file():
                seen.add(included)
                self.closure(included, seen)
        return seen

    def stamp(self, path):
        digest = hashlib.sha256(self.rules.encode())
        command = self.commands[path]
        digest.update(command["command"].replace(command["directory"], "").encode())
        for file in sorted(self.closure(path)):
            digest.update(f"{file}\n{self.tree.text(file)}\0".encode())
        return self.state / "clean" / digest.hexdigest()

    def run(self, path):
        """(path, seconds, findings); without findings it stores a stamp."""
        started = time.monotonic()
        run = subprocess.run([TIDY, "--quiet", "-p", str(self.state), *self.depth,
                              str(self.root / path)], capture_output=True, text=True,
                             cwd=self.root)
        findings = "" if run.returncode == 0 else (run.stdout or run.stderr)
        if not findings:
            self.stamp(path).touch()
        return path, time.monotonic() - started, findings


def changed_files(root):
    def git(*arguments):
        run = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
        return run.stdout.split("\n") if run.returncode == 0 else []

    base = next(filter(None, git("merge-base", "HEAD", "main")), "HEAD")
    return {path for path in git("diff", "--name-only", base)
            + git("ls-files", "--others", "--exclude-standard") if path}


def forget_old(folder):
    stamps = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for stamp in stamps[NEWEST_STAMPS:]:
        stamp.unlink()


def main():
    parser = argparse.ArgumentParser(prog="tools/lint", description=__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--deep", action="store_true")
    parser.add_argument("--shallow", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path.cwd())
    parser.add_argument("--build", type=pathlib.Path, required=True,
                        help="folder of compile_commands.json, one command a source")
    arguments = parser.parse_args()

    root = arguments.root.resolve()
    build = arguments.build
    if not (build / "compile_commands.json").is_file():
        print(f"tools/lint: {build} is not configured: run cmake there first", file=sys.stderr)
        return 2
    state = root / "build" / "lint"
    (state / "clean").mkdir(parents=True, exist_ok=True)
    shallow = arguments.shallow or (arguments.all and not arguments.deep)
    lint = Lint(root, build, state, SHALLOW if shallow else [])

    sources = sorted(lint.commands)
    if not arguments.all:
        wanted = set(arguments.files) or changed_files(root)
        sources = [path for path in sources if wanted & lint.closure(path)]
    todo = []
    for path in sources:
        stamp = lint.stamp(path)
        if stamp.exists():
            stamp.touch()  # in use: not to be deleted
        else:
            todo.append(path)

    started = time.monotonic()
    failed = {}
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for done, (path, seconds, findings) in enumerate(pool.map(lint.run, todo), start=1):
            if findings:
                failed[path] = findings
                print(findings, end="")
            verdict = "FINDINGS" if findings else "ok"
            print(f"[{done}/{len(todo)}] {path}: {verdict} ({seconds:.1f} s)", flush=True)
    forget_old(state / "clean")
    for path, findings in failed.items():  # repeated for readers of the log's end
        print(f"in {path}:\n" + "\n".join(
            line for line in findings.split("\n") if ": warning:" in line or ": error:" in line))
    print(f"lint: {len(sources)} source(s), {len(todo)} run, {len(failed)} with findings, "
          f"{time.monotonic() - started:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
