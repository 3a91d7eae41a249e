"""Checks that committed generated files match their source."""

import subprocess
import sys

GENERATORS = ["tools/compatibility", "tools/crds", "tools/job-kinds", "tools/kubernetes-specs", "tools/metrics",
              "tools/reasons"]
# Each has --check: one line a file that differs, exit 1


def check(tree):
    findings = []
    for generator in GENERATORS:
        if generator not in tree.files:
            continue
        run = subprocess.run([sys.executable, generator, "--check"], cwd=tree.root,
                             capture_output=True, text=True)
        if run.returncode != 0:
            lines = (run.stdout + run.stderr).strip().split("\n")
            findings += [f"{generator}: {line}; run: {generator}" for line in lines]
    return findings
