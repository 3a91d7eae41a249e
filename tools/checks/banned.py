"""Words that may not appear. An exception is marked on its line, or on the line
before or after it: `// allow NAME: reason`."""

import re

from tree import blank_comments_and_strings

# name, pattern of paths, pattern of code without comments, replacement
RULES = [
    ("std-regex", r".", r"\bstd::(?:regex|wregex|regex_\w+|smatch)\b|#\s*include\s*<regex>",
     "slow to compile and to run: use RE2 or a scanner of your own"),
    ("using-namespace-std", r".", r"\busing\s+namespace\s+std\s*;", "write std:: out"),
    ("sleep-in-test", r"^tests/(?!bench/)",
     r"\b(?:sleep_for|sleep_until|usleep|nanosleep)\s*\(|(?<![\w.>:])sleep\s*\(",
     "wait for the event itself, or use virtual time"),
    ("stdout-in-library", r"^(?:base|api|checks|queue|admission|provisioning|integrations|webhook|simulation|readapi|net|kube"
     r"|local)/", r"\bstd::cout\b|(?<![\w:.>])printf\s*\(|\bstd::printf\b",
     "libraries return data or log; only programs print"),
    ("json-parse", r"^(?!tests/)", r"\b(?:[Jj]son|ordered_json)::(?:parse|sax_parse|accept)\b",
     "not bounded: api/codec/json_tree.h and api/yaml/yaml.h read what comes from outside"),
    ("json-dump", r"^(?!tests/)", r"(?:\.|->)\s*dump\s*\(",
     "throws where a text is not UTF-8: write with FormatJson and its like of api/codec/json_write.h"),
    ("bare-thread", r"^(?!tests/|jobs/)", r"\bstd::j?thread(?:\s+[a-z]\w*)?\s*[({]",
     "an exception on it ends the process without a line: StartThread of base/threads/guarded.h"),
    ("coroutine", r".", r"\bco_(?:await|yield|return)\b",
     "clang-tidy 14 cannot read coroutines: write handlers"),
    ("friend-test", r"^(?!tests/)", r"\bFRIEND_TEST\b|\bfriend\s+class\s+\w*Test\b",
     "test through the public interface"),
]


# A base image without a digest is another one tomorrow.
BASE_IMAGE = re.compile(r"^FROM\s+(?!scratch\b)(?!\S+@sha256:[0-9a-f]{64}(?:\s|$)).*")


def check_images(tree):
    return [f"{path}:{line}: {text} (base-image): name it by its digest, NAME:TAG@sha256:…"
            for path in tree.files if path.endswith(("Containerfile", "Dockerfile"))
            for line, text in enumerate(tree.text(path).splitlines(), 1) if BASE_IMAGE.match(text)]


def check(tree):
    findings = check_images(tree)
    for path in tree.code:
        text = tree.text(path)
        code = blank_comments_and_strings(text)
        original = text.splitlines()
        for name, where, what, instead in RULES:
            if not re.search(where, path):
                continue
            for match in re.finditer(what, code):
                line = code.count("\n", 0, match.start()) + 1
                if any(f"allow {name}:" in near for near in original[max(0, line - 2):line + 1]):
                    continue
                findings.append(f"{path}:{line}: {match.group(0).strip()} ({name}): {instead}")
        if path.endswith((".h", ".cuh")) and "#pragma once" not in text:
            findings.append(f"{path}:1: a header without #pragma once")
    return findings
