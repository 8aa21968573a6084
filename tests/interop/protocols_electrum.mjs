// @mempool/electrum-client, the client of mempool.space's backend, reads over the Electrum protocol what our own API
// says of the same addresses, transactions and blocks.
// Usage: protocols_electrum.mjs BASE_URL ESPLORA_URL ELECTRUM_URL; LIBRARY is its folder.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';

const [base, esplora, electrum] = process.argv.slice(2);
const require = createRequire(`${process.env.LIBRARY}/`);
const ElectrumClient = require('@mempool/electrum-client');

const ask = async (path) => {
    const answer = await fetch(`${base}${path}`);
    assert.equal(answer.status, 200, path);
    return answer.json();
};
const sha256 = (bytes) => createHash('sha256').update(bytes).digest();
// Identifiers are shown in reverse.
const hash = (bytes) => Buffer.from(sha256(sha256(bytes))).reverse().toString('hex');
const reversed = (hex) => Buffer.from(hex, 'hex').reverse();
const sum = (values) => values.reduce((total, value) => total + value, 0);

const { hostname, port } = new URL(electrum);
const silent = { onLog: () => {} };
const once = { retryPeriod: 1000, maxRetry: 0, pingPeriod: 120_000, callback: null };
const open = (version) =>
    new ElectrumClient(Number(port), hostname, 'tcp', null, silent).initElectrum({ client: 'mempool-v2', version }, once);

// A connection for each form of a version that the protocol has.
for (const [wanted, given] of [['1.4', '1.4'], ['1.4.2', '1.4.2'], [['1.4', '1.6'], '1.6'], [['1.1', '1.4.3'], '1.4.3']]) {
    const client = await open(wanted);
    assert.equal(client.versionInfo[1], given, JSON.stringify(wanted));
    assert.match(client.versionInfo[0], /^Cairn /);
    client.close();
}
await assert.rejects(open('9.9'));

const client = await open('1.4');
let [histories, coins, transactions] = [0, 0, 0];

// The server itself. The library takes an answer of nothing for the whole message.
assert.equal((await client.server_ping()).result, null);
const features = await client.server_features();
assert.deepEqual([features.hash_function, features.protocol_min], ['sha256', '1.4']);
assert.deepEqual(await client.serverPeers_subscribe(), []);
await assert.rejects(client.request('blockchain.nothing', []), (error) => error.code === -32601);

// Headers: those of the protocol are the blocks of our API.
const tip = await client.blockchainHeaders_subscribe();
const { _meta } = await ask('/v1/network/mempool/stress');
assert.deepEqual([tip.height, hash(Buffer.from(tip.hex, 'hex'))], [_meta.tip.height, _meta.tip.hash]);
const headers = await client.request('blockchain.block.headers', [tip.height - 19, 50]);
assert.deepEqual([headers.count, headers.hex.length], [20, 20 * 160]);
const roots = new Map();
for (let at = 0; at < headers.count; at++) {
    const header = Buffer.from(headers.hex.slice(at * 160, (at + 1) * 160), 'hex');
    const height = tip.height - 19 + at;
    const block = await ask(`/v1/blocks/${height}`);
    assert.deepEqual([hash(header), header.subarray(36, 68)], [block.hash, reversed(block.merkle_root)], `block ${height}`);
    assert.equal(await client.request('blockchain.block.header', [height]), header.toString('hex'));
    roots.set(height, block.merkle_root);
}
const first = await client.request('blockchain.block.header', [0]);
assert.equal(hash(Buffer.from(first, 'hex')), features.genesis_hash);
await assert.rejects(client.request('blockchain.block.header', [tip.height + 1]), (error) => error.code === 1);

// Fees. The demo has no node, which would estimate them.
assert.equal(await client.blockchainEstimatefee(6), -1);
assert.ok((await client.blockchain_relayfee()) > 0);
const histogram = await client.mempool_getFeeHistogram();
const stats = await ask('/v1/mempool/stats');
assert.equal(sum(histogram.map(([, vsize]) => vsize)), stats.vsize);
assert.ok(histogram.every(([rate], at) => at === 0 || rate < histogram[at - 1][0]), 'the highest feerate comes first');

// The path of a transaction to the root of its block.
async function proves(txid, height) {
    const { block_height, merkle, pos } = await client.blockchainTransaction_getMerkle(txid, height);
    let [node, index] = [reversed(txid), pos];
    for (const sibling of merkle) {
        const pair = index & 1 ? [reversed(sibling), node] : [node, reversed(sibling)];
        [node, index] = [sha256(sha256(Buffer.concat(pair))), index >> 1];
    }
    roots.has(height) || roots.set(height, (await ask(`/v1/blocks/${height}`)).merkle_root);
    assert.deepEqual([block_height, Buffer.from(node).reverse().toString('hex')], [height, roots.get(height)], txid);
    const named = await client.request('blockchain.transaction.id_from_pos', [height, pos, true]);
    assert.deepEqual(named, { tx_hash: txid, merkle });
}

// Every address that the home page names.
const home = await (await fetch(`${base}/`)).text();
const addresses = [...new Set([...home.matchAll(/\/address\/([0-9A-Za-z]+)/g)].map(([, address]) => address))];
assert.ok(addresses.length > 3);
const asked = [];
for (const address of addresses) {
    const own = await ask(`/v1/wallets/${address}/overview`);
    const script = reversed(own.script_hash).toString('hex');
    const balance = await client.blockchainScripthash_getBalance(script);
    assert.deepEqual(balance, { confirmed: own.balance.confirmed_sats, unconfirmed: own.balance.unconfirmed_sats }, address);
    const unspent = await client.blockchainScripthash_listunspent(script);
    // No coin is an empty list, which the library takes for the answer.
    const listed = Array.isArray(unspent) ? unspent : unspent.result;
    // Confirmed coins that an unconfirmed transaction spends are not listed, but are in `utxo_count`.
    const { chain_stats, mempool_stats } = await (await fetch(`${esplora}/address/${address}`)).json();
    const count = sum([chain_stats, mempool_stats].map((stats) => stats.funded_txo_count - stats.spent_txo_count));
    assert.deepEqual([listed.length, sum(listed.map(({ value }) => value))], [count, own.balance.total_sats], address);
    const confirmed = listed.filter(({ height }) => height > 0);
    assert.ok(confirmed.length <= own.utxo_count && chain_stats.tx_count === own.tx_count, address);
    coins += listed.length;

    const history = await client.blockchainScripthash_getHistory(script);
    assert.equal(history.length, own.tx_count + own.unconfirmed_tx_count, address);
    const listing = history.map(({ tx_hash, height }) => `${tx_hash}:${height}:`).join('');
    assert.equal(await client.blockchainScripthash_subscribe(script), sha256(listing).toString('hex'), address);
    const mempool = history.filter(({ height }) => height <= 0);
    assert.deepEqual(await client.blockchainScripthash_getMempool(script), mempool, address);
    assert.equal(mempool.length, own.unconfirmed_tx_count, address);

    // A page of our own list has the newest first, and those of one block in reverse.
    const page = await ask(`/v1/wallets/${address}/transactions?limit=100`);
    assert.equal(page.total + page.unconfirmed_total, history.length, address);
    const heights = new Map(history.map(({ tx_hash, height, fee }) => [tx_hash, [height, fee]]));
    for (const { txid, status, fee_sats } of page.transactions) {
        const [height, fee] = heights.get(txid);
        assert.equal(Math.max(height, 0), status.height ?? 0, txid);
        assert.equal(fee, height > 0 ? undefined : fee_sats, txid);
    }
    const blocks = page.transactions.filter(({ status }) => status.height).map(({ txid }) => txid);
    const mined = history.filter(({ height }) => height > 0).map(({ tx_hash }) => tx_hash);
    assert.deepEqual(mined.slice(mined.length - blocks.length).reverse(), blocks, address);
    histories += history.length;
    asked.push({ script, balance, history, listed });

    // The newest and the oldest ones in full.
    for (const { tx_hash, height } of new Set([...history.slice(0, 3), ...history.slice(-3)])) {
        const raw = await client.blockchainTransaction_get(tx_hash);
        const transaction = await ask(`/v1/tx/${tx_hash}`);
        assert.deepEqual([raw.length / 2, hash(Buffer.from(raw, 'hex'))], [transaction.size, transaction.wtxid], tx_hash);
        if (height > 0) await proves(tx_hash, height);
        transactions += 1;
    }
}

// In one message for all.
const scripts = asked.map(({ script }) => script);
for (const [method, field] of [['getBalance', 'balance'], ['getHistory', 'history'], ['listunspent', 'listed']]) {
    const answers = await client[`blockchainScripthash_${method}Batch`](scripts);
    for (const { script, ...expected } of asked) {
        assert.deepEqual(answers.find(({ param }) => param === script).result, expected[field], method);
    }
}
// As many as BlueWallet sends in one message, and more.
const many = [...Array(300).keys()].map((number) => hash(Buffer.from(`script ${number}`)));
assert.equal((await client.blockchainScripthash_getBalanceBatch(many)).length, many.length);
const txids = asked.flatMap(({ history }) => history.slice(0, 5)).map(({ tx_hash }) => tx_hash).slice(0, 40);
const raw = await client.blockchainTransaction_getBatch(txids, false);
for (const { param, result } of raw) assert.ok(result.length > 100, param);
assert.equal(raw.length, txids.length);

// A transaction that nobody knows, and what needs a node.
await assert.rejects(client.blockchainTransaction_get('11'.repeat(32)), (error) => error.code === 2);
await assert.rejects(client.blockchainTransaction_get(txids[0], true), (error) => error.code === 2 && error.message.startsWith('verbose transactions are currently unsupported'));
await assert.rejects(client.blockchainTransaction_broadcast(await client.blockchainTransaction_get(txids[0])));
client.close();
console.log(
    `interop: @mempool/electrum-client read ${addresses.length} addresses with ${histories} entries of histories and ` +
        `${coins} coins, and ${transactions} transactions`,
);
