// @bitcoinerlab/explorer reads an address over Esplora's API, and says what our own API says of it.
// Usage: protocols_libraries.mjs BASE_URL ESPLORA_URL; LIBRARY is its folder.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const [base, esplora] = process.argv.slice(2);
const require = createRequire(`${process.env.LIBRARY}/`);
const { EsploraExplorer } = require('@bitcoinerlab/explorer');

const ask = async (path) => (await fetch(`${base}${path}`)).json();
const explorer = new EsploraExplorer({ url: esplora });
await explorer.connect();
assert.equal(await explorer.isConnected(), true);

const { _meta } = await ask('/v1/network/mempool/stress');
const height = await explorer.fetchBlockHeight();
assert.equal(height, _meta.tip.height);
const status = await explorer.fetchBlockStatus(height);
assert.deepEqual([status.blockHeight, status.blockHash], [height, _meta.tip.hash]);
assert.equal(await explorer.fetchBlockStatus(height + 1), undefined);

// Every address that the home page names.
const home = await (await fetch(`${base}/`)).text();
const addresses = [...new Set([...home.matchAll(/\/address\/([0-9A-Za-z]+)/g)].map(([, address]) => address))];
assert.ok(addresses.length > 3);
let transactions = 0;
for (const address of addresses) {
    const own = await ask(`/v1/wallets/${address}/overview`);
    const told = await explorer.fetchAddress(address);
    assert.equal(told.balance, own.balance.confirmed_sats, address);
    assert.equal(told.txCount, own.tx_count, address);
    // Longer histories are refused by the library itself.
    if (told.txCount + told.unconfirmedTxCount > 900) continue;
    const history = await explorer.fetchTxHistory({ address });
    // A page has 50 unconfirmed transactions at most, and there is no further one.
    assert.equal(history.length, told.txCount + Math.min(told.unconfirmedTxCount, 50), address);
    transactions += history.length;
    for (const { txId } of history.slice(0, 3)) assert.match(await explorer.fetchTx(txId), /^0[12]000000/);
}
explorer.close();
console.log(`interop: @bitcoinerlab/explorer read ${addresses.length} addresses with ${transactions} transactions`);
