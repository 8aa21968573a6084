#!/usr/bin/env bash
# Ten thousand wallets at the Electrum port of Cairn ($1, the binary), and blocks of a Bitcoin Core node, which BITCOIND_EXE
# names: memory, and the time until all have heard. Skipped without one.
set -euo pipefail

if [ -z "${BITCOIND_EXE:-}" ]; then
    echo "interop: skipped the crowd at the Electrum port: BITCOIND_EXE names no bitcoind" >&2
    exit 0
fi
ulimit -n "$(ulimit -Hn)"
timeout 600 python3 "$(dirname "$0")/crowd.py" "$1" "$BITCOIND_EXE"
