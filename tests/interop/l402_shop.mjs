// For the clients of L402: the wallet, what they buy, and the state of a challenge.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export const TX_SATS = 5;
export const FEED_SATS = 50;
export const BATCH_SATS_PER_ADDRESS = 21;
/// A client that pays again and again does not understand the answers.
const MAX_PAYMENTS = 30;

/// Pays invoices with `cairn access pay`.
export class Purse {
    payments = [];

    constructor(cairn, datadir) {
        this.pay = async (invoice) => {
            assert(this.payments.length < MAX_PAYMENTS, `more than ${MAX_PAYMENTS} payments`);
            this.payments.push(invoice);
            const paid = await promisify(execFile)(cairn, ['access', 'pay', invoice, '--datadir', datadir]);
            const preimage = paid.stdout.trim();
            assert.match(preimage, /^[0-9a-f]{64}$/, 'cairn access pay prints a preimage');
            return preimage;
        };
    }

    /// Asserts that these requests made this number of payments, and returns their result.
    async pays(count, requests) {
        const before = this.payments.length;
        const result = await requests();
        assert.equal(this.payments.length - before, count, 'payments');
        return result;
    }
}

/// Returns confirmed transactions and addresses of the chain, by free operations.
export async function goods(base) {
    const read = async (path) => {
        const answer = await fetch(new URL(path, base));
        assert.equal(answer.status, 200, path);
        return answer.json();
    };
    const { blocks } = await read('/v1/chain/recent-blocks?limit=10');
    const full = await Promise.all(blocks.map((block) => read(`/v1/blocks/${block.height}`)));
    const txids = full.flatMap((block) => block.transactions.map((tx) => tx.txid));
    const paid = full.flatMap((block) => block.coinbase.outputs.map((output) => output.address));
    return { txids, addresses: [...new Set(paid)].filter((address) => address !== null) };
}

/// Returns the state of the challenge that a body offers, from the link in it.
export async function stateOf(base, body) {
    const { challenge, links } = body.payment_options.l402;
    const { pathname } = new URL(links.status_url);
    assert.equal(pathname, `/v1/l402/challenges/${challenge.id}`);
    const state = await (await fetch(new URL(pathname, base))).json();
    assert.equal(state.status === 'redeemed', Boolean(state.redeemed_at), JSON.stringify(state));
    return state.status;
}

/// The request of a batch.
export const batch = (addresses) => JSON.stringify({ addresses });
