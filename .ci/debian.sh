# Sourced by the scripts beside it: Debian's packages, and with `rust_for` a
# Rust that compiles for other targets.
#
# Needs: Debian 12 or later (or a system with the same packages), and cargo on
# the PATH. Missing packages are installed when this runs as root.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# What each stage needs of Debian.
packages_windows=(gcc-mingw-w64-x86-64-posix g++-mingw-w64-x86-64-posix wine64 wine)
packages_instructions=(valgrind)
packages_cinstall=(gcc pkg-config libssl-dev)
packages_capi=("${packages_cinstall[@]}" g++ clang cmake valgrind)
packages_site=(chromium)
packages_workflows=(shellcheck)
packages_prometheus=(prometheus curl)
packages_wheel=(unzip)
packages_deb=("${packages_cinstall[@]}" dpkg-dev lintian strace systemd)
packages_deb_in_root=(mmdebstrap systemd systemd-container curl procps)
# Of the compiler that .ci/msrv unpacks.
packages_msrv=(libedit2 libxml2 libz3-4)
packages_rust=(rustc-web rust-web-src libstd-rust-web-dev lld-19)

# What stages compile for besides this computer.
targets_checked=(aarch64-apple-darwin x86_64-unknown-linux-musl aarch64-linux-android i686-unknown-linux-gnu armv7-unknown-linux-gnueabihf x86_64-unknown-freebsd)
target_windows=x86_64-pc-windows-gnu
target_wasm=wasm32-unknown-unknown

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
  # An installation that was broken off is ended first: without that apt refuses every other.
  DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 dpkg --configure -a
  apt-get update -q
  # Without a service that would start at once: programs are all that is needed.
  DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -qy --no-install-recommends "${missing[@]}"
}

# rust_for TARGET...: their standard library, as rustup has it. Where it has not, Debian's
# compiler finds the source of its own, which -Zbuild-std then builds; the variable lets a
# stable compiler accept that flag.
rust_for() {
  build_std=()
  command -v cargo >/dev/null || { echo "cargo is missing: install Rust from https://rustup.rs" >&2; exit 2; }
  if command -v rustup >/dev/null && rustup target add "$@"; then return; fi
  need "${packages_rust[@]}"
  export RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc RUSTC_BOOTSTRAP=1
  export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-19
  build_std=(-Zbuild-std=std,panic_abort)
}
