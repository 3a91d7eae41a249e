"""Checksums of the files of a release, and their signature by OpenSSL."""

import hashlib
import os

import archives
import program_files

SUMS = "SHA256SUMS"
SIGNATURE = SUMS + ".sig"
PASSPHRASE = "BERTH_RELEASE_PASSPHRASE"
KINDS = ("ED25519 Private-Key", "NIST CURVE: P-256", "NIST CURVE: P-384")


def sums(folder):
    """What `sha256sum --check` reads."""
    return "".join(f"{hashlib.sha256(archives.read(os.path.join(folder, name))).hexdigest()}  {name}\n"
                   for name in sorted(os.listdir(folder)) if name not in (SUMS, SIGNATURE))


def openssl(*arguments):
    return program_files.run("openssl", *arguments, "-passin", "env:" + PASSPHRASE, env={**os.environ, PASSPHRASE: os.environ.get(PASSPHRASE, "")})


def check_key(key):
    """Raises an error where the key signs nothing that the documented command verifies."""
    if not os.path.isfile(key):
        raise program_files.PackingError(f"--key {key}: no such file; make one with: openssl genpkey -algorithm ed25519 -out {key}")
    try:
        text = openssl("pkey", "-in", key, "-noout", "-text")
    except program_files.PackingError as error:
        raise program_files.PackingError(f"--key {key}: OpenSSL reads no private key there; the passphrase of an encrypted key is in "
                                         f"{PASSPHRASE}") from error
    if not any(kind in text for kind in KINDS):
        raise program_files.PackingError(f"--key {key}: the key has to be Ed25519, or ECDSA on P-256 or P-384: "
                                         "openssl genpkey -algorithm ed25519")


def sign(folder, key):
    """Writes the signature beside the checksums."""
    openssl("pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", os.path.join(folder, SUMS), "-out", os.path.join(folder, SIGNATURE))
