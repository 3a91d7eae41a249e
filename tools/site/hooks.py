"""Hooks of mkdocs.yml: links that leave docs/, and pages that load nothing from elsewhere."""

import os
import posixpath
import re

LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(((?:\.\./)+[^)\s#]*)(#[^)\s]*)?\)")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
# What a browser loads by itself; addresses that a reader clicks are no loads.
LOADS = [
    re.compile(r"<(?:script|img|iframe|source|embed|video|audio)\b[^>]*?\b(?:src|srcset)=[\"']?(?:https?:)?//[^\"'\s>]+"),
    re.compile(r"<link\b(?![^>]*rel=[\"']?(?:canonical|next|prev)\b)[^>]*?\bhref=[\"']?(?:https?:)?//[^\"'\s>]+"),
    re.compile(r"(?:url\(|@import\s*)[\"']?(?:https?:)?//[^\"')\s;]+"),
    re.compile(r"https?://(?:unpkg\.com|cdn\.jsdelivr\.net|fonts\.[a-z]+\.com|cdnjs\.cloudflare\.com)[^\"'`\s)]*"),
]
# Scripts of the theme have these addresses for features that the pages do not use, and lose them.
UNUSED = re.compile(r"https://unpkg\.com/[^\"'`\s)]*")


def leave(page_path, source):
    """A function from a match of LINK to its text: a path of the repository is an address below `source`, or a name."""
    def replaced(match):
        text, target, anchor = match[1], match[2], match[3] or ""
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page_path), target))
        if path == "docs" or path.startswith("docs/"):
            return match[0]
        if source:
            return f"[{text}]({source.rstrip('/')}/{path}{anchor})"
        return text if path in text or text.startswith("`") else f"{text} (`{path}`)"
    return replaced


def on_page_markdown(markdown, page, config, files):
    replaced = leave(page.file.src_uri, os.environ.get("BERTH_DOCS_SOURCE", ""))
    parts = FENCE.split(markdown)
    return "".join(part if part.startswith("```") else LINK.sub(replaced, part) for part in parts)


def on_post_build(config):
    for folder, _, names in os.walk(config.site_dir):
        for name in names:
            if not name.endswith((".js", ".map")):
                continue
            path = os.path.join(folder, name)
            if name.endswith(".map"):
                os.remove(path)
                continue
            with open(path, encoding="utf-8") as file:
                text = file.read()
            if UNUSED.search(text):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(UNUSED.sub("", text))


def loads_from_elsewhere(site):
    """Lines `file: address` of what the pages below the folder would fetch from other servers."""
    found = []
    for folder, _, names in sorted(os.walk(site)):
        for name in sorted(names):
            if not name.endswith((".html", ".css", ".js")):
                continue
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            rules = LOADS[3:] if name.endswith(".js") else LOADS
            found += [f"{os.path.relpath(path, site)}: {match[0]}" for rule in rules for match in rule.finditer(text)]
    return found
