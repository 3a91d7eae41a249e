"""Goal: a pod whose image is an OCI folder runs in the root of that image, with its environment, user, volumes, probes and
exec, and reaches nothing of the machine's files; damaged and hostile folders are refused at the start.

Method: image layouts of the machine's own shell and its libraries, and bundles; a real `berth up` with real processes."""

import json
import os
import shutil
import subprocess
import tarfile

from berth_up import BERTH, BerthUpTest
from oci_layout import layer, programs, write_layout
from scratch import die_with_parent, scratch_folder
from waiting import wait_until

ROOM = {"cpu": "4", "memory": "4Gi", "pods": "50"}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "laptop"},
        "status": {"allocatable": ROOM, "capacity": ROOM}}
USERS = b"root:x:0:0:root:/root:/bin/sh\nworker:x:1234:1235:worker:/home/worker:/bin/sh\n"
CONFIG = {"Entrypoint": ["sh", "-c"], "Cmd": ["echo of the image; pwd; echo $COLOUR $HOME; cat /below/kept; ls /below"],
          "Env": ["PATH=/usr/bin:/bin", "COLOUR=green"], "WorkingDir": "/srv/work"}


def base():
    return [("etc/", None), ("etc/passwd", USERS), ("tmp/", None, {"mode": 0o1777}), *programs("sh", "cat", "ls", "id", "sleep", "mkdir")]


def pod(name, image="app:1", **container):
    spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "volumes": container.pop("volumes", []),
            "containers": [{"name": "c", "image": image, **container}]}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})


class ImageFolderTest(BerthUpTest):
    def setUp(self):
        super().setUp()
        self.folder = scratch_folder("berth-images-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        app = os.path.join(self.folder, "app")
        write_layout(app, [layer(base() + [("below/", None), ("below/gone", b"x"), ("below/kept", b"lower\n")]),
                           layer([("below/.wh.gone", b""), ("below/kept", b"upper\n"), ("var/", None),
                                  ("var/data", None, {"link": "/outside"})], pack=False)], CONFIG)
        user = os.path.join(self.folder, "user")
        write_layout(user, [layer(base())], {**CONFIG, "User": "worker", "Cmd": ["id -u; id -g; echo $HOME"]})
        self.cluster = self.start_cluster(images=[f"app:1=oci:{app}", f"user:1=oci:{user}"])
        self.cluster.apply(json.dumps(NODE))

    def output(self, name):
        wait_until(lambda: self.cluster.get("pod", name)["status"].get("phase") in ("Succeeded", "Failed"), name)
        return self.cluster.kubectl("logs", name).stdout

    def phase(self, name):
        return self.cluster.get("pod", name)["status"].get("phase")

    def test_program_environment_and_layers(self):
        self.cluster.apply(pod("plain"))
        self.assertEqual(self.output("plain").splitlines(),
                         ["of the image", "/srv/work", "green /root", "upper", "kept"])
        self.cluster.apply(pod("args", args=["echo $0 $COLOUR; exit 3"], env=[{"name": "COLOUR", "value": "red"}]))
        self.assertEqual(self.output("args"), "sh red\n")
        ended = self.cluster.get("pod", "args")["status"]["containerStatuses"][0]["state"]["terminated"]
        self.assertEqual(ended["exitCode"], 3)
        self.cluster.apply(pod("command", command=["cat"], args=["/below/kept"], workingDir="/not/there/yet"))
        self.assertEqual(self.output("command"), "upper\n")
        self.cluster.apply(pod("missing", command=["no-such-program"]))
        wait_until(lambda: "no such program in the PATH of the image" in
                   json.dumps(self.cluster.get("pod", "missing")["status"]), "the reason")

    def test_users(self):
        self.cluster.apply(pod("named", image="user:1"))
        self.assertEqual(self.output("named").splitlines(), ["1234", "1235", "/home/worker"])
        self.cluster.apply(pod("asked", image="user:1", securityContext={"runAsUser": 77, "runAsGroup": 78}))
        self.assertEqual(self.output("asked").splitlines()[:2], ["77", "78"])
        self.cluster.apply(pod("root", securityContext={"runAsNonRoot": True}))
        wait_until(lambda: "image will run as root" in json.dumps(self.cluster.get("pod", "root")["status"]), "a refusal")

    def test_the_machine_is_not_there(self):
        seen = os.path.join(self.folder, "secret")
        with open(seen, "w", encoding="utf-8") as file:
            file.write("secret")
        script = f"cat {seen} || echo none; ls /; echo new > /below/kept; cat /below/kept; echo x > /dev/null; ls /dev/shm"
        self.cluster.apply(pod("inside", args=[script]))
        lines = self.output("inside").splitlines()
        self.assertIn("none", lines)
        self.assertNotIn("root", lines)
        self.assertIn("new", lines)
        # What it wrote is its own: the next one finds the image.
        self.cluster.apply(pod("next", args=["cat /below/kept"]))
        self.assertEqual(self.output("next"), "upper\n")

    def test_volumes_through_links_stay_in_the_image(self):
        self.cluster.apply(json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"key": "text"}}))
        volumes = [{"name": "m", "configMap": {"name": "m"}}, {"name": "e", "emptyDir": {}}]
        mounts = [{"name": "m", "mountPath": "/etc/deep/er"}, {"name": "e", "mountPath": "/scratch"}]
        self.cluster.apply(pod("volumes", volumes=volumes, volumeMounts=mounts,
                               args=["cat /etc/deep/er/key; echo; echo y > /scratch/file; cat /scratch/file; cat /etc/hosts"]))
        lines = self.output("volumes").splitlines()
        self.assertEqual(lines[:2], ["text", "y"])
        self.assertTrue(any("volumes" in line for line in lines[2:]), lines)  # the pod's name in its /etc/hosts
        # /var/data leads to /outside, which neither the image nor a mount may make on the machine.
        self.cluster.apply(pod("link", volumes=volumes, volumeMounts=[{"name": "e", "mountPath": "/var/data/x"}]))
        wait_until(lambda: "leads nowhere" in json.dumps(self.cluster.get("pod", "link")["status"]), "a refusal")
        self.assertFalse(os.path.lexists("/outside"))

    def test_exec_and_probes(self):
        probe = {"exec": {"command": ["cat", "/below/kept"]}, "periodSeconds": 1}
        self.cluster.apply(pod("runs", args=["mkdir /made; sleep 1000"], readinessProbe=probe))
        wait_until(lambda: self.cluster.is_true("pod", "runs", "Ready"), "the probe in the image")
        done = self.cluster.kubectl("exec", "runs", "--", "sh", "-c", "ls -d /made; cat /below/kept; echo $COLOUR")
        self.assertEqual(done.stdout.splitlines(), ["/made", "upper", "green"])

    def test_damaged_and_hostile_folders(self):
        def refusal(name, write):
            folder = os.path.join(self.folder, name)
            write(folder)
            data = os.path.join(self.folder, name + "-data")
            run = subprocess.run([BERTH, "up", "--data-dir", data, "--listen", "127.0.0.1:0",
                                  "--image", f"app:1=oci:{folder}"], check=False, capture_output=True, text=True, timeout=60,
                                 preexec_fn=die_with_parent)
            self.assertNotEqual(run.returncode, 0, run.stderr)
            self.assertFalse([name for name in os.listdir(os.path.join(data, "images")) if name]
                             if os.path.isdir(os.path.join(data, "images")) else [])
            return run.stderr

        def hostile(*entries):
            return lambda folder: write_layout(folder, [layer(base() + list(entries))], CONFIG)

        self.assertIn('has ".."', refusal("dots", hostile(("../escape", b"x"))))
        self.assertFalse(os.path.lexists(os.path.join(self.folder, "dots-data", "images", "escape")))
        self.assertIn("names no file to remove", refusal("wh", hostile(("tmp/.wh...", b""))))
        self.assertIn("is not there", refusal("hard", hostile(
            ("stolen", b"", {"type": tarfile.LNKTYPE, "link": "etc/shadow"}))))

        def damaged(folder):
            hostile()(folder)
            blobs = os.path.join(folder, "blobs", "sha256")
            largest = max(os.listdir(blobs), key=lambda name: os.path.getsize(os.path.join(blobs, name)))
            with open(os.path.join(blobs, largest), "r+b") as file:
                file.seek(1000)
                file.write(b"damage")
        self.assertIn("another digest", refusal("damaged", damaged))
        self.assertIn("neither index.json", refusal("nothing", os.mkdir))

    def test_links_of_layers_stay_below_the_root(self):
        # The second layer writes through links of the first one: absolute, and upwards.
        folder = os.path.join(self.folder, "links")
        outside = os.path.join(self.folder, "outside")
        os.mkdir(outside)
        write_layout(folder, [layer(base() + [(outside[1:] + "/", None), ("abs", None, {"link": outside}), ("up", None, {"link": "../../../../../../.." + outside})]),
                              layer([("abs/one", b"1"), ("up/two", b"2"), ("abs/.wh.x", b"")])], CONFIG)
        with open(os.path.join(outside, "x"), "w", encoding="utf-8") as file:
            file.write("stays")
        cluster = self.start_cluster(images=[f"links:1=oci:{folder}"])
        cluster.apply(json.dumps(NODE))
        cluster.apply(pod("links", image="links:1", args=[f"cat /abs/one {outside}/two"]))
        wait_until(lambda: cluster.get("pod", "links")["status"].get("phase") == "Succeeded", "the pod")
        self.assertEqual(cluster.kubectl("logs", "links").stdout, "12")
        self.assertEqual(os.listdir(outside), ["x"])

    def test_bundle(self):
        folder = os.path.join(self.folder, "bundle")
        root = os.path.join(folder, "rootfs")
        for path, content, *_ in base():
            target = os.path.join(root, path)
            os.makedirs(target if content is None else os.path.dirname(target), exist_ok=True)
            if content is not None:
                with open(target, "wb") as file:
                    file.write(content)
                os.chmod(target, 0o755)
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
            json.dump({"ociVersion": "1.2.0", "process": {"args": ["sh", "-c", "pwd; id -u; echo x > /tmp/y"], "cwd": "/tmp",
                       "env": ["PATH=/usr/bin:/bin"], "user": {"uid": 5, "gid": 6}}}, file)
        cluster = self.start_cluster(images=[f"bundle=oci:{folder}"])
        cluster.apply(json.dumps(NODE))
        cluster.apply(pod("bundle", image="bundle:any"))
        wait_until(lambda: cluster.get("pod", "bundle")["status"].get("phase") in ("Succeeded", "Failed"), "the pod")
        self.assertEqual(cluster.kubectl("logs", "bundle").stdout.splitlines()[:2], ["/tmp", "5"])
        self.assertFalse(os.path.exists(os.path.join(root, "tmp", "y")))
        shutil.rmtree(folder)
