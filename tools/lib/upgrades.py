"""Whether clusters with workloads change from an earlier version to this one and back. For tools/soak --upgrade.

The earlier version is a commit of this repository, which is checked out and built below build/upgrade. The tests are those
of tests/upgrade."""

import os
import subprocess
import sys


def sources_of(root, commit):
    """The folder of the commit's sources, with its program."""
    found = subprocess.run(["git", "rev-parse", "--verify", "--quiet", commit + "^{commit}"], cwd=root, text=True, check=False, stdout=subprocess.PIPE)
    if found.returncode != 0:
        sys.exit(f"soak: this repository has no commit {commit}: name another one, or fetch the history")
    folder = root / "build/upgrade" / found.stdout.strip()
    if not folder.exists():
        subprocess.run(["git", "clone", "--quiet", "--no-checkout", root, folder], check=True)
        subprocess.run(["git", "checkout", "--quiet", folder.name], cwd=folder, check=True)
    subprocess.run(["tools/build"], cwd=folder, check=True)
    return folder


def play(root, commit):
    """True where all tests passed."""
    environment = {**os.environ, "OTHER_BERTH": str(sources_of(root, commit)), "BERTH": str(root / "build/release/berth"),
                   "KUBERNETES": str(root / "build/bin/kubernetes")}
    for command in (["tools/build"], ["tools/kubernetes"], ["tools/kubectl"]):
        subprocess.run(command, cwd=root, check=True, stdout=subprocess.DEVNULL)
    passed = True
    for test in sorted((root / "tests/upgrade").glob("test_*.py")):
        done = subprocess.run([sys.executable, "-B", root / "tests/py/run.py", "-v", test], check=False, env=environment)
        passed &= done.returncode == 0
    print(f"soak: {commit} to this version and back: {'passed' if passed else 'FAILED'}", flush=True)
    return passed
