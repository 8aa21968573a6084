// `@getalby/lightning-tools` buys answers with GET and POST, refuses too high a price, takes up an interrupted payment,
// and decodes the invoices.
//
// Usage: l402_lightning_tools.mjs BASE_URL CAIRN DATADIR, with MODULES in the environment: the folder of its package.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

import { BATCH_SATS_PER_ADDRESS, FEED_SATS, TX_SATS, Purse, batch, goods, stateOf } from './l402_shop.mjs';

const require = createRequire(`${process.env.MODULES}/`);
const { fetch402, fetchWithL402 } = require('@getalby/lightning-tools/402');
const { Invoice } = require('@getalby/lightning-tools/bolt11');
const [base, cairn, datadir] = process.argv.slice(2);
/// An invoice ends with its challenge, or a little before.
const MAX_GAP_SECS = 60;

// The library does not hand out a 402 that it pays.
const refusals = [];
const plainFetch = globalThis.fetch;
globalThis.fetch = async (...request) => {
    const answer = await plainFetch(...request);
    if (answer.status === 402) {
        refusals.push({ header: answer.headers.get('www-authenticate'), body: await answer.clone().json() });
    }
    return answer;
};

const purse = new Purse(cairn, datadir);
const wallet = { payInvoice: async ({ invoice }) => ({ preimage: await purse.pay(invoice) }) };
const { txids, addresses } = await goods(base);
const post = (body) => ({ method: 'POST', headers: { 'content-type': 'application/json' }, body });
const url = (path) => new URL(path, base).href;

/// Checks the answer to a paid request, and returns its body.
async function bought(answer, sats) {
    const body = await answer.json();
    assert.equal(answer.status, 200, JSON.stringify(body));
    assert.equal(body._meta.price_sats, sats);
    return body;
}

/// Checks that a refusal offers this operation for this price, in its header and in its body alike.
function checkOffer({ header, body }, template, path, sats) {
    assert.equal(body.error, 'payment_required');
    const { offer, challenge, payment_method: method, payment, authorization } = body.payment_options.l402;
    assert.deepEqual([offer.path_template, offer.price_sats, challenge.resource_path], [template, sats, path]);
    assert.deepEqual([challenge.offer_id, challenge.status, method.simulated], [offer.id, 'pending', true]);
    assert.deepEqual([payment.price_sats, payment.currency, authorization.scheme], [sats, 'SATS', 'L402']);
    assert.equal(payment.payment_uri.toLowerCase(), `lightning:${payment.invoice}`);
    for (const part of ['L402 version="0"', `token="${payment.macaroon}"`, `invoice="${payment.invoice}"`]) {
        assert(header.includes(part), `${part} is missing in ${header}`);
    }
    const invoice = new Invoice({ pr: payment.invoice });
    assert.deepEqual([invoice.millisatoshi, invoice.paymentHash], [sats * 1000, payment.payment_hash]);
    // Without the field, BOLT 11 has an hour.
    const end = (invoice.timestamp + (invoice.expiry ?? 3600)) * 1000;
    const gap = (Date.parse(challenge.expires_at) - end) / 1000;
    assert(gap >= 0 && gap <= MAX_GAP_SECS, `the invoice ends ${gap} s before the challenge`);
    assert(end > Date.now() && !invoice.hasExpired());
    return invoice;
}

// A GET. Its credential gives one answer, and the library then does not pay: its user decides.
const [txid, otherTxid] = txids;
const path = `/v1/tx/${txid}`;
const first = await purse.pays(1, () => fetchWithL402(url(path), {}, { wallet }));
assert.equal((await bought(first, TX_SATS)).txid, txid);
assert.deepEqual([first.payment.paid, first.payment.amountSat], [true, TX_SATS]);
const invoice = checkOffer(refusals[0], '/v1/tx/{txid}', path, TX_SATS);
assert(invoice.validatePreimage(first.payment.preimage));
assert.equal(await stateOf(base, refusals[0].body), 'redeemed');
const { credentials } = first.payment;
const again = await purse.pays(0, () => fetchWithL402(url(path), {}, { wallet, credentials }));
assert.equal(again.status, 402);
assert.equal(await stateOf(base, refusals[1].body), 'pending');
assert.notEqual(checkOffer(refusals[1], '/v1/tx/{txid}', path, TX_SATS).paymentHash, invoice.paymentHash);
await bought(await purse.pays(1, () => fetchWithL402(url(path), {}, { wallet })), TX_SATS);

// A GET with a query, which the credential is bound to.
await bought(await purse.pays(1, () => fetch402(url('/v1/chain/activity-feed?limit=3'), {}, { wallet })), FEED_SATS);

// A POST, at most at the price that the user allows.
const request = batch(addresses.slice(0, 2));
const sats = 2 * BATCH_SATS_PER_ADDRESS;
const at = url('/v1/batch/summary');
const interrupted = await purse.pays(0, () =>
    fetch402(at, post(request), { wallet, maxAmount: sats - 1 }).then(assert.fail, (error) => error),
);
assert.deepEqual([interrupted.name, interrupted.paid], ['Fetch402InterruptedError', false]);
assert.equal(interrupted.amountSat, sats);
const offered = refusals.at(-1);
assert.equal(checkOffer(offered, '/v1/batch/summary', '/v1/batch/summary', sats).paymentHash, interrupted.paymentHash);
// It was paid elsewhere meanwhile. Another body does not get the answer, and takes nothing away.
const resume = { pendingPayment: interrupted.pendingPayment, preimage: await purse.pay(interrupted.invoice) };
const other = post(batch(addresses.slice(1, 3)));
assert.equal((await purse.pays(0, () => fetch402(at, other, { wallet, resume }))).status, 402);
assert.equal(await stateOf(base, offered.body), 'pending');
const resumed = await purse.pays(0, () => fetch402(at, post(request), { wallet, resume }));
assert.equal((await bought(resumed, sats)).results.length, 2);
assert.equal(await stateOf(base, offered.body), 'redeemed');
await bought(await purse.pays(1, () => fetch402(at, post(request), { wallet, maxAmount: sats })), sats);

// A free operation is not paid, and a spent credential does no harm there.
const free = url(`/v1/tx/${otherTxid}/status`);
for (const options of [{ wallet }, { wallet, credentials }]) {
    await bought(await purse.pays(0, () => fetch402(free, {}, options)), 0);
}
console.log(`lightning-tools: ${purse.payments.length} invoices paid, ${refusals.length} challenges read`);
