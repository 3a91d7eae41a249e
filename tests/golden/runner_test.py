"""Goal: the runner of golden stories names the error in a file, and shows where decisions
differ. Method: stories of the selection, cut, damaged or altered, given to the program.

Usage: runner_test.py GOLDEN STORIES.jsonl.gz
"""
import gzip
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "py"))
from scratch import temporary_folder  # noqa: E402


def run(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True,
                          check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


def expect(condition, what, got):
    if not condition:
        sys.exit(f"{what}; got:\n{got}")


def altered(story):
    """The story with one more pod in its last recorded admission."""
    for step in reversed(story["outcome"]["steps"]):
        for item in reversed(step["trace"]):
            for entry in item.get("cycle", []):
                if entry["result"] == "Admitted":
                    entry["podSets"][0]["count"] += 1
                    return story
    sys.exit("no admission in the story")


def main():
    program, stories = sys.argv[1], pathlib.Path(sys.argv[2])
    raw = stories.read_bytes()
    lines = gzip.decompress(raw).decode().splitlines()[:3]
    with temporary_folder() as folder:
        file = pathlib.Path(folder) / "stories.jsonl.gz"

        def play(text, *flags):
            file.write_bytes(text if isinstance(text, bytes) else gzip.compress(text.encode()))
            return run(program, *flags, file)

        code, out, err = play("\n".join(lines) + "\n", "--jobs", "2")
        expect(code == 0 and out.endswith("golden: 3 stories, A 3, B 3, C 3\n"), "three agree", out)
        code, out, err = play("")
        expect((code, out) == (0, "golden: 0 stories, A 0, B 0, C 0\n"), "none", out)
        code, out, err = play(raw[:len(raw) // 2])
        expect(code == 1 and "is cut off or damaged" in err, "a file that is cut off", out + err)
        for line in ("no JSON", "3", "[]"):
            code, out, err = play(lines[0] + "\n" + line + "\n")
            expect(code == 1 and "line 2 is not a story" in out, line, out)
            expect(out.endswith("golden: 2 stories, A 1, B 1, C 1\n"), line, out)
        code, out, err = play('{"id": "x", "family": "nobody"}\n')
        expect(code == 1 and "x: " in out and "nobody: 1 stories, A 0" in out, "an empty story", out)
        story = altered(json.loads(lines[0]))
        code, out, err = play(json.dumps(story) + "\n" + lines[1] + "\n")
        expect(code == 1 and story["id"] + ": differs at A in step " in out, "an altered story", out)
        expect(out.endswith("golden: 2 stories, A 1, B 1, C 1\n"), "an altered story", out)
        shrunk = [line for line in out.splitlines() if line.startswith("  shrunk ")]
        expect(len(shrunk) == 1, "shrunk once", out)
        smaller = json.loads(shrunk[0].removeprefix("  shrunk "))
        events = [sum(len(step["events"]) for step in each["steps"]) for each in (smaller, story)]
        expect(events[0] < events[1], "shrunk has less in it", events)
        code, again, err = play(json.dumps(smaller) + "\n")
        expect(code == 1 and again.split("differs", 1)[1].split("\n  shrunk")[0] ==
               out.split("differs", 1)[1].split("\n  shrunk")[0], "shrunk differs alike", again)


main()
