"""What a program needs at run time: a stripped copy, its shared libraries, their Debian packages. For tools/image,
tools/package and tools/release."""

import functools
import os
import re
import subprocess
import sys

FILES_FROM = 1767225600  # 2026-01-01, in archives whose readers refuse files from 1970
# A header of each library that the program contains: it has no file of its own beside the program.
CONTAINED = {"Boost": "boost/version.hpp", "CLI11": "CLI/CLI.hpp", "nlohmann-json": "nlohmann/json.hpp", "libarchive": "archive.h"}


class PackingError(Exception):
    pass


def run(*arguments, **options):
    try:
        done = subprocess.run(arguments, text=True, capture_output=True, timeout=300, check=False, **options)
    except FileNotFoundError as error:
        raise PackingError(f"{arguments[0]} is not installed: the packages are in tools/lib/packages.sh") from error
    except subprocess.TimeoutExpired as error:
        raise PackingError(f"{' '.join(map(str, arguments))}: no end within 300 s") from error
    if done.returncode != 0:
        raise PackingError(f"{' '.join(map(str, arguments))}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def stripped(program, folder):
    """A copy of `program` in `folder` without symbols."""
    if not os.path.isfile(program):
        raise PackingError(f"no program {program}: build it with tools/build")
    copy = os.path.join(folder, os.path.basename(program))
    run("strip", "--strip-all", "--remove-section=.comment", "-o", copy, program)
    return copy


def libraries(program):
    """Path in the image -> real file, of all shared libraries and the dynamic linker."""
    found = {}
    for line in run("ldd", program).splitlines():
        missing = re.match(r"\s*(\S+) => not found", line)
        if missing:
            raise PackingError(f"{program} needs {missing.group(1)}, which is not installed")
        path = re.search(r"(/\S+) \(0x", line)
        if path:
            found[path.group(1)] = os.path.realpath(path.group(1))
    if not found:
        raise PackingError(f"{program} has no shared libraries: ldd cannot read it")
    return found


def names_of(path):
    """The names under which a package may have registered the file: with or without /usr, as the package was built."""
    return (path, path.removeprefix("/usr"), "/usr" + path)


def packages_of(paths):
    """Path -> the Debian package that owns the file."""
    # The exit status tells only that not every name is registered.
    done = subprocess.run(["dpkg-query", "--search", *(name for path in paths for name in names_of(path))], text=True,
                          capture_output=True, timeout=60, check=False)
    lines = [line.rpartition(": ") for line in done.stdout.splitlines() if not line.startswith("diversion by ")]
    owners = {name: owner.split(":")[0] for owner, _, name in lines}
    found = {path: owners[name] for path in paths for name in names_of(path) if name in owners}
    for path in paths:
        if path not in found:
            raise PackingError(f"no Debian package owns {path}, whose licence a package of Berth has to have")
    return found


@functools.cache
def contained_packages():
    """The Debian packages of the libraries in CONTAINED."""
    return sorted(packages_of(["/usr/include/" + header for header in CONTAINED.values()]).values())


@functools.cache
def library_packages(program):
    """Path -> Debian package, of the program's shared libraries."""
    return packages_of(list(libraries(program)))


def copyright_of(package):
    """The path of the copyright file of a Debian package; it exists."""
    path = f"/usr/share/doc/{package}/copyright"
    if not os.path.exists(path):
        raise PackingError(f"{path} is missing: the container or dpkg leaves documents out. Install the package with them")
    return path


def licences(program):
    """Path -> real file, of the copyright files of the Debian packages of the program's libraries."""
    packages = {*library_packages(program).values(), *contained_packages()}
    return {copyright_of(package): os.path.realpath(copyright_of(package)) for package in packages}


def version(root):
    with open(os.path.join(root, "CMakeLists.txt"), encoding="utf-8") as file:
        return re.search(r"project\(berth VERSION (\S+)", file.read()).group(1)


def epoch(otherwise=0):
    """The time in all archives: SOURCE_DATE_EPOCH, else `otherwise` (seconds since 1970)."""
    return int(os.environ.get("SOURCE_DATE_EPOCH", otherwise))


def architecture():
    """Debian's and OCI's word for this machine."""
    words = {"x86_64": "amd64", "aarch64": "arm64"}
    machine = os.uname().machine
    if machine not in words:
        raise PackingError(f"no word for the architecture {machine}")
    return words[machine]


def run_main(name, main):
    try:
        sys.exit(main())
    except (PackingError, OSError) as error:
        sys.exit(f"{name}: {error}")
