#!/usr/bin/env python3
"""skipped_tests.py REPORT: fails if a test of ctest's JUnit report did not run, and names it.

A skipped, disabled or not built test shows nothing, so that CI must not count it as passed.
"""

import sys
import xml.etree.ElementTree


def not_run(report):
    """Names of the tests that did not run, each with the reason that ctest gives."""
    found = []
    for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
        skipped = case.find("skipped")
        if case.get("status") in ("run", "fail") and skipped is None:
            continue
        reason = skipped.get("message", "") if skipped is not None else ""
        found.append(f"{case.get('name')} ({reason or case.get('status')})")
    return found


def main():
    if len(sys.argv) != 2:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    found = not_run(sys.argv[1])
    for test in found:
        print(f"did not run: {test}")
    if found:
        print(f"{len(found)} test(s) did not run; in CI that is a failure")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
