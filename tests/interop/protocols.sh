#!/usr/bin/env bash
# Wallets and libraries that speak other protocols, over the server at $1: BDK over Esplora's API (at $2) and over the
# Electrum protocol (at $3), @bitcoinerlab/explorer, and @mempool/electrum-client.
# Versions are pinned; they live in the user's cache.
set -euo pipefail

base=$1 esplora=$2 electrum=$3
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/interop/install-pinned.sh
. "$here/install-pinned.sh"
install_pinned interop-protocols bdkpython==3.1.1 @bitcoinerlab/explorer@1.0.0 @mempool/electrum-client@1.1.9
timeout 120 "$tools/bin/python" "$here/protocols_wallets.py" "$base" "$esplora" "$electrum"
LIBRARY="$tools" timeout 120 node "$here/protocols_libraries.mjs" "$base" "$esplora/api"
LIBRARY="$tools" timeout 120 node "$here/protocols_electrum.mjs" "$base" "$esplora" "$electrum"
