"""The manifests of the project: samples, blocks of the guides, and what the tests apply."""

import ast
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = re.compile(r"^.*<<'?([\w-]+)'?.*$")
LOOKS_LIKE_OBJECT = re.compile(r"^\s*(- )?apiVersion:\s*\S+", re.MULTILINE)


def files_below(folder, end):
    for path, folders, names in sorted(os.walk(os.path.join(ROOT, folder))):
        folders[:] = [each for each in folders if each not in ("build", "found", "corpus", "golden")]
        for name in sorted(names):
            if name.endswith(end):
                yield os.path.relpath(os.path.join(path, name), ROOT)


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def blocks_of_guides():
    """(path, text of all yaml blocks with a whole object)."""
    for path in ["README.md", *files_below("docs", ".md")]:
        blocks = re.findall(r"^```yaml\n(.*?)^```", text_of(path), re.MULTILINE | re.DOTALL)
        for number, block in enumerate(blocks, 1):
            if LOOKS_LIKE_OBJECT.search(block):
                yield f"{path}:{number}", block


def here_documents(text):
    lines = iter(text.splitlines())
    for line in lines:
        start = HERE.match(line)
        if start is None:
            continue
        taken = []
        for inner in lines:
            if inner.strip() == start.group(1):
                break
            taken.append(inner)
        yield "\n".join(taken) + "\n"


def strings_of(text):
    """The strings of a Python file that are whole as they stand: no part of an f-string, no template."""
    tree = ast.parse(text)
    parts = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts.update(map(id, ast.walk(node)))
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mod, ast.Add)):
            parts.update(map(id, ast.walk(node)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.value


def applied_by_tests():
    """(where, text) of here-documents of scenarios and of strings of tests in Python."""
    for folder in ("tests", "manifests"):
        for path in files_below(folder, ".scenario"):
            for number, text in enumerate(here_documents(text_of(path)), 1):
                if LOOKS_LIKE_OBJECT.search(text):
                    yield f"{path}:{number}", text
    for folder in ("tests/py", "tests/local", "tests/cluster", "tests/strangers"):
        for path in files_below(folder, ".py"):
            for number, text in enumerate(strings_of(text_of(path)), 1):
                if LOOKS_LIKE_OBJECT.search(text):
                    yield f"{path}:{number}", text
