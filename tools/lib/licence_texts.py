"""The licences of the libraries in a package of Berth, in one text."""

import os
import re

import archives

LINE = "=" * 100
COMMON = re.compile(r"/usr/share/common-licenses/([A-Za-z]+(?:-[0-9.]*[0-9])?)")
HEAD = """Berth is licensed under the Apache License, version 2.0.
This file has the licences of the libraries that Berth's packages contain, each in the words of its source.
"""


def section(title, text):
    return f"{LINE}\n{title}\n{LINE}\n{text.strip()}\n"


def text_of(copyrights, others=()):
    """`copyrights`: (Debian package, its copyright file). `others`: (title, text) of what does not come from Debian."""
    titles = {}  # text -> titles
    for package, path in copyrights:
        names = titles.setdefault(archives.read(path).decode("utf-8", errors="replace"), [])
        if package not in names:
            names.append(package)
    sections = [section("Debian package " + ", ".join(names), text) for text, names in titles.items()]
    sections += [section(title, text) for title, text in others]
    # The copyright files of Debian name the texts of common licences by their place in Debian.
    named = sorted({name for text in titles for name in COMMON.findall(text)})
    for name in named:
        path = "/usr/share/common-licenses/" + name
        if os.path.exists(path):
            sections.append(section(path, archives.read(path).decode()))
    return "\n".join([HEAD, *sections])
