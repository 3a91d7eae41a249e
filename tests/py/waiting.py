"""Waiting for the state of other processes.

A look at the state often starts a kubectl, which takes a tenth of a second of processor time: the pause between two looks
grows with the wait, so that tests that wait leave the machine to those that compute."""

import time

PATIENCE_SECONDS = 150  # longest wait for a state on a busy machine
LEAST_PAUSE, MOST_PAUSE = 0.05, 0.25  # seconds between two looks
PAUSE_OF_WAIT = 0.1  # the pause as a part of the wait so far


def wait_until(condition, what, seconds=PATIENCE_SECONDS):
    """Polls until `condition` is true; returns its value. An object or a field that `condition` reads and that is
    not there yet counts as false."""
    begun = time.monotonic()
    while True:
        value, missing = None, None
        try:
            value = condition()
        except (LookupError, TypeError) as error:
            missing = error
        if value:
            return value
        waited = time.monotonic() - begun
        if waited > seconds:
            raise AssertionError(f"not within {seconds} s: {what}") from missing
        time.sleep(min(MOST_PAUSE, max(LEAST_PAUSE, PAUSE_OF_WAIT * waited)))
