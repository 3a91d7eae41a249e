#!/usr/bin/env python3
"""test_outcomes.py REPORT: prints how each failed test of ctest's JUnit report ended; fails if a test did not run, and names it.

A skipped, disabled or not built test shows nothing, so that CI must not count it as passed. The
last lines of a failed test come once more, because ctest prints them among those of all others.
"""

import sys
import xml.etree.ElementTree

LAST_LINES = 60


def not_run(cases):
    """Names of the tests that did not run, each with the reason that ctest gives."""
    found = []
    for case in cases:
        skipped = case.find("skipped")
        if case.get("status") in ("run", "fail") and skipped is None:
            continue
        reason = skipped.get("message", "") if skipped is not None else ""
        found.append(f"{case.get('name')} ({reason or case.get('status')})")
    return found


def failed(cases):
    """(name, last lines of the output) of the tests that failed."""
    return [(case.get("name"), (case.findtext("system-out") or "").splitlines()[-LAST_LINES:])
            for case in cases if case.get("status") == "fail"]


def main():
    if len(sys.argv) != 2:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    cases = list(xml.etree.ElementTree.parse(sys.argv[1]).getroot().iter("testcase"))
    for name, lines in failed(cases):
        print(f"failed: {name}; its last lines:", *("  " + line for line in lines), sep="\n")
    found = not_run(cases)
    for test in found:
        print(f"did not run: {test}")
    if found:
        print(f"{len(found)} test(s) did not run; in CI that is a failure")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
