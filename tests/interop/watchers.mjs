// @mempool/mempool.js watches the demo chain, and gets what the routes of the same listener answer.
// Usage: watchers.mjs ESPLORA_URL; LIBRARY is the folder of the library.
import assert from 'node:assert/strict';

import { get, watch } from './watchers_client.mjs';

const [esplora] = process.argv.slice(2);
const { socket, websocket, next, having } = await watch(esplora);

// The library asks for all at the start.
const init = await having('blocks');
const newest = await get(`${esplora}/api/v1/blocks`);
assert.deepEqual(init.blocks, newest.slice(0, 8).reverse());
assert.ok(Array.isArray(init['mempool-blocks']) && init.mempoolInfo.loaded, JSON.stringify(init).slice(0, 200));
assert.ok(init.mempoolInfo.size >= 0 && init.fees.fastestFee >= init.fees.minimumFee);

websocket.wsWantData(socket, ['blocks', 'stats', 'mempool-blocks', 'live-2h-chart']);
const wanted = await having('blocks');
assert.deepEqual(wanted.blocks, init.blocks);
socket.send(JSON.stringify({ action: 'ping' }));
await having('pong');

// A confirmed transaction and one that waits.
const [{ id }] = newest;
const [txid] = await get(`${esplora}/api/block/${id}/txids`);
websocket.wsTrackTransaction(socket, txid);
assert.equal((await having('txConfirmed')).txConfirmed, txid);
const [waiting] = await get(`${esplora}/api/mempool/recent`);
if (waiting) {
    websocket.wsTrackTransaction(socket, waiting.txid);
    const { txPosition } = await next('its position', ({ txPosition }) => txPosition?.txid === waiting.txid);
    assert.ok(txPosition.position === null || txPosition.position.block >= 0, JSON.stringify(txPosition));
}
websocket.wsStopTrackingTransaction(socket);

// Addresses: an answer comes only if something is wrong.
const [coinbase] = await get(`${esplora}/api/block/${id}/txs`);
const address = coinbase.vout.find(({ scriptpubkey_address }) => scriptpubkey_address).scriptpubkey_address;
websocket.wsTrackAddress(socket, address);
websocket.wsTrackAddresses(socket, [address, 'nonsense']);
const { error } = await having('error');
assert.match(error, /track-addresses "nonsense": not an address of this network/);
websocket.wsTrackAddresses(socket, [address]);
websocket.wsStopTrackingAddresses(socket);
websocket.wsStopTrackingAddress(socket);
// The library offers more than is served.
for (const ask of [() => websocket.wsTrackRbfSummary(socket), () => websocket.wsTrackMempoolBlock(socket, 0)]) {
    ask();
    assert.match((await having('error')).error, /is not served; the members may be action, track-tx/);
}
websocket.wsStopData(socket);
socket.send(JSON.stringify({ action: 'ping' }));
await having('pong');
socket.close();
console.log('interop: @mempool/mempool.js watches the demo chain');
