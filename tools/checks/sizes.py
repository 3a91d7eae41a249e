"""Files have at most 800 lines, functions at most 70."""

import re

from tree import blank_comments_and_strings

FILE_LINES = 800
FUNCTION_LINES = 70
SIZED_SUFFIXES = (".h", ".cc", ".cu", ".cuh", ".py", ".go")
NOT_A_FUNCTION = re.compile(r"^\s*(?:class|struct|union|enum|namespace|extern)\b|=\s*$")
AFTER_PARAMETERS = re.compile(
    r"\)\s*(?:(?:const|noexcept|override|final|mutable|try|&&?)\s*(?:\([^()]*\))?\s*)*"
    r"(?:->[^;{}]*)?(?::[^:].*)?$", re.DOTALL)


def long_functions(text):
    """(line, first words, lines) of each function whose body is longer than FUNCTION_LINES."""
    text = blank_comments_and_strings(text)
    text = re.sub(r"(?m)^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    statement_start, line, opened = 0, 1, None
    braces = []  # kind of each open brace: "function", "initializer" or "other"
    for position, character in enumerate(text):
        if character == "\n":
            line += 1
        elif opened:  # in a body: only its end matters
            if character == "{":
                braces.append("other")
            elif character == "}" and braces.pop() == "function":
                if line - opened[0] > FUNCTION_LINES:
                    yield (*opened, line - opened[0])
                opened, statement_start = None, position + 1
        elif character == "{":
            head = text[statement_start:position]
            if re.search(r"\w$", head):  # `y{1}`, in a constructor's list for example
                braces.append("initializer")
            elif is_function(head):
                braces.append("function")
                opened = (line, " ".join(head.split()))
            else:
                braces.append("other")
                statement_start = position + 1
        elif character == "}" and braces:
            if braces.pop() != "initializer":
                statement_start = position + 1
        elif character == ";":
            statement_start = position + 1


def is_function(head):
    return not NOT_A_FUNCTION.search(head) and bool(AFTER_PARAMETERS.search(head))


def check(tree):
    findings = []
    for path in tree.files:
        if not path.endswith(SIZED_SUFFIXES):
            continue
        lines = tree.text(path).count("\n")
        if lines > FILE_LINES:
            findings.append(f"{path}: {lines} lines; files have at most {FILE_LINES}: split it")
    for path in tree.code:
        for line, head, length in long_functions(tree.text(path)):
            findings.append(f"{path}:{line}: a function of {length} lines, at most "
                            f"{FUNCTION_LINES}: {head[:60]}")
    return findings
