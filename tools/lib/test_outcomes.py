#!/usr/bin/env python3
"""test_outcomes.py REPORT: tells from ctest's JUnit report which tests took longest, how each failed one ended, and which did
not run; fails if one did not run.

A skipped, disabled or not built test shows nothing, so that CI must not count it as passed. The last lines of a failed
test come at the end, because ctest prints them among those of all others.
"""

import re
import sys
import xml.etree.ElementTree

LAST_LINES = 60
LONGEST = 10


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


def remembered(cases):
    """Names of the tests that passed in a run with the same programs and data (tools/lib/remember.py)."""
    return [case.get("name") for case in cases
            if re.match(r"remembered: ", case.findtext("system-out") or "") and case.get("status") == "run"]


def tell(report):
    """False: a test did not run."""
    cases = list(xml.etree.ElementTree.parse(report).getroot().iter("testcase"))
    longest = sorted(cases, key=lambda case: float(case.get("time") or 0), reverse=True)[:LONGEST]
    if len(cases) > LONGEST:
        print("the longest tests:", *(f"{float(case.get('time')):7.1f} s  {case.get('name')}" for case in longest), sep="\n")
    passed = remembered(cases)
    if passed:
        print(f"{len(passed)} test(s) passed earlier with the same bytes: {' '.join(passed)}")
    found = not_run(cases)
    for test in found:
        print(f"did not run: {test}")
    if found:
        print(f"{len(found)} test(s) did not run; in CI that is a failure")
    for name, lines in failed(cases):
        print(f"failed: {name}; its last lines:", *("  " + line for line in lines), sep="\n")
    sys.stdout.flush()
    return not found


def main():
    if len(sys.argv) != 2:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    return 0 if tell(sys.argv[1]) else 1


if __name__ == "__main__":
    sys.exit(main())
