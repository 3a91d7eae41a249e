"""The bill of materials of a release, in SPDX 2.3: the program, the libraries that are linked to it, and the packages of the
page that it contains."""

import base64
import json
import os
import re
import time
import urllib.parse

import archives
import page_licences
import program_files
import tarball

# Source package of Debian -> the licence of the parts that the program uses, and what the copyright file says of it.
LICENCES = {
    "boost1.74": ("BSL-1.0", r"^License: BSL-1\.0$"),
    "cli11": ("BSD-3-Clause", r"^License: BSD-3-clause$"),
    "fmtlib": ("MIT", r"^License: Expat\b"),
    "gcc-12": ("GPL-3.0-or-later WITH GCC-exception-3.1", r"version 3\.1 of the GCC\s+Runtime Library Exception"),
    "glibc": ("LGPL-2.1-or-later", r"version 2\.1 of the License, or"),
    "libarchive": ("BSD-2-Clause", r"^License: BSD-2-clause$"),
    "libyaml": ("MIT", r"^License: Expat$"),
    "libzstd": ("BSD-3-Clause OR GPL-2.0-only", r"^License: BSD-3-clause or GPL-2$"),
    "nlohmann-json3": ("MIT", r"^License: Expat$"),
    "openssl": ("Apache-2.0", r"^License: Apache-2\.0$"),
    "prometheus-cpp": ("MIT", r"^License: Expat$"),
    "re2": ("BSD-3-Clause", r"^License: BSD-3-google$"),
    "simdjson": ("Apache-2.0", r"^License: Apache-2\.0$"),
    "spdlog": ("MIT", r"^License: Expat$"),
    "sqlite3": ("blessing", r"^License: public-domain$"),
    "zlib": ("Zlib", r"^License: Zlib$"),
}
NONE = "NOASSERTION"
PROGRAM_ID = "SPDXRef-berth"


def identifier(kind, name):
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def package_entry(kind, name, version, licence, address, **more):
    return {"SPDXID": identifier(kind, name), "name": name, "versionInfo": version, "downloadLocation": NONE, "filesAnalyzed": False,
            "licenseConcluded": NONE, "licenseDeclared": licence, "copyrightText": NONE, "primaryPackagePurpose": "LIBRARY",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": address}], **more}


def licence_of(package, source, system="/"):
    """The licence that LICENCES has, where the package's copyright file agrees."""
    path = program_files.copyright_of(package, system)
    if source not in LICENCES:
        raise program_files.PackingError(f"the licence of {package} is unknown: read {path}, and give the source package {source} "
                                         "a row in tools/releasing/bill.py")
    licence, words = LICENCES[source]
    if not re.search(words, archives.read(path).decode("utf-8", errors="replace"), re.MULTILINE):
        raise program_files.PackingError(f"{path} does not say {licence}: correct the row of {source} in tools/releasing/bill.py")
    return licence


def debian_entry(package, names, system):
    """`names`: of the shared libraries; none where the library is a part of the program."""
    version, source, source_version, architecture = program_files.run(
        "dpkg-query", program_files.packages_database(system), "--show", "--showformat", "${Version}\n${source:Package}\n${source:Version}\n${Architecture}", package).split("\n")
    address = (f"pkg:deb/debian/{urllib.parse.quote(package)}@{urllib.parse.quote(version, safe='')}?arch={architecture}")
    what = f"shared libraries: {', '.join(sorted(names))}" if names else "a part of the program: headers or a static library"
    return package_entry("deb", package, version, licence_of(package, source, system), address, supplier="Organization: Debian",
                         sourceInfo=f"built from the Debian source package {source} {source_version}", comment=what)


def page_entry(name, version, entry):
    kind, _, digest = entry["integrity"].partition("-")
    return package_entry("npm", name, version, entry["license"], f"pkg:npm/{urllib.parse.quote(name, safe='/')}@{version}",
                         checksums=[{"algorithm": kind.upper(), "checksumValue": base64.b64decode(digest).hex()}],
                         comment="a part of the page that the program serves")


def program_entry(version, digest):
    return {"SPDXID": PROGRAM_ID, "name": "berth", "versionInfo": version, "downloadLocation": NONE, "filesAnalyzed": False,
            "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0", "copyrightText": "2026 the authors of Berth",
            "primaryPackagePurpose": "APPLICATION", "packageFileName": "bin/berth",
            "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
            "comment": "The checksum is that of bin/berth in the tarball, and of /usr/bin/berth in the Debian package."}


def shared_packages(program):
    """Debian package -> names of its shared libraries that the program loads."""
    found = {}
    for path, package in program_files.library_packages(program).items():
        found.setdefault(package, []).append(os.path.basename(path))
    return found


def bill(program, version, digest, lock, seconds):
    """The text of the bill. `digest`: of the packed program, in hexadecimal digits of SHA-256."""
    system = program_files.system_of(program)
    name = tarball.name_of(program, version)
    shared = [debian_entry(package, names, system) for package, names in sorted(shared_packages(program).items())]
    contained = [debian_entry(package, (), system) for package in program_files.contained_packages(system)]
    page = [page_entry(*each) for each in page_licences.packages(lock)]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", PROGRAM_ID)]
    for kind, entries in (("DYNAMIC_LINK", shared), ("STATIC_LINK", contained), ("CONTAINS", page)):
        relations += [(PROGRAM_ID, kind, entry["SPDXID"]) for entry in entries]
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
        "documentNamespace": f"https://berth.invalid/spdx/{name}-{digest}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)), "creators": [f"Tool: tools-release-{version}"],
                         "comment": "The time is the same in all archives of a release, so that they can be made again."},
        "packages": [program_entry(version, digest), *shared, *contained, *page],
        "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other} for one, kind, other in relations],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
