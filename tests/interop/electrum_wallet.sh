#!/usr/bin/env bash
# Electrum itself, over Cairn ($1, the binary) on a Bitcoin Core node, which BITCOIND_EXE names. Electrum is what
# ELECTRUM_EXE names (its run_electrum, or a script that starts that), otherwise the system's (Debian: electrum).
# Skipped without one of both.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${BITCOIND_EXE:-}" ]; then
    echo "interop: skipped Electrum: BITCOIND_EXE names no bitcoind" >&2
    exit 0
fi
electrum=${ELECTRUM_EXE:-$(command -v electrum || true)}
if [ -z "$electrum" ]; then
    echo "interop: skipped Electrum: it is not installed (Debian: electrum), and ELECTRUM_EXE does not name it" >&2
    exit 0
fi
# shellcheck source=tests/interop/regtest.sh
. "$here/regtest.sh"
start_regtest "$1"
timeout 600 python3 "$here/electrum_wallet.py" "$electrum" "$work/electrum" ||
    fail_regtest "Electrum differs from the node"
