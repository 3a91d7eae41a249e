"""Runs clang-tidy 14 on the sources of a build, a few at a time, and remembers the clean ones in the cache folder.

In a build with units (BERTH_UNIT_SOURCES) a run reads the sources of a unit joined in one file: the
headers are read once for all of them. clang-tidy's path analysis skips functions of included files,
so the unit itself, a list of #include lines, is not enough."""

import argparse
import bisect
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import tree

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import cache  # noqa: E402 (the folder is known only now)
from changes import changed_files  # noqa: E402

TIDY = "clang-tidy-14"
# A shorter path analysis, of at most 20,000 states a function: a third of the time, most of the
# findings.
SHALLOW = [f"--extra-arg={word}" for option in ("mode=shallow", "max-nodes=20000")
           for word in ("-Xclang", "-analyzer-config", "-Xclang", option)]


QUICK = "-O1"  # how QUICK targets are optimised: no finding depends on it

# GCC's options in the compile commands: a warning of the unit files that clang does not know, and parameters that clang does not use.
UNKNOWN_OPTIONS = ["--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-unused-command-line-argument"]


@dataclasses.dataclass
class Target:
    """What one run of clang-tidy reads."""
    sources: list  # paths from the root
    command: dict  # an entry of compile_commands.json
    # The first line of each source in a joined file.
    first_lines: list = dataclasses.field(default_factory=list)

    @property
    def name(self):
        rest = len(self.sources) - 1
        return self.sources[0] + (f" and {rest} more" if rest else "")

    def in_sources(self, findings, root):
        """`findings` with the places of the sources in place of those of the joined file."""
        def place(match):
            line = int(match.group(1))
            index = bisect.bisect_right(self.first_lines, line) - 1
            return f"{root / self.sources[index]}:{line - self.first_lines[index] + 1}:"

        if not self.first_lines:
            return findings
        return re.sub(re.escape(self.command["file"]) + r":(\d+):", place, findings)


class Lint:
    def __init__(self, root, build, state, clean, depth):
        self.tree = tree.Tree(root)
        self.root = self.tree.root
        self.state = state
        self.clean = clean  # a stamp for each run without findings
        self.depth = depth
        self.targets = self.read_commands(build / "compile_commands.json")
        version = subprocess.run([TIDY, "--version"], capture_output=True, text=True, check=True)
        self.rules = " ".join(depth) + version.stdout + "".join(
            f"{path}\n{self.tree.text(path)}" for path in self.tree.files
            if path.endswith(".clang-tidy"))

    def read_commands(self, path):
        """The targets of a build, by name; without the compiler launcher, which clang-tidy takes for
        the compiler."""
        targets = {}
        known = set(self.tree.files)
        for entry in json.loads(path.read_text()):
            words = [word for word in shlex.split(entry["command"]) if word != QUICK]
            compiler = next((i for i, word in enumerate(words)
                             if os.path.basename(word) in ("c++", "g++", "clang++")
                             or os.path.basename(word).startswith("g++-")), None)
            file = pathlib.Path(entry["directory"], entry["file"])
            if compiler is None or not file.is_relative_to(self.root):
                continue  # CUDA, or outside the tree
            name = str(file.relative_to(self.root))
            command = dict(entry, command=shlex.join(words[compiler:]))
            if name in known:
                target = Target([name], command)
            elif file.parent.name == "units":
                target = self.join(file, command)
            else:
                continue  # generated
            # One source compiled twice (two variants) is linted once.
            targets.setdefault(tuple(target.sources), target)
        (self.state / "compile_commands.json").write_text(
            json.dumps([target.command for target in targets.values()]))
        return {target.name: target for target in targets.values()}

    def join(self, unit, command):
        """Writes the sources of `unit` into one file."""
        sources = [included for _, _, included, _ in self.tree.includes(
            str(unit.relative_to(self.root)))]
        text, first_lines = "", []
        for source in sources:
            first_lines.append(text.count("\n") + 1)
            text += self.tree.text(source).rstrip("\n") + "\n"
        joined = self.folder_of(sources[0]) / unit.name
        joined.write_text(text)
        words = [str(joined) if word == command["file"] else word
                 for word in shlex.split(command["command"])]
        return Target(sources, dict(command, file=str(joined), command=shlex.join(words)),
                      first_lines)

    def folder_of(self, source):
        """The folder of the joined file: its .clang-tidy is the one that is nearest to the source."""
        folder = self.state / "joined"
        nearest = max((config for config in self.tree.files if config.endswith("/.clang-tidy")
                       and source.startswith(config.removesuffix(".clang-tidy"))),
                      key=len, default=None)
        if nearest:
            folder /= os.path.dirname(nearest)
        folder.mkdir(parents=True, exist_ok=True)
        if nearest:
            (folder / ".clang-tidy").write_text(self.tree.text(nearest))
        return folder

    def closure(self, path, seen=None):
        """`path` and every file of the project that it includes, directly or not."""
        seen = {path} if seen is None else seen
        for _, bracket, included, _ in self.tree.includes(path):
            if bracket == '"' and included not in seen and (self.root / included).is_file():
                seen.add(included)
                self.closure(included, seen)
        return seen

    def files(self, target):
        return set().union(*(self.closure(source) for source in target.sources))

    def stamp(self, target):
        digest = hashlib.sha256(self.rules.encode())
        command = target.command
        digest.update(command["command"].replace(command["directory"], "").replace(str(self.root), "").encode())
        for file in sorted(self.files(target)):
            digest.update(f"{file}\n{self.tree.text(file)}\0".encode())
        return self.clean / digest.hexdigest()

    def run(self, target):
        """(target, seconds, findings); without findings it stores a stamp."""
        started = time.monotonic()
        run = subprocess.run([TIDY, "--quiet", "-p", str(self.state), *self.depth, *UNKNOWN_OPTIONS,
                              str(self.root / target.command["file"])], capture_output=True,
                             text=True, cwd=self.root)
        findings = "" if run.returncode == 0 else (run.stdout or run.stderr)
        if not findings:
            self.stamp(target).touch()
        return target, time.monotonic() - started, target.in_sources(findings, self.root)


def main():
    parser = argparse.ArgumentParser(prog="tools/lint", description=__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--deep", action="store_true")
    parser.add_argument("--shallow", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float, help="starts no run later; what has changed last comes first")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path.cwd())
    parser.add_argument("--build", type=pathlib.Path, required=True,
                        help="folder of compile_commands.json")
    arguments = parser.parse_args()

    root = arguments.root.resolve()
    build = arguments.build
    if not (build / "compile_commands.json").is_file():
        print(f"tools/lint: {build} is not configured: run cmake there first", file=sys.stderr)
        return 2
    state = root / "build" / "lint"
    state.mkdir(parents=True, exist_ok=True)
    clean = cache.folder("lint")
    shallow = arguments.shallow or (arguments.all and not arguments.deep)
    lint = Lint(root, build, state, clean, SHALLOW if shallow else [])

    targets = [lint.targets[name] for name in sorted(lint.targets)]
    if not arguments.all:
        wanted = set(arguments.files) or changed_files(root)
        targets = [target for target in targets if wanted & lint.files(target)]
    todo = []
    for target in targets:
        stamp = lint.stamp(target)
        if stamp.exists() and os.environ.get("BERTH_FORGET") != "1":
            stamp.touch()  # in use: not to be deleted
        else:
            todo.append(target)

    latest = changed_files(root, "HEAD^")
    todo.sort(key=lambda target: latest.isdisjoint(target.sources))
    started = time.monotonic()
    late = []

    def run_in_time(target):
        if arguments.minutes is not None and time.monotonic() > started + arguments.minutes * 60:
            late.append(target)
            return None
        return lint.run(target)

    failed = {}
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for done, (target, seconds, findings) in enumerate(filter(None, pool.map(run_in_time, todo)), start=1):
            if findings:
                failed[target.name] = findings
                print(findings, end="")
            verdict = "FINDINGS" if findings else "ok"
            print(f"[{done}/{len(todo)}] {target.name}: {verdict} ({seconds:.1f} s)", flush=True)
    cache.prune(clean)
    for name, findings in failed.items():  # repeated for readers of the log's end
        print(f"in {name}:\n" + "\n".join(
            line for line in findings.split("\n") if ": warning:" in line or ": error:" in line))
    count = sum(len(target.sources) for target in targets)
    ran = sum(len(target.sources) for target in todo if target not in late)
    print(f"lint: {count} source(s), {ran} run, {len(failed)} with findings, "
          f"{time.monotonic() - started:.0f} s" + (f", {len(late)} run(s) left for later" if late else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
