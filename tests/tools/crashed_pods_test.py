"""Goal: a failed test prints the last lines of each container that crashed, and of no other. Method: Pod objects of each kind."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "lib"))
from crashed_pods import MOST, logs_of_crashed_pods  # noqa: E402


def pod(name, restarts=0, **states):
    return {"metadata": {"name": name, "namespace": "default"},
            "status": {"containerStatuses": [{"name": "main", "restartCount": restarts, **states}]}}


class CrashedPodsTest(unittest.TestCase):
    def tell(self, *pods):
        self.asked = []

        def logs(*arguments):
            self.asked.append(" ".join(arguments))
            return "last words\n"
        return logs_of_crashed_pods(pods, logs)

    def test_failed_pod_tells_its_log(self):
        told = self.tell(pod("gone", state={"terminated": {"exitCode": 3}}))
        self.assertIn("default/gone, container main, 0 restarts, exit code 3:\nlast words", told)
        self.assertEqual(self.asked, ["gone -n default -c main --tail=20"])

    def test_restarted_pod_tells_the_log_of_the_earlier_run(self):
        self.tell(pod("up-again", 2, state={"running": {}}, lastState={"terminated": {"exitCode": 1}}))
        self.assertEqual(self.asked, ["up-again -n default -c main --tail=20 --previous"])

    def test_pods_that_run_or_have_succeeded_are_left_out(self):
        told = self.tell(pod("runs", state={"running": {}}), pod("done", state={"terminated": {"exitCode": 0}}),
                         {"metadata": {"name": "waits", "namespace": "default"}})
        self.assertEqual((told, self.asked), ("", []))

    def test_number_of_logs_is_bounded(self):
        self.tell(*(pod(f"p{i}", state={"terminated": {"exitCode": 1}}) for i in range(20)))
        self.assertEqual(len(self.asked), MOST)


if __name__ == "__main__":
    unittest.main()
