# go_module.sh — builds programs from a pinned Go module, once. Sourced, in the project's root.
#
# The module's sums are checked against its go.sum. Every program has one set of flags: the flags are
# part of the key of Go's build cache. A built program is kept in the cache folder of tools/lib/cache.sh by the hash of
# its module, its flags and Go's version, so that a clean checkout links it from there.
source "${BASH_SOURCE[0]%/*}/cache.sh"

# berth_need_go TOOL [OTHERWISE]: ends the tool where Go is missing.
berth_need_go() {
  command -v go >/dev/null && return
  echo "$1: no go on the path; install Go 1.26 or newer (https://go.dev/dl)${2:-}" >&2
  exit 1
}

# berth_go_build TOOL MODULE PACKAGE PROGRAM [LDFLAGS]: builds PACKAGE of the module to PROGRAM, unless
# the present or a kept one was built from the same module with the same flags and Go.
berth_go_build() {
  local tool=$1 module=$2 package=$3 program=$4 flags="-s -w ${5:-}" stamp
  # Without debug information, which -s drops at the end: a tenth of the compiler's time.
  local compile=-dwarf=false
  stamp=$({ cat "$module"/go.{mod,sum} "$module"/*.go; echo "$package $flags $compile"; go version; } |
          sha256sum | cut -d' ' -f1)
  [[ -x $program && -f $program.stamp && $(<"$program.stamp") == "$stamp" ]] && return
  local name=${program##*/} started=$SECONDS kept
  kept=$(berth_cache_folder go)/$stamp
  if [[ ! -x $kept ]]; then
    echo "$tool: building $name" >&2
    ( cd "$module" && CGO_ENABLED=0 go build -p 2 -trimpath -mod=readonly -gcflags="all=$compile" \
        -ldflags="${flags//$'\n'/ }" -o "$kept.$$" "$package" )
    mv "$kept.$$" "$kept"
    berth_cache_prune "${kept%/*}"
    echo "$tool: $name built in $((SECONDS - started)) s" >&2
  fi
  touch "$kept"
  mkdir -p "${program%/*}"
  rm -f "$program"
  ln "$kept" "$program" 2>/dev/null || cp "$kept" "$program"
  echo "$stamp" >"$program.stamp"
}

# berth_go_source MODULE PATH: prints the folder of the sources of the module PATH, which MODULE requires.
berth_go_source() {
  ( cd "$1" && go mod download "$2" && go list -m -f '{{.Dir}}' "$2" )
}

# berth_kubernetes_flags RELEASE [PACKAGES]: the linker flags that tell a program of Kubernetes its release, such
# as v1.36.3. Without them every program reports v0.0.0-master, and clients read the server's version.
berth_kubernetes_flags() {
  local release=$1 minor=${1#v1.} base=k8s.io/component-base/version
  echo "-X $base.gitVersion=$release -X $base.gitMajor=1 -X $base.gitMinor=${minor%%.*}" \
       "-X k8s.io/client-go/pkg/version.gitVersion=$release"
}
