"""The files of the checks: those that git tracks or would track, read once."""

import functools
import pathlib
import re
import subprocess

CODE_SUFFIXES = (".h", ".cc", ".cu", ".cuh")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">](.*)$', re.MULTILINE)


class Tree:
    def __init__(self, root, build=None):
        self.root = pathlib.Path(root).resolve()
        self._build = build

    @functools.cached_property
    def files(self):
        """Paths from the root, with slashes, sorted."""
        output = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=self.root, check=True, capture_output=True).stdout.decode()
        return sorted(path for path in output.split("\0") if path and (self.root / path).is_file())

    @property
    def code(self):
        return [path for path in self.files if path.endswith(CODE_SUFFIXES)]

    @functools.lru_cache(maxsize=None)
    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    def includes(self, path):
        """(line number, "<" or '"', the included path, rest of the line) of each #include."""
        text = self.text(path)
        for match in INCLUDE.finditer(text):
            line = text.count("\n", 0, match.start(2)) + 1
            yield line, match.group(1), match.group(2), match.group(3).strip()

    @property
    def build(self):
        """The build folder: the given one, else the last configured one of those that have every
        pure library; None if there is none."""
        if self._build:
            return self._build
        lists = self.root.glob("build/*/pure_archives.txt")
        built = [path for path in lists if all(
            pathlib.Path(line.split()[1]).exists() for line in path.read_text().splitlines())]
        newest = max(built, key=lambda path: path.stat().st_mtime, default=None)
        return newest.parent if newest else None


def blank_comments_and_strings(text):
    """`text` with the contents of comments and literals as blanks; line ends stay."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"([^ ()\\\t\n]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
        r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.DOTALL)
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)
