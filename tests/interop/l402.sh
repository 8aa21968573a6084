#!/usr/bin/env bash
# Clients of L402 that we did not write buy answers: @getalby/lightning-tools and l402 of npm, l402-requests of PyPI.
# The binary $1 serves the demo chain with access_mode = live and simulated invoices; its `cairn access pay` is the
# wallet of all clients. pymacaroons narrows macaroons, and bolt11 decodes invoices.
# Versions are pinned; they live in the user's cache.
set -euo pipefail

cairn=$1
listen=127.0.0.1:18334
base=http://$listen
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/interop/servers.sh
. "$here/servers.sh"
# shellcheck source=tests/interop/install-pinned.sh
. "$here/install-pinned.sh"
# bolt11 takes any bitstring, and fails with 5.0; l402 takes any axios 1.
install_pinned interop-l402 l402-requests==0.9.0 pymacaroons==0.13.0 bolt11==2.2.0 bitstring==4.4.0 \
    @getalby/lightning-tools@9.0.1 l402@0.5.1 axios@1.21.1

begin_servers l402
# `cairn access pay` finds the invoices in the data folder, unless the environment names another database.
unset CAIRN_STATE_URL
start_server demo "$cairn" demo --still --access-mode live --lightning simulated --datadir "$work/data" --listen "$listen"
wait_for 120 "the demo with access_mode = live" curl -fsS "$base/api/health"

MODULES="$tools/node_modules" timeout 120 node "$here/l402_lightning_tools.mjs" "$base" "$cairn" "$work/data"
MODULES="$tools/node_modules" timeout 120 node "$here/l402_axios.mjs" "$base" "$cairn" "$work/data"
timeout 120 "$tools/bin/python" "$here/l402_httpx.py" "$base" "$cairn" "$work/data"
timeout 120 "$tools/bin/python" "$here/l402_macaroons.py" "$base" "$cairn" "$work/data"
