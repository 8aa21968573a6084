#!/usr/bin/env bash
# `cargo deny check`: licences, banned crates, sources and known vulnerabilities, by the rules of deny.toml.
# cargo-deny is compiled once, pinned, into the user's cache. Without the network the advisory database cannot be
# fetched; then everything else is checked and the omission is said by name.
set -euo pipefail

version=0.20.2
tools="${XDG_CACHE_HOME:-$HOME/.cache}/cairn/tools"

if [ "$("$tools/bin/cargo-deny" --version 2>/dev/null)" != "cargo-deny $version" ]; then
    echo "check-dependencies: compiling cargo-deny $version (once; 2 minutes on 2 cores)"
    # A target folder of its own: the project's would keep cargo-deny's dependencies for nothing.
    build=$(mktemp -d)
    trap 'rm -rf "$build"' EXIT
    cargo install --locked --quiet --root "$tools" --target-dir "$build" "cargo-deny@$version"
fi
deny="$tools/bin/cargo-deny"

if "$deny" --locked fetch db; then
    "$deny" --locked check --allow license-exception-not-encountered
    # The programs for fuzzing follow the same rules with a lock of their own, which follows that of the workspace.
    "$deny" --config deny.toml --manifest-path tests/fuzz/guided/Cargo.toml check licenses bans sources
else
    "$deny" --locked check --allow license-exception-not-encountered licenses bans sources
    echo "check-dependencies: SKIPPED advisories: the advisory database could not be fetched (no network?)"
fi
