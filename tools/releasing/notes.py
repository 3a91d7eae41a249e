"""The notes of a release: the part of CHANGELOG.md about its version."""

import re

import program_files

LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|#)([^)\s]+)\)")


def text(changelog, version):
    """The section of the version. A link to a file of the project becomes the name of the file."""
    sections = re.split(r"^## ", changelog, flags=re.MULTILINE)
    wanted = [section for section in sections if section.partition("\n")[0].strip() == version]
    if len(wanted) != 1:
        raise program_files.PackingError(f"CHANGELOG.md has {len(wanted)} sections \"## {version}\", 1 expected: "
                                         "rename the section of what is released")
    body = wanted[0].partition("\n")[2].strip()
    if not body:
        raise program_files.PackingError(f"CHANGELOG.md says nothing in the section \"## {version}\"")
    return f"# Berth {version}\n\n" + LINK.sub(r"\1 (`\2`)", body) + "\n"
