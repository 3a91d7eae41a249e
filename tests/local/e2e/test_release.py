"""Goal: the folder of tools/release is a release: it is the same each time, its checksums and its signature hold and notice a
change, its tarball starts anywhere, and its bill of materials names all that is linked.

Method: the commands of docs/operate/release.md verify the folder; the bill is compared with what readelf, the sources and
package-lock.json say. e2e.image and e2e.package look into the image and the Debian package."""

import filecmp
import glob
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import unittest
import unittest.mock

from berth_up import BERTH, ROOT
from scratch import ScratchTest, scratch_folder

sys.path += [os.path.join(ROOT, "tools", "lib"), os.path.join(ROOT, "tools", "releasing")]
import bill  # noqa: E402 (after the change of sys.path)
import install_yaml  # noqa: E402
import notes  # noqa: E402
import program_files  # noqa: E402
import signature  # noqa: E402

TOOL = os.path.join(ROOT, "tools", "release")
VERSION = program_files.version(ROOT)
ARCHITECTURE = program_files.architecture(BERTH)
NAME = f"berth-{VERSION}-linux-{ARCHITECTURE}"
FILES = {f"{NAME}.tar.gz", f"{NAME}-image.tar", f"{NAME}.spdx.json", f"berth_{VERSION}_{ARCHITECTURE}.deb", f"berth-{VERSION}.tgz",
         "install.yaml", f"berth-{VERSION}-man.tar.gz", f"berth-{VERSION}-licences.txt",
         f"berth_client-{VERSION}-py3-none-any.whl", f"berth-client-{VERSION}.tgz", "release-notes.md", "SHA256SUMS", "SHA256SUMS.sig"}
# Folders whose sources no program of users has.
NOT_SHIPPED = ("tests/", "jobs/", "build/", "tools/")
SYSTEM_HEADERS = {"glibc", "linux", "gcc-12", "gcc-defaults"}


def run(*arguments, **options):
    done = subprocess.run(arguments, text=True, capture_output=True, timeout=600, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: {done.stdout}{done.stderr}")
    return done.stdout


def release(*arguments, **environment):
    return subprocess.run([TOOL, *arguments], text=True, capture_output=True, timeout=600, check=False, env={**os.environ, **environment})


def text_of(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def make_key(path, *kind):
    run("openssl", "genpkey", *kind, "-out", path)
    run("openssl", "pkey", "-in", path, "-pubout", "-out", os.path.join(os.path.dirname(path), "berth-release.pub"))
    return path


def verifying_command():
    """The command of the documentation, in a folder with the files of a release and berth-release.pub above it."""
    command, = re.findall(r"^(openssl pkeyutl -verify .*)$", text_of(ROOT, "docs", "operate", "release.md"), re.MULTILINE)
    return command.replace("berth-release.pub", "../berth-release.pub").split()


def verify(folder):
    """(whether the signature holds, whether the checksums hold)"""
    return tuple(subprocess.run(command, cwd=folder, capture_output=True, timeout=60, check=False).returncode == 0
                 for command in (verifying_command(), ["sha256sum", "--check", "--strict", "SHA256SUMS"]))


def unpack(path, folder):
    with tarfile.open(path) as archive:
        archive.extractall(folder)


class ReleaseTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = scratch_folder("berth-release-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.key = make_key(os.path.join(cls.folder, "key.pem"), "-algorithm", "ed25519")
        cls.made = os.path.join(cls.folder, "made")
        done = release("--program", BERTH, "--output", cls.made, "--key", cls.key)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        unpack(os.path.join(cls.made, NAME + ".tar.gz"), cls.folder)
        cls.unpacked = os.path.join(cls.folder, NAME)
        cls.bill = json.loads(text_of(cls.made, f"{NAME}.spdx.json"))

    def copy(self):
        """The folder of the release, to be changed."""
        copy = os.path.join(self.folder, "changed")
        shutil.copytree(self.made, copy)
        self.addCleanup(shutil.rmtree, copy)
        return copy

    def test_the_same_program_gives_the_same_files(self):
        program = os.path.join(self.folder, "berth")
        shutil.copyfile(BERTH, program)  # another folder, another time of change
        os.chmod(program, 0o755)
        again = self.copy()  # where an earlier release is
        done = release("--program", program, "--output", again, "--key", self.key, LANG="de_DE.UTF-8", TZ="Asia/Tokyo")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(set(os.listdir(again)), FILES)
        same, different, missing = filecmp.cmpfiles(self.made, again, sorted(FILES), shallow=False)
        self.assertEqual((set(same), different, missing), (FILES, [], []))

    def test_what_verifies(self):
        self.assertEqual(set(os.listdir(self.made)), FILES)
        self.assertEqual({line.split("  ")[1] for line in text_of(self.made, "SHA256SUMS").splitlines()},
                         FILES - {"SHA256SUMS", "SHA256SUMS.sig"})
        self.assertEqual(verify(self.made), (True, True))

    def test_a_changed_file(self):
        copy = self.copy()
        with open(os.path.join(copy, "install.yaml"), "a", encoding="utf-8") as file:
            file.write("# changed\n")
        self.assertEqual(verify(copy), (True, False))
        with open(os.path.join(copy, "SHA256SUMS"), "w", encoding="utf-8") as file:
            file.write(signature.sums(copy))
        self.assertEqual(verify(copy), (False, True))

    def test_the_tarball_starts_without_its_libraries_on_the_system(self):
        program = os.path.join(self.unpacked, "bin", "berth")
        for start in (program, os.path.join(self.unpacked, "bin", "kubectl-berth")):
            self.assertIn(f"berth    {VERSION}\n", run(start, "version", env={}, cwd="/"))
        brought = set(os.listdir(os.path.join(self.unpacked, "lib", "berth")))
        found = dict(re.findall(r"(\S+) => (/\S+)", run("ldd", program)))
        outside = {name for name, path in found.items() if not os.path.realpath(path).startswith(self.unpacked)}
        self.assertEqual(outside, {"libc.so.6", "libm.so.6"})
        self.assertEqual(set(found) - outside, brought)

    def test_the_files_of_the_tarball(self):
        files = {os.path.relpath(os.path.join(folder, name), self.unpacked) for folder, _, names in os.walk(self.unpacked) for name in names}
        self.assertLessEqual({"LICENSE", "README", "licences.txt", "bin/berth", "share/bash-completion/completions/berth",
                              "share/zsh/site-functions/_berth", "share/fish/vendor_completions.d/berth.fish"}, files)
        with gzip.open(os.path.join(self.unpacked, "share/man/man1/berth-why.1.gz"), "rt", encoding="utf-8") as file:
            self.assertIn(f"berth {VERSION}", file.readline())
        pages = os.path.join(self.folder, "pages")
        unpack(os.path.join(self.made, f"berth-{VERSION}-man.tar.gz"), pages)
        self.assertEqual(filecmp.dircmp(pages + "/man1", os.path.join(self.unpacked, "share/man/man1")).diff_files, [])
        self.assertEqual({f"man1/{name}" for name in os.listdir(pages + "/man1")},
                         {path.removeprefix("share/man/") for path in files if path.startswith("share/man/")})

    def packages(self, kind):
        return {entry["SPDXID"]: entry for entry in self.bill["packages"] if entry["SPDXID"].startswith(f"SPDXRef-{kind}-")}

    def test_the_bill_names_each_library(self):
        needed = set(re.findall(r"\(NEEDED\).*\[(\S+)\]", run("readelf", "--dynamic", "--wide", BERTH)))
        self.assertIn("libssl.so.3", needed)
        named = {name for entry in self.packages("deb").values() if entry["comment"].startswith("shared")
                 for name in re.findall(r"lib\S+\.so[.\d]*", entry["comment"])}
        self.assertEqual(needed - named, set())
        brought = set(os.listdir(os.path.join(self.unpacked, "lib", "berth")))
        self.assertEqual(brought - named, set())
        for entry in self.packages("deb").values():
            installed = run("dpkg-query", "--show", "--showformat", "${Version}", entry["name"])
            self.assertEqual(entry["versionInfo"], installed, entry["name"])

    def test_the_bill_names_the_source_of_each_header(self):
        """Libraries without a file of their own are known by the headers that the sources include."""
        included = set()
        for path in glob.glob(os.path.join(ROOT, "**", "*.[ch]*"), recursive=True):
            if path.endswith((".h", ".cc")) and not os.path.relpath(path, ROOT).startswith(NOT_SHIPPED):
                included |= set(re.findall(r"^#include <([\w./-]+)>", text_of(path), re.MULTILINE))
        headers = [found for name in included for found in (f"/usr/include/{name}", f"/usr/include/x86_64-linux-gnu/{name}")
                   if os.path.exists(found)]
        self.assertIn("/usr/include/nlohmann/json.hpp", headers)
        owners = set(program_files.packages_of(headers).values())
        sources = set(run("dpkg-query", "--show", "--showformat", "${source:Package}\n", *owners).split())
        named = {entry["sourceInfo"].split()[-2] for entry in self.packages("deb").values()}
        self.assertLessEqual({"boost1.74", "cli11", "openssl"}, sources)
        self.assertEqual(sources - SYSTEM_HEADERS - named, set())

    def test_the_bill_names_the_packages_of_the_page(self):
        lock = json.loads(text_of(ROOT, "dashboard", "package-lock.json"))
        wanted = set(lock["packages"][""]["dependencies"].items())
        self.assertLessEqual(wanted, {(entry["name"], entry["versionInfo"]) for entry in self.packages("npm").values()})
        licences = text_of(self.made, f"berth-{VERSION}-licences.txt")
        for entry in [*self.packages("npm").values(), *self.packages("deb").values()]:
            self.assertRegex(licences, rf"(npm|Debian) package .*{re.escape(entry['name'])}")
            self.assertNotEqual(entry["licenseDeclared"], "NOASSERTION")

    def test_the_bill_holds_together(self):
        self.assertEqual((self.bill["spdxVersion"], self.bill["dataLicense"]), ("SPDX-2.3", "CC0-1.0"))
        known = {entry["SPDXID"] for entry in self.bill["packages"]}
        self.assertEqual(len(known), len(self.bill["packages"]))
        related = {each["relatedSpdxElement"] for each in self.bill["relationships"]}
        self.assertEqual(related, known)
        with open(os.path.join(self.unpacked, "bin", "berth"), "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        program, = (entry for entry in self.bill["packages"] if entry["name"] == "berth")
        self.assertEqual(program["checksums"], [{"algorithm": "SHA256", "checksumValue": digest}])
        package = os.path.join(self.folder, "package")
        run("dpkg-deb", "--extract", os.path.join(self.made, f"berth_{VERSION}_{ARCHITECTURE}.deb"), package)
        self.assertTrue(filecmp.cmp(package + "/usr/bin/berth", os.path.join(self.unpacked, "bin", "berth"), shallow=False))

    def test_another_image_is_one_line(self):
        copy = self.copy()
        before = text_of(copy, "install.yaml").splitlines()
        command, = re.findall(r"^#   (sed .*)$", "\n".join(before[:10]), re.MULTILINE)
        run("sh", "-c", command, cwd=copy)
        changed = [(old, new) for old, new in zip(before, text_of(copy, "install.yaml").splitlines(), strict=True) if old != new]
        self.assertEqual(changed, [(f"        image: berth:{VERSION}", f"        image: REGISTRY/berth:{VERSION}")])

    def test_the_notes(self):
        text = text_of(self.made, "release-notes.md")
        self.assertTrue(text.startswith(f"# Berth {VERSION}\n"))
        self.assertIn("### Queues", text)
        self.assertNotRegex(text, r"\]\(docs/")


class RefusalTest(ScratchTest):
    def assert_refused(self, words, *arguments):
        done = release("--program", BERTH, *arguments)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(words, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_arguments(self):
        rsa = make_key(os.path.join(self.folder, "rsa.pem"), "-algorithm", "rsa")
        output = os.path.join(self.folder, "out")
        self.write("out/photo.jpg", "")
        rows = [
            (f"no program {self.folder}/none: build it with tools/build", "--program", f"{self.folder}/none"),
            ("readelf", "--program", TOOL),
            (f"{BERTH} and {BERTH} are both for {ARCHITECTURE}: name one program for each processor", "--program", BERTH),
            ("has files of something else, such as photo.jpg: name an empty folder", "--output", output),
            ("no such file; make one with: openssl genpkey", "--output", f"{self.folder}/new", "--key", f"{self.folder}/none.pem"),
            ("the key has to be Ed25519, or ECDSA on P-256 or P-384", "--output", f"{self.folder}/new", "--key", rsa),
            ("OpenSSL reads no private key there", "--output", f"{self.folder}/new", "--key", f"{self.folder}/berth-release.pub"),
        ]
        for words, *arguments in rows:
            with self.subTest(words):
                self.assert_refused(words, *arguments)
        self.assertEqual(os.listdir(output), ["photo.jpg"])

    def test_a_program_of_another_version(self):
        other = os.path.join(self.folder, "other")
        with open(BERTH, "rb") as file:
            content = file.read()
        changed = content.replace(f"\0{VERSION}\0".encode(), b"\0" + b"9" * len(VERSION) + b"\0")
        self.assertNotEqual(changed, content)
        with open(other, "wb") as file:
            file.write(changed)
        os.chmod(other, 0o755)
        self.assert_refused(f"{other} is berth {'9' * len(VERSION)}, and the tree has version {VERSION}: build it", "--program", other)

    def test_a_program_without_the_page(self):
        other = os.path.join(self.folder, "other")
        with open(BERTH, "rb") as file:
            content = file.read()
        with open(other, "wb") as file:
            file.write(content.replace(b"/assets/page.js", b"/assets/none.js"))
        os.chmod(other, 0o755)
        self.assert_refused(f"{other} has no page: build it with node and npm", "--program", other)

    def test_licences_that_are_not_known(self):
        self.assertEqual(bill.licence_of("libssl3", "openssl"), "Apache-2.0")
        with self.assertRaisesRegex(program_files.PackingError, "the licence of libssl3 is unknown"):
            bill.licence_of("libssl3", "gnutls28")
        with self.assertRaisesRegex(program_files.PackingError, "does not say LGPL-2.1-or-later"):
            bill.licence_of("libssl3", "glibc")

    def test_kustomizations_that_change_objects(self):
        self.write("kustomization.yaml", "resources:\n- a.yaml\nimages:\n- name: berth\n")
        with self.assertRaisesRegex(program_files.PackingError, "images: tools/release renders plain lists"):
            install_yaml.resources_of(self.folder)

    def test_sections_of_the_changelog(self):
        changes = "# Changelog\n\n## Unreleased\n\n- new\n\n## 0.2.0\n\n- b, [page](docs/b.md), [site](https://b.invalid)\n\n## 0.1.0\n\n"
        self.assertEqual(notes.text(changes, "0.2.0"), "# Berth 0.2.0\n\n- b, page (`docs/b.md`), [site](https://b.invalid)\n")
        for version, words in (("0.3.0", "has 0 sections"), ("0.1.0", "says nothing")):
            with self.assertRaisesRegex(program_files.PackingError, words):
                notes.text(changes, version)


class ProcessorTest(ScratchTest):
    """What is known of a program for another processor, before a compiler for it is there."""

    def program(self, head):
        """A file that begins with the bytes."""
        path = os.path.join(self.folder, "program")
        with open(path, "wb") as file:
            file.write(head)
        return path

    def elf(self, number, size=2, order=1):
        """The head of a program of ELF: 16 bytes, the type, the processor."""
        return self.program(b"\x7fELF" + bytes([size, order]).ljust(12, b"\0") + b"\3\0" + number.to_bytes(2, "little") + b"\1\0\0\0")

    def test_the_head_of_a_program_names_its_processor(self):
        self.assertEqual(ARCHITECTURE, run("dpkg", "--print-architecture").strip())
        for number, architecture, machine in ((62, "amd64", "x86_64"), (183, "arm64", "aarch64")):
            program = self.elf(number)
            self.assertEqual((program_files.architecture(program), program_files.processor_of(program).machine), (architecture, machine))
            self.assertEqual(program_files.is_foreign(program), architecture != ARCHITECTURE)

    def test_heads_that_are_refused(self):
        rows = [
            ("the head of ELF is missing", lambda: self.program(b"")),
            ("the head of ELF is missing", lambda: self.program(b"#!/bin/sh\nexec berth \"$@\"\n")),
            ("the head of ELF is missing", lambda: self.program(b"\x7fELF\2\1")),
            ("the head of ELF is missing", lambda: self.elf(3, size=1)),  # 32 bits
            ("the head of ELF is missing", lambda: self.elf(183, order=2)),  # the highest byte first
            ("is for the processor 243 of ELF: Berth has files for amd64 and arm64", lambda: self.elf(243)),
        ]
        for words, make in rows:
            with self.subTest(words), self.assertRaisesRegex(program_files.PackingError, words):
                program_files.architecture(make())

    def test_a_program_for_another_processor(self):
        """It runs by the emulator, on the folder that tools/build makes."""
        foreign, = {"amd64", "arm64"} - {ARCHITECTURE}
        program = self.elf({"amd64": 62, "arm64": 183}[foreign])
        with unittest.mock.patch.object(program_files, "ROOT", self.folder):
            with self.assertRaisesRegex(program_files.PackingError, f"is missing: tools/build --preset {foreign} makes it"):
                program_files.command(program)
            system = os.path.join(self.folder, "build", f"{foreign}-system")
            os.makedirs(system)
            self.assertEqual(program_files.command(program, "version"),
                             [f"qemu-{program_files.processor_of(program).machine}-static", "-L", system, program, "version"])
            self.assertEqual(program_files.system_of(program), system)
        self.assertEqual(program_files.inside("/a", "/lib/b"), "/a/lib/b")
        self.assertEqual(program_files.command(BERTH, "version"), [BERTH, "version"])


class ForeignSystemTest(ScratchTest):
    """The packages for another processor are unpacked as dpkg-query and dpkg-shlibdeps read them."""

    def package(self, name, files, controls):
        for path, text in files.items():
            self.write(f"{name}/{path}", text)
        fields = f"Package: {name}\nVersion: 1.0-1\nArchitecture: arm64\nMaintainer: Nobody <nobody@berth.invalid>\nDescription: a\n b\n"
        for control, text in {"control": fields, **controls}.items():
            self.write(f"{name}/DEBIAN/{control}", text)

    def shell(self, command):
        return run("bash", "-euc", f"source {ROOT}/tools/lib/foreign_system.sh; {command}", cwd=self.folder)

    def test_packages(self):
        self.package("libone1", {"usr/lib/libone.so.1": "", "usr/share/doc/libone1/copyright": "c"}, {"symbols": "libone.so.1 libone1 #MINVER#\n"})
        self.package("libtwo1", {"lib/libtwo.so.1": ""}, {"shlibs": "libtwo 1 libtwo1\n", "symbols": "libtwo.so.1 libtwo1 #MINVER#\n"})
        os.symlink("/lib/libtwo.so.1", os.path.join(self.folder, "libtwo1/lib/libtwo.so"))
        os.makedirs(os.path.join(self.folder, "system/DEBIAN"))
        os.makedirs(os.path.join(self.folder, "system/var/lib/dpkg/info"))
        for name in ("libone1", "libtwo1"):
            run("dpkg-deb", "--root-owner-group", "--build", name, cwd=self.folder)
            self.shell(f"berth_unpack_foreign {name}.deb system")
        self.shell("berth_make_links_relative system")
        system = os.path.join(self.folder, "system")
        self.assertEqual(os.readlink(system + "/lib/libtwo.so"), "libtwo.so.1")
        self.assertEqual(program_files.packages_of(["/lib/libone.so.1", "/usr/lib/libtwo.so.1"], system),
                         {"/lib/libone.so.1": "libone1", "/usr/lib/libtwo.so.1": "libtwo1"})
        shown = run("dpkg-query", program_files.packages_database(system), "--show", "--showformat", "${Package} ${Version} ${Architecture}\n")
        self.assertEqual(shown, "libone1 1.0-1 arm64\nlibtwo1 1.0-1 arm64\n")
        self.assertEqual(text_of(program_files.copyright_of("libone1", system)), "c")
        with self.assertRaisesRegex(program_files.PackingError, "doc/libtwo1/copyright is missing"):
            program_files.copyright_of("libtwo1", system)
        self.assertEqual(text_of(system, "DEBIAN/symbols"), "libone.so.1 libone1 #MINVER#\nlibtwo.so.1 libtwo1 #MINVER#\n")
        self.assertEqual(text_of(system, "DEBIAN/shlibs"), "libtwo 1 libtwo1\n")


class SignatureTest(ScratchTest):
    def signed(self, *kind):
        """A folder with a file, signed with a new key."""
        key = make_key(os.path.join(self.folder, "key.pem"), *kind)
        signature.check_key(key)
        self.write("made/SHA256SUMS", "0" * 64 + "  file\n")
        signature.sign(self.folder + "/made", key)
        return self.folder + "/made"

    def test_kinds_of_keys(self):
        for kind in (("-algorithm", "ed25519"), *(("-algorithm", "ec", "-pkeyopt", f"ec_paramgen_curve:P-{size}") for size in (256, 384))):
            with self.subTest(kind):
                self.assertTrue(verify(self.signed(*kind))[0])

    def test_a_key_with_a_passphrase(self):
        key = os.path.join(self.folder, "sealed.pem")
        run("openssl", "genpkey", "-algorithm", "ed25519", "-aes256", "-pass", "pass:open", "-out", key)
        with self.assertRaisesRegex(program_files.PackingError, "the passphrase of an encrypted key is in BERTH_RELEASE_PASSPHRASE"):
            signature.check_key(key)
        with unittest.mock.patch.dict(os.environ, {signature.PASSPHRASE: "open"}):
            signature.check_key(key)
            self.write("made/SHA256SUMS", "0" * 64 + "  file\n")
            signature.sign(self.folder + "/made", key)
            run("openssl", "pkey", "-in", key, "-passin", "pass:open", "-pubout", "-out", self.folder + "/berth-release.pub")
        self.assertTrue(verify(self.folder + "/made")[0])

    def test_the_signature_of_another_key(self):
        made = self.signed("-algorithm", "ed25519")
        make_key(os.path.join(self.folder, "other.pem"), "-algorithm", "ed25519")
        self.assertFalse(verify(made)[0])
