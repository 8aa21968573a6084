#!/usr/bin/env bash
# Clients of x402 that we did not write buy answers: @x402/fetch of npm, x402 of PyPI over HTTP and over MCP. The binary
# $1 serves the demo chain with access_mode = live; the facilitator is that of deploy/x402-facilitator, whose rules are
# those of @x402/core and @x402/evm. The chain is an anvil with a token of ours, compiled from source.
# Versions are pinned; they live in the user's cache. Everything listens on this machine only.
set -euo pipefail

cairn=$1
chain=127.0.0.1:18545
facilitator=127.0.0.1:18402
listen=127.0.0.1:18335
base=http://$listen
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/interop/servers.sh
. "$here/servers.sh"
# shellcheck source=tests/interop/install-pinned.sh
. "$here/install-pinned.sh"
# The MCP client of x402 reads the results of mcp 1, not those of mcp 2.
install_pinned interop-x402 'x402[evm,httpx,mcp,requests]==2.25.0' mcp==1.30.0 eth-account==0.14.0 web3==8.0.0 \
    httpx==0.28.1 requests==2.34.2 @foundry-rs/anvil@1.7.1 solc@0.8.37 @x402/core@2.27.0 @x402/evm@2.27.0 \
    @x402/fetch@2.27.0 viem@2.57.20

# The facilitator, as an operator installs it.
program=${XDG_CACHE_HOME:-$HOME/.cache}/cairn/x402-facilitator
mkdir -p "$program"
if ! cmp -s "$here/../../deploy/x402-facilitator/package-lock.json" "$program/installed"; then
    echo "interop: installing the facilitator of x402"
    cp "$here/../../deploy/x402-facilitator/"package*.json "$program"
    npm ci --prefix "$program" --silent --no-audit --no-fund </dev/null
    cp "$program/package-lock.json" "$program/installed"
fi
cp "$here/../../deploy/x402-facilitator/facilitator.mjs" "$program"

begin_servers x402
# The program itself, not the script that starts it.
anvil=$(echo "$tools"/node_modules/@foundry-rs/anvil-*/bin/anvil)
if [ ! -x "$anvil" ]; then
    echo "interop: npm has no anvil for this machine" >&2
    exit 1
fi
start_server anvil "$anvil" --host "${chain%:*}" --port "${chain#*:}"
chain_id='{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'
wait_for 60 anvil curl -fsS -H 'content-type: application/json' -d "$chain_id" "http://$chain"
MODULES="$tools/node_modules" timeout 180 node "$here/x402_chain.mjs" "http://$chain" "$work"
network='' token='' pay_to=''
# shellcheck source=/dev/null
. "$work/settings.sh"

export X402_NETWORK=$network X402_RPC_URL=http://$chain X402_KEY_FILE=$work/facilitator.key X402_PAY_TO=$pay_to
export X402_LISTEN=$facilitator
(umask 077 && head -c 24 /dev/urandom | base64 >"$work/token")
export X402_TOKEN_FILE=$work/token
start_server facilitator node "$program/facilitator.mjs"
node=$newest
wait_for 60 "the facilitator" curl -fsS -H "authorization: Bearer $(cat "$work/token")" "http://$facilitator/supported"

unset CAIRN_STATE_URL
start_server cairn "$cairn" demo --still --access-mode live --lightning simulated --base-url "$base" \
    --x402-facilitator "http://$facilitator" --x402-facilitator-key-file "$work/token" --x402-pay-to "$pay_to" \
    --x402-network "$network" --x402-asset "$token" --x402-asset-name 'USD Coin' --x402-asset-version 2 \
    --x402-decimals 6 --x402-max-timeout 60 --x402-contract-wallets true --x402-settlement open \
    --datadir "$work/data" --listen "$listen"
wait_for 120 Cairn curl -fsS "$base/api/health"

MODULES="$tools/node_modules" timeout 240 node "$here/x402_fetch.mjs" "$base" "$work"
timeout 240 "$tools/bin/python" "$here/x402_http.py" "$base" "$work"
timeout 240 "$tools/bin/python" "$here/x402_mcp.py" "$base" "$work"

# The next client starts and kills the facilitator itself.
end_server "$node"
MODULES="$tools/node_modules" timeout 480 node "$here/x402_failures.mjs" "$base" "$work" "$program/facilitator.mjs" \
    "$cairn" "$work/data"
