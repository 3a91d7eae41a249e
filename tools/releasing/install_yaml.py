"""One file with all objects of manifests/, for `kubectl apply -f`.

The kustomizations of manifests/ list files and folders, and change nothing: the text of the files is taken over, with
its comments. e2e.release_manifests compares the objects with those of kubectl."""

import os
import re

import program_files

HEAD = """# Berth {version}: all objects of an installation with one replica. Apply the file with
#
#   kubectl apply --server-side -f install.yaml
#
# The image is berth:{version}. Another image is named with
#
#   sed -i 's#image: berth:{version}$#image: REGISTRY/berth:{version}#' install.yaml
"""
# A namespace is named in each object too.
KEYS = {"apiVersion", "kind", "resources", "namespace"}


def resources_of(folder):
    """The entries of a kustomization that only lists resources."""
    path = os.path.join(folder, "kustomization.yaml")
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip() for line in file if line.strip() and not line.startswith("#")]
    keys = {line.partition(":")[0] for line in lines if not line.startswith("- ")}
    if not keys <= KEYS:
        raise program_files.PackingError(f"{path}: {', '.join(sorted(keys - KEYS))}: tools/release renders plain lists of resources alone")
    return [line.removeprefix("- ") for line in lines if line.startswith("- ")]


def texts_of(folder):
    """The texts of the files, in the order of the kustomizations."""
    for entry in resources_of(folder):
        path = os.path.normpath(os.path.join(folder, entry))
        if os.path.isdir(path):
            yield from texts_of(path)
        else:
            with open(path, encoding="utf-8") as file:
                yield file.read().strip("\n").removeprefix("---\n")


def text(root, version):
    documents = "\n---\n".join(texts_of(os.path.join(root, "manifests")))
    changed, count = re.subn(r"^( *(?:- )?image: berth:)latest$", rf"\g<1>{version}", documents, flags=re.MULTILINE)
    if count != 1:
        raise program_files.PackingError(f"manifests/: {count} images berth:latest, 1 expected")
    return f"{HEAD.format(version=version)}---\n{changed}\n"
