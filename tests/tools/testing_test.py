"""Goal: tools/test builds what chosen tests need; what passed with the same bytes does not run again; a difference reaches the
tests that read it.
Method: the modules of tools/lib on scratch folders, with programs that count their runs."""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "tests" / "py"))
sys.path.insert(0, str(PROJECT / "tools" / "lib"))
from changes import changed_files  # noqa: E402 (the folders are known only now)
from scratch import ScratchTest  # noqa: E402
from test_programs import PROGRAMS  # noqa: E402
from test_selection import Program, Selection  # noqa: E402
from tests_reached import is_named, modules_of  # noqa: E402


class SelectionTest(ScratchTest):
    def test_arguments_choose_as_in_ctest(self):
        rows = (([], "queue.A.B", True), (["-R", "^queue"], "queue.A.B", True), (["-R", "^a"], "queue.A.B", False),
                (["-E", "A"], "queue.A.B", False), (["-L", "unit"], "queue.A.B", True), (["-L", "go"], "queue.A.B", False),
                (["-LE", "unit"], "queue.A.B", False), (["-LE", "go", "-R", "A"], "queue.A.B", True))
        for words, name, chosen in rows:
            with self.subTest(words):
                self.assertEqual(Selection(words).matches(name, ["unit"]), chosen)

    def test_labels_that_are_left_out_become_one_expression(self):
        selection = Selection(["-LE", "slow", "--timeout", "5"])
        selection.exclude_label("^go$")
        self.assertEqual(selection.arguments, ["-LE", "slow|^go$", "--timeout", "5"])

    def test_the_cases_of_a_program_are_read_from_its_sources(self):
        self.write("a_test.cc", "TEST(Plain, Works) {\n}\nTEST_P(Row, Holds) {\n}\nINSTANTIATE_TEST_SUITE_P(Table, Row, x);\n"
                                "RC_GTEST_PROP(Order, IsTotal, ()) {\n}\n// TEST(Not, One)\n")
        program = Program(pathlib.Path(self.folder), "queue|unit|a_test.cc")
        self.assertEqual((program.target, program.cases),
                         ("test_queue", ["queue.Plain.Works", "queue.Table/Row.Holds", "queue.Order.IsTotal"]))

    def test_the_programs_that_go_builds_have_a_label(self):
        text = (PROJECT / "tools/cmake/BerthTestNeeds.cmake").read_text()
        without = text.split("list(REMOVE_ITEM arg_PROGRAMS ")[1].split(")")[0].split()
        self.assertEqual(set(without), {name for name, program in PROGRAMS.items() if not program.needs_go} - {"kubectl-debian"})


class ChangesTest(ScratchTest):
    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=self.folder, check=True, capture_output=True)

    def commit(self, name):
        self.write(name, "")
        self.git("add", name)
        self.git("commit", "-q", "-m", name)

    def test_what_differs(self):
        self.git("init", "-q", "-b", "main")
        self.commit("first")
        self.assertEqual(changed_files(self.folder), set())  # there is no commit before
        self.commit("second")
        self.write("new", "")
        self.assertEqual(changed_files(self.folder), {"second", "new"})
        self.git("checkout", "-q", "-b", "topic")
        self.commit("third")
        self.assertEqual(changed_files(self.folder), {"third", "new"})
        self.assertEqual(changed_files(self.folder, "HEAD"), {"new"})


class ReachTest(ScratchTest):
    def test_a_script_is_reached_through_its_modules(self):
        root = pathlib.Path(self.folder)
        for folder in ("tests/a", "tests/py"):
            (root / folder).mkdir(parents=True)
        self.write("tests/a/test_one.py", "import os\nfrom helper import x\n")
        self.write("tests/a/helper.py", "import scratch\n")
        self.write("tests/py/scratch.py", "")
        self.assertEqual(modules_of(root, "tests/a/test_one.py"),
                         {"tests/a/test_one.py", "tests/a/helper.py", "tests/py/scratch.py"})

    def test_a_file_is_named_by_its_path_its_name_or_its_folder(self):
        rows = (("manifests/samples/dws/pool.yaml", 'read("manifests/samples/dws")', True), ("a/rows.json", 'open("rows.json")', True),
                ("a/rows.json", 'open("more_rows.json")', False), ("docs/x.md", '"docs/x.md"', False))
        for path, text, named in rows:
            with self.subTest(path=path, text=text):
                self.assertEqual(is_named({path}, [text]), named)


class RememberTest(ScratchTest):
    def run_once(self, *words, remember=str(PROJECT / "tools/lib/remember.py"), **environment):
        return subprocess.run([sys.executable, "-B", remember, "--", *words], capture_output=True, text=True, check=False,
                              env={**os.environ, "BERTH_CACHE": os.path.join(self.folder, "cache"), "BERTH_FORGET": "", **environment})

    def runs(self):
        path = pathlib.Path(self.folder, "runs")
        return len(path.read_text()) if path.exists() else 0

    def test_a_pass_is_remembered_by_the_bytes_and_a_failure_is_not(self):
        program = self.write("program", f'#!/bin/sh\nprintf x >>"{self.folder}/runs"\nexit "${{STATUS:-0}}"\n')
        os.chmod(program, 0o755)
        self.assertEqual((self.run_once(program, STATUS="3").returncode, self.runs()), (3, 1))
        self.assertEqual((self.run_once(program).returncode, self.runs()), (0, 2))
        again = self.run_once(program)
        self.assertEqual((again.returncode, self.runs()), (0, 2))
        self.assertTrue(again.stdout.startswith("remembered: "), again.stdout)
        for words, environment, count in (((program, "more"), {}, 3), ((program,), {"RC_PARAMS": "seed=1"}, 4), ((program,), {"BERTH_FORGET": "1"}, 5)):
            self.assertEqual((self.run_once(*words, **environment).returncode, self.runs()), (0, count))
        with open(program, "a", encoding="utf-8") as file:
            file.write("# another\n")
        self.run_once(program)
        self.assertEqual(self.runs(), 6)

    def test_the_files_of_a_folder_count(self):
        program = self.write("program", f'#!/bin/sh\nprintf x >>"{self.folder}/runs"\n')
        os.chmod(program, 0o755)
        data = os.path.join(self.folder, "data", "inner")
        os.makedirs(data)
        for text, count in (("a", 1), ("a", 1), ("b", 2)):
            pathlib.Path(data, "file").write_text(text, encoding="utf-8")
            self.run_once(program, os.path.dirname(data))
            self.assertEqual(self.runs(), count)

    def test_bytes_from_another_checkout_are_known(self):
        """A compiler cache brings them, with the path of the checkout where they were compiled."""
        text = f'#!/bin/sh\n# {self.folder}/one/source.cc\nprintf x >>"{self.folder}/runs"\n'
        for checkout in ("one", "another"):
            shutil.copytree(PROJECT / "tools/lib", os.path.join(self.folder, checkout, "tools/lib"))
            program = self.write(f"{checkout}/program", text)
            os.chmod(program, 0o755)
            self.run_once(program, remember=os.path.join(self.folder, checkout, "tools/lib/remember.py"))
            self.assertEqual(self.runs(), 1)

    def test_a_list_of_cases_is_always_asked_for(self):
        for _ in range(2):
            self.assertEqual(self.run_once("/bin/echo", "--gtest_list_tests").stdout, "--gtest_list_tests\n")


if __name__ == "__main__":
    unittest.main()
