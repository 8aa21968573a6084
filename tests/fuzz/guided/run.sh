#!/usr/bin/env bash
# Runs fuzz targets with libFuzzer: run.sh [TARGET [SECONDS]]; without a target all, each for a minute.
#
# What it finds worth keeping goes to target/fuzz/corpus; a failure is written to artifacts/TARGET beside this script
# and ends the run. SANITIZER (none) may be address, for C code below us; that needs a nightly compiler. Without it
# the compiler of the workspace does: our code has no unsafe blocks.
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

targets=$(sed -n 's|^path = "programs/\(.*\)\.rs"$|\1|p' "$here/Cargo.toml")
if [ -n "$wanted" ] && ! grep -qx "$wanted" <<<"$targets"; then
    echo "fuzz: no target $wanted; there are: $(paste -sd' ' <<<"$targets")" >&2
    echo "fuzz: those that need an index run in 'make test' only; CAIRN_FUZZ_CASES=1000000 makes that longer" >&2
    exit 2
fi

for name in $targets; do
    [ -z "$wanted" ] || [ "$wanted" = "$name" ] || continue
    found="$target/corpus/$name"
    mkdir -p "$found"
    echo "fuzz: $name for $duration s"
    cargo "${compiler[@]}" fuzz run --fuzz-dir "$here" --target-dir "$target" --sanitizer "$sanitizer" \
        "$name" "$found" "tests/fuzz/corpus/$name" -- \
        -max_total_time="$duration" -timeout=30 -rss_limit_mb=2048 -print_final_stats=1
done
