"""Archives that depend on their content alone: no time of a file, no user and no order of a folder. For tools/image,
tools/package and tools/release."""

import gzip
import io
import os
import tarfile
import time
import zipfile

FILE, PROGRAM = 0o644, 0o755


def read(path):
    with open(path, "rb") as file:
        return file.read()


def folders_of(names):
    """The folders above the names."""
    found = set()
    for name in names:
        while name := os.path.dirname(name).rstrip("/"):
            found.add(name)
    return found


def tar(files, seconds, folder_modes=None):
    """The bytes of a tar archive with all folders above its files. `files`: name -> (mode, bytes), or name -> the path that a
    symbolic link has. `folder_modes`: folder -> mode, of the folders that are empty or have another mode than 0755."""
    modes = {**dict.fromkeys(folders_of(files), 0o755), **(folder_modes or {})}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted({*modes, *files}):
            entry = tarfile.TarInfo(name.lstrip("/"))
            entry.mtime = seconds
            content = b""
            if name in modes:
                entry.type, entry.mode = tarfile.DIRTYPE, modes[name]
            elif isinstance(files[name], str):
                entry.type, entry.mode, entry.linkname = tarfile.SYMTYPE, 0o777, files[name]
            else:
                entry.mode, content = files[name]
                entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def packed(content, level=6):
    """Gzip without a name and a time."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, compresslevel=level, mtime=0) as file:
        file.write(content)
    return buffer.getvalue()


def zipped(files, seconds):
    """The bytes of a zip archive. `files`: name -> bytes, in the order of the archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, time.gmtime(seconds)[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix
            entry.external_attr = (0o100000 | FILE) << 16
            archive.writestr(entry, content)
    return buffer.getvalue()
