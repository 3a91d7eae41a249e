"""The folder of what a clean checkout need not make again, as tools/lib/cache.sh has it: $BERTH_CACHE, by default
~/.cache/berth."""

import os
import pathlib
import time

DAYS = 30  # an entry that nobody has used for so long is removed


def folder(kind):
    """The folder KIND, which is made. Each user of an entry touches it."""
    home = os.environ.get("BERTH_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "berth")
    path = pathlib.Path(home, kind)
    path.mkdir(parents=True, exist_ok=True)
    return path


def prune(path):
    """Removes the files of the folder that nobody has used for long."""
    for entry in path.iterdir():
        if entry.is_file() and entry.stat().st_mtime < time.time() - DAYS * 86400:
            entry.unlink(missing_ok=True)
