"""finish.py OUTPUT VERSION: looks at the built pages, and writes the list of versions and the page that leads to one."""

import json
import os
import re
import sys

from hooks import loads_from_elsewhere

PAGE = """<!doctype html>
<meta charset="utf-8">
<title>Berth</title>
<meta http-equiv="refresh" content="0; url={version}/index.html">
<a href="{version}/index.html">Berth {version}</a>
"""


def order(name):
    """Numbers count as numbers; names without one come last."""
    return [int(part) if part.isdigit() else -1 for part in re.split(r"[.\-_]", name)]


def main():
    output, version = sys.argv[1:]
    loads = loads_from_elsewhere(os.path.join(output, version))
    if loads:
        sys.exit("tools/docs: pages would fetch from other servers:\n" + "\n".join(loads))
    names = sorted((name for name in os.listdir(output) if os.path.exists(os.path.join(output, name, "index.html"))),
                   key=order, reverse=True)
    with open(os.path.join(output, "versions.json"), "w", encoding="utf-8") as file:
        json.dump([{"version": name, "title": name, "aliases": []} for name in names], file)
    with open(os.path.join(output, "index.html"), "w", encoding="utf-8") as file:
        file.write(PAGE.format(version=names[0]))
    print(f"{output}/index.html: {', '.join(names)}")


if __name__ == "__main__":
    main()
