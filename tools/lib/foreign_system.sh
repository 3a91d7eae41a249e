# foreign_system.sh — a folder with Debian's packages for another processor: what the cross compiler includes and links, and what packages of
# Berth say of their libraries (tools/lib/program_files.py). Sourced, after packages.sh.

# berth_need_foreign_system ARCHITECTURE fills build/ARCHITECTURE-system, and says with what: Debian's newest packages of the program's
# libraries, from the sources of this machine's apt. Needs no root. The folder is kept: delete it to get newer packages.
berth_need_foreign_system() {
  local system=$PWD/build/$1-system names=(libc6-dev libstdc++6 "${berth_program_libraries[@]}")
  local new=$system.new apt=$system.apt
  [[ -f $system/stamp && $(<"$system/stamp") == "${names[*]}" ]] && return 0
  echo "installing Debian packages for $1 into build/$1-system: ${names[*]}" >&2
  rm -rf "$system" "$new" "$apt"
  mkdir -p "$new"/{DEBIAN,var/lib/dpkg/info} "$apt"/{lists,archives}/partial
  berth_download_foreign "$1" "$apt" "${names[@]}" || return 1
  local file
  for file in "$apt"/archives/*.deb; do
    berth_unpack_foreign "$file" "$new" || return 1
  done
  berth_make_links_relative "$new"
  echo "${names[*]}" >"$new/stamp"
  rm -rf "$apt"
  mv "$new" "$system"
}

# berth_download_foreign ARCHITECTURE FOLDER NAME… leaves the packages, with those that they depend on, in FOLDER/archives.
berth_download_foreign() {
  local options=(-o "APT::Architecture=$1" -o "APT::Architectures=$1" -o "Dir::State=$2" -o "Dir::State::status=$2/status"
    -o "Dir::Cache=$2" -o APT::Install-Recommends=false)
  ((EUID != 0)) || options+=(-o APT::Sandbox::User=root)  # the user _apt may not read the folder
  : >"$2/status"
  apt-get "${options[@]}" update -qq && apt-get "${options[@]}" install --download-only --yes -qq "${@:3}" >/dev/null
}

# berth_unpack_foreign FILE FOLDER unpacks a package, and registers it in FOLDER/var/lib/dpkg for dpkg-query. What dpkg-shlibdeps
# reads of libraries is in FOLDER/DEBIAN, where it looks without dpkg.
berth_unpack_foreign() {
  local name part
  name=$(dpkg-deb --field "$1" Package)
  dpkg-deb --extract "$1" "$2" || return 1
  { dpkg-deb --field "$1" && echo -e "Status: install ok installed\n"; } >>"$2/var/lib/dpkg/status" || return 1
  dpkg-deb --fsys-tarfile "$1" | tar --list --quoting-style=literal | sed 's#/$##; s#^\.$#/.#; s#^\./#/#' >"$2/var/lib/dpkg/info/$name.list" || return 1
  for part in symbols shlibs; do
    dpkg-deb --info "$1" "$part" >>"$2/DEBIAN/$part" 2>/dev/null || true  # most packages have none
  done
}

# An absolute link would lead out of the folder.
berth_make_links_relative() {
  local link
  while IFS= read -r -d '' link; do
    ln -sfn "$(realpath --no-symlinks --canonicalize-missing --relative-to="${link%/*}" "$1$(readlink "$link")")" "$link"
  done < <(find "$1" -type l -lname '/*' -print0)
}
