"""Where the programs of these tests are, and the folders whose modules the tests share."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FOLDER = os.environ.get("STRANGERS", os.path.join(ROOT, "build", "strangers"))
HELM = os.path.join(ROOT, "build", "bin", "helm")
CHART = os.path.join(ROOT, "charts", "berth")

for shared in (("local", "e2e"), ("cluster",)):
    sys.path.append(os.path.join(ROOT, "tests", *shared))


def program(name):
    """The path of a program that tools/strangers builds."""
    return os.path.join(FOLDER, name)


def missing(path, tool):
    """Why a test is skipped: the program is not built."""
    return None if os.path.exists(path) else f"no {os.path.basename(path)}: build one with {tool}"
