# debian_program.sh — programs of Debian packages that are unpacked and not installed: no program of the machine changes,
# and no server of the package starts. Sourced, in the project's root.
#
# berth_unpack_program PACKAGE FILE NAME: unpacks the package's FILE to build/bin/NAME where it is missing, and prints
# the path.
berth_unpack_program() (
  program=$PWD/build/bin/$3
  if [[ ! -x $program ]]; then
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    mkdir -p build/bin
    (
      cd "$scratch"
      apt-get download "$1" >/dev/null 2>&1 ||
        { apt-get update -qq && apt-get download "$1" >/dev/null; }
      dpkg -x "$1"_*.deb unpacked
    )
    install -m 0755 "$scratch/unpacked/$2" "$program"
  fi
  echo "$program"
)
