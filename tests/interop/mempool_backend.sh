#!/usr/bin/env bash
# mempool.space's backend, unchanged, on Cairn ($1, the binary) instead of its electrs, and a Bitcoin Core node, which
# BITCOIND_EXE names. The operator builds the backend: MEMPOOL_BACKEND_DIR is its folder, with dist and node_modules.
# Skipped without one.
set -euo pipefail

if [ -z "${MEMPOOL_BACKEND_DIR:-}" ] || [ ! -f "$MEMPOOL_BACKEND_DIR/dist/index.js" ]; then
    echo "interop: skipped mempool.space's backend: MEMPOOL_BACKEND_DIR names no built backend" >&2
    exit 0
fi
if [ -z "${BITCOIND_EXE:-}" ]; then
    echo "interop: skipped mempool.space's backend: BITCOIND_EXE names no bitcoind" >&2
    exit 0
fi
timeout 300 python3 "$(dirname "$0")/mempool_backend.py" "$1" "$BITCOIND_EXE" "$MEMPOOL_BACKEND_DIR"
