// npm `l402`, an interceptor of axios, buys answers. It keeps each credential for the next request to the same path (or
// host), so that it sends spent ones and those of other requests.
//
// Usage: l402_axios.mjs BASE_URL CAIRN DATADIR, with MODULES in the environment: the folder of its packages.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

import { BATCH_SATS_PER_ADDRESS, FEED_SATS, TX_SATS, Purse, batch, goods, stateOf } from './l402_shop.mjs';

const require = createRequire(`${process.env.MODULES}/`);
const axios = require('axios');
const { MemoryTokenStore, PaymentResult, setupL402Interceptor } = require('l402');
const [base, cairn, datadir] = process.argv.slice(2);

const purse = new Purse(cairn, datadir);
const refusals = [];

/// Makes a client that pays with `pay`, which returns a preimage.
function client(pay, store) {
    const made = axios.create();
    // Its own request interceptor reads the whole URL, so there is no base URL.
    made.interceptors.response.use(undefined, (error) => {
        refusals.push({ body: error.response?.data, sent: error.config?.headers.Authorization });
        return Promise.reject(error);
    });
    const payInvoice = async (invoice) => {
        try {
            return new PaymentResult(await pay(invoice), true);
        } catch (error) {
            return new PaymentResult('', false, String(error));
        }
    };
    setupL402Interceptor(made, { payInvoice }, store);
    return made;
}

/// Checks the answer to a paid request, and returns its body.
function bought({ status, data }, sats) {
    assert.deepEqual([status, data._meta.price_sats], [200, sats]);
    return data;
}

const { txids, addresses } = await goods(base);
const url = (path) => new URL(path, base).href;
const [first, second] = txids.map((txid) => url(`/v1/tx/${txid}`));
const at = url('/v1/batch/summary');

// Each answer is paid once, also where the client sends the credential that it has.
const usual = client((invoice) => purse.pay(invoice), new MemoryTokenStore());
bought(await purse.pays(1, () => usual.get(first)), TX_SATS);
assert.equal(await stateOf(base, refusals[0].body), 'redeemed');
assert.equal(refusals[0].sent, undefined);
bought(await purse.pays(1, () => usual.get(first)), TX_SATS);
assert.match(refusals[1].sent, /^L402 \S+:[0-9a-f]{64}$/);
bought(await purse.pays(1, () => usual.get(second)), TX_SATS);
for (const count of [1, 3]) {
    const body = batch(addresses.slice(0, count));
    const headers = { 'content-type': 'application/json' };
    const answer = await purse.pays(1, () => usual.post(at, body, { headers }));
    assert.equal(bought(answer, count * BATCH_SATS_PER_ADDRESS).results.length, count);
}
assert.match(refusals.at(-1).sent, /^L402 /);
assert.equal(refusals.length, 5);

// One credential for all of a host: another premium operation wants its own, free ones take no notice.
const careless = client((invoice) => purse.pay(invoice), new MemoryTokenStore({ keyMode: 'hostname-only' }));
bought(await purse.pays(1, () => careless.get(first)), TX_SATS);
bought(await purse.pays(0, () => careless.get(`${first}/status`)), 0);
bought(await purse.pays(1, () => careless.get(url('/v1/chain/activity-feed?limit=2'))), FEED_SATS);
assert.match(refusals.at(-1).sent, /^L402 /);

// A payment that fails leaves the 402.
const poor = client(() => Promise.reject(new Error('no money')), new MemoryTokenStore());
const failed = await purse.pays(0, () => poor.get(second).then(assert.fail, (error) => error));
assert.deepEqual([failed.response?.status, failed.response?.data.error], [402, 'payment_required']);
assert.equal(await stateOf(base, failed.response.data), 'pending');
console.log(`l402 (axios): ${purse.payments.length} invoices paid`);
