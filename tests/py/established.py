"""Waits for CustomResourceDefinitions."""

import time

SECONDS = 180


def wait_established(kubectl, *names):
    """`kubectl`: runs it with these arguments. `kubectl wait` fails on a definition that has no conditions yet."""
    deadline = time.monotonic() + SECONDS
    while True:
        done = kubectl("wait", "--for=condition=Established", "crd", *names, "--timeout=10s", check=False)
        if done.returncode == 0:  # discovery follows
            done = kubectl("get", ",".join(names), "--all-namespaces", "-o", "name", check=False)
        if done.returncode == 0:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"definitions are not established after {SECONDS} s: {done.stderr}")
        time.sleep(0.1)
