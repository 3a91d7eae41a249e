# packages.sh — the Debian packages that Berth needs, and a function that installs missing ones. Sourced.

# The libraries of the program.
berth_program_libraries=(
  libboost-dev libssl-dev nlohmann-json3-dev libsimdjson-dev libsqlite3-dev libspdlog-dev
  libfmt-dev libyaml-dev libcli11-dev prometheus-cpp-dev libre2-dev libarchive-dev libzstd-dev zlib1g-dev
)
# To compile and link everything, tests included.
berth_build_packages=(
  g++ cmake ninja-build ccache mold git
  "${berth_program_libraries[@]}" libcpprest-dev libgtest-dev libgmock-dev librapidcheck-dev
)
# For the preset arm64: the compiler, and an emulator that starts what it makes. tools/lib/foreign_system.sh gets the libraries.
berth_arm64_packages=(g++-aarch64-linux-gnu qemu-user-static)
# To run the tests: the shells with completion; certificates of the control plane; manifests; packages;
# wrong clocks; the Kubernetes client for Java; the image.
berth_test_packages=(bash zsh fish openssl python3-venv python3-yaml dpkg-dev binutils patchelf groff-base util-linux libfaketime
  maven openjdk-17-jdk-headless skopeo chromium-headless-shell)
# For tools/check and tools/lint.
berth_check_packages=(git python3 binutils clang-format-14)
berth_lint_packages=(git python3 clang-tidy-14)
# For tools/fuzz: clang with libFuzzer, and the symbolizer for its reports.
berth_fuzz_packages=("${berth_build_packages[@]}" clang-14 libclang-rt-14-dev llvm-14)
# For tools/soak --fresh: a system of Debian in a folder.
berth_fresh_packages=(mmdebstrap debian-archive-keyring util-linux)

# berth_need_packages NAME… installs missing packages, and lists them. Works as root or
# with sudo. Without dpkg it lists the needed packages and continues.
berth_need_packages() {
  if ! command -v dpkg-query >/dev/null; then
    echo "not a Debian system: make sure that these are installed: $*" >&2
    return 0
  fi
  local missing=() name
  for name in "$@"; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null) == installed ]] ||
      missing+=("$name")
  done
  ((${#missing[@]})) || return 0

  local as_root=()
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "missing Debian packages; run as root: apt-get install ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "installing Debian packages: ${missing[*]}" >&2
  # The package lists of a new machine are empty or old; only then they are fetched.
  if ! apt-get install --simulate --no-install-recommends -qq "${missing[@]}" >/dev/null 2>&1; then
    "${as_root[@]}" apt-get update -qq
  fi
  berth_apt_install "${missing[@]}" && return 0
  "${as_root[@]}" apt-get update -qq  # the lists name files that the mirror has replaced
  berth_apt_install "${missing[@]}"
}

berth_apt_install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install --yes --no-install-recommends -qq "$@" >/dev/null
}
