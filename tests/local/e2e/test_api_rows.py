"""Goal: `berth up` answers as a real kube-apiserver does, in what Berth relies on.

Method: the requests of tests/py/api_rows.py, whose outcomes on a real one are in api_rows.json
(tests/cluster/test_api.py)."""

import json

import api_rows
from berth_up import BerthUpTest
from object_reader import access_of


# Where `berth up` answers otherwise, with the reason: (row, number of the request) -> (key, reason).
DIFFERENT = {
    ("a finalizer holds the object", 5): (
        "written", "the answer has the resourceVersion of the deletion, as that of a DELETE"),
    ("fields that no schema knows", 2): (
        None, "400 with the field's name in place of 422 with the whole object"),
    ("drivers of storage", 6): (
        "part", "topologyKeys is left out where Kubernetes writes null"),
}


class ApiRowsTest(BerthUpTest):
    maxDiff = None

    def test_rows(self):
        cluster = self.start_cluster(flags=["--no-controllers"])
        server, trust, token = access_of(cluster.kubeconfig)
        outcomes = api_rows.play(api_rows.sender(server, token, trust))
        recorded = api_rows.recorded()
        self.assertEqual(set(outcomes), set(recorded))
        for name, row in recorded.items():
            for number, (got, wanted) in enumerate(zip(outcomes[name], row)):
                sent = json.dumps(api_rows.ROWS[name][1][number])
                with self.subTest(name, request=number, sent=sent):
                    key, _ = DIFFERENT.get((name, number), ("", ""))
                    if key == "":
                        self.assertEqual(got, wanted)
                    else:
                        self.assertNotEqual(got, wanted)
                        self.assertEqual({**got, key: wanted.get(key)} if key else wanted, wanted)
