"""Waits for CustomResourceDefinitions."""

import time

SECONDS = 60


def wait_established(kubectl, *names):
    """`kubectl`: runs it with these arguments. `kubectl wait` fails on a definition that has no conditions yet."""
    deadline = time.monotonic() + SECONDS
    while True:
        done = kubectl("wait", "--for=condition=Established", "crd", *names, f"--timeout={SECONDS}s", check=False)
        if done.returncode == 0:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"definitions are not established after {SECONDS} s: {done.stderr}")
        time.sleep(0.1)
