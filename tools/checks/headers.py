"""A header's name is its own: no other folder of the product has one of that name.

A codec in api/codec/ has the name of the struct in api/ that it reads and writes.
"""


def check(tree):
    paths = {}
    for path in sorted(tree.code):
        if path.endswith(".h") and not path.startswith(("tests/", "api/codec/")):
            paths.setdefault(path.rsplit("/", 1)[-1], []).append(path)
    return [f"{path}: {others[0]} has the name, too: say what sets this one apart"
            for _, (*others, path) in paths.items() if others]
