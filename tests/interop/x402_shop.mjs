// For the clients of x402: a buyer with @x402/fetch, what it buys, and the checks of what it got.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

import { NETWORK } from './x402_chain.mjs';

const require = createRequire(`${process.env.MODULES}/`);
const { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client, x402HTTPClient } = require('@x402/fetch');
const { ExactEvmScheme } = require('@x402/evm/exact/client');
const { privateKeyToAccount } = require('viem/accounts');

/// The price of every call that is sold by x402: one cent.
export const PRICE = 10_000n;
const TIMEOUT_MS = 90_000;

/// Pays calls from one wallet.
export class Buyer {
    constructor(chain, key, contractWallet) {
        const account = privateKeyToAccount(key);
        this.address = contractWallet ?? account.address;
        const signer = contractWallet
            ? {
                  address: contractWallet,
                  signTypedData: async (message) => `${await account.signTypedData(message)}01`,
              }
            : account;
        // Unlisted tokens are not paid with, and no call may cost more.
        const allowed = { network: NETWORK, asset: chain.token, maxAmountPerPayment: String(PRICE) };
        const client = x402Client.fromConfig({
            schemes: [{ network: NETWORK, client: new ExactEvmScheme(signer) }],
            spendControls: { allowedAssets: [allowed] },
        });
        this.client = new x402HTTPClient(client);
        this.fetch = wrapFetchWithPayment(
            (...request) => fetch(...request, { signal: AbortSignal.timeout(TIMEOUT_MS) }),
            this.client,
        );
    }

    /// Asks for an offer and signs it. Returns the payment.
    async sign(url, init) {
        const refused = await fetch(url, init);
        assert.equal(refused.status, 402, await refused.text());
        const required = this.client.getPaymentRequiredResponse((name) => refused.headers.get(name));
        return this.client.createPaymentPayload(required);
    }

    /// Sends a request with a payment.
    pay(url, payment, init = {}) {
        const headers = { ...init.headers, ...this.client.encodePaymentSignatureHeader(payment) };
        return fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), ...init, headers });
    }
}

/// A request with a body of JSON.
export const post = (body) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
});

/// Returns the receipt of an answer; `null` if it has none.
export function receiptOf(answer) {
    const header = answer.headers.get('payment-response');
    return header === null ? null : decodePaymentResponseHeader(header);
}

/// Checks an answer that was paid: its data, its receipt, and the transfer on the chain. Returns the body.
export async function bought(answer, { chain, payTo, payer, before }) {
    const body = await answer.json();
    assert.equal(answer.status, 200, JSON.stringify(body));
    assert.equal(body.error, undefined);
    const { success, network, transaction, payer: paidBy } = receiptOf(answer);
    assert.deepEqual([success, network, paidBy?.toLowerCase()], [true, NETWORK, payer.toLowerCase()]);
    assert.match(transaction, /^0x[0-9a-f]{64}$/);
    const transfers = await chain.transfers(transaction);
    const found = transfers.map(({ from, to, value }) => [from.toLowerCase(), to, value]);
    assert.deepEqual(found, [[payer.toLowerCase(), payTo, PRICE]]);
    assert.equal(await chain.balance(payTo), before + PRICE);
    return body;
}

/// Checks a refusal: its status and code, the code of its warning, and that it has no data. Returns the body.
export async function refused(answer, status, error, warning) {
    const body = await answer.json();
    assert.deepEqual([answer.status, body.error], [status, error], JSON.stringify(body));
    assert.equal(body._meta, undefined);
    assert.equal(body.warnings?.[0]?.code, warning, JSON.stringify(body));
    return body;
}
