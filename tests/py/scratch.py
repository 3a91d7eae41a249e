"""A killed test leaves nothing on the machine: no program, and no file.

    folder = scratch_folder("berth-e2e-")
    with temporary_folder() as folder: …
    class FileTest(ScratchTest): self.write("queues.yaml", text)
    subprocess.Popen(…, preexec_fn=die_with_parent)

A test removes its scratch folders itself; the sweeper of this module, a process in a session of its own, removes
the folders that are left when the test has ended in whatever way. `tools/check children` holds all tests to this module.
"""

import atexit
import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)
# Reads one folder a line. The input ends with the test; a program of the test may write for a moment longer.
SWEEPER = """
while IFS= read -r folder; do set -- "$@" "$folder"; done
for attempt in $(seq 100); do
  rm -rf -- "$@" 2>/dev/null && exit
  sleep 0.1
done
"""
_sweepers = []  # one at most


def die_with_parent():
    """As preexec_fn: the kernel kills the program when the thread that starts it ends."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _end(sweeper):
    sweeper.stdin.close()
    sweeper.wait()


def scratch_folder(prefix):
    """A new folder below the machine's folder for temporary files."""
    if not _sweepers:
        _sweepers.append(subprocess.Popen(
            ["sh", "-c", SWEEPER, "sh"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True, text=True))
        atexit.register(_end, _sweepers[0])
    folder = tempfile.mkdtemp(prefix=prefix)
    print(folder, file=_sweepers[0].stdin, flush=True)
    return folder


@contextlib.contextmanager
def temporary_folder(prefix="berth-test-"):
    """A scratch folder that ends with the block."""
    folder = scratch_folder(prefix)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class ScratchTest(unittest.TestCase):
    """Each test has a folder of its own."""

    def setUp(self):
        folder = temporary_folder()
        self.folder = folder.__enter__()
        self.addCleanup(folder.__exit__, None, None, None)

    def write(self, name, text):
        """The path of the new file, whose folders are made."""
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path
