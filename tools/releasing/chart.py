"""The archive of the Helm chart, with the image of the release."""

import os
import re

import archives
import program_files

NAME = "berth"


def ignored(folder):
    """(names of folders, names of files) that .helmignore leaves out, and .helmignore itself."""
    folders, files = set(), {".helmignore"}
    with open(os.path.join(folder, ".helmignore"), encoding="utf-8") as file:
        for line in filter(None, (line.partition("#")[0].strip() for line in file)):
            if not re.fullmatch(r"[\w.-]+/?", line):
                raise program_files.PackingError(f"{folder}/.helmignore: {line}: tools/release reads plain names alone")
            (folders if line.endswith("/") else files).add(line.rstrip("/"))
    return folders, files


def files_of(folder):
    """Path in the chart -> content; symbolic links are followed."""
    no_folders, no_files = ignored(folder)
    found = {}
    for path, folders, names in os.walk(folder, followlinks=True):
        folders[:] = sorted(set(folders) - no_folders)
        for name in sorted(set(names) - no_files):
            file = os.path.join(path, name)
            found[os.path.relpath(file, folder)] = archives.read(file)
    return found


def with_image(values, version):
    """The text of values.yaml with the tag of the release."""
    changed, count = re.subn(r"^(      repository: berth\n      tag: )latest$", rf'\g<1>"{version}"', values, flags=re.MULTILINE)
    if count != 1:
        raise program_files.PackingError(f"charts/berth/values.yaml: {count} images berth:latest, 1 expected")
    return changed


def archive(root, version, seconds):
    files = files_of(os.path.join(root, "charts", NAME))
    description = files["Chart.yaml"].decode()
    for field in ("version", "appVersion"):
        if not re.search(rf"^{field}: {re.escape(version)}$", description, re.MULTILINE):
            raise program_files.PackingError(f"charts/berth/Chart.yaml: {field} is not {version}, the version of CMakeLists.txt")
    files["values.yaml"] = with_image(files["values.yaml"].decode(), version).encode()
    entries = {f"{NAME}/{path}": (archives.FILE, content) for path, content in files.items()}
    return archives.packed(archives.tar(entries, seconds), 9)
