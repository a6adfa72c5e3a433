#!/usr/bin/env bash
# Type-checks the command, with all crates but kaldera-onnx, and kaldi-matrix with its default features for systems that CI is not:
#
#     bash scripts/check-platforms.sh [TARGET...]
#
# Nothing is linked or run. The standard library is checked from its source, for which rustc needs the switch for unstable options:
#
#     rustup component add rust-src                                    the source of rustup's toolchain
#     apt-get install rustc-web rust-web-src; RUSTC=/usr/bin/rustc     Debian's, without rustup
#
# Warnings are errors. Not a part of .ci/run: each target takes as long as a first build.
set -euo pipefail
cd "$(dirname "$0")/.."

source=$("${RUSTC:-rustc}" --print sysroot)/lib/rustlib/src/rust/library
if ! [ -f "$source/std/Cargo.toml" ]; then
    echo "check-platforms: the source of the standard library is not in $source; the head of this script says how to get it" >&2
    exit 1
fi

export RUSTC_BOOTSTRAP=1 RUSTFLAGS="-D warnings" CARGO_INCREMENTAL=0 CARGO_TERM_COLOR=never CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/platforms
if [ $# -eq 0 ]; then
    set -- x86_64-pc-windows-msvc aarch64-apple-darwin armv7-unknown-linux-gnueabihf
fi
for target; do
    check=(cargo check --quiet --locked -Zbuild-std --target "$target")
    "${check[@]}" -p kaldera-cli --features digits
    "${check[@]}" -p kaldi-matrix
    "${check[@]}" -p conformance --no-default-features
    echo "$target: kaldera-cli, kaldi-matrix and conformance type-check"
done
