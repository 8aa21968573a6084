// `@x402/fetch` buys answers with GET and POST, pays from a contract wallet, and leaves free calls alone. Each price is
// found again on the chain.
//
// Usage: x402_fetch.mjs BASE_URL FOLDER, with MODULES in the environment: the folder of its packages. FOLDER is that of
// x402_chain.mjs.

import assert from 'node:assert/strict';

import { goods } from './l402_shop.mjs';
import { NETWORK, readChain } from './x402_chain.mjs';
import { Buyer, PRICE, bought, post, receiptOf } from './x402_shop.mjs';

/// Fewer than a server has in hand at a time, which are 16.
const AT_ONCE = 8;
const [base, folder] = process.argv.slice(2);
const { chain, payTo, wallets, contractWallet } = readChain(folder);
const url = (path) => new URL(path, base).href;
const { txids, addresses } = await goods(base);
const [address] = addresses;

const health = await (await fetch(url('/api/health'))).json();
assert.equal(health.x402_opening.status, 'open');
assert.deepEqual(health.live_x402_capabilities, ['chain_awakenings', 'tx_verify', 'wallet_detail', 'wallet_summary']);

/// Buys one answer, and returns it.
async function buy(buyer, target, init) {
    const before = await chain.balance(payTo);
    const answer = await buyer.fetch(url(target), init);
    return bought(answer, { chain, payTo, payer: buyer.address, before });
}

const buyer = new Buyer(chain, wallets.fetch);

// The offer, in the header and in the body alike.
const awakenings = '/v1/chain/awakenings?limit=2';
const offered = await fetch(url(awakenings));
assert.equal(offered.status, 402);
const required = buyer.client.getPaymentRequiredResponse((name) => offered.headers.get(name));
const { payment_options: options } = await offered.json();
assert.deepEqual([required.x402Version, required.resource.url], [2, url(awakenings)]);
assert.deepEqual(options.x402.accepts, required.accepts);
assert.equal(options.l402.offer.path_template, options.x402.offer.path_template);
const [offer] = required.accepts;
assert.deepEqual([offer.scheme, offer.network, offer.amount], ['exact', NETWORK, String(PRICE)]);
assert.deepEqual([offer.asset.toLowerCase(), offer.payTo], [chain.token.toLowerCase(), payTo]);
assert.deepEqual(offer.extra, { name: 'USD Coin', version: '2' });

for (const path of [awakenings, '/v1/chain/awakenings']) {
    assert(Array.isArray((await buy(buyer, path)).awakenings), path);
}
for (const part of ['summary', 'detail']) {
    assert.equal((await buy(buyer, `/v1/wallets/${address}/${part}`)).address, address);
}
const [txid] = txids;
assert.equal((await buy(buyer, '/v1/tx/verify', post({ txid, expected_address: address }))).txid, txid);
// A second answer to the same request is paid again.
await buy(buyer, `/v1/wallets/${address}/summary`);

// Payments at the same time: the facilitator sends each transaction with a nonce of its own.
const before = await chain.balance(payTo);
const targets = Array.from({ length: AT_ONCE }, (_, at) => `/v1/chain/awakenings?limit=${at + 1}`);
const answers = await Promise.all(targets.map((target) => buyer.fetch(url(target))));
const transactions = new Set(answers.map((answer) => receiptOf(answer)?.transaction));
assert.deepEqual([answers.map((answer) => answer.status), transactions.size], [Array(AT_ONCE).fill(200), AT_ONCE]);
assert.equal(await chain.balance(payTo), before + BigInt(AT_ONCE) * PRICE);

// What is free needs no payment.
const free = await buyer.fetch(url(`/v1/tx/${txid}/status`));
assert.deepEqual([free.status, free.headers.get('payment-response')], [200, null]);

// Only the chain can check signatures of a contract.
const contract = new Buyer(chain, wallets.owner, contractWallet);
assert.equal((await buy(contract, `/v1/wallets/${address}/summary`)).address, address);
console.log(`@x402/fetch: ${6 + AT_ONCE} answers bought by a key, 1 by a contract wallet`);
