# Sourced by the scripts beside it: Debian's packages, and with `debian_rust` a
# Rust whose standard library can be built from source for any target.
#
# Needs: Debian 12 or later (or a system with the same packages), and cargo on
# the PATH. Missing packages are installed when this runs as root.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# What each stage needs of Debian.
packages_windows=(gcc-mingw-w64-x86-64-posix g++-mingw-w64-x86-64-posix wine64 wine rustc-web rust-web-src libstd-rust-web-dev)
packages_targets=(rustc-web rust-web-src libstd-rust-web-dev)
packages_instructions=(valgrind)
packages_capi=(gcc g++ cmake pkg-config valgrind)
packages_site=(chromium)
packages_wasm=(lld-19 rustc-web rust-web-src libstd-rust-web-dev)
packages_prometheus=(prometheus curl)

# need PACKAGE...: installs what is missing, or says what to install.
need() {
  command -v dpkg-query >/dev/null || { echo "this needs Debian or a system derived from it" >&2; exit 2; }
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  if [ "$(id -u)" -ne 0 ]; then
    echo "missing packages: run 'apt-get install ${missing[*]}' as root, then this again" >&2
    exit 2
  fi
  apt-get update -q
  # Without a service that would start at once: programs are all that is needed.
  DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -qy --no-install-recommends "${missing[@]}"
}

# Debian's compiler finds the source of its own standard library, which
# -Zbuild-std then builds; the variable lets a stable compiler accept that flag.
debian_rust() {
  command -v cargo >/dev/null || { echo "cargo is missing: install Rust from https://rustup.rs" >&2; exit 2; }
  export RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc RUSTC_BOOTSTRAP=1
  build_std=(-Zbuild-std=std,panic_abort)
}
