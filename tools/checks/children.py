"""A killed test leaves nothing behind: children of Python tests die with their parent, and temporary
files lie below a folder of tests/py/scratch.py."""

import ast

SCRATCH = "tests/py/scratch.py"


def check(tree):
    findings = []
    for path in tree.files:
        if not path.startswith("tests/") or not path.endswith(".py") or path == SCRATCH:
            continue
        try:
            module = ast.parse(tree.text(path))
        except SyntaxError as error:
            findings.append(f"{path}:{error.lineno}: no Python: {error.msg}")
            continue
        findings += [f"{path}:{line}: {words}" for line, words in findings_of(module)]
    return findings


def findings_of(module):
    """(line, words) of each finding in a module."""
    for node in ast.walk(module):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        if name.rpartition(".")[2] == "Popen" and not any(
                each.arg == "preexec_fn" for each in node.keywords):
            yield node.lineno, "a child outlives a killed test: preexec_fn=die_with_parent"
        if name.startswith("tempfile."):
            yield node.lineno, f"{name} outlives a killed test: scratch_folder of {SCRATCH}"
