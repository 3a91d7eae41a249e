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
NAME = f"berth-{VERSION}-linux-{program_files.architecture()}"
FILES = {f"{NAME}.tar.gz", f"{NAME}-image.tar", f"berth_{VERSION}_{program_files.architecture()}.deb", f"berth-{VERSION}.tgz",
         "install.yaml", f"berth-{VERSION}-man.tar.gz", f"berth-{VERSION}.spdx.json", f"berth-{VERSION}-licences.txt",
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
        cls.bill = json.loads(text_of(cls.made, f"berth-{VERSION}.spdx.json"))

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
        run("dpkg-deb", "--extract", os.path.join(self.made, f"berth_{VERSION}_{program_files.architecture()}.deb"), package)
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
