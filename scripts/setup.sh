#!/bin/sh
# Prepares a Debian or Ubuntu machine for building Kaldera. Where all is there it says nothing and ends at once, so a command
# can always start with it:
#
#     sh scripts/setup.sh && cargo run ...                          a linker, all that the command needs
#     sh scripts/setup.sh openblas && cargo test --workspace        OpenBLAS too, for kaldi-matrix with its default features
#
# Exit status: 0 ready, 1 something is missing that it could not install (it says what, and what to do), 2 wrong usage.
set -u

rust_wanted=95 # the minor version of `rust-version` in Cargo.toml

say() { echo "setup: $*" >&2; }

case "$*" in
"") library= ;;
openblas) library=-lopenblas ;;
*)
    say "usage: sh scripts/setup.sh [openblas]"
    exit 2
    ;;
esac

explain_pure() {
    [ -n "$library" ] || return 0
    say "only kaldi-matrix uses OpenBLAS. Without it: cargo test -p kaldi-matrix --no-default-features --features pure,rayon"
}

# --- Rust -------------------------------------------------------------------------------------------------------------

if ! command -v cargo >/dev/null 2>&1; then
    cargo_home=${CARGO_HOME:-${HOME:-}/.cargo}
    if [ -x "$cargo_home/bin/cargo" ]; then
        say "cargo is installed but not on the PATH. Type: . \"$cargo_home/env\""
    else
        say "cargo was not found. Install Rust first, as https://rustup.rs says."
    fi
    exit 1
fi

version=$(cargo --version | cut -d ' ' -f 2)
major=${version%%.*}
minor=${version#*.}
minor=${minor%%.*}
if [ "$major" -eq 1 ] && [ "$minor" -lt "$rust_wanted" ]; then
    say "Rust 1.$rust_wanted or newer is needed, and this is $version (distributions often ship an old one)."
    say "With rustup: rustup update stable. Without it: https://rustup.rs"
    exit 1
fi

# --- Linker and libraries ---------------------------------------------------------------------------------------------

# Asks the linker itself, as cargo will: links an empty program with the libraries named.
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
links() {
    echo 'int main(void) { return 0; }' | cc -x c - -o "$scratch/a.out" "$@" >/dev/null 2>&1
}

# shellcheck disable=SC2086 # no word or one
if links $library; then
    exit 0
fi
missing="${library:+libopenblas-dev}"
links || missing="gcc libc6-dev $missing"

if ! command -v apt-get >/dev/null 2>&1; then
    say "missing here: what Debian calls $missing. There is no apt-get: install them with your system's own tool."
    explain_pure
    exit 1
fi

as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        say "missing here: $missing. Installing needs root, and there is no sudo. As root:"
        say "    apt-get update && apt-get install $missing"
        explain_pure
        exit 1
    fi
    as_root=sudo
fi

say "installing $missing with ${as_root:+$as_root }apt-get"
# shellcheck disable=SC2086 # all three variables are lists of words
if $as_root apt-get update -qq >&2 &&
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >&2 &&
    links $library; then
    say "done"
else
    say "could not install $missing; apt-get's own words are above."
    explain_pure
    exit 1
fi
