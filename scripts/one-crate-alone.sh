#!/usr/bin/env bash
# Each published library alone in a stranger's project: the first Rust example of its README compiles with that crate as the only
# dependency, its default features, no network, and no library of matrix algebra unless the crate is kaldi-matrix. It runs as a doc test.
#
#     bash scripts/one-crate-alone.sh [CRATE...]
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
export CARGO_TERM_COLOR=never CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}

# Programs over all other crates. The command has no example in Rust, and the server's is a doc test.
commands=" kaldera-cli kaldera-server "
# The crate whose default features are OpenBLAS and faer.
uses_blas=" kaldi-matrix "

# The first block ```rust of a README, as a program.
example() {
    awk '
        /^```/ { if (inside) exit; inside = ($0 == "```rust"); next }
        inside { sub(/^# /, ""); if ($0 != "#") lines[++n] = $0 }
        inside && /fn main\(/ { whole = 1 }
        END {
            if (!n) { print "no ```rust block" >"/dev/stderr"; exit 1 }
            if (!whole) print "fn main() -> Result<(), Box<dyn std::error::Error>> {"
            # A doc test ends with the type of its errors, where a program says it in its head.
            for (i = 1; i <= n; i++) if (whole || lines[i] !~ /^Ok::<.*>\(\(\)\)$/) print lines[i]
            if (!whole) print "Ok(())\n}"
        }' "$1"
}

alone() {
    local name=$1 folder=$2 project tree
    project=$scratch/$name
    mkdir -p "$project/src"
    cat >"$project/Cargo.toml" <<END
[package]
name = "stranger-of-$name"
version = "0.0.0"
edition = "2024"

[dependencies]
$name = { path = "$root/$folder" }
END
    # With the workspace's profiles: what clippy has checked is not checked again.
    sed -n '/^\[profile.dev\]/,$p' Cargo.toml >>"$project/Cargo.toml"
    cp Cargo.lock "$project/" # the versions that are downloaded already
    example "$folder/README.md" >"$project/src/main.rs"
    (cd "$project" && cargo check --quiet --offline)

    tree=$(cd "$project" && cargo tree --offline -e normal --prefix none --no-dedupe)
    if [[ $uses_blas == *" $name "* ]]; then
        grep -q '^cblas-sys' <<<"$tree" || { echo "$name: OpenBLAS is a default feature, and not used" >&2; return 1; }
    elif grep -E '^(faer|cblas|lapack|lax)' <<<"$tree"; then
        echo "$name should not need these" >&2
        return 1
    fi
    printf '%-16s alone: compiles; %s crates in all\n' "$name" "$(sort -u <<<"$tree" | grep -c ' v')"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chosen=" $* "
for manifest in crates/*/Cargo.toml; do
    name=$(awk -F '"' '/^name = /{ print $2; exit }' "$manifest")
    if grep -q '^publish = false$' "$manifest" || [[ $commands == *" $name "* ]]; then
        continue
    fi
    if [ $# -eq 0 ] || [[ $chosen == *" $name "* ]]; then
        alone "$name" "$(dirname "$manifest")"
    fi
done
