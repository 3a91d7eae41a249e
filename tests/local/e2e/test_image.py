"""Goal: the archive of tools/image is a valid, small and reproducible OCI image, whose program controls a cluster
as user 65534 on a read-only root without anything else.

Method: digests and sizes are computed again; the layer is unpacked, bound read-only in a user namespace of
its own, and the program is started in it with unshare(1), without root."""

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile

from berth_up import BERTH, ROOT, BerthUpTest
from scratch import die_with_parent, scratch_folder
from waiting import wait_until

TOOL = os.path.join(ROOT, "tools", "image")
MOST_BYTES = 40_000_000
IN_READ_ONLY_ROOT = ('mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && root=$1 && shift && '
                     'exec unshare --user --map-user=65534 --map-group=65534 --root="$root" "$@"')


def make_image(path, program=BERTH, **environment):
    return subprocess.run([TOOL, "--program", program, "--output", path], text=True, capture_output=True,
                          timeout=120, env={**os.environ, **environment}, check=False)


class ImageTest(BerthUpTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = scratch_folder("berth-image-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.path = os.path.join(cls.folder, "image.tar")
        done = make_image(cls.path)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        with tarfile.open(cls.path) as archive:
            cls.files = {entry.name: archive.extractfile(entry).read()
                         for entry in archive if entry.isfile()}
        cls.manifest, cls.config, cls.layer = cls.read_layout()
        cls.root = os.path.join(cls.folder, "root")
        with tarfile.open(cls.layer) as archive:
            archive.extractall(cls.root)

    @classmethod
    def read_layout(cls):
        """The manifest, the configuration, and the path of the unpacked layer."""
        def blob(descriptor):
            content = cls.files["blobs/" + descriptor["digest"].replace(":", "/")]
            assert len(content) == descriptor["size"], descriptor
            assert "sha256:" + hashlib.sha256(content).hexdigest() == descriptor["digest"]
            return content
        index = json.loads(cls.files["index.json"])
        manifest = json.loads(blob(index["manifests"][0]))
        config = json.loads(blob(manifest["config"]))
        layer = gzip.decompress(blob(manifest["layers"][0]))
        path = os.path.join(cls.folder, "layer.tar")
        with open(path, "wb") as file:
            file.write(layer)
        assert config["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(layer).hexdigest()]
        return manifest, config, path

    def start_in_root(self, output, *arguments):
        """Starts a program of the image."""
        return subprocess.Popen(
            ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", IN_READ_ONLY_ROOT, "sh",
             self.root, *arguments], stdin=subprocess.DEVNULL, stdout=output, stderr=output, text=True,
            env={"PATH": os.environ["PATH"]}, preexec_fn=die_with_parent)

    def test_the_archive_is_an_image(self):
        self.assertEqual(json.loads(self.files["oci-layout"]), {"imageLayoutVersion": "1.0.0"})
        self.assertEqual(sorted(name for name in self.files if name.startswith("blobs/")),
                         sorted("blobs/" + item["digest"].replace(":", "/") for item in (
                             json.loads(self.files["index.json"])["manifests"][0],
                             self.manifest["config"], *self.manifest["layers"])))
        self.assertEqual(self.config["config"]["User"], "65534:65534")
        self.assertEqual(self.config["config"]["Entrypoint"], ["/usr/local/bin/berth"])
        self.assertLess(os.path.getsize(self.path), MOST_BYTES)

    def test_skopeo_copies_the_archive(self):
        """skopeo and podman read archives with one library: it checks each digest and unpacks each layer."""
        self.assertIsNotNone(shutil.which("skopeo"), "skopeo is not installed; tools/test installs it")
        copy = os.path.join(self.folder, "docker.tar")
        done = subprocess.run(
            ["skopeo", "--insecure-policy", "copy", "oci-archive:" + self.path, f"docker-archive:{copy}:berth:copy"],
            text=True, capture_output=True, timeout=120, check=False,
            env={"PATH": os.environ["PATH"], "HOME": self.folder, "TMPDIR": self.folder})
        self.assertEqual(done.returncode, 0, done.stderr)
        with tarfile.open(copy) as archive:
            image, = json.load(archive.extractfile("manifest.json"))
            config = json.load(archive.extractfile(image["Config"]))
        self.assertEqual(image["RepoTags"], ["docker.io/library/berth:copy"])
        for key in ("Entrypoint", "User"):
            self.assertEqual(config["config"][key], self.config["config"][key])
        self.assertEqual(config["rootfs"], self.config["rootfs"])

    def test_the_layer_is_everybodys_to_read_and_nobodys_to_write(self):
        with tarfile.open(self.layer) as archive:
            for entry in archive:
                self.assertEqual((entry.uid, entry.gid, entry.mtime), (0, 0, 0), entry.name)
                self.assertTrue(entry.isdir() or entry.isfile(), entry.name)
                self.assertFalse(entry.name.startswith("/") or ".." in entry.name, entry.name)
                expected = 0o1777 if entry.name == "tmp" else (
                    0o755 if entry.isdir() else entry.mode & 0o755)
                self.assertEqual(entry.mode, expected, entry.name)
            names = archive.getnames()
        self.assertIn("usr/share/doc/libssl3/copyright", names)
        with open(BERTH, "rb") as file:
            has_page = b"/assets/page.js" in file.read()
        self.assertEqual("usr/share/doc/berth/npm-package-preact.txt" in names, has_page)
        self.assertFalse([name for name in names if name.endswith("/sh")])

    def test_it_is_made_again_byte_for_byte(self):
        copy = os.path.join(self.folder, "berth")
        shutil.copyfile(BERTH, copy)  # another folder, another time of change
        again = os.path.join(self.folder, "again.tar")
        done = make_image(again, copy, LANG="de_DE.UTF-8", TZ="Asia/Tokyo")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(again, "rb") as first, open(self.path, "rb") as second:
            self.assertEqual(first.read(), second.read())

    def test_what_is_missing_is_said(self):
        done = make_image(os.path.join(self.folder, "none.tar"), "/nonexistent/berth")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("no program /nonexistent/berth: build it with tools/build", done.stderr)

    def test_the_program_starts(self):
        process = self.start_in_root(subprocess.PIPE, "/usr/local/bin/berth", "version")
        self.assertIn("berth ", process.communicate(timeout=60)[0])

    def test_it_controls_a_cluster(self):
        cluster = self.start_cluster(flags=["--no-controllers"])
        shutil.copyfile(cluster.kubeconfig, os.path.join(self.root, "kubeconfig"))
        os.chmod(os.path.join(self.root, "kubeconfig"), 0o644)
        log_path = os.path.join(self.folder, "log")
        with open(log_path, "w", encoding="utf-8") as log:
            process = self.start_in_root(
                log, "/usr/local/bin/berth", "controller", "--kubeconfig", "/kubeconfig",
                "--metrics-listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0",
                "--webhook-listen", "127.0.0.1:0")
        self.addCleanup(process.wait, timeout=60)
        self.addCleanup(process.kill)

        def log():
            with open(log_path, encoding="utf-8") as file:
                return file.read()

        def queue_is_active():
            self.assertIsNone(process.poll(), log())
            done = cluster.kubectl("apply", "-f", "-", check=False, stdin="""
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: empty}
spec: {namespaceSelector: {}}
""")
            return done.returncode == 0 and cluster.is_true("clusterqueue", "empty", "Active")
        wait_until(queue_is_active, "the controller in the image answers webhooks and writes status")
        self.assertFalse(re.search("Read-only|Permission denied", log()), log())
