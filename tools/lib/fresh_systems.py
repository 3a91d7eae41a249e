"""Whether the tarball and the Debian package of a release start on fresh systems, and how fast. For tools/soak --fresh.

Each system is a folder that mmdebstrap fills from the mirror of this machine's apt. The programs run in the folder as root
(chroot), in namespaces of their own for processes and mounts, so that nothing of them is left.

The tarball for another processor starts by an emulator, which finds the C library of Debian 12 for that processor and nothing else.
The emulator knows no namespaces and no filters of system calls: its jobs run without addresses of their own."""

import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

import program_files

SYSTEMS = {"Debian 12": "bookworm", "Debian 13": "trixie"}
MIRROR = "BERTH_DEBIAN_MIRROR"
TARBALLS = "*-linux-*.tar.gz"
FORMAT = "$(CREATED_BY) $(COMPONENT) $(REPO_URI)"
# Ends when the sample job of `berth up --samples` that fits the quota has ended. The arguments are the words that start the program.
FIRST_JOB = """
mount -t proc proc /proc
"$@" version
export HOME=$(mktemp -d)
export KUBECONFIG=$HOME/kubeconfig
"$@" up --samples --data-dir $HOME/state --kubeconfig $KUBECONFIG --listen 127.0.0.1:0 >$HOME/log 2>&1 &
until "$@" list -o json 2>/dev/null | grep -q '"state": "succeeded"'; do
  kill -0 $! || { cat $HOME/log; exit 1; }
  sleep 0.1
done
kill $!
wait $!
rm -rf $HOME
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


def make_system(suite, folder):
    mirror = os.environ.get(MIRROR) or mirror_of(run("apt-get", "indextargets", "--format", FORMAT, seconds=60))
    run("mmdebstrap", "--variant=minbase", suite, folder, f"deb {mirror} {suite} main", seconds=SECONDS_TO_MAKE)
    shutil.copyfile("/etc/resolv.conf", os.path.join(folder, "etc/resolv.conf"))


def play_first_job(folder, *words):
    """What the program says of its version. `words` start it in the folder as root."""
    said = run("unshare", "--mount", "--pid", "--fork", "--kill-child", "--root=" + folder, "sh", "-ec", FIRST_JOB, "sh", *words,
               seconds=SECONDS_FOR_JOB, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
    return " ".join(said.partition("\n")[0].split())


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


def file_for(architecture, files):
    """The one of the tarballs or of the packages of a release whose name has the architecture."""
    found = [file for file in files if re.search(rf"[-_]{architecture}\.", os.path.basename(file))]
    if len(found) != 1:
        raise FreshError(f"{len(found)} files for {architecture} among {sorted(files)}, 1 expected: make the release again")
    return found[0]


def play_system(name, release):
    """Prints a line for each step."""
    with tempfile.TemporaryDirectory(prefix="berth-fresh-") as scratch:
        folder = os.path.join(scratch, "system")
        _, seconds = timed(make_system, SYSTEMS[name], folder)
        with open(os.path.join(folder, "etc/debian_version"), encoding="ascii") as file:
            print(f"soak: {name}: version {file.read().strip()}, made in {seconds:.0f} s", flush=True)
        for kind, pattern, put in (("tarball", TARBALLS, unpack), ("package", "*.deb", install)):
            file = file_for(program_files.architecture(sys.executable), glob.glob(os.path.join(release, pattern)))
            program, seconds = timed(put, file, folder)
            version, until_end = timed(play_first_job, folder, program)
            print(f"soak: {name}: {kind} ready in {seconds:.1f} s; {version}: the first job has ended {until_end:.1f} s after the start",
                  flush=True)


def copy_package(system, package, folder):
    """Copies the files of an unpacked Debian package."""
    listed = run("dpkg-query", program_files.packages_database(system), "--listfiles", package, seconds=60)
    for path in listed.splitlines():
        source, copy = program_files.inside(system, path), program_files.inside(folder, path)
        if os.path.isdir(source) and not os.path.islink(source):
            os.makedirs(copy, exist_ok=True)
        else:
            shutil.copy(source, copy, follow_symlinks=False)


def play_emulated(tarball):
    """Prints a line, where the tarball is for another processor."""
    with tempfile.TemporaryDirectory(prefix="berth-fresh-") as scratch:
        program = scratch + unpack(tarball, scratch)
        if not program_files.is_foreign(program):
            return
        folder = os.path.join(scratch, "system")
        copy_package(program_files.system_of(program), "libc6", folder)
        words = program_files.command(program, system=folder)
        version, until_end = timed(play_first_job, "/", *words)
        print(f"soak: {os.path.basename(tarball)} by {words[0]}; {version}: the first job has ended {until_end:.1f} s after the start", flush=True)


def play(root, release):
    """Plays the systems with the files of a release, which is made where it is missing. True: all have passed."""
    if os.geteuid() != 0:
        print("soak: --fresh needs root, for mmdebstrap and chroot")
        return False
    subprocess.run(["bash", "-c", 'source tools/lib/packages.sh && berth_need_packages "${berth_fresh_packages[@]}"'], cwd=root, check=True)
    if not os.path.exists(os.path.join(release, "SHA256SUMS")):
        subprocess.run([os.path.join(root, "tools/release"), "--output", release], check=True, stdout=subprocess.DEVNULL)
    steps = [(name, play_system, (name, release)) for name in SYSTEMS]
    steps += [(os.path.basename(tarball), play_emulated, (tarball,)) for tarball in sorted(glob.glob(os.path.join(release, TARBALLS)))]
    passed = True
    for name, step, arguments in steps:
        try:
            step(*arguments)
        except (FreshError, program_files.PackingError) as error:
            print(f"soak: {name}: FAILED: {error}", flush=True)
            passed = False
    return passed
