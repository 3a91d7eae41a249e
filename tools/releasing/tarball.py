"""The archive of the program for systems without a package: the program, its libraries but for the C library, man pages, completion,
licences. The archive may be unpacked in any folder, and over /usr/local."""

import archives
import manual
import own_libraries
import program_files

README = """Berth {version} for Linux on {architecture}

bin/berth starts in any folder, on systems whose C library is that of Debian 12 or newer (glibc 2.36); the libraries are in
lib/berth. This command puts the files below /usr/local:

  tar -xzf {name}.tar.gz -C /usr/local --strip-components=1 --exclude=README --exclude=LICENSE --exclude=licences.txt

Man pages are in share/man; completion is in share/bash-completion, share/zsh and share/fish.
kubectl finds the program as kubectl-berth. `bin/berth --help` lists the commands.
"""
COMPLETIONS = {"bash": "share/bash-completion/completions/berth", "zsh": "share/zsh/site-functions/_berth",
               "fish": "share/fish/vendor_completions.d/berth.fish"}


def name_of(program, version):
    """Of the tarball, and of the other files that are for one processor."""
    return f"berth-{version}-linux-{program_files.architecture(program)}"


def man_files(pages):
    """Name -> entry of an archive."""
    return {f"man1/{name}.1.gz": (archives.FILE, archives.packed(text.encode(), 9)) for name, text in pages.items()}


def archive(program, relocated, version, texts, seconds):
    """The bytes. `program` answers --help; `relocated` is packed; `texts`: name -> text, beside the folders."""
    files = {"bin/berth": (archives.PROGRAM, archives.read(relocated))}
    files.update(dict.fromkeys((f"bin/{plugin}" for plugin in manual.PLUGINS), "berth"))
    libraries = own_libraries.brought_along(program, own_libraries.KEPT_EVERYWHERE)
    own_libraries.refuse_newer(libraries.values())
    files.update({f"{own_libraries.FOLDER}/{name}": (archives.FILE, archives.read(file)) for name, file in libraries.items()})
    files.update({f"share/man/{name}": entry for name, entry in man_files(manual.man_pages(program, version)).items()})
    files.update({COMPLETIONS[shell]: (archives.FILE, text.encode()) for shell, text in manual.completions(program).items()})
    name = name_of(program, version)
    readme = README.format(version=version, architecture=program_files.processor_of(program).machine, name=name)
    files.update({path: (archives.FILE, text.encode()) for path, text in {"README": readme, **texts}.items()})
    return archives.packed(archives.tar({f"{name}/{path}": entry for path, entry in files.items()}, seconds))
