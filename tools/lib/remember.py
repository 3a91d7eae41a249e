#!/usr/bin/env python3
"""remember.py -- PROGRAM [ARGUMENT…]: runs a pure test, unless it passed with the same bytes.
remember.py --unknown KIND FILE…: prints the files that are not known as KIND. remember.py --keep KIND FILE…: makes them known.

A pure test depends on the program, on its arguments, on the files and folders among these and on RC_PARAMS and GTEST_FILTER alone. A pass is kept in the
cache folder (cache.py) by the hash of them. With BERTH_FORGET=1 the test always runs."""

import hashlib
import os
import pathlib
import subprocess
import sys
import time

import cache

ROOT = pathlib.Path(__file__).resolve().parents[2]
VARIABLES = ("RC_PARAMS", "GTEST_FILTER", "BERTH_SEED")


def digests_of(paths, words=()):
    """Two, each of the bytes of files and of words without the path of the project: with this path in the bytes, which a compiler cache
    brings from another checkout, and without, for what was compiled here. One that is known is enough."""
    kept, removed = hashlib.sha256(), hashlib.sha256()
    for path in paths:
        content = pathlib.Path(path).read_bytes()
        kept.update(content + b"\0")
        removed.update(content.replace(str(ROOT).encode(), b"") + b"\0")
    for digest in (kept, removed):
        for word in words:
            digest.update(word.replace(str(ROOT), "").encode() + b"\0")
    return kept.hexdigest(), removed.hexdigest()


def files_among(words):
    """The files that the words name, and those of folders that they name."""
    for path in map(pathlib.Path, words):
        if path.is_file():
            yield path
        elif path.is_dir():
            yield from sorted(each for each in path.rglob("*") if each.is_file())


def mark_files(action, kind, paths):
    """Of tools/sanitize and tools/fuzz. The stamp of a program is of its bytes and of the data of all tests."""
    stamps = cache.folder(kind)
    data = sorted(path for folder in ("tests", "manifests") for path in (ROOT / folder).rglob("*")
                  if path.is_file() and path.suffix not in (".cc", ".h", ".py", ".md", ".pyc"))
    data_digest = digests_of(data, [str(path.relative_to(ROOT)) for path in data])[0]
    for path in paths:
        own = [stamps / digest for digest in digests_of([path], [data_digest])]
        if action == "--unknown" and not is_known(own):
            print(path)
        else:
            keep(own, "")
    cache.prune(stamps)
    return 0


def keep(stamps, text):
    for stamp in stamps:
        stamp.write_text(text)


def is_known(stamps):
    return os.environ.get("BERTH_FORGET") != "1" and any(stamp.exists() for stamp in stamps)


def main():
    if len(sys.argv) > 3 and sys.argv[1] in ("--unknown", "--keep"):
        return mark_files(sys.argv[1], sys.argv[2], sys.argv[3:])
    command = sys.argv[sys.argv.index("--") + 1:] if "--" in sys.argv else []
    if not command:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    if any(word.startswith("--gtest_list") for word in command):
        os.execv(command[0], command)
    passes = cache.folder("passes")
    environment = [f"{name}={os.environ.get(name, '')}" for name in VARIABLES]
    stamps = [passes / digest for digest in digests_of(list(files_among(command)), command + environment)]
    if is_known(stamps):
        text = next(stamp.read_text() for stamp in stamps if stamp.exists())
        print(f"remembered: passed with the same bytes in {text.strip()}")
        keep(stamps, text)
        return 0
    started = time.monotonic()
    status = subprocess.run(command, check=False).returncode
    if status == 0:
        keep(stamps, f"{time.monotonic() - started:.1f} s on {time.strftime('%Y-%m-%d', time.gmtime())}\n")
        cache.prune(passes)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
