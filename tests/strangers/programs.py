"""Where the programs of these tests are."""

import os

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FOLDER = os.environ.get("STRANGERS", os.path.join(ROOT, "build", "strangers"))
HELM = os.path.join(ROOT, "build", "bin", "helm")
CHART = os.path.join(ROOT, "charts", "berth")


def program(name):
    """The path of a program that tools/strangers builds."""
    return os.path.join(FOLDER, name)


def missing(path, tool):
    """Why a test is skipped: the program is not built."""
    return None if os.path.exists(path) else f"no {os.path.basename(path)}: build one with {tool}"
