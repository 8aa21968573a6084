#!/usr/bin/env bash
# Takes the flags of electrs, and runs Cairn ($CAIRN_EXE) with what they say: for suites that start an electrs
# themselves. Like electrs, it may be sent SIGUSR1 to look at the node at once; Cairn looks often enough.
set -euo pipefail

folder='' node='' credentials='' esplora='' electrum=''
while [ $# -gt 0 ]; do
    case $1 in
        --db-dir) folder=$2 && shift 2 ;;
        --daemon-rpc-addr) node=$2 && shift 2 ;;
        --cookie) credentials=$2 && shift 2 ;;
        --http-addr) esplora=$2 && shift 2 ;;
        --electrum-rpc-addr) electrum=$2 && shift 2 ;;
        --network) network=$2 && shift 2 ;;
        --monitoring-addr | --daemon-p2p-addr) shift 2 ;;
        *) shift ;;
    esac
done
trap '' USR1
CAIRN_NODE_USER=${credentials%%:*} CAIRN_NODE_PASSWORD=${credentials#*:} CAIRN_RATE_LIMIT=0 \
    exec "$CAIRN_EXE" run --datadir "$folder/cairn" --network "$network" --node "http://$node" \
    --listen 127.0.0.1:0 ${esplora:+--esplora "$esplora"} ${electrum:+--electrum "$electrum"}
