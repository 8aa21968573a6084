// @mempool/mempool.js watches Cairn on a Bitcoin Core node: payments, a replacement, blocks and a reorganization.
// Usage: watchers_regtest.mjs ESPLORA_URL; LIBRARY is the folder of the library, NODE_URL and NODE_LOGIN are the node's.
import assert from 'node:assert/strict';

import { get, watch } from './watchers_client.mjs';

const [esplora] = process.argv.slice(2);
const { NODE_URL, NODE_LOGIN } = process.env;
const authorization = `Basic ${Buffer.from(NODE_LOGIN).toString('base64')}`;

async function call(method, ...params) {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const answer = await fetch(NODE_URL, { method: 'POST', headers: { authorization }, body });
    const { result, error } = await answer.json();
    assert.ok(!error, `${method}: ${JSON.stringify(error)}`);
    return result;
}
async function height(wanted) {
    for (let attempt = 0; ; attempt++) {
        const tip = Number(await (await fetch(`${esplora}/api/blocks/tip/height`)).text());
        if (tip === wanted) return;
        assert.ok(attempt < 600, `the height is ${tip} instead of ${wanted}`);
        await new Promise((resolve) => setTimeout(resolve, 100));
    }
}
const ids = (txs) => txs.map(({ txid }) => txid);

await call('createwallet', 'watched');
const miner = await call('getnewaddress');
await call('generatetoaddress', 110, miner);
await height(110);

const one = await watch(esplora);
const many = await watch(esplora);
assert.equal((await one.having('blocks')).blocks.at(-1).height, 110);
await many.having('blocks');
one.websocket.wsWantData(one.socket, ['blocks', 'stats', 'mempool-blocks', 'live-2h-chart']);
await one.having('mempool-blocks');
const [paid, other] = [await call('getnewaddress'), await call('getnewaddress')];
one.websocket.wsTrackAddress(one.socket, paid);
many.websocket.wsTrackAddresses(many.socket, [paid, other]);
for (const { socket, having } of [one, many]) {
    socket.send(JSON.stringify({ action: 'ping' }));
    await having('pong');
}

// A payment is seen.
const first = await call('sendtoaddress', paid, 1);
const seen = await one.having('address-transactions');
assert.deepEqual(ids(seen['address-transactions']), [first]);
assert.deepEqual(seen['address-transactions'][0], await get(`${esplora}/api/tx/${first}`));
let lists = (await many.having('multi-address-transactions'))['multi-address-transactions'];
assert.deepEqual([Object.keys(lists), ids(lists[paid].mempool)], [[paid], [first]]);
const projected = await one.next('the payment in mempool-blocks', (message) => message['mempool-blocks']?.[0]?.nTx === 1);
assert.equal(projected['mempool-blocks'].length, 1);
one.websocket.wsTrackTransaction(one.socket, first);
const { txPosition } = await one.next('a position', ({ txPosition }) => txPosition?.position);
assert.deepEqual([txPosition.txid, txPosition.position.block], [first, 0]);

// It is replaced: the payment leaves, and another one comes.
const { txid: second } = await call('bumpfee', first);
const replaced = await one.having('rbfTransaction');
assert.equal(replaced.rbfTransaction.txid, second);
lists = (await many.next('the replacement', (message) => message['multi-address-transactions']?.[paid]?.removed.length))[
    'multi-address-transactions'
];
assert.deepEqual(ids(lists[paid].removed), [first]);
one.websocket.wsTrackTransaction(one.socket, second);
await one.next('a position', ({ txPosition }) => txPosition?.txid === second);

// A block confirms it.
const [mined] = await call('generatetoaddress', 1, miner);
const confirmed = await one.having('txConfirmed');
assert.equal(confirmed.txConfirmed, second);
assert.deepEqual([confirmed.block.id, confirmed.block.height], [mined, 111]);
assert.deepEqual(ids(confirmed['block-transactions']), [second]);
assert.equal(confirmed['block-transactions'][0].status.block_hash, mined);
lists = (await many.next('the block', (message) => message['multi-address-transactions']?.[paid]?.confirmed.length))[
    'multi-address-transactions'
];
assert.deepEqual(ids(lists[paid].confirmed), [second]);

// The block is reorganized: the list is sent again, and the payment waits again.
await call('invalidateblock', mined);
const shorter = await one.having('blocks');
assert.equal(shorter.blocks.at(-1).height, 110);
await one.next('the transaction in the mempool', ({ txPosition }) => txPosition?.txid === second);
// To another address, since the same block at the same second would be the one that is invalid.
const again = await call('generatetoaddress', 2, await call('getnewaddress'));
const confirmedAgain = await one.having('txConfirmed');
assert.equal(confirmedAgain.txConfirmed, second);
await one.next('the second block', ({ block }) => block?.id === again[1]);
assert.deepEqual(await get(`${esplora}/api/tx/${second}/status`).then(({ block_hash }) => block_hash), again[0]);

// Nothing comes after the end of tracking.
one.websocket.wsStopData(one.socket);
one.websocket.wsStopTrackingAddress(one.socket);
one.websocket.wsStopTrackingTransaction(one.socket);
one.socket.send(JSON.stringify({ action: 'ping' }));
await one.having('pong');
await call('sendtoaddress', paid, 1);
await many.having('multi-address-transactions');
assert.deepEqual(one.messages, []);
one.socket.close();
many.socket.close();
console.log('interop: @mempool/mempool.js watches a node');
