"""Repeats tests on a busy machine, and keeps how often each passed."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree

import cache

# An endless loop that ends with its parent, whose number is the argument. The parent may end before the call of prctl.
FOREVER = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]): sys.exit()
while True: pass
"""


def commit_of(root):
    def git(*words):
        return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout.strip()
    if git("status", "--porcelain", "--untracked-files=no"):
        sys.exit("soak: --flaky keeps its results by commit: commit the changes first")
    return git("rev-parse", "HEAD")


def play_round(build, label, report):
    """{test: passed} of one run of the label; the skipped tests are left out."""
    cores = os.cpu_count() or 1
    loops = [subprocess.Popen([sys.executable, "-c", FOREVER, str(os.getpid())]) for _ in range(cores)]
    try:
        subprocess.run([build.parents[1] / "tools/test", "-L", f"^{label}$"], check=False,
                       env={**os.environ, "BERTH_FORGET": "1"})
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    cases = xml.etree.ElementTree.parse(report).getroot().iter("testcase")
    return {case.get("name"): (case.get("status") == "run", (case.findtext("system-out") or "")[-4000:]) for case in cases
            if case.get("status") in ("run", "fail") and case.find("skipped") is None}


def repeat(root, build, label, rounds):
    """Plays the label until it has `rounds` rounds of this commit, and lists the tests that did not pass each time. True: none."""
    kept = cache.folder("flaky") / f"{commit_of(root)}.{label}.json"
    known = json.loads(kept.read_text()) if kept.exists() else {"rounds": 0, "failed": {}}
    while known["rounds"] < rounds:
        report = build / "ctest.xml"
        report.unlink(missing_ok=True)
        results = play_round(build, label, report)
        for name, (passed, output) in results.items():
            if not passed:
                known["failed"].setdefault(name, []).append({"round": known["rounds"] + 1, "output": output})
        known["rounds"] += 1
        known["tests"] = len(results)
        kept.write_text(json.dumps(known, indent=1))
        print(f"soak: {label}: round {known['rounds']} of {rounds}: {sum(not passed for passed, _ in results.values())} of "
              f"{len(results)} failed", flush=True)
    for name, failures in sorted(known["failed"].items()):
        print(f"soak: {name} failed {len(failures)} of {known['rounds']} times; its output is in {kept}")
    print(f"soak: {label}: {known.get('tests', 0)} tests, {known['rounds']} rounds, {len(known['failed'])} not green each time")
    return not known["failed"]
