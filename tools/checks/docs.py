"""Lines of the documentation have at most 120 characters. Tables, addresses, output of programs and generated parts may
be longer."""

import re

COLUMNS = 120
PAGE = re.compile(r"^(?:docs/.*|README|CHANGELOG|SECURITY)\.md$")
FENCE = re.compile(r"^ *```(\w*)")
OUTPUT = ("text", "json")  # languages of blocks that programs write
ADDRESS = re.compile(r"\]\([^)\s]*\)|https?://\S+")
GENERATED = re.compile(r"^<!-- (end of )?[\w' -]+ -->$")


def long_lines(text):
    """(number, length) of each line that is too long."""
    language, generated = None, False
    for number, line in enumerate(text.splitlines(), 1):
        if GENERATED.match(line) and language is None:
            generated = not line.startswith("<!-- end of ")
        fence = FENCE.match(line)
        if fence:
            language = fence[1] if language is None else None
        if generated or language in OUTPUT or line.lstrip().startswith("|"):
            continue
        if len(line) > COLUMNS and len(ADDRESS.sub("", line)) > COLUMNS / 2:
            yield number, len(line)


def check(tree):
    return [f"{path}:{number}: a line of {length} characters, at most {COLUMNS}: one sentence a line"
            for path in tree.files if PAGE.match(path) for number, length in long_lines(tree.text(path))]
