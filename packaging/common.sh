# Sourced by the scripts beside it: the version, where packages go, and the command, built for a target.
#
# Two builds of one commit with the same compiler and linker give the same bytes, wherever the sources and the
# folder of the build are. Dates in packages are that of the commit.
#
# Needs: cargo, git, GNU tar, and the standard library of the target, which rustup adds.
# Output: target/packages/, or $CARGO_TARGET_DIR/packages.

source "$(dirname "${BASH_SOURCE[0]}")/../.ci/debian.sh"
cd "$root"
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR
packages=$CARGO_TARGET_DIR/packages
mkdir -p "$packages"

# Linux on this computer's processor, x86_64 or aarch64.
musl=$(uname -m)-unknown-linux-musl
gnu=$(uname -m)-unknown-linux-gnu
# The oldest glibc that docs/installing.md promises.
glibc=2.34
# Empty until there is one.
repository=$(sed -n 's/^repository = "\(.*\)"/\1/p' Cargo.toml)
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct)}"
export SOURCE_DATE_EPOCH
umask 022

# Paths of this computer are not for programs that are handed out.
CARGO_ENCODED_RUSTFLAGS=$(printf '%s\x1f' \
  "--remap-path-prefix=$root=/punctual" \
  "--remap-path-prefix=$CARGO_TARGET_DIR=/build" \
  "--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo" \
  "--remap-path-prefix=$(rustc --print sysroot)/lib/rustlib/src/rust=/rustc/$(rustc -vV | sed -n 's/^commit-hash: //p')")
CARGO_ENCODED_RUSTFLAGS=${CARGO_ENCODED_RUSTFLAGS%$'\x1f'}
export CARGO_ENCODED_RUSTFLAGS CARGO_INCREMENTAL=0

# program_of TARGET: the name of the command's file.
program_of() {
  case $1 in *windows*) echo punctual.exe ;; *) echo punctual ;; esac
}

# build TARGET: the stripped command for that target; $program is its path.
build() {
  [ -d "$(rustc --print sysroot)/lib/rustlib/$1" ] || rustup target add "$1"
  cargo build --quiet --locked --profile dist --package punctual-cli --target "$1"
  program=$CARGO_TARGET_DIR/$1/dist/$(program_of "$1")
}

# documents FOLDER: manual pages and completions, made by the command for this computer.
documents() {
  mkdir -p "$1/man" "$1/completions"
  "$program" man "$1/man"
  "$program" completions bash >"$1/completions/punctual.bash"
  "$program" completions zsh >"$1/completions/_punctual"
  "$program" completions fish >"$1/completions/punctual.fish"
}

# tools PACKAGE...: programs of PyPI, in an environment that is kept; $tools is the folder of all such programs.
tools=$CARGO_TARGET_DIR/packages-tools/bin
tools() {
  [ -x "$tools/pip" ] || python3 -m venv "${tools%/bin}"
  "$tools/pip" install --quiet --disable-pip-version-check "$@"
}

# quietly COMMAND...: shows what the command says only if it fails.
quietly() {
  local said
  said=$("$@" 2>&1) || {
    echo "$said" >&2
    fail "this failed: $*"
  }
}

# fail WHY: ends the script.
fail() {
  echo "${0##*/}: $*" >&2
  exit 1
}
