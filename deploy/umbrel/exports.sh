# umbrelOS sources this file before it starts the app.
export APP_CAIRN_ELECTRUM_PORT="50011"

# Cairn's name of the network, and the folder of its blocks in that of the node.
export APP_CAIRN_NETWORK="main" APP_CAIRN_BLOCKS="blocks"
case "${APP_BITCOIN_NETWORK:-mainnet}" in
  testnet) APP_CAIRN_NETWORK="testnet3" APP_CAIRN_BLOCKS="testnet3/blocks" ;;
  testnet4 | signet | regtest) APP_CAIRN_NETWORK="${APP_BITCOIN_NETWORK}" APP_CAIRN_BLOCKS="${APP_BITCOIN_NETWORK}/blocks" ;;
esac

# The node and other apps share the memory of the machine: a third at most for Cairn.
cairn_memory_mb="$(awk '/MemTotal:/ {print int($2 / 1024)}' /proc/meminfo 2>/dev/null || true)"
case "${cairn_memory_mb}" in
  "" | *[!0-9]*) cairn_memory_mb="4096" ;;
esac
export APP_CAIRN_MEMORY_MB="512" APP_CAIRN_CACHE_MB="256" APP_CAIRN_MEMPOOL_MB="256"
if [ "${cairn_memory_mb}" -ge 15000 ]; then
  APP_CAIRN_MEMORY_MB="4096" APP_CAIRN_CACHE_MB="1024" APP_CAIRN_MEMPOOL_MB="512"
elif [ "${cairn_memory_mb}" -ge 7000 ]; then
  APP_CAIRN_MEMORY_MB="1024" APP_CAIRN_CACHE_MB="512" APP_CAIRN_MEMPOOL_MB="512"
fi
