"""Figures of the tree: how far each rule holds, with the exceptions that are left."""

import re

import classes
import docs
import headers
import layering
import words

ARCHITECTURE = "docs/develop/architecture.md"


def worlds(tree):
    """The rows of the table of worlds."""
    text = tree.text(ARCHITECTURE)
    table = re.search(r"(?m)^\| world \|.*\n\|[-|]+\n((?:\|.*\n)+)", text)
    return table[1].count("\n") if table else 0


def fragments(tree):
    return sum(
        1 for path in tree.files if path.endswith(words.SUFFIXES)
        for _, trailing, said in words.comments(path, tree.text(path))
        for _ in words.fragments(trailing, said))


def rows(tree):
    """(figure, value) each."""
    above = [figure for figure in classes.figures(tree).values()
             if figure[0] > classes.PUBLIC_METHODS or figure[1] > classes.SOURCES]
    yield "classes with more than 25 public methods", sum(1 for methods, _ in above if methods > classes.PUBLIC_METHODS)
    yield "classes with more than one source", sum(1 for _, sources in above if sources > classes.SOURCES)
    yield "includes against the table of layers", len(layering.check(tree))
    yield "worlds of virtual time", worlds(tree)
    yield "comments that begin with Of, As or With", fragments(tree)
    yield "lines of pages above 120 characters", sum(
        1 for path in tree.files if docs.PAGE.match(path) for _ in docs.long_lines(tree.text(path)))
    yield "header names that several folders have", len(headers.check(tree))
    yield "lines of README.md", tree.text("README.md").count("\n")
    yield "words of CHANGELOG.md", len(tree.text("CHANGELOG.md").split())


def show(tree):
    for name, value in rows(tree):
        print(f"{value:8}  {name}")
