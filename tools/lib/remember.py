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


def digest_of(paths, words=()):
    """Of the bytes of files, without the path of the project, and of words."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(pathlib.Path(path).read_bytes().replace(str(ROOT).encode(), b"") + b"\0")
    for word in words:
        digest.update(word.replace(str(ROOT), "").encode() + b"\0")
    return digest.hexdigest()


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
    data_digest = digest_of(data, [str(path.relative_to(ROOT)) for path in data])
    for path in paths:
        stamp = stamps / digest_of([path], [data_digest])
        if action == "--keep":
            stamp.touch()
        elif not stamp.exists() or os.environ.get("BERTH_FORGET") == "1":
            print(path)
        else:
            stamp.touch()
    cache.prune(stamps)
    return 0


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
    stamp = passes / digest_of(files_among(command), command + environment)
    if stamp.exists() and os.environ.get("BERTH_FORGET") != "1":
        print(f"remembered: passed with the same bytes in {stamp.read_text().strip()}")
        stamp.touch()
        return 0
    started = time.monotonic()
    status = subprocess.run(command, check=False).returncode
    if status == 0:
        stamp.write_text(f"{time.monotonic() - started:.1f} s on {time.strftime('%Y-%m-%d', time.gmtime())}\n")
        cache.prune(passes)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
