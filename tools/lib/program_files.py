"""What a program needs at run time: a stripped copy, its shared libraries, their licences. For tools/image and
tools/package."""

import os
import re
import subprocess
import sys


class PackingError(Exception):
    pass


def run(*arguments, **options):
    done = subprocess.run(arguments, text=True, capture_output=True, timeout=300, check=False, **options)
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


def licences(files):
    """Path -> real file, of the copyright files of the Debian packages that own `files`."""
    found = {}
    for path in files:
        # The owner is registered with or without /usr, as the package was built.
        for name in (path, path.removeprefix("/usr"), "/usr" + path):
            done = subprocess.run(["dpkg-query", "--search", name], text=True, capture_output=True,
                                  timeout=60, check=False)
            if done.returncode == 0:
                package = done.stdout.split(":")[0]
                copyright_file = f"/usr/share/doc/{package}/copyright"
                if os.path.exists(copyright_file):
                    found[copyright_file] = os.path.realpath(copyright_file)
                break
        else:
            raise PackingError(f"no Debian package owns {path}, whose licence has to be in the image")
    return found


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
