"""Goal: a misspelt command names the word and the nearest one; kueuectl's aliases and `kubectl kueue` work.

Method: the program, and its link for kubectl."""

import os
import subprocess
import unittest

BERTH = os.environ["BERTH"]


def run(*words, program=BERTH):
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=60, check=False)


class CommandsTest(unittest.TestCase):
    def test_misspelt_commands(self):
        for words, message in ((["statsu"], '"statsu" is no command of berth; did you mean status?'),
                               (["list", "workloadz"], '"workloadz" is no command of berth list; did you mean workload?'),
                               (["stop", "clusterque", "x"], '"clusterque" is no command of berth stop; did you mean clusterqueue?'),
                               (["describe", "wl"], '"describe" is no command of berth: use kubectl describe')):
            with self.subTest(words=words):
                done = run(*words)
                self.assertEqual((done.returncode, done.stderr), (2, f"berth: {message}\n"))

    def test_aliases_of_every_verb(self):
        kinds = {"workload": ("wl", "kwl", "workloads", "kueueworkload", "kueueworkloads"),
                 "localqueue": ("lq", "localqueues", "queue", "queues"), "clusterqueue": ("cq", "clusterqueues"),
                 "resourceflavor": ("rf", "resourceflavors", "flavor", "flavors")}
        verbs = {"list": kinds, "create": kinds.keys() - {"workload"}, "stop": kinds.keys() - {"resourceflavor"},
                 "resume": kinds.keys() - {"resourceflavor"}}
        for verb, of_verb in verbs.items():
            for kind in of_verb:
                for alias in kinds[kind]:
                    with self.subTest(verb=verb, alias=alias):
                        self.assertEqual(run(verb, alias, "--help").stdout, run(verb, kind, "--help").stdout)

    def test_the_plugin_of_kubectl(self):
        for plugin in ("kubectl-berth", "kubectl-kueue"):
            done = run("list", "kwl", "--help", program=os.path.join(os.path.dirname(BERTH), plugin))
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
