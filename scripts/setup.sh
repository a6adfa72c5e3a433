#!/bin/sh
# Prepares a Debian or Ubuntu machine for building Kaldera: a linker, the C library's files and OpenBLAS.
# Where all is there it says nothing and ends at once, so a command can always start with it:
#
#     sh scripts/setup.sh && cargo test --workspace
#
# Exit status: 0 ready, 1 something is missing that it could not install (it says what, and what to do).
set -u

rust_wanted=89 # the minor version of `rust-version` in Cargo.toml

say() { echo "setup: $*" >&2; }

explain_pure() {
    cat >&2 <<'END'
setup: OpenBLAS is optional. Everything also builds from Rust alone, with a linker as the only need:
setup:     cargo test --workspace --no-default-features --features pure
setup: Add `rayon` to the features to use several threads: --features pure,rayon
END
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

if links -lopenblas; then
    exit 0
fi
if links; then
    missing="libopenblas-dev"
else
    missing="gcc libc6-dev libopenblas-dev"
fi

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

say "installing $missing with ${as_root:+$as_root }apt-get (needed to link programs and for matrix algebra)"
# shellcheck disable=SC2086 # both variables are lists of words
if $as_root apt-get update -qq >&2 &&
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >&2 &&
    links -lopenblas; then
    say "done"
else
    say "could not install $missing; apt-get's own words are above."
    explain_pure
    exit 1
fi
