"""Goal: Grafana reads every field of the board. Method: Grafana's own types and rules (the Foundation SDK) read the board
strictly; boards with one mistake each are refused."""

import copy
import json
import os
import subprocess

from berth_up import ROOT
from scratch import ScratchTest

CHECKER = os.path.join(ROOT, "build", "bin", "grafana-board")
BOARD = os.path.join(ROOT, "manifests", "monitoring", "board.json")


class GrafanaBoardTest(ScratchTest):
    def setUp(self):
        super().setUp()
        if not os.path.exists(CHECKER):
            self.skipTest("no grafana-board: build it with tools/grafana")
        with open(BOARD, encoding="utf-8") as file:
            self.board = json.load(file)

    def check(self, board):
        path = os.path.join(self.folder, "board.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(board, file)
        return subprocess.run([CHECKER, path], text=True, capture_output=True, timeout=60, check=False)

    def test_grafana_reads_the_board(self):
        done = self.check(self.board)
        self.assertEqual((done.returncode, done.stdout), (0, f"{len(self.board['panels'])} panels\n"), done.stderr)

    def test_mistakes_are_refused(self):
        stat = next(number for number, panel in enumerate(self.board["panels"]) if panel["type"] == "stat")
        for words, change in (
                ("unexpected field 'colourMode'", lambda board: board["panels"][stat]["options"].update(colourMode="none")),
                (f"panels[{stat}].gridPos.w", lambda board: board["panels"][stat]["gridPos"].update(w="wide")),
                ("annotations", lambda board: board.pop("annotations")),
                ("refreshh", lambda board: board.update(refreshh="30s"))):
            with self.subTest(words):
                board = copy.deepcopy(self.board)
                change(board)
                done = self.check(board)
                self.assertEqual(done.returncode, 1)
                self.assertIn(words, done.stderr)
