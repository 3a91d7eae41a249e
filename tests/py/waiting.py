"""Waiting for the state of other processes."""

import time

PATIENCE_SECONDS = 150  # longest wait for a state on a busy machine


def wait_until(condition, what, seconds=PATIENCE_SECONDS):
    """Polls until `condition` is true; returns its value. An object or a field that `condition` reads and that is
    not there yet counts as false."""
    deadline = time.monotonic() + seconds
    while True:
        value, missing = None, None
        try:
            value = condition()
        except (LookupError, TypeError) as error:
            missing = error
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}") from missing
        time.sleep(0.05)
