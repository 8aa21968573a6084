#!/usr/bin/env bash
# Answers are bought with real payments of Lightning: tests/interop/lightning runs two nodes of `ldk-node` with a channel,
# one gets its invoices through `--lightning lnd`, the other one pays. $1 is the binary.
# The program is built in the user's cache, with a lock of its own; the versions of the clients are pinned.
set -euo pipefail

cairn=$1
listen=127.0.0.1:18337
base=http://$listen
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/interop/install-pinned.sh
. "$here/install-pinned.sh"
# bolt11 takes any bitstring, and fails with 5.0; it brings bech32.
install_pinned interop-lightning l402-requests==0.9.0 bolt11==2.2.0 bitstring==4.4.0
echo "interop: building the Lightning nodes (the first time takes some minutes)"
# Not in the target folder of the workspace: `cargo clean` there leaves the nodes.
target="${XDG_CACHE_HOME:-$HOME/.cache}/cairn/interop-lightning-target"
cargo build --locked --quiet --manifest-path "$here/lightning/Cargo.toml" --target-dir "$target"

work=$(mktemp -d)
server='' nodes=''
stop() {
    for started in $server $nodes; do
        kill "$started" 2>/dev/null || true
        wait "$started" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap stop EXIT
fail() {
    echo "interop: $1; the end of each log:" >&2
    # The nodes complain about missing fee estimates many times.
    for log in "$work"/log "$work"/*/log; do
        echo "$log:"
        grep -v 'fee rate estimates' "$log" 2>/dev/null | tail -n 20 || true
    done >&2
    exit 1
}

# The nodes close their channel and end when their standard input ends, thus also if this script dies.
mkfifo "$work/input" "$work/output"
"$target/debug/cairn-interop-lightning" "$work" <"$work/input" >"$work/output" &
nodes=$!
exec {input}>"$work/input" {output}<"$work/output"
read -r -t 240 -u "$output" line || fail "the Lightning nodes have no channel"

field() { python3 -c 'import json, sys; print(json.loads(sys.argv[1])["shop"][sys.argv[2]])' "$line" "$1"; }
export CAIRN_LIGHTNING=lnd CAIRN_LIGHTNING_PRIVATE_CHANNELS=true CAIRN_LIGHTNING_TIMEOUT_MS=30000
CAIRN_LIGHTNING_URL=$(field url)
CAIRN_LIGHTNING_CREDENTIAL=$(field invoices)
export CAIRN_LIGHTNING_URL CAIRN_LIGHTNING_CREDENTIAL
unset CAIRN_STATE_URL
"$cairn" demo --still --access-mode live --datadir "$work/data" --listen "$listen" >"$work/log" 2>&1 {input}>&- &
server=$!
for attempt in $(seq 1 120); do
    if curl -fsS "$base/api/health" -o /dev/null 2>/dev/null; then break; fi
    if ! kill -0 "$server" 2>/dev/null || [ "$attempt" = 120 ]; then fail "the demo with access_mode = live does not answer"; fi
    sleep 1
done

timeout 240 "$tools/bin/python" "$here/lightning.py" "$base" "$cairn" "$work/data" "$line" || fail "a purchase failed"
exec {input}>&-
read -r -t 120 -u "$output" line || fail "the channel was not closed"
echo "$line"
wait "$nodes" || fail "the Lightning nodes did not end well"
nodes=
