"""Every source file is named in the CMakeLists.txt of its folder or of one above it."""

import pathlib
import re


def check(tree):
    findings = []
    words = {}  # of each CMakeLists.txt

    def words_of(folder):
        path = str(folder / "CMakeLists.txt")
        if path not in words:
            text = tree.text(path) if path in tree.files else ""
            words[path] = set(re.findall(r"[^\s()\"]+", re.sub(r"#[^\n]*", "", text)))
        return words[path]

    for path in tree.code:
        if not path.endswith((".cc", ".cu")):
            continue
        file = pathlib.PurePosixPath(path)
        if not any(str(file.relative_to(folder)) in words_of(folder) for folder in file.parents):
            findings.append(f"{path}: no CMakeLists.txt names it, so nothing builds it")
    return findings
