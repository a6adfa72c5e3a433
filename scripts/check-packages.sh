#!/usr/bin/env bash
# What crates.io would get: every published crate packs, and its package is whole. Needs cargo and tar, and no network.
#
#     bash scripts/check-packages.sh
#
# - The publishing order in CONTRIBUTING.md has every published crate, each after those that it uses.
# - A package has README.md, both licences, a program in examples/ and src/lib.rs, but no fuzz corpus and no seeds of proptest.
# - kaldera-digits, which is under the licence of the recordings it is made of, has their notice in place of the licences.
#
# Prints the name and the packed size of each in publishing order.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TERM_COLOR=never

failed=0
wrong() {
    printf 'WRONG: %s\n' "$*" >&2
    failed=1
}

# What `cargo tree` says of a package: each crate that it needs, itself first, once. Ours have their folder behind them.
ours_below() {
    cargo tree --offline --locked --all-features -p "$1" -e normal,build --prefix none --no-dedupe --format '{p}' |
        sed -n "s|^\([^ ]*\) v[^ ]* ($PWD/crates/.*|\1|p" | sort -u
}

published=() unpublished=()
for manifest in crates/*/Cargo.toml examples/Cargo.toml benches/Cargo.toml; do
    name=$(awk -F '"' '/^name = /{ print $2; exit }' "$manifest")
    if grep -q '^publish = false$' "$manifest"; then
        unpublished+=("$name")
    else
        published+=("$name")
    fi
done

# A crate needs more of our crates than each of those that it needs: their number puts them in an order to publish in.
below=$(mktemp -d)
trap 'rm -rf "$below"' EXIT
for name in "${published[@]}"; do
    ours_below "$name" >"$below/$name"
done
mapfile -t order < <(cd "$below" && wc -l "${published[@]}" | sed '$d' | sort -n -k1,1 -k2,2 | awk '{ print $2 }')

# The line of CONTRIBUTING.md that begins with `cargo publish` names the crates in code quotes.
mapfile -t written < <(grep -m1 '`cargo publish`' CONTRIBUTING.md | grep -o '`[a-z0-9-]*`' | tr -d '`')
if ! diff <(printf '%s\n' "${order[@]}" | sort) <(printf '%s\n' "${written[@]}" | sort); then
    wrong "CONTRIBUTING.md does not list the published crates behind \`cargo publish\` (< published, > listed)"
fi
earlier=" "
for name in "${written[@]}"; do
    if [ -f "$below/$name" ]; then
        while read -r needed; do
            [[ $needed == "$name" || $earlier == *" $needed "* ]] || wrong "CONTRIBUTING.md: $name needs $needed, which is published after it"
        done <"$below/$name"
    fi
    earlier+="$name "
done

packages=${CARGO_TARGET_DIR:-target}/package
rm -f "$packages"/*.crate
cargo package --workspace --no-verify --offline --locked --allow-dirty --quiet "${unpublished[@]/#/--exclude=}"

printf '%-16s %10s %6s\n' package 'packed, kB' files
for name in "${order[@]}"; do
    crate=$(ls "$packages/$name"-[0-9]*.crate)
    files=$(tar -tzf "$crate" | sed 's|^[^/]*/||')
    licences=(LICENSE-MIT LICENSE-APACHE)
    [ "$name" = kaldera-digits ] && licences=(NOTICE.md)
    for file in Cargo.toml README.md "${licences[@]}" src/lib.rs; do
        grep -qxF "$file" <<<"$files" || wrong "$name: no $file in its package"
    done
    if [ "$name" != kaldera-cli ] && ! grep -q '^examples/.*\.rs$' <<<"$files"; then
        wrong "$name: no program in examples/ in its package"
    fi
    if grep -E '__fuzz__|proptest-regressions' <<<"$files"; then
        wrong "$name: these do not belong into its package"
    fi
    for licence in LICENSE-MIT LICENSE-APACHE; do
        [[ " ${licences[*]} " == *" $licence "* ]] || continue
        tar -xzOf "$crate" --wildcards "*/$licence" 2>/dev/null | cmp -s - "$licence" || wrong "$name: $licence is not the workspace's"
    done
    printf '%-16s %10s %6s\n' "$name" "$((($(stat -c %s "$crate") + 999) / 1000))" "$(wc -l <<<"$files")"
done
exit "$failed"
