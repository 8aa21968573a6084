#!/usr/bin/env bash
# BDK's wallet and the crate `electrum-client`, over Cairn ($1, the binary) on a Bitcoin Core node, which BITCOIND_EXE
# names: tests/interop/wallets. Skipped without one.
# The program is built in the user's cache, with a lock of its own.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${BITCOIND_EXE:-}" ]; then
    echo "interop: skipped BDK's wallet and electrum-client: BITCOIND_EXE names no bitcoind" >&2
    exit 0
fi
# shellcheck source=tests/interop/regtest.sh
. "$here/regtest.sh"
echo "interop: building the wallets (the first time takes some minutes)"
# Not in the target folder of the workspace: `cargo clean` there leaves them.
target="${XDG_CACHE_HOME:-$HOME/.cache}/cairn/interop-wallets-target"
cargo build --locked --quiet --manifest-path "$here/wallets/Cargo.toml" --target-dir "$target"

start_regtest "$1"
"$target/debug/cairn-interop-wallets" || fail_regtest "the wallets differ from the node"
