#!/usr/bin/env bash
# @mempool/mempool.js, the client of mempool.space's API, watches over the websocket of Esplora's API: the demo chain (at
# $2), and Cairn ($1, the binary) on a Bitcoin Core node, which BITCOIND_EXE names, with payments, blocks and a
# reorganization. The second part is skipped without a node.
# Versions are pinned; they live in the user's cache.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/interop/install-pinned.sh
. "$here/install-pinned.sh"
install_pinned interop-watchers @mempool/mempool.js@3.0.0
LIBRARY="$tools" timeout 120 node "$here/watchers.mjs" "$2"
if [ -z "${BITCOIND_EXE:-}" ]; then
    echo "interop: skipped watchers on a node: BITCOIND_EXE names no bitcoind" >&2
    exit 0
fi
# shellcheck source=tests/interop/regtest.sh
. "$here/regtest.sh"
start_regtest "$1"
LIBRARY="$tools" timeout 300 node "$here/watchers_regtest.mjs" "$ESPLORA_URL" ||
    fail_regtest "a watcher misses what happens on the node"
