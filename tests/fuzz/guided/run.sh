#!/usr/bin/env bash
# Runs fuzz targets with libFuzzer: run.sh [TARGET [SECONDS]]; without a target all, each for a minute.
#
# What it finds worth keeping goes to target/fuzz/corpus; a failure is written to artifacts/TARGET beside this script
# and ends the run. SANITIZER (none) may be address, for C code below us; that needs a nightly compiler. Without it
# the compiler of the workspace does: our code has no unsafe blocks, and RocksDB is compiled as in every other build.
set -euo pipefail
cd "$(dirname "$0")/../../.."

wanted=${1:-}
duration=${2:-60}
sanitizer=${SANITIZER:-none}
version=0.13.2
tools="${XDG_CACHE_HOME:-$HOME/.cache}/cairn/tools"
here=tests/fuzz/guided
target=$(realpath -m "${CARGO_TARGET_DIR:-target}/fuzz")

export PATH="$tools/bin:$PATH"
if ! command -v cargo-fuzz >/dev/null; then
    echo "fuzz: cargo-fuzz is missing; nothing was run. Install it with" >&2
    echo "  cargo install --locked --root $tools cargo-fuzz@$version" >&2
    echo "fuzz: 'make test' runs the same targets over their corpus without it" >&2
    exit 1
fi
compiler=()
if [ "$sanitizer" != none ]; then
    compiler=(+nightly)
    if ! rustc +nightly --version >/dev/null 2>&1; then
        echo "fuzz: SANITIZER=$sanitizer needs a nightly compiler: rustup toolchain install nightly" >&2
        exit 1
    fi
fi

# A name, and whether it needs the index.
targets=$(awk '/^name = / { gsub(/"/, "", $3); name = $3 } /^path = "programs/ { names[++n] = name }
    /^required-features/ { served[name] = 1 } END { for (i = 1; i <= n; i++) print names[i], served[names[i]] + 0 }' \
    "$here/Cargo.toml")
if [ -n "$wanted" ] && ! grep -q "^$wanted " <<<"$targets"; then
    echo "fuzz: no target $wanted; there are: $(cut -d' ' -f1 <<<"$targets" | paste -sd' ')" >&2
    exit 2
fi

while read -r name served; do
    [ -z "$wanted" ] || [ "$wanted" = "$name" ] || continue
    features=()
    [ "$served" = 0 ] || features=(--features served)
    found="$target/corpus/$name"
    mkdir -p "$found"
    echo "fuzz: $name for $duration s"
    cargo "${compiler[@]}" fuzz run --fuzz-dir "$here" --target-dir "$target" --sanitizer "$sanitizer" \
        "${features[@]}" "$name" "$found" "tests/fuzz/corpus/$name" -- \
        -max_total_time="$duration" -timeout=30 -rss_limit_mb=2048 -print_final_stats=1 </dev/null
done <<<"$targets"
