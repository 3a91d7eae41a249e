"""The checkout as programs in pods of `berth up` see it.

    subprocess.Popen([BERTH, "up", …], env=pods_see_checkout())
"""

import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def pods_see_checkout():
    """An environment for `berth up`. Pods have a /tmp of their own, with the entries to which PATH leads: a checkout below /tmp is one."""
    return {**os.environ, "PATH": os.environ["PATH"] + os.pathsep + os.path.join(ROOT, "build")}
