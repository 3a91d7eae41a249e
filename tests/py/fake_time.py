"""The environment in which a program's wall clock is wrong, by libfaketime; its monotonic clock runs as usual.

    subprocess.run(command, env={**os.environ, **fake_time.environment("+10m")})
"""

import glob
import os
import unittest


def library():
    found = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
    return found[0] if found else None


def environment(offset):
    """`offset` such as "+10m", "-1d"; None: the right time."""
    if offset is None:
        return {}
    if library() is None:
        raise unittest.SkipTest("no libfaketime: apt-get install libfaketime")
    return {"LD_PRELOAD": library(), "FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1", "PATH": os.environ["PATH"]}
