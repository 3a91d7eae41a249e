#!/usr/bin/env python3
"""Runs tests of the harness in one process: tests/py/run.py [-v] [--part K/N] FILE… [CLASS[.TEST]…]

The files' own folders and tests/py are the places that tests import from. Tests of several files share what the
harness keeps for the process, such as the control plane of shared_plane.py. With --part 1/3 each third test runs, from
the first. The ten longest tests stand at the end, and the processor time of this process and its ended children."""

import importlib
import os
import resource
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


class TimedResult(unittest.TextTestResult):
    """Notes the seconds of each test, and tells with a failure what its `describe_failure` returns."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.started = {}
        self.seconds = {}

    def startTest(self, test):
        self.started[test.id()] = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        self.seconds[test.id()] = time.monotonic() - self.started[test.id()]

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.describe(self.failures, test)

    def addError(self, test, err):
        super().addError(test, err)
        self.describe(self.errors, test)

    @staticmethod
    def describe(told, test):
        if hasattr(test, "describe_failure"):
            try:
                described = test.describe_failure()
            except Exception as error:  # any kind: the failure itself has to be told
                described = f"the failure could not be described: {error!r}"
            told[-1] = (test, told[-1][1] + "\n" + described)


def module_of(path):
    folder, name = os.path.split(os.path.abspath(path))
    sys.path.insert(0, folder)
    return importlib.import_module(name.removesuffix(".py"))


def tests_of(suite):
    return [test for one in suite for test in (tests_of(one) if isinstance(one, unittest.TestSuite) else [one])]


def processor_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def main(words):
    part = words.pop(words.index("--part") + 1) if "--part" in words else "1/1"
    words = [word for word in words if word != "--part"]
    verbose = "-v" in words
    files = [word for word in words if word.endswith(".py")]
    names = [word for word in words if word not in files and word != "-v"]
    sys.path.insert(0, HERE)
    modules = [module_of(path) for path in files]
    loader = unittest.defaultTestLoader
    if names:
        known = [(module, name) for name in names for module in modules if hasattr(module, name.partition(".")[0])]
        suite = unittest.TestSuite(loader.loadTestsFromName(name, module) for module, name in known)
        missing = set(names) - {name for _, name in known}
    else:
        suite = unittest.TestSuite(map(loader.loadTestsFromModule, modules))
        missing = set()
    if missing or not files:
        sys.exit(f"run.py: {' '.join(sorted(missing))} is in none of the files" if missing else __doc__)
    number, parts = map(int, part.split("/"))
    suite = unittest.TestSuite(tests_of(suite)[number - 1::parts])
    result = unittest.TextTestRunner(verbosity=2 if verbose else 1, resultclass=TimedResult).run(suite)
    for name, seconds in sorted(result.seconds.items(), key=lambda item: -item[1])[:10]:
        print(f"  {seconds:6.1f} s  {name}")
    print(f"  {processor_seconds():6.1f} s  of processor time")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
