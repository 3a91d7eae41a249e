"""Goal: the rules of .clang-tidy are on, and tools/lint reports violations, once per change.
Method: --list-checks on the project's own file, and a scratch tree with a planted bad name."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "tests" / "py"))
from scratch import temporary_folder  # noqa: E402
TIDY = shutil.which("clang-tidy-14")


class LintTest(unittest.TestCase):
    def list_checks(self, path):
        return subprocess.run([TIDY, "--list-checks", str(PROJECT / path), "--"], text=True,
                              capture_output=True, cwd=PROJECT, check=True).stdout.split()

    def test_the_checks_that_carry_the_style_are_on(self):
        # A comment inside `Checks` would silently switch a line of them off.
        for path in ("base/strings.cc", "tests/base/strings_test.cc"):
            checks = self.list_checks(path)
            for name in ("readability-identifier-naming", "readability-function-size",
                         "bugprone-use-after-move", "google-explicit-constructor"):
                with self.subTest(path=path, name=name):
                    self.assertIn(name, checks)
        self.assertIn("clang-analyzer-core.NullDereference", self.list_checks("base/strings.cc"))

    def lint(self, root):
        return subprocess.run([sys.executable, "-B", str(PROJECT / "tools/checks/lint.py"), "--all",
                               "--root", str(root), "--build", str(root)], text=True,
                              capture_output=True, env={**os.environ, "BERTH_CACHE": str(root / "cache")})

    def test_a_bad_name_is_found_and_a_clean_run_is_remembered(self):
        with temporary_folder() as folder:
            root = pathlib.Path(folder)
            subprocess.run(["git", "init", "-q", folder], check=True)
            shutil.copy(PROJECT / ".clang-tidy", root)
            (root / "base").mkdir()
            (root / "base/a.h").write_text("class Good {\n private:\n  int bad = 0;\n};\n")
            (root / "base/a.cc").write_text('#include "base/a.h"\n')
            (root / "compile_commands.json").write_text(json.dumps([{
                "directory": folder, "file": "base/a.cc",
                "command": f"cmake -E env X=1 ccache /usr/bin/c++ -std=c++20 -I{folder} -c "
                           "base/a.cc"}]))
            run = self.lint(root)
            self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
            self.assertIn("invalid case style for private member 'bad'", run.stdout)

            (root / "base/a.h").write_text("class Good {\n private:\n  int good_ = 0;\n};\n")
            run = self.lint(root)
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            self.assertIn("1 source(s), 1 run, 0 with findings", run.stdout)
            self.assertIn("1 source(s), 0 run, 0 with findings", self.lint(root).stdout)

    def test_sources_of_a_unit_are_read_at_once_and_findings_name_the_source(self):
        with temporary_folder() as folder:
            root = pathlib.Path(folder)
            subprocess.run(["git", "init", "-q", folder], check=True)
            shutil.copy(PROJECT / ".clang-tidy", root)
            (root / ".gitignore").write_text("/build/\n")
            (root / "base").mkdir()
            (root / "base/a.cc").write_text("int One() { return 1; }\n\n")
            (root / "base/b.cc").write_text(
                "int Two() { return 2; }\n"
                "int Read(int n) {\n  int* at = nullptr;\n  if (n > 3) at = &n;\n"
                "  return *at;\n}\n")
            unit = root / "build/base/units/base_0.cc"
            unit.parent.mkdir(parents=True)
            unit.write_text('#include "base/a.cc"\n#include "base/b.cc"\n')
            (root / "compile_commands.json").write_text(json.dumps([{
                "directory": folder, "file": str(unit),
                "command": f"/usr/bin/c++ -std=c++20 -I{folder} -Wno-subobject-linkage -c {unit}"}]))
            run = self.lint(root)
            self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
            self.assertRegex(run.stdout, r"base/b\.cc:5:10: error: Dereference of null pointer")
            self.assertIn("2 source(s), 2 run, 1 with findings", run.stdout)

            # The nearest rules hold, as for single sources.
            (root / "base/.clang-tidy").write_text(
                "InheritParentConfig: true\nChecks: '-*,readability-identifier-naming'\n")
            self.assertIn("2 run, 0 with findings", self.lint(root).stdout)
            (root / "base/.clang-tidy").unlink()

            (root / "base/b.cc").write_text("int Two() { return 2; }\n")
            self.assertIn("2 source(s), 2 run, 0 with findings", self.lint(root).stdout)
            self.assertIn("2 source(s), 0 run, 0 with findings", self.lint(root).stdout)


if __name__ == "__main__":
    if not TIDY:
        print("no clang-tidy-14: skipped")
        sys.exit(77)
    unittest.main()
