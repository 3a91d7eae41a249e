"""Goal: tools/soak --fresh finds the mirror of apt and the files for this machine, and a step that fails or does not end is an
error with its output. The systems themselves are made by the command alone, which needs root and a mirror.

Method: what apt prints of sources in both of its formats; short programs of the shell."""

import pathlib
import sys
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "tools" / "lib"))

import fresh_systems  # noqa: E402


class MirrorTest(unittest.TestCase):
    def test_mirrors(self):
        rows = [
            ("Packages main http://mirror.invalid/debian/\n", "http://mirror.invalid/debian/"),
            ("Packages main http://mirror.invalid/debian-security/\nPackages main http://mirror.invalid/debian\n", "http://mirror.invalid/debian"),
            ("DEP-11 main http://a.invalid/debian/\nPackages main http://b.invalid/debian/\n", "http://b.invalid/debian/"),
            ("Packages contrib http://a.invalid/debian/\n", None),
            ("Packages main http://mirror.invalid/ubuntu/\n", None),
            ("", None),
        ]
        for targets, mirror in rows:
            with self.subTest(targets):
                if mirror is None:
                    self.assertRaisesRegex(fresh_systems.FreshError, "name one in BERTH_DEBIAN_MIRROR", fresh_systems.mirror_of, targets)
                else:
                    self.assertEqual(fresh_systems.mirror_of(targets), mirror)


class ReleaseTest(unittest.TestCase):
    def test_files_for_this_machine(self):
        tarballs = [f"release/berth-0.1.0-linux-{architecture}.tar.gz" for architecture in ("amd64", "arm64")]
        self.assertEqual(fresh_systems.file_for("arm64", tarballs), tarballs[1])
        self.assertEqual(fresh_systems.file_for("amd64", ["release/berth_0.1.0_arm64.deb", "release/berth_0.1.0_amd64.deb"]),
                         "release/berth_0.1.0_amd64.deb")
        with self.assertRaisesRegex(fresh_systems.FreshError, "0 files for arm64 among .*amd64.tar.gz"):
            fresh_systems.file_for("arm64", tarballs[:1])


class StepTest(unittest.TestCase):
    def test_steps(self):
        self.assertEqual(fresh_systems.run("echo", "a", seconds=60), "a\n")
        with self.assertRaisesRegex(fresh_systems.FreshError, r"exit 3\nout\nerr\n"):
            fresh_systems.run("sh", "-c", "echo out; echo err >&2; exit 3", seconds=60)
        with self.assertRaisesRegex(fresh_systems.FreshError, "sh had no end within 1 s: out\n"):
            fresh_systems.run("sh", "-c", "echo out; exec cat /dev/zero >/dev/null", seconds=1)


if __name__ == "__main__":
    unittest.main()
