"""Goal: the package of tools/package is one that dpkg installs, with the files where Debian's policy has them: a
program, a readable man page for every command, completion, and a systemd unit whose command works. The package
depends only on packages that Debian 12 and Debian 13 have, and brings the other libraries along.

Method: dpkg installs it into an empty root, in a user namespace, without root; groff reads the pages. `tools/soak
--fresh` installs the package on both systems."""

import glob
import gzip
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest

from berth_up import BERTH, ROOT
from scratch import die_with_parent, scratch_folder
from waiting import wait_until

sys.path.append(os.path.join(ROOT, "tools", "lib"))
import own_libraries  # noqa: E402 (after the change of sys.path)

TOOL = os.path.join(ROOT, "tools", "package")


def run(*arguments, **options):
    done = subprocess.run(arguments, text=True, capture_output=True, timeout=600, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: {done.stdout}{done.stderr}")
    return done.stdout


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = scratch_folder("berth-package-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        run(TOOL, "--program", BERTH, "--output", cls.folder)
        cls.package, = glob.glob(os.path.join(cls.folder, "berth_*.deb"))
        cls.root = os.path.join(cls.folder, "root")
        for name in ("var/lib/dpkg/info", "var/lib/dpkg/updates"):
            os.makedirs(os.path.join(cls.root, name))
        for name in ("status", "available"):
            with open(os.path.join(cls.root, "var/lib/dpkg", name), "w", encoding="utf-8"):
                pass
        # The libraries are this machine's.
        run("unshare", "--user", "--map-root-user", "dpkg", "--root=" + cls.root, "--force-depends",
            "--log=/dev/null", "--install", cls.package)

    def installed(self, *path):
        return os.path.join(self.root, *path)

    def help(self, *command):
        return run(self.installed("usr/bin/berth"), *command, "--help")

    def test_control(self):
        fields = dict(re.findall(r"^(\S+): (.*)$", run("dpkg-deb", "--field", self.package),
                                 re.MULTILINE))
        self.assertEqual(fields["Package"], "berth")
        needed = {name.split()[0] for name in fields["Depends"].split(", ")}
        for library in ("libc6", "libssl3", "libsqlite3-0"):
            self.assertIn(library, needed)
        self.assertLessEqual(needed, own_libraries.KEPT_BY_DEBIAN)
        self.assertLess(len(fields["Description"]), 80)
        self.assertEqual(run("dpkg", "--root=" + self.root, "--verify", "berth"), "")

    def test_owners_and_modes(self):
        for line in run("dpkg-deb", "--contents", self.package).splitlines():
            mode, owner, *_, name = line.split(" -> ")[0].split()
            self.assertEqual(owner, "root/root", line)
            if mode.startswith("-"):
                program = name.startswith("./usr/bin/")
                self.assertEqual(mode, "-rwxr-xr-x" if program else "-rw-r--r--", line)
            elif mode.startswith("d"):
                self.assertEqual(mode, "drwxr-xr-x", line)

    def test_policy(self):
        for name in ("copyright", "changelog.gz"):
            self.assertTrue(os.path.exists(self.installed("usr/share/doc/berth", name)), name)
        self.assertFalse(os.path.exists(self.installed("usr/local")))
        sections = run("readelf", "--section-headers", self.installed("usr/bin/berth"))
        self.assertNotIn(".symtab", sections)
        self.assertIn("BIND_NOW", run("readelf", "--dynamic", self.installed("usr/bin/berth")))

    def test_its_libraries(self):
        """The loader takes the libraries of the package from the package, and the others from the system."""
        found = dict(re.findall(r"(\S+) => (/\S+)", run("ldd", self.installed("usr/bin/berth"))))
        brought = set(os.listdir(self.installed("usr/lib/berth")))
        self.assertEqual({name for name, path in found.items() if os.path.realpath(path).startswith(self.root)}, brought)
        self.assertTrue({"libfmt.so.9", "libre2.so.9"} & brought, brought)
        with gzip.open(self.installed("usr/share/doc/berth/licences.txt.gz"), "rt", encoding="utf-8") as file:
            licences = file.read()
        for package in ("libfmt", "libboost", "nlohmann-json3-dev"):
            self.assertRegex(licences, f"Debian package .*{package}")
        with open(BERTH, "rb") as file:
            has_page = b"/assets/page.js" in file.read()
        self.assertEqual("npm package preact" in licences, has_page)

    def test_a_program_for_newer_systems_is_refused(self):
        newer = os.path.join(self.folder, "newer")
        with open(BERTH, "rb") as file:
            content = file.read()
        self.assertIn(b"\0GLIBC_2.34\0", content)
        with open(newer, "wb") as file:
            file.write(content.replace(b"\0GLIBC_2.34\0", b"\0GLIBC_2.37\0"))
        os.chmod(newer, 0o755)
        done = subprocess.run([TOOL, "--program", newer, "--output", self.folder + "/none"], text=True, capture_output=True,
                              timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("newer needs GLIBC_2.37, which Debian 12 does not have: build the program on Debian 12", done.stderr)

    def test_what_is_too_new(self):
        rows = [("GLIBC_2.36", False), ("GLIBC_2.4", False), ("GLIBC_2.37", True), ("GLIBC_2.100", True), ("GLIBC_ABI_DT_RELR", False),
                ("GLIBC_ABI_GNU_TLS", True), ("GLIBCXX_3.4.30", False), ("GLIBCXX_3.4.31", True), ("CXXABI_1.3.13", False),
                ("CXXABI_1.3.14", True), ("GCC_7.0.0", False), ("GCC_14.0.0", True), ("OPENSSL_3.9.0", False)]
        for name, new in rows:
            with self.subTest(name):
                self.assertEqual(own_libraries.too_new({name}), [name] if new else [])

    def test_what_package_checkers_read(self):
        """lintian finds no error and no warning; these are what it has found."""
        with gzip.open(self.installed("usr/share/doc/berth/changelog.gz"), "rt", encoding="utf-8") as file:
            changes = file.read()
        path = os.path.join(self.folder, "changelog")
        with open(path, "w", encoding="utf-8") as file:
            file.write(changes)
        version = run("dpkg-deb", "--field", self.package, "Version").strip()
        self.assertEqual(run("dpkg-parsechangelog", "-l", path, "-S", "Version").strip(), version)
        description = run("dpkg-deb", "--field", self.package, "Description")
        self.assertLessEqual(max(map(len, description.splitlines())), 80)
        control = run("dpkg-deb", "--info", self.package, "md5sums").splitlines()
        files = [line for line in run("dpkg-deb", "--contents", self.package).splitlines()
                 if line.startswith("-")]
        self.assertEqual(len(control), len(files))
        self.assertNotIn("1970-", run("dpkg-deb", "--contents", self.package))

    def test_every_command_has_a_page(self):
        listed = self.help().partition("\nSubcommands:\n")[2].partition("\n\n")[0]
        commands = re.findall(r"^  (\S+)", listed, re.MULTILINE)
        self.assertIn("controller", commands)
        pages = {os.path.basename(path) for path in glob.glob(self.installed("usr/share/man/man1/*"))}
        self.assertEqual(pages, {"berth.1.gz", "kubectl-berth.1.gz", "kubectl-kueue.1.gz",
                                 *(f"berth-{name}.1.gz" for name in commands)})
        for command in commands:
            with gzip.open(self.installed("usr/share/man/man1", f"berth-{command}.1.gz"), "rt",
                           encoding="utf-8") as file:
                source = file.read()
            done = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8"], input=source, text=True,
                                  capture_output=True, timeout=60, check=True)
            self.assertEqual(done.stderr, "", command)
            text = subprocess.run(["groff", "-man", "-Tascii", "-P-c", "-rLL=400n"], input=source,
                                  text=True, capture_output=True, timeout=60, check=True).stdout
            text = re.sub(".\b", "", text)  # bold: each letter twice
            for option in re.findall(r"--[a-z][a-z-]+", self.help(command)):
                self.assertIn(option, text, command)

    def test_completion(self):
        for shell, path in (("bash", "bash-completion/completions/berth"),
                            ("zsh", "zsh/vendor-completions/_berth"),
                            ("fish", "fish/vendor_completions.d/berth.fish")):
            with open(self.installed("usr/share", path), encoding="utf-8") as file:
                self.assertEqual(file.read(),
                                 run(self.installed("usr/bin/berth"), "completion", shell))
        for plugin in ("kubectl-berth", "kubectl-kueue"):
            self.assertEqual(os.readlink(self.installed("usr/bin", plugin)), "berth")

    def test_the_unit_starts_a_cluster(self):
        with open(self.installed("lib/systemd/system/berth.service"), encoding="utf-8") as file:
            unit = file.read()
        command = re.search("^ExecStart=(.*)$", unit, re.MULTILINE).group(1)
        state = os.path.join(self.folder, "state")
        os.mkdir(state, 0o700)  # StateDirectory=berth
        words = command.replace("/var/lib/berth", state).split()
        with open(os.path.join(self.folder, "log"), "w", encoding="utf-8") as log:
            process = subprocess.Popen(
                [self.installed(words[0].lstrip("/")), *words[1:], "--listen", "127.0.0.1:0"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={"HOME": state, "PATH": os.environ["PATH"]}, preexec_fn=die_with_parent)
        self.addCleanup(process.wait, timeout=60)
        self.addCleanup(process.kill)
        wait_until(lambda: os.path.exists(os.path.join(state, "kubeconfig")), "the unit's API serves")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=60), 0)

    def test_it_is_made_again_byte_for_byte(self):
        again = os.path.join(self.folder, "again")
        os.mkdir(again)
        run(TOOL, "--program", BERTH, "--output", again, env={**os.environ, "TZ": "Asia/Tokyo"})
        with open(os.path.join(again, os.path.basename(self.package)), "rb") as first:
            with open(self.package, "rb") as second:
                self.assertEqual(first.read(), second.read())
