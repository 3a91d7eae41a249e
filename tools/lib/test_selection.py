"""Which tests ctest's arguments choose, before they are built, and what these need."""

import json
import re
import subprocess

import test_programs

# Cases of GoogleTest and of rapidcheck's macros, in a source.
CASE = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+),\s*(\w+)", re.MULTILINE)
INSTANCES = re.compile(r"^INSTANTIATE_TEST_SUITE_P\(\s*(\w*),\s*(\w+)", re.MULTILINE)
OPTIONS = {"-R": "names", "--tests-regex": "names", "-E": "not_names", "--exclude-regex": "not_names", "-L": "labels",
           "--label-regex": "labels", "-LE": "not_labels", "--label-exclude": "not_labels"}


class Selection:
    """The regular expressions of ctest's arguments."""

    def __init__(self, words):
        self.regexes = {"names": [], "not_names": [], "labels": [], "not_labels": []}
        self.others, words = [], list(words)
        while words:
            word = words.pop(0)
            if word in OPTIONS and words:
                self.regexes[OPTIONS[word]].append(words.pop(0))
            else:
                self.others.append(word)
        self.chooses = any(self.regexes.values())

    def exclude_label(self, regex):
        """ctest leaves out a test only where each of several -LE matches: they become one."""
        self.regexes["not_labels"] = ["|".join(self.regexes["not_labels"] + [regex])]

    @property
    def arguments(self):
        named = {"names": "-R", "not_names": "-E", "labels": "-L", "not_labels": "-LE"}
        return [word for kind, option in named.items() for regex in self.regexes[kind]
                for word in (option, regex)] + self.others

    def matches(self, name, labels):
        def some(regexes, texts):
            return all(any(re.search(regex, text) for text in texts) for regex in regexes)
        return (some(self.regexes["names"][-1:], [name]) and some(self.regexes["labels"], labels)
                and not (self.regexes["not_names"] and some(self.regexes["not_names"][-1:], [name]))
                and not (self.regexes["not_labels"] and some(self.regexes["not_labels"], labels)))


class Program:
    """A program of GoogleTest cases: test_NAME has the cases NAME.SUITE.CASE."""

    def __init__(self, root, line):
        self.name, self.label, *self.sources = line.split("|")
        self.target = "test_" + self.name
        text = "".join((root / source).read_text(encoding="utf-8") for source in self.sources if (root / source).exists())
        instances = {}
        for instance, suite in INSTANCES.findall(text):
            instances.setdefault(suite, []).append(instance + "/" if instance else "")
        self.cases = [f"{self.name}.{prefix}{suite}.{case}" for suite, case in CASE.findall(text) for prefix in instances.get(suite, [""])]


class Tests:
    """The tests that a selection chooses of a configured build."""

    def __init__(self, root, build, selection):
        self.build = build
        self.without_go = any(re.search(regex, "go") for regex in selection.regexes["not_labels"])
        programs = [Program(root, line) for line in (build / "test_programs.txt").read_text().splitlines()]
        self.gtest = [program for program in programs
                      if any(selection.matches(case, [program.label]) for case in [*program.cases, program.name])]
        names = tuple(program.name + "." for program in programs)
        self.others = [test for test in self.listed(selection) if not test["name"].startswith(names)
                       and "_NOT_BUILT" not in test["name"]]

    def listed(self, selection=None):
        run = subprocess.run(["ctest", "--test-dir", str(self.build), "--show-only=json-v1", *(selection.arguments if selection else [])],
                             capture_output=True, text=True, check=True)
        return json.loads(run.stdout[run.stdout.index("{"):])["tests"]

    @property
    def chosen(self):
        return self.gtest or self.others

    def keep(self, programs, names):
        """Only these programs of GoogleTest and these other tests."""
        self.gtest = [program for program in self.gtest if program.name in programs]
        self.others = [test for test in self.others if test["name"] in names]

    def numbers(self):
        """Of the chosen tests, as ctest's -I has them; after the build."""
        prefixes = tuple(program.name + "." for program in self.gtest)
        names = {test["name"] for test in self.others} | {program.name for program in self.gtest}
        return ",".join(str(number) for number, test in enumerate(self.listed(), start=1)
                        if test["name"] in names or (prefixes and test["name"].startswith(prefixes)))

    def package_groups(self):
        return (["test"] if self.others else []) + (
            ["check", "lint"] if any(test["name"].startswith("tidy.") for test in self.others) else [])

    def programs(self):
        """Of other projects."""
        needed = {name for test in self.others for word in environment_of(test) if word.startswith("BERTH_NEEDS=")
                  for name in word.partition("=")[2].split(",")}
        if any(word.startswith("KUBECTL=") for test in self.others for word in environment_of(test)):
            needed |= {"kubectl-debian"} if self.without_go else {"kubectl-debian", "kubectl"}
        unknown = needed - test_programs.PROGRAMS.keys()
        assert not unknown, unknown
        return needed

    def targets(self):
        """Of the build."""
        return sorted({program.target for program in self.gtest} | {target for test in self.others for target in self.targets_of(test)})

    def targets_of(self, test):
        prefix = str(self.build) + "/"
        words = [*test.get("command", []), *(word.partition("=")[2] for word in environment_of(test))]
        return {word.removeprefix(prefix) for word in words if word.startswith(prefix)} | (
            {"berth", "programs"} if str(self.build) in words else set())


def environment_of(test):
    return next((entry["value"] for entry in test["properties"] if entry["name"] == "ENVIRONMENT"), [])
