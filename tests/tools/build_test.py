"""Goal: tools/build builds the programs of users, --all everything, names those alone.
Method: the script in a scratch tree, with a cmake that only records its arguments."""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "tests" / "py"))
from scratch import temporary_folder  # noqa: E402


class BuildTest(unittest.TestCase):
    def targets(self, *arguments):
        with temporary_folder() as folder:
            root = pathlib.Path(folder)
            (root / "tools").mkdir()
            shutil.copy(PROJECT / "tools/build", root / "tools")
            shutil.copytree(PROJECT / "tools/lib", root / "tools/lib")
            (root / "bin").mkdir()
            cmake = root / "bin/cmake"
            cmake.write_text(f'#!/bin/sh\necho "$@" >>{root}/calls\n')
            cmake.chmod(0o755)
            path = f"{root}/bin:{os.environ['PATH']}"
            subprocess.run([root / "tools/build", *arguments], check=True, capture_output=True,
                           env={**os.environ, "PATH": path})
            calls = (root / "calls").read_text().splitlines()
            return calls[-1].split("--target ")[1].split()

    def test_targets(self):
        self.assertEqual(self.targets(), ["berth", "programs"])
        self.assertEqual(self.targets("--all"), ["all"])
        self.assertEqual(self.targets("test_queue"), ["test_queue"])


if __name__ == "__main__":
    unittest.main()
