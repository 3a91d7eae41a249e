"""Every source file is named in some CMakeLists.txt, relative to its folder."""

import posixpath
import re


def check(tree):
    named = set()
    for path in tree.files:
        folder, name = posixpath.split(path)
        if name == "CMakeLists.txt":
            words = re.findall(r"[^\s()\"]+", re.sub(r"#[^\n]*", "", tree.text(path)))
            named.update(posixpath.normpath(posixpath.join(folder, word)) for word in words)
    return [f"{path}: no CMakeLists.txt names it, so nothing builds it"
            for path in tree.code if path.endswith((".cc", ".cu")) and path not in named]
