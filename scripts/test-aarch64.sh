#!/usr/bin/env bash
# Tests the libraries for aarch64 (NEON) on an x86-64 Debian machine, under qemu's emulation:
#
#     bash scripts/test-aarch64.sh                        all libraries
#     bash scripts/test-aarch64.sh -p kaldi-feat          other arguments of `cargo test`
#
# Installs Debian's rustc-web with the standard library of arm64, a cross linker and qemu-user if they are missing.
# Not a part of .ci/run: emulated tests take many minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

rustc=/usr/bin/rustc
target=aarch64-unknown-linux-gnu

if ! [ -d "/usr/lib/rustlib/$target" ] || ! command -v aarch64-linux-gnu-gcc qemu-aarch64 >/dev/null; then
    dpkg --add-architecture arm64
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        rustc-web libstd-rust-web-dev libstd-rust-web-dev:arm64 gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
fi

# rustup's cargo with Debian's compiler. A test finds its data by the folder that cargo runs it in.
export RUSTC=$rustc CARGO_INCREMENTAL=0 CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/debian
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
# Linked statically: threads of the dynamic C library hang under qemu 7.2, which Debian 12 has.
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS="-C target-feature=+crt-static"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=qemu-aarch64
export PROPTEST_RNG_SEED=20261121 PROPTEST_CASES=${PROPTEST_CASES:-16} KALDERA_FUZZ_SECONDS=0

if [ $# -eq 0 ]; then
    set -- -p kaldera-base -p ragged-core -p tensor-strided -p lod -p fsa -p kaldi-matrix -p kaldi-io -p recurrent -p kaldi-feat
fi
cargo test --locked --target "$target" --no-default-features --lib --tests "$@"
