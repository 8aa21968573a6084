#!/usr/bin/env bash
# Sourced by the interop scripts that need a node: Bitcoin Core on regtest, and Cairn on it with all its protocols.

# shellcheck source=tests/interop/servers.sh
. "$(dirname "${BASH_SOURCE[0]}")/servers.sh"

# start_regtest CAIRN: starts both in the new folder $work. Prints nothing. Sets, for programs:
# NODE_URL and NODE_LOGIN (of the node's RPC), BASE_URL, ESPLORA_URL, ELECTRUM_ADDRESS, ELECTRUM_TLS_ADDRESS.
# The caller has checked that BITCOIND_EXE names a bitcoind.
start_regtest() {
    local cairn=$1 rpc=127.0.0.1:18351 zmq=tcp://127.0.0.1:18352 listen=127.0.0.1:18353
    begin_servers "$(basename "$0" .sh)"
    export NODE_URL="http://$rpc" NODE_LOGIN=interop:$RANDOM$RANDOM$RANDOM BASE_URL="http://$listen"
    export ESPLORA_URL=http://127.0.0.1:18354 ELECTRUM_ADDRESS=127.0.0.1:18355 ELECTRUM_TLS_ADDRESS=127.0.0.1:18356
    # A certificate that nobody has signed but its owner.
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout "$work/key.pem" -out "$work/certificate.pem" \
        2>/dev/null || { echo "interop: openssl makes no certificate" >&2; exit 1; }
    mkdir "$work/node"
    start_server node "$BITCOIND_EXE" -regtest -datadir="$work/node" -listen=0 -dnsseed=0 -fallbackfee=0.0002 \
        -printtoconsole=0 \
        -rpcport="${rpc#*:}" -rpcuser="${NODE_LOGIN%%:*}" -rpcpassword="${NODE_LOGIN#*:}" \
        -zmqpubsequence="$zmq" -zmqpubhashblock="$zmq"
    wait_for 60 bitcoind curl -fsS --user "$NODE_LOGIN" --data '{"method":"getblockcount"}' "$NODE_URL"
    # Thousands of requests of one client are the point here.
    CAIRN_NODE_USER=${NODE_LOGIN%%:*} CAIRN_NODE_PASSWORD=${NODE_LOGIN#*:} CAIRN_RATE_LIMIT=0 \
        start_server cairn "$cairn" run --datadir "$work/cairn" --network regtest --node "$NODE_URL" --listen "$listen" \
        --esplora "${ESPLORA_URL#http://}" --electrum "$ELECTRUM_ADDRESS" --electrum-tls "$ELECTRUM_TLS_ADDRESS" \
        --electrum-tls-cert "$work/certificate.pem" --electrum-tls-key "$work/key.pem"
    wait_for 60 Cairn curl -fsS "$ESPLORA_URL/blocks/tip/height"
}

# fail_regtest WHY: ends the script with the end of each log.
fail_regtest() {
    {
        tail -n 15 "$work/node/regtest/debug.log" "$work/electrum/log" 2>/dev/null || true
        # Headers, requests and disconnects, which other lines push out of the end.
        grep 'interface' "$work/electrum/log" 2>/dev/null | tail -n 30 || true
    } >&2
    fail "$1"
}
