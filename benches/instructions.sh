#!/usr/bin/env bash
# Counts instructions and compares them with benches/instructions.json; a count that has grown fails.
#
#   benches/instructions.sh            compares
#   benches/instructions.sh --record   writes the file anew: after an improvement, after a cost that is worth it, or
#                                      with other tools (Rust, C++ compiler, Valgrind)
#
# gungraun's runner is compiled once, in its library's version, into the user's cache. Where it or Valgrind cannot be
# had, the bench says that it was skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/^gungraun = "=\(.*\)"$/\1/p' Cargo.toml)
tools="${XDG_CACHE_HOME:-$HOME/.cache}/cairn/tools"

if command -v valgrind >/dev/null &&
    [ "$("$tools/bin/gungraun-runner" --version 2>/dev/null)" != "gungraun-runner $version" ]; then
    echo "instructions: compiling gungraun-runner $version (once; 2 minutes on 2 cores)"
    # A target folder of its own: the project's would keep its dependencies for nothing.
    build=$(mktemp -d)
    trap 'rm -rf "$build"' EXIT
    cargo install --locked --quiet --root "$tools" --target-dir "$build" "gungraun-runner@$version" ||
        echo "instructions: gungraun-runner could not be compiled (no network?)" >&2
fi

# The whole workspace's features, as the tests have them, so that nothing compiles twice.
cargo bench --locked --profile release --workspace --bench instructions -- "$@"
