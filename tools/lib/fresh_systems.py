"""Whether the tarball and the Debian package of a release start on fresh systems, and how fast. For tools/soak --fresh.

Each system is a folder that mmdebstrap fills from the mirror of this machine's apt. The programs run in the folder as root
(chroot), in namespaces of their own for processes and mounts, so that nothing of them is left."""

import glob
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import time

SYSTEMS = {"Debian 12": "bookworm", "Debian 13": "trixie"}
MIRROR = "BERTH_DEBIAN_MIRROR"
FORMAT = "$(CREATED_BY) $(COMPONENT) $(REPO_URI)"
# Ends when the sample job of `berth up --samples` that fits the quota has ended. $1 is the program.
FIRST_JOB = """
mount -t proc proc /proc
"$1" version
export KUBECONFIG=/tmp/kubeconfig
"$1" up --samples --data-dir /tmp/state --kubeconfig $KUBECONFIG --listen 127.0.0.1:0 >/tmp/log 2>&1 &
until "$1" list -o json 2>/dev/null | grep -q '"state": "succeeded"'; do
  kill -0 $! || { cat /tmp/log; exit 1; }
  sleep 0.1
done
kill $!
wait $!
rm -rf /tmp/state $KUBECONFIG
"""
SECONDS_TO_MAKE, SECONDS_TO_INSTALL, SECONDS_FOR_JOB = 900, 300, 120


class FreshError(Exception):
    pass


def run(*arguments, seconds, **options):
    try:
        done = subprocess.run(arguments, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                              timeout=seconds, check=False, **options)
    except subprocess.TimeoutExpired as error:
        raise FreshError(f"{arguments[0]} had no end within {seconds} s: {(error.stdout or b'').decode(errors='replace')[-2000:]}") from error
    if done.returncode != 0:
        raise FreshError(f"{' '.join(map(str, arguments[:6]))}: exit {done.returncode}\n{done.stdout[-2000:]}")
    return done.stdout


def mirror_of(targets):
    """The address of Debian's own packages in what `apt-get indextargets` prints in FORMAT."""
    found = [words[2] for words in map(str.split, targets.splitlines())
             if words[:2] == ["Packages", "main"] and words[2].rstrip("/").endswith("/debian")]
    if not found:
        raise FreshError(f"apt has no mirror of Debian whose address ends with /debian: name one in {MIRROR}")
    return found[0]


def make_system(suite, folder, mirror):
    run("mmdebstrap", "--variant=minbase", suite, folder, f"deb {mirror} {suite} main", seconds=SECONDS_TO_MAKE)
    shutil.copyfile("/etc/resolv.conf", os.path.join(folder, "etc/resolv.conf"))


def play_first_job(folder, program):
    """What the program says of its version."""
    return run("unshare", "--mount", "--pid", "--fork", "--kill-child", "--root=" + folder, "sh", "-ec", FIRST_JOB, "sh", program,
               seconds=SECONDS_FOR_JOB, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp"})


def unpack(tarball, folder):
    """The path of the program in the system."""
    with tarfile.open(tarball) as archive:
        archive.extractall(os.path.join(folder, "opt"))
    return f"/opt/{pathlib.Path(tarball).name.removesuffix('.tar.gz')}/bin/berth"


def install(package, folder):
    shutil.copy(package, os.path.join(folder, "tmp"))
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    run("chroot", folder, "apt-get", "update", "-qq", seconds=SECONDS_TO_INSTALL, env=environment)
    run("chroot", folder, "apt-get", "install", "--yes", "-qq", "--no-install-recommends", "/tmp/" + os.path.basename(package),
        seconds=SECONDS_TO_INSTALL, env=environment)
    return "/usr/bin/berth"


def timed(function, *arguments):
    started = time.monotonic()
    return function(*arguments), time.monotonic() - started


def play_system(name, release, mirror):
    """Prints a line for each step."""
    with tempfile.TemporaryDirectory(prefix="berth-fresh-") as scratch:
        folder = os.path.join(scratch, "system")
        _, seconds = timed(make_system, SYSTEMS[name], folder, mirror)
        with open(os.path.join(folder, "etc/debian_version"), encoding="ascii") as file:
            print(f"soak: {name}: version {file.read().strip()}, made in {seconds:.0f} s", flush=True)
        for kind, pattern, put in (("tarball", "*-linux-*.tar.gz", unpack), ("package", "*.deb", install)):
            file, = glob.glob(os.path.join(release, pattern))
            program, seconds = timed(put, file, folder)
            said, until_end = timed(play_first_job, folder, program)
            version = " ".join(said.partition("\n")[0].split())
            print(f"soak: {name}: {kind} ready in {seconds:.1f} s; {version}: the first job has ended {until_end:.1f} s after the start",
                  flush=True)


def play(root, release):
    """Plays the systems with the files of a release, which is made where it is missing. True: all have passed."""
    if os.geteuid() != 0:
        print("soak: --fresh needs root, for mmdebstrap and chroot")
        return False
    subprocess.run(["bash", "-c", 'source tools/lib/packages.sh && berth_need_packages "${berth_fresh_packages[@]}"'], cwd=root, check=True)
    if not os.path.exists(os.path.join(release, "SHA256SUMS")):
        subprocess.run([os.path.join(root, "tools/release"), "--output", release], check=True, stdout=subprocess.DEVNULL)
    passed = True
    for name in SYSTEMS:
        try:
            targets = "" if MIRROR in os.environ else run("apt-get", "indextargets", "--format", FORMAT, seconds=60)
            play_system(name, release, os.environ.get(MIRROR) or mirror_of(targets))
        except FreshError as error:
            print(f"soak: {name}: FAILED: {error}", flush=True)
            passed = False
    return passed
