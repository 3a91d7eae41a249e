"""A killed test leaves nothing on the machine: no program, and no file.

    folder = scratch_folder("berth-e2e-")
    subprocess.Popen(…, preexec_fn=die_with_parent)

A test removes its folders itself; the sweeper of this module, a process in a session of its own, removes
what is left when the test has ended in whatever way.
"""

import atexit
import ctypes
import signal
import subprocess
import tempfile

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
