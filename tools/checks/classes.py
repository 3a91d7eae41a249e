"""A class is one header and one source, with at most 25 public methods.

Counted: member functions of the public sections but constructors, destructors and deleted ones. The
sources of a class are the files of its header's folder that define its members.
"""

import re
from pathlib import PurePosixPath

from tree import blank_comments_and_strings

PUBLIC_METHODS = 25
SOURCES = 1

CLASS = re.compile(r"\b(class|struct)\s+(?:\[\[[^\]]*\]\]\s*)?(\w+)(?:\s+final)?\s*(?::[^;{}()]*)?\{")
DEFINITION = re.compile(r"(?m)^[^\s#/].*?\b(\w+)::~?\w+(?:\(| \w+\()|^(\w+)::\2\(")


def end_of_block(text, start):
    """The position behind the brace that closes the one at `start`."""
    depth = 0
    for position in range(start, len(text)):
        if text[position] == "{":
            depth += 1
        elif text[position] == "}":
            depth -= 1
            if depth == 0:
                return position + 1
    return len(text)


def without_template_arguments(text):
    before = None
    while before != text:
        before, text = text, re.sub(r"<[^<>()]*(?:\([^()]*\)[^<>()]*)*>", "", text)
    return text


def public_methods(body, is_public, name):
    """The number of public methods that the body of a class declares."""
    methods, statement, position = 0, "", 0
    while position < len(body):
        character = body[position]
        if character == "{":
            position = end_of_block(body, position)
            if is_public and is_method(statement, name):
                methods += 1
                statement = ""
            elif "(" not in statement and not re.search(r"\b(class|struct|enum|union)\b", statement):
                continue  # the initializer of a member: its statement goes on
            else:
                statement = ""
            continue
        if character == ";":
            methods += is_public and is_method(statement, name)
            statement = ""
        elif character == ":" and statement.strip() in ("public", "private", "protected"):
            is_public, statement = statement.strip() == "public", ""
        else:
            statement += character
        position += 1
    return methods


def is_method(statement, name):
    plain = without_template_arguments(statement).strip()
    if "(" not in plain or re.match(r"(using|friend|typedef|static_assert|enum|class|struct)\b", plain):
        return False
    if re.search(r"=\s*(delete|default)\s*$", plain) or re.search(rf"(^|[\s~]){name}\s*\(", plain):
        return False
    head = re.sub(r"operator\W+", "operator", plain.split("operator()")[0].split("(")[0])
    return re.search(r"\w\s*$", head) is not None and "=" not in head


def classes_of(header):
    """(name, public methods) of each class of a header's text, nested ones too."""
    text = re.sub(r"(?m)^[ \t]*#.*$", "", blank_comments_and_strings(header))
    for match in CLASS.finditer(text):
        if re.search(r"enum\s*$", text[: match.start()]):
            continue
        end = end_of_block(text, match.end() - 1)
        body = text[match.end() : end - 1]
        yield match[2], public_methods(body, match[1] == "struct", match[2])


def figures(tree):
    """{"folder/Class": (public methods, sources)} of all classes that some source defines."""
    sources = {}  # by folder and class
    for path in tree.code:
        if not path.endswith(".cc"):
            continue
        folder = str(PurePosixPath(path).parent)
        text = blank_comments_and_strings(tree.text(path))
        for match in DEFINITION.finditer(text):
            sources.setdefault((folder, match[1] or match[2]), set()).add(path)
    found = {}
    for path in tree.code:
        if not path.endswith(".h"):
            continue
        folder = str(PurePosixPath(path).parent)
        for name, methods in classes_of(tree.text(path)):
            found[f"{folder}/{name}"] = (methods, len(sources.get((folder, name), ())))
    return found


def check(tree):
    findings = []
    for name, counts in sorted(figures(tree).items()):
        for count, what, limit in zip(counts, ("public methods", "source files"), (PUBLIC_METHODS, SOURCES)):
            if count > limit:
                findings.append(f"{name}: {count} {what}, at most {limit}: "
                                "find the second idea in it, and give that a name")
    return findings
