"""Goal: tools/check reports every violation, and nothing in clean code.
Method: a scratch git tree per case holds one planted violation; the findings are compared."""

import pathlib
import shutil
import subprocess
import sys
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(PROJECT / "tools" / "checks"), str(PROJECT / "tests" / "py")]

import banned  # noqa: E402
import children  # noqa: E402
import classes  # noqa: E402
import docs  # noqa: E402
import formatting  # noqa: E402
import headers  # noqa: E402
import layering  # noqa: E402
import listed  # noqa: E402
import purity  # noqa: E402
import sizes  # noqa: E402
import tree  # noqa: E402
import words  # noqa: E402
from scratch import temporary_folder  # noqa: E402

BODY_OF_80_LINES = "  ++x;\n" * 80


class CheckTest(unittest.TestCase):
    def findings(self, check, files, build=None):
        with temporary_folder() as folder:
            root = pathlib.Path(folder)
            subprocess.run(["git", "init", "-q", folder], check=True)
            shutil.copy(PROJECT / ".clang-format", root)
            for path, text in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            return check(tree.Tree(root, build))

    def expect(self, check, files, *parts):
        findings = self.findings(check, files)
        self.assertEqual(len(findings), 1, findings)
        for part in parts:
            self.assertIn(part, findings[0])

    def test_layering_names_file_line_and_rule(self):
        self.expect(layering.check,
                    {"queue/a.cc": '#include <map>\n#include "kube/b.h"\n', "kube/b.h": ""},
                    "queue/a.cc:2", "queue may not include kube", "base api")

    def test_layering_table(self):
        rows = [
            ("admission/a.cc", "queue/heap.h", True),
            ("admission/a.cc", "admission/controller/a.h", False),
            ("provisioning/a.cc", "admission/b.h", False),
            ("provisioning/a.cc", "checks/controller_names.h", True),
            ("view/a.cc", "checks/check_kinds.h", True),
            ("view/a.cc", "checks/controller_names.h", False),
            ("provisioning/controller/a.cc", "checks/controller/a.h", True),
            ("checks/controller/a.cc", "provisioning/controller/a.h", False),
            ("local/cluster/a.cc", "kube/b.h", True),
            ("local/cluster/a.cc", "queue/b.h", False),
            ("local/apiserver/a.cc", "kube/b.h", False),
            ("local/apiserver/a.cc", "net/server.h", True),
            ("readapi/a.cc", "api/codec/json_write.h", True),
            ("readapi/a.cc", "api/codec/codec.h", False),
            ("queue/a.cc", "base/log/log.h", False),
            ("admission/controller/a.cc", "base/log/log.h", True),
            ("kube/a.cc", "queue/b.h", False),
            ("cli/a.cc", "local/b.h", True),
            ("webhook/rules.cc", "net/server.h", False),
            ("webhook/webhook_server.cc", "net/server.h", True),
            ("jobs/haversine/a.cc", "net/server.h", False),
            ("base/a.cc", "tests/support/b.h", False),
            ("tests/queue/a.cc", "kube/b.h", True),
        ]
        for path, included, allowed in rows:
            with self.subTest(path=path, included=included):
                found = self.findings(layering.check,
                                      {path: f'#include "{included}"\n', included: ""})
                self.assertEqual(found == [], allowed, found)

    def test_libraries(self):
        rows = [
            ("queue/a.cc", "<nlohmann/json.hpp>", False),
            ("api/codec/a.cc", "<nlohmann/json.hpp>", True),
            ("kube/a.cc", "<boost/beast/core.hpp>", False),
            ("net/a.cc", "<boost/beast/core.hpp>", True),
            ("queue/a.cc", "<mutex>", False),
            ("queue/a.cc", "<unistd.h>", False),
            ("queue/a.cc", "<unordered_map>", False),
            ("queue/a.cc", "<unordered_map>  // lookup only", True),
            ("admission/controller/a.cc", "<mutex>", True),
            ("net/a.cc", "<sys/socket.h>", True),
            ("cli/a.cc", "<absl/strings/str_cat.h>", False),
        ]
        for path, include, allowed in rows:
            with self.subTest(path=path, include=include):
                found = self.findings(layering.check, {path: f"#include {include}\n"})
                self.assertEqual(found == [], allowed, found)

    def test_a_folder_that_the_table_does_not_know(self):
        self.expect(layering.check, {"misc/a.cc": ""}, "misc/a.cc", "not in the table")

    def test_an_include_of_nothing(self):
        self.expect(layering.check, {"base/a.cc": '#include "b.h"\n'}, "is no file of the project")

    def test_long_file(self):
        self.expect(sizes.check, {"base/a.cc": "\n" * 801}, "base/a.cc: 801 lines")

    def test_long_functions(self):
        heads = ["int F(int x)", "void C::F() const noexcept", "C::C(int y) : x(y), z{y}",
                 "TEST(Suite, Name)", "auto F() -> std::map<int, int>",
                 "bool operator==(const C& other)"]
        for head in heads:
            with self.subTest(head=head):
                text = f"namespace a {{\n{head} {{\n{BODY_OF_80_LINES}}}\n}}  // namespace a\n"
                self.expect(sizes.check, {"base/a.cc": text}, "base/a.cc:2:", "81 lines")

    def test_what_is_long_and_no_function(self):
        texts = [
            f"namespace a {{\n{'int x;' * 3}\n{'int y;' + chr(10) * 80}}}\n",
            f"struct A {{\n{'  int F() {{ return 0; }}' + chr(10) * 80}}};\n",
            f"const int kTable[] = {{\n{'  1,' + chr(10) * 80}}};\n",
            "// F() {" + "\n" * 80 + "int x;\n",
            'const char* kText = R"(F() {' + "\n" * 80 + ')";\n',
            "#define F(x) \\\n  do { \\\n" + "    x; \\\n" * 80 + "  } while (0)\n",
        ]
        for text in texts:
            with self.subTest(text=text[:30]):
                self.assertEqual(self.findings(sizes.check, {"base/a.cc": text}), [])

    def test_public_methods_are_counted(self):
        class_of = "class A : public B {{\n public:\n  A();\n  ~A();\n  A(const A&) = delete;\n{}\n" \
            " private:\n  void Hidden();\n}};\n"
        methods = ["  int x() const { return x_; }", "  std::map<int, int (*)(int)> M(int a);",
                   "  bool operator==(const A& other) const;", "  static void S();"]
        members = ["  using T = std::function<void(int)>;", "  std::function<void(int)> f = nullptr;",
                   "  friend void F(int);", "  struct N { int y; };", "  int z_{3};",
                   "  // void Comment();"]
        text = class_of.format("\n".join(methods + members))
        self.assertEqual(list(classes.classes_of(text)), [("A", 4), ("N", 0)])

    def test_a_class_of_too_many_methods(self):
        methods = "".join(f"  void F{i}();\n" for i in range(26))
        self.expect(classes.check, {"base/a.h": f"struct A {{\n{methods}}};\n"},
                    "base/A: 26 public methods")

    def test_a_class_of_two_sources(self):
        header = "class A {\n public:\n  void F();\n  void G();\n};\n"
        files = {"base/a.h": header, "base/a.cc": "void A::F() {}\n",
                 "base/a_more.cc": "// A::F\nint A::G(int x) {\n  return B::H(x);\n}\n"}
        self.expect(classes.check, files, "base/A: 2 source files")

    def test_lost_source(self):
        self.expect(listed.check, {"base/a.cc": "", "base/b.cc": "", "base/sub/c.cc": "",
                                   "base/CMakeLists.txt": "l(a.cc sub/c.cc) # b.cc\n"},
                    "base/b.cc: no CMakeLists.txt")

    def test_two_headers_of_one_name(self):
        self.expect(headers.check, {"base/a.h": "", "api/a.h": "", "api/codec/a.h": "", "tests/a.h": ""},
                    "base/a.h: api/a.h has the name, too")

    def test_banned_words(self):
        rows = [
            ("base/a.cc", "std::regex r;", "std-regex"),
            ("base/a.cc", "using namespace std;", "using-namespace-std"),
            ("tests/base/a.cc", "std::this_thread::sleep_for(d);", "sleep-in-test"),
            ("net/a.cc", "std::cout << 1;", "stdout-in-library"),
            ("net/a.cc", "co_await x;", "coroutine"),
            ("net/a.cc", "auto j = Json::parse(text);", "json-parse"),
            ("kube/a.cc", "auto text = object.dump();", "json-dump"),
            ("local/a.cc", "auto text = object->dump(2);", "json-dump"),
            ("net/a.cc", "thread_ = std::thread([this] { Run(); });", "bare-thread"),
            ("net/a.cc", "std::jthread worker{Run};", "bare-thread"),
            ("base/a.h", "int x;", "#pragma once"),
            ("jobs/Containerfile", "FROM debian:bookworm-slim AS build", "base-image"),
            ("jobs/Containerfile", "FROM debian:bookworm-slim@sha256:12", "base-image"),
        ]
        for path, text, name in rows:
            with self.subTest(name=name):
                self.expect(banned.check, {path: text + "\n"}, f"{path}:1", name)
        self.assertEqual(self.findings(banned.check, {
            "jobs/Containerfile": f"FROM a:1@sha256:{'0' * 64} AS build\nFROM scratch\n",
            "net/a.cc": "// std::regex\n", "cli/a.cc": "std::cout << 1;\n",
            "tests/b.cc": "auto text = object.dump();\nstd::thread worker(Run);\n",
            "net/b.cc": "std::thread worker;\nstd::thread StartThread(int x);\nstd::vector<std::thread> threads(2);\n",
            "api/a.cc": "return tree.dump(kReplaced);  // allow json-dump: replaces bad bytes\n",
            "tests/a.cc": "sleep_for(d);  // allow sleep-in-test: the kernel's own timer\n",
        }), [])

    def test_children_of_tests(self):
        rows = [
            ("subprocess.Popen(['a'])", "die_with_parent"),
            ("from subprocess import Popen\nPopen(['a'])", "die_with_parent"),
            ("with tempfile.TemporaryDirectory() as folder: pass", "scratch.py"),
            ("tempfile.mkdtemp()", "scratch.py"),
            ("tempfile.NamedTemporaryFile()", "scratch.py"),
            ("def f(:", "Python"),
        ]
        for text, says in rows:
            with self.subTest(text):
                line = text.count("\n") + 1
                self.expect(children.check, {"tests/cli/test_a.py": text + "\n"},
                            f"tests/cli/test_a.py:{line}: ", says)
        self.assertEqual(self.findings(children.check, {
            "tests/cli/test_a.py": "subprocess.Popen(['a'], preexec_fn=die_with_parent)\n"
                                   "with temporary_folder() as folder: pass\n",
            "tests/py/scratch.py": "tempfile.mkdtemp()\nsubprocess.Popen(['sh'])\n",
            "tools/lib/a.py": "tempfile.mkdtemp()\n",
        }), [])

    def test_lines_of_docs(self):
        long = "A word and another. " * 7
        rows = [
            ("docs/a.md", f"{long}\n", False),
            ("README.md", f"{long}\n", False),
            ("docs/a.md", f"```sh\n{long}\n```\n", False),
            ("docs/a.md", f"<!-- help -->\n<!-- end of help -->\n{long}\n", False),
            ("docs/a.md", f"text [{long}](a.md)\n", False),
            ("tests/a.md", f"{long}\n", True),
            ("docs/a.md", f"| {long} |\n", True),
            ("docs/a.md", f"```text\n{long}\n```\n", True),
            ("docs/a.md", f"<!-- help -->\n{long}\n<!-- end of help -->\n", True),
            ("docs/a.md", "See [the page](https://example.org/" + "a" * 120 + ").\n", True),
        ]
        for path, text, allowed in rows:
            with self.subTest(text=text):
                found = self.findings(docs.check, {path: text})
                self.assertEqual(found == [], allowed, found)

    def test_comments_are_sentences(self):
        rows = [
            ("base/a.h", "// Of a GET.\nint F();\n", "base/a.h:1", "'Of'"),
            ("base/a.cc", "int x;  // of the rate\n", "base/a.cc:1", "'of'"),
            ("base/a.cc", "int x;  // as in Kueue\n", "base/a.cc:1", "'as'"),
            ("base/a.cc", "int x;  // With pods,\n        // all of them\n", "base/a.cc:1", "'With'"),
            ("base/a.cc", "// As Kueue does.\n", "base/a.cc:1", "'As'"),
            ("base/a.cc", "// The quota. Of a\n// queue.\n", "base/a.cc:1", "'Of'"),
            ("base/a.cc", "// The quota.\n// With pods.\n", "base/a.cc:1", "'With'"),
            ("tests/a.py", "x = 1  # of the rate\n", "tests/a.py:1", "'of'"),
            ("tools/a.sh", "# With pods.\n", "tools/a.sh:1", "'With'"),
            ("tools/a/a.go", "\t// Of a kind.\n", "tools/a/a.go:1", "'Of'"),
        ]
        for path, text, *parts in rows:
            with self.subTest(text=text):
                self.expect(words.check, {path: text}, *parts)
        self.assertEqual(self.findings(words.check, {
            "base/a.cc": "// The rate\n// of the writes. With pods, it is lower.\n"
                         "int x;  // name\n        // with its folder\n"
                         "const char* a = \"// Of a GET.\";\nconst char* b = R\"(\n// Of b\n)\";\n",
            "tests/a.py": "x = '# of'  # the rate\n", "base/a.md": "// Of nothing.\n",
            "tools/a.sh": "#!/bin/sh\necho $# of 3\n"}), [])

    def test_comments_name_files_that_exist(self):
        files = {"base/a.h": "", "docs/b.md": "", "tests/c.py": ""}
        for named in ("base/b.h", "docs/a.md", "tests/base/a_test.cc", "base/c.py"):
            with self.subTest(named):
                self.expect(words.check, files | {"base/a.cc": f"// See ({named}).\n"},
                            "base/a.cc:1", named)
        self.assertEqual(self.findings(words.check, files | {
            "base/a.cc": "// base/a.h, docs/b.md; tests/c.py.\n// Kueue: pkg/cache/a.md, base/NAME.*.\n"
                         "// https://example.org/base/x.md, other/base/x.h, base/{x,y}.h, b.h\n"
                         '#include "base/gone.h"\n'}), [])

    def test_format(self):
        if not shutil.which("clang-format-14"):
            self.skipTest("no clang-format-14")
        self.expect(formatting.check, {"base/a.cc": "int  x;\n", "base/b.cc": "int y;\n"},
                    "base/a.cc:1", "clang-format-14 -i base/a.cc")


class PurityTest(unittest.TestCase):
    def test_planted_calls_are_found_in_an_archive(self):
        compiler = shutil.which("g++") or shutil.which("c++")
        source = """
            #include <chrono>
            #include <cstdio>
            #include <cstdlib>
            #include <fstream>
            #include <mutex>
            #include <random>
            #include <thread>
            #include <unistd.h>
            std::mutex m;
            long Now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
            long Wall() { return std::chrono::system_clock::now().time_since_epoch().count(); }
            void Locks() { m.lock(); }
            void Threads() { std::thread([] {}).join(); }
            int Random() { return std::rand() + static_cast<int>(std::random_device{}()); }
            void File() { std::ofstream("x") << 1; }
            int Raw() { char c; return static_cast<int>(read(0, &c, 1)); }
            char* Environment() { return std::getenv("HOME"); }
            void Bug() { std::fprintf(stderr, "bug"); std::abort(); }
        """
        with temporary_folder() as folder:
            root = pathlib.Path(folder)
            (root / "a.cc").write_text(source)
            subprocess.run([compiler, "-std=c++20", "-c", "a.cc", "-o", "a.o"], cwd=root,
                           check=True)
            subprocess.run(["ar", "rcs", "liba.a", "a.o"], cwd=root, check=True)
            (root / "pure_archives.txt").write_text(f"berth_a {root}/liba.a\n")
            findings = purity.check(tree.Tree(root, root))
        kinds = {finding.split(": ")[2] for finding in findings}
        self.assertEqual(kinds, {"clock", "thread", "random", "file", "environment"}, findings)
        self.assertFalse([f for f in findings if "fprintf" in f or "abort" in f], findings)

    def test_nm_lines(self):
        output = "\na.o:\n                 U sqlite3_open_v2\n                 U timeline()\n" \
                 "                 U time\n                 w __gmon_start__\n"
        self.assertEqual(list(purity.forbidden_symbols(output)),
                         [("a.o", "library", "sqlite3_open_v2"), ("a.o", "clock", "time")])

    def test_a_missing_archive_is_a_finding(self):
        with temporary_folder() as folder:
            root = pathlib.Path(folder)
            (root / "pure_archives.txt").write_text(f"berth_a {root}/liba.a\n")
            self.assertIn("build it", purity.check(tree.Tree(root, root))[0])


if __name__ == "__main__":
    unittest.main()
