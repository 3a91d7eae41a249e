"""A comment is a sentence, and the files that it names exist.

Refused in comments of C++, Python, Go and shell sources:
  - a comment that begins with "Of", "As" or "With" in place of a subject and a verb, be it a block of
    lines or the end of a line of code;
  - a later sentence of a block that begins with "Of", or with "As" or "With" and has no comma: the
    comma divides "With X, Y does Z" from "With X.";
  - a path with a folder of the project (.h, .cc, .md, .py) where no such file is.
"""

import io
import re
import tokenize

SUFFIXES = (".h", ".cc", ".cu", ".cuh", ".go", ".py", ".sh")

C_TOKENS = re.compile(
    r'(?P<comment>//[^\n]*)|/\*.*?\*/|R"([^ ()\\\t\n]{0,16})\(.*?\)\2"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'|(?P<raw>`[^`]*`)", re.DOTALL)
SHELL_COMMENT = re.compile(r"(?:^|(?<=\s))#(?!!).*", re.MULTILINE)
OPENING = re.compile(r"(of|as|with) ", re.IGNORECASE)
LATER = re.compile(r"(?<=[.!?] )(?:Of [^.!?]*|(?:As|With) [^,.!?]*(?:[.!?](?:\s|$)|$))")
PATH = re.compile(r"(?<![\w./{}*-])(?:[\w-]+/)+[\w.-]+\.(?:h|cc|md|py)\b(?![\w*{}-])")
MARK = re.compile(r"^(?://+|#+)")


def c_comments(text):
    for match in C_TOKENS.finditer(text):
        if match["comment"]:
            yield match.start(), match.group(0)


def python_comments(text):
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
                yield starts[token.start[0] - 1] + token.start[1], token.string
    except (tokenize.TokenError, SyntaxError):
        return  # `children` reports what is no Python


def shell_comments(text):
    for match in SHELL_COMMENT.finditer(text):
        yield match.start(), match.group(0)


def comments(path, text):
    """(line number, whether code stands before it, text in one line) of each comment. Lines of one column that follow each
    other are one comment; the lines below a trailing comment belong to it."""
    reader = {".py": python_comments, ".sh": shell_comments}.get(path[path.rfind("."):], c_comments)
    line, at, block = 1, 0, None
    for start, comment in reader(text):
        line += text.count("\n", at, start)
        at = start
        begin = text.rfind("\n", 0, start) + 1
        trailing = text[begin:start].strip() != ""
        said = MARK.sub("", comment).strip()
        if block and not trailing and block["next"] == line and block["column"] == start - begin:
            block["said"].append(said)
        else:
            if block:
                yield block["line"], block["trailing"], " ".join(block["said"])
            block = {"line": line, "trailing": trailing, "column": start - begin, "said": [said]}
        block["next"] = line + 1
    if block:
        yield block["line"], block["trailing"], " ".join(block["said"])


def fragments(trailing, said):
    """What in a comment stands in place of a sentence."""
    opening = OPENING.match(said)
    if opening and (trailing or opening[1][0].isupper()):
        yield said
    for match in LATER.finditer(said):
        yield match.group(0)


def short(text):
    return text if len(text) <= 60 else text[:59] + "…"


def check(tree):
    files = set(tree.files)
    folders = {path.split("/")[0] for path in files if "/" in path}
    findings = []
    for path in tree.files:
        if not path.endswith(SUFFIXES):
            continue
        for line, trailing, said in comments(path, tree.text(path)):
            for fragment in fragments(trailing, said):
                findings.append(f"{path}:{line}: a comment begins with {fragment.split()[0]!r} in place of a subject "
                                f"and a verb: {short(fragment)}")
            for named in PATH.findall(said):
                if named.split("/")[0] in folders and named not in files:
                    findings.append(f"{path}:{line}: a comment names {named}, which is no file of the project")
    return findings
