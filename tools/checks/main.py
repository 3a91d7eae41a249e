"""Runs the checks over the tracked files of a tree and prints the findings, one per line."""

import argparse
import pathlib
import sys
import time

import banned
import children
import classes
import docs
import figures
import formatting
import generated
import headers
import layering
import listed
import purity
import sizes
import tree
import words

CHECKS = {
    "format": formatting.check,
    "layering": layering.check,
    "sizes": sizes.check,
    "classes": classes.check,
    "listed": listed.check,
    "headers": headers.check,
    "banned": banned.check,
    "children": children.check,
    "docs": docs.check,
    "words": words.check,
    "generated": generated.check,
    "purity": purity.check,
}


def main():
    parser = argparse.ArgumentParser(prog="tools/check", description=__doc__)
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=" ".join(CHECKS))
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path.cwd())
    parser.add_argument("--build", type=pathlib.Path, help="build folder (default: newest)")
    parser.add_argument("--figures", action="store_true", help="print how far the rules hold, and end")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.checks) - set(CHECKS))
    if unknown:
        parser.error(f"no check {unknown[0]!r}; there are: {' '.join(CHECKS)}")

    source_tree = tree.Tree(arguments.root, arguments.build)
    if arguments.figures:
        figures.show(source_tree)
        return 0
    failed = []
    for name in arguments.checks or CHECKS:
        started = time.monotonic()
        findings = CHECKS[name](source_tree)
        for finding in findings:
            print(finding)
        verdict = f"{len(findings)} finding(s)" if findings else "ok"
        print(f"check {name}: {verdict} ({time.monotonic() - started:.1f} s)", flush=True)
        if findings:
            failed.append(name)
    if failed:
        print(f"tools/check: FAILED: {' '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
