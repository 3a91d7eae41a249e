"""What a program needs at run time: a stripped copy, its shared libraries, their Debian packages. For tools/image,
tools/package and tools/release.

A program for another processor than this machine's has its libraries and its Debian packages in the folder that tools/build made
for it (tools/lib/foreign_system.sh), and runs by an emulator."""

import dataclasses
import functools
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILES_FROM = 1767225600  # 2026-01-01, in archives whose readers refuse files from 1970
# A header of each library that the program contains: it has no file of its own beside the program.
CONTAINED = {"Boost": "boost/version.hpp", "CLI11": "CLI/CLI.hpp", "nlohmann-json": "nlohmann/json.hpp", "libarchive": "archive.h"}


class PackingError(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Processor:
    architecture: str  # Debian's and OCI's word
    machine: str       # that of Linux
    number: int        # that of ELF (e_machine)
    loader: str        # the dynamic linker


PROCESSORS = (Processor("amd64", "x86_64", 62, "/lib64/ld-linux-x86-64.so.2"), Processor("arm64", "aarch64", 183, "/lib/ld-linux-aarch64.so.1"))


def processor_of(program):
    """The processor that the head of the program names: ELF with 64 bits, the lowest byte first."""
    with open(program, "rb") as file:
        head = file.read(20)
    if len(head) < 20 or head[:6] != b"\x7fELF\x02\x01":
        raise PackingError(f"{program} is no program for amd64 or arm64: the head of ELF is missing")
    number = int.from_bytes(head[18:20], "little")
    for each in PROCESSORS:
        if each.number == number:
            return each
    raise PackingError(f"{program} is for the processor {number} of ELF: Berth has files for {' and '.join(each.architecture for each in PROCESSORS)}")


def is_foreign(program):
    return processor_of(program).machine != os.uname().machine


def system_of(program):
    """The folder with the libraries and the Debian packages of the program: "/" for this machine's."""
    if not is_foreign(program):
        return "/"
    architecture = processor_of(program).architecture
    folder = os.path.join(ROOT, "build", f"{architecture}-system")
    if not os.path.isdir(folder):
        raise PackingError(f"{program} is for {architecture}, and {folder} is missing: tools/build --preset {architecture} makes it")
    return folder


def inside(system, path):
    """Where the file `path` of the system is on this machine."""
    return os.path.join(system, path.lstrip("/"))


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


def command(program, *arguments, system=None):
    """The words that start the program here. `system`: where an emulator finds libraries; by default that of tools/build."""
    if not is_foreign(program):
        return [program, *arguments]
    return [f"qemu-{processor_of(program).machine}-static", "-L", system or system_of(program), program, *arguments]


def execute(program, *arguments, **options):
    """What the program prints."""
    return run(*command(program, *arguments), **options)


def stripped(program, folder):
    """A copy of `program` in `folder` without symbols."""
    if not os.path.isfile(program):
        raise PackingError(f"no program {program}: build it with tools/build")
    copy = os.path.join(folder, os.path.basename(program))
    prefix = f"{processor_of(program).machine}-linux-gnu-" if is_foreign(program) else ""
    run(prefix + "strip", "--strip-all", "--remove-section=.comment", "-o", copy, program)
    return copy


def libraries(program):
    """Path in the image -> real file, of all shared libraries and the dynamic linker."""
    found = {}
    system = system_of(program)
    loader = inside(system, processor_of(program).loader)
    for line in execute(loader, "--list", program).splitlines():
        missing = re.match(r"\s*(\S+) => not found", line)
        if missing:
            raise PackingError(f"{program} needs {missing.group(1)}, which is not installed")
        # The dynamic linker has its place in the system before the arrow, and the file that runs behind it.
        place = re.match(r"\s*(?:(/\S+) => \S+|(?:\S+ => )?(/\S+)) \(0x", line)
        if place:
            path = place.group(1) or place.group(2)
            found[path] = os.path.realpath(inside(system, path))
    if not found:
        raise PackingError(f"{program} has no shared libraries: {loader} cannot read it")
    return found


def names_of(path):
    """The names under which a package may have registered the file: with or without /usr, as the package was built."""
    return (path, path.removeprefix("/usr"), "/usr" + path)


def packages_database(system):
    """The option with which dpkg-query reads the packages of the system."""
    return f"--admindir={inside(system, 'var/lib/dpkg')}"


def packages_of(paths, system="/"):
    """Path -> the Debian package that owns the file."""
    # The exit status tells only that not every name is registered.
    done = subprocess.run(["dpkg-query", packages_database(system), "--search", *(name for path in paths for name in names_of(path))],
                          text=True, capture_output=True, timeout=60, check=False)
    lines = [line.rpartition(": ") for line in done.stdout.splitlines() if not line.startswith("diversion by ")]
    owners = {name: owner.split(":")[0] for owner, _, name in lines}
    found = {path: owners[name] for path in paths for name in names_of(path) if name in owners}
    for path in paths:
        if path not in found:
            raise PackingError(f"no Debian package owns {path}, whose licence a package of Berth has to have")
    return found


@functools.cache
def contained_packages(system="/"):
    """The Debian packages of the libraries in CONTAINED."""
    return sorted(packages_of(["/usr/include/" + header for header in CONTAINED.values()], system).values())


@functools.cache
def library_packages(program):
    """Path -> Debian package, of the program's shared libraries."""
    return packages_of(list(libraries(program)), system_of(program))


def copyright_of(package, system="/"):
    """The path of the copyright file of a Debian package; it exists."""
    path = inside(system, f"/usr/share/doc/{package}/copyright")
    if not os.path.exists(path):
        raise PackingError(f"{path} is missing: the container or dpkg leaves documents out. Install the package with them")
    return path


def copyrights(program, left_out=()):
    """Package -> copyright file, of the Debian packages of the program's libraries."""
    system = system_of(program)
    packages = {*library_packages(program).values(), *contained_packages(system)} - set(left_out)
    return {package: copyright_of(package, system) for package in sorted(packages)}


def version(root):
    with open(os.path.join(root, "CMakeLists.txt"), encoding="utf-8") as file:
        return re.search(r"project\(berth VERSION (\S+)", file.read()).group(1)


def epoch(otherwise=0):
    """The time in all archives: SOURCE_DATE_EPOCH, else `otherwise` (seconds since 1970)."""
    return int(os.environ.get("SOURCE_DATE_EPOCH", otherwise))


def architecture(program):
    return processor_of(program).architecture


def run_main(name, main):
    try:
        sys.exit(main())
    except (PackingError, OSError) as error:
        sys.exit(f"{name}: {error}")
