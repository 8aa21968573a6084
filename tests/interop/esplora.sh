#!/usr/bin/env bash
# Wallets and libraries that speak Esplora's API: BDK and @bitcoinerlab/explorer over the server at $1, which serves that
# API at $2. Versions are pinned; they live in the user's cache.
set -euo pipefail

base=$1 esplora=$2
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/interop/install-pinned.sh
. "$here/install-pinned.sh"
install_pinned interop-esplora bdkpython==3.1.1 @bitcoinerlab/explorer@1.0.0
timeout 120 "$tools/bin/python" "$here/esplora_wallets.py" "$base" "$esplora"
LIBRARY="$tools" timeout 120 node "$here/esplora_libraries.mjs" "$base" "$esplora/api"
