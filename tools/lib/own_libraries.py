"""The shared libraries that a package of Berth brings along, and the systems on which the packed program starts. For
tools/package and tools/release.

The packed program looks for libraries in ../lib/berth beside its own folder, and then in the system's folders."""

import os
import re

import program_files

FOLDER = "lib/berth"
SEARCHED = "$ORIGIN/../" + FOLDER
# Packages that Debian 12 and Debian 13 have under these names: a Debian package depends on them, so that their
# security updates reach the program.
KEPT_BY_DEBIAN = {"libc6", "libgcc-s1", "libstdc++6", "libssl3", "libsqlite3-0", "libyaml-0-2", "libzstd1", "zlib1g"}
# The C library belongs to its kernel and its loader: no package brings it along.
KEPT_EVERYWHERE = {"libc6"}

# The newest versions of symbols that the libraries of Debian 12 have.
OLDEST_SYSTEM = "Debian 12"
NEWEST_VERSIONS = {"GLIBC": (2, 36), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)}
NAMED_VERSIONS = {"GLIBC_ABI_DT_RELR", "CXXABI_TM_1"}


def needed_versions(file):
    """The names of the versions of symbols that a program or a library needs of others."""
    text = program_files.run("readelf", "--version-info", "--wide", file)
    needs = text.partition("Version needs section")[2]
    return set(re.findall(r"Name: (\S+)", needs))


def too_new(versions):
    """Those of the versions that OLDEST_SYSTEM lacks."""
    found = []
    for name in sorted(versions):
        family, _, number = name.partition("_")
        if family not in NEWEST_VERSIONS or name in NAMED_VERSIONS or name == "GLIBC_PRIVATE":
            continue
        if not re.fullmatch(r"\d+(\.\d+)*", number) or tuple(map(int, number.split("."))) > NEWEST_VERSIONS[family]:
            found.append(name)
    return found


def refuse_newer(files):
    """Raises an error where one of the files does not start on OLDEST_SYSTEM."""
    for file in files:
        newer = too_new(needed_versions(file))
        if newer:
            raise program_files.PackingError(
                f"{file} needs {', '.join(newer)}, which {OLDEST_SYSTEM} does not have: build the program on {OLDEST_SYSTEM}")


def brought_along(program, kept):
    """Name -> file, of the shared libraries of the program whose Debian package is not in `kept`."""
    packages = program_files.library_packages(program)
    return {os.path.basename(path): file for path, file in program_files.libraries(program).items() if packages[path] not in kept}


def relocated(program, folder):
    """A copy of the program in `folder` without symbols, which finds its libraries as this module's text says."""
    copy = program_files.stripped(program, folder)
    refuse_newer([copy])
    # An older form of the entry, DT_RPATH, holds for the libraries of libraries too, and goes before LD_LIBRARY_PATH.
    program_files.run("patchelf", "--force-rpath", "--set-rpath", SEARCHED, copy)
    return copy
