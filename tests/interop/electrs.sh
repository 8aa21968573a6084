#!/usr/bin/env bash
# The suite of the crate `esplora-client`, unchanged, with Cairn ($1, the binary) in place of electrs: it asks over Esplora's
# API and waits over the Electrum protocol, and mines with a Bitcoin Core node, which BITCOIND_EXE names. Skipped without one.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${BITCOIND_EXE:-}" ]; then
    echo "interop: skipped esplora-client: BITCOIND_EXE names no bitcoind" >&2
    exit 0
fi
version=0.13.0 sum=647f9c89c653d69cce478202b7377c03737e33fc6bc5ec044187bf83e5597ea2
tools="${XDG_CACHE_HOME:-$HOME/.cache}/cairn/interop-electrs"
if [ ! -d "$tools/esplora-client-$version" ]; then
    mkdir -p "$tools"
    curl -fsSL "https://static.crates.io/crates/esplora-client/esplora-client-$version.crate" -o "$tools/crate"
    echo "$sum  $tools/crate" | sha256sum --check --quiet
    tar xzf "$tools/crate" -C "$tools"
fi
CAIRN_EXE=$(realpath "$1")
# The suite reads a field that nodes since 29 write only if they are asked to.
node="$tools/bitcoind"
printf '#!/usr/bin/env bash\nexec %q -deprecatedrpc=bip125 "$@"\n' "$(realpath "$BITCOIND_EXE")" >"$node"
chmod +x "$node"
export CAIRN_EXE BITCOIND_EXE="$node"
# Each test starts a node and an indexer.
ELECTRS_EXE="$here/as_electrs.sh" ELECTRSD_SKIP_DOWNLOAD=1 BITCOIND_SKIP_DOWNLOAD=1 \
    timeout 1800 cargo test --locked --manifest-path "$tools/esplora-client-$version/Cargo.toml" \
    --target-dir "$tools/target" --tests --no-fail-fast -- --test-threads 2
