// Payments that must open nothing, or one answer and no second: sent twice, changed, without money, and with a chain or
// a facilitator that fails in the middle. The chain has the last word about what was charged, and the report of all
// sales agrees with it.
//
// Usage: x402_failures.mjs BASE_URL FOLDER FACILITATOR CAIRN DATADIR, with MODULES in the environment: the folder of its
// packages, and the settings of the facilitator. FOLDER is that of x402_chain.mjs. FACILITATOR is the program, which
// this script starts and kills: no other process may have its port.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';

import { goods } from './l402_shop.mjs';
import { NETWORK, readChain } from './x402_chain.mjs';
import { Buyer, PRICE, bought, receiptOf, refused } from './x402_shop.mjs';

const [base, folder, program, cairn, datadir] = process.argv.slice(2);
const { chain, payTo, wallets } = readChain(folder);
const { addresses } = await goods(base);
const url = `${base}/v1/wallets/${addresses[0]}/summary`;
const other = `${base}/v1/wallets/${addresses[0]}/detail`;
const buyer = new Buyer(chain, wallets.failures);
const payer = buyer.address;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
/// After a failed check, the server leaves the facilitator alone for this time.
const PAUSE_MS = 5_500;

let facilitator;
async function start() {
    facilitator = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(facilitator.stdout, 'data', { signal: AbortSignal.timeout(60_000) });
    facilitator.stdout.resume();
}
async function kill() {
    if (facilitator.exitCode !== null || facilitator.signalCode !== null) return;
    const ended = once(facilitator, 'exit');
    facilitator.kill('SIGKILL');
    await ended;
}
process.on('exit', () => facilitator?.kill('SIGKILL'));

/// The name of a payment on the command line.
function nameOf(payment) {
    const { from, nonce } = payment.payload.authorization;
    return [NETWORK, chain.token, from, nonce].join('/').toLowerCase();
}

/// Runs `cairn access`, and returns what it prints.
async function access(...words) {
    return (await promisify(execFile)(cairn, ['access', ...words, '--datadir', datadir])).stdout;
}

/// Asserts that these requests charge this number of prices, and returns their result.
async function charges(count, requests) {
    const before = await chain.balance(payTo);
    const result = await requests(before);
    assert.equal(await chain.balance(payTo), before + BigInt(count) * PRICE, 'charged');
    return result;
}
const isUsed = (payment) => {
    const { from, nonce } = payment.payload.authorization;
    return chain.read('authorizationState', from, nonce);
};

/// Repeats a request with its payment while the server asks for that.
async function patiently(payment) {
    for (let attempt = 0; attempt < 60; attempt += 1) {
        const answer = await buyer.pay(url, payment);
        if (answer.status !== 409 && answer.status !== 503) return answer;
        assert(Number(answer.headers.get('retry-after')) >= 1, 'Retry-After');
        await answer.body.cancel();
        await sleep(1_000);
    }
    return assert.fail('no answer after 60 attempts');
}

/// The same payment opens one answer, one after the other and at the same time, and none of another request.
async function sentTwice() {
    const payment = await buyer.sign(url);
    await charges(1, async (before) => {
        await refused(await buyer.pay(other, payment), 402, 'payment_required', 'resource_mismatch');
        await bought(await buyer.pay(url, payment), { chain, payTo, payer, before });
        await refused(await buyer.pay(url, payment), 402, 'payment_required', 'payment_already_used');
        await refused(await buyer.pay(other, payment), 402, 'payment_required', 'payment_used_elsewhere');
    });
    const concurrent = await buyer.sign(url);
    const answers = await charges(1, () => Promise.all(Array.from({ length: 6 }, () => buyer.pay(url, concurrent))));
    const statuses = answers.map((answer) => answer.status).sort();
    assert.equal(statuses[0], 200);
    assert(statuses.slice(1).every((status) => [402, 409, 503].includes(status)), statuses.join());
    await Promise.all(answers.map((answer) => answer.body.cancel()));
    console.log(`x402: one payment in 6 requests: ${statuses.join(' ')}, charged once`);
}

/// A payment that was changed after it was signed.
async function changed() {
    const payment = await buyer.sign(url);
    const signature = 'invalid_exact_evm_payload_signature';
    const cases = {
        [signature]: (copy) => {
            const last = copy.payload.signature.at(10) === '0' ? '1' : '0';
            const digits = [...copy.payload.signature];
            digits[10] = last;
            copy.payload.signature = digits.join('');
        },
        invalid_exact_evm_payload_authorization_value_mismatch: (copy) => {
            copy.payload.authorization.value = '1';
        },
        invalid_exact_evm_payload_recipient_mismatch: (copy) => {
            copy.payload.authorization.to = payer;
        },
        invalid_payment_requirements: (copy) => {
            copy.accepted.amount = '1';
        },
    };
    await charges(0, async () => {
        for (const [code, change] of Object.entries(cases)) {
            const copy = structuredClone(payment);
            change(copy);
            const answer = await buyer.pay(url, copy);
            assert.equal(receiptOf(answer), null);
            await refused(answer, 402, 'payment_required', code);
        }
        assert.equal(await isUsed(payment), false);
    });
    // Nobody used it up.
    await charges(1, async (before) => bought(await buyer.pay(url, payment), { chain, payTo, payer, before }));
    console.log(`x402: ${Object.keys(cases).length} changed payments refused`);
}

/// Wallets without money: before the payment is checked, and between its check and its settlement.
async function withoutMoney() {
    const poor = new Buyer(chain, wallets.poor);
    await charges(0, async () => {
        const answer = await poor.fetch(url);
        const body = await refused(answer, 402, 'payment_required', 'payment_not_valid');
        assert.match(body.warnings[0].message, /invalid_exact_evm_insufficient_balance/);
    });
    await chain.mint(poor.address, PRICE);
    const payment = await poor.sign(url);
    await charges(0, async () => {
        await chain.hold();
        try {
            // The check looks at the last block, and the settlement at the next one.
            await chain.send(poor.address, 'transfer', payer, PRICE);
            const answer = await poor.pay(url, payment);
            const { success, errorReason, transaction } = receiptOf(answer);
            assert.deepEqual(
                [success, errorReason, transaction],
                [false, 'invalid_exact_evm_insufficient_balance', ''],
            );
            const body = await answer.json();
            assert.deepEqual([answer.status, body.error, body._meta], [402, 'payment_required', undefined]);
        } finally {
            await chain.release();
        }
        await refused(await poor.pay(url, payment), 402, 'payment_required', 'settlement_refused');
    });
    // A new payment from a wallet with money is accepted.
    await chain.mint(poor.address, PRICE);
    const before = await chain.balance(payTo);
    await bought(await poor.fetch(url), { chain, payTo, payer: poor.address, before });
    console.log('x402: no money: 402 before the check, and 402 with a receipt after it');
}

/// The payer spends the money in the block of the payment, before it. The facilitator reports a transaction that failed,
/// which proves little, so that the operator looks at the chain.
async function spentInItsBlock() {
    const poor = new Buyer(chain, wallets.poor);
    await chain.mint(poor.address, PRICE);
    const payment = await poor.sign(url);
    await charges(0, async () => {
        await chain.hold();
        let asked;
        try {
            asked = poor.pay(url, payment);
            await chain.waiting(1);
            await chain.send(poor.address, 'transfer', payer, PRICE);
            await chain.waiting(2);
        } finally {
            await chain.release();
        }
        const pending = await asked;
        assert.equal(receiptOf(pending), null);
        await refused(pending, 503, 'payment_pending');
        await refused(await poor.pay(url, payment), 503, 'payment_pending');
        assert.equal(await isUsed(payment), false);
        await access('conclude', nameOf(payment), '--refused', 'the transaction failed');
        await refused(await poor.pay(url, payment), 402, 'payment_required', 'settlement_refused');
    });
    console.log('x402: money spent in the block of the payment: 503 payment_pending, refused by the operator');
}

/// A chain without blocks for longer than a request waits: the same payment gets its answer later.
async function slowChain() {
    const payment = await buyer.sign(url);
    await charges(1, async (before) => {
        await chain.hold();
        try {
            const pending = await buyer.pay(url, payment);
            await refused(pending, 503, 'payment_pending');
            assert.equal(receiptOf(pending), null);
            assert(Number(pending.headers.get('retry-after')) >= 1);
        } finally {
            await chain.release();
        }
        await bought(await patiently(payment), { chain, payTo, payer, before });
        await refused(await buyer.pay(url, payment), 402, 'payment_required', 'payment_already_used');
    });
    console.log('x402: a slow chain: 503 payment_pending, then the answer');
}

/// A client that leaves while its payment is settled.
async function clientLeaves() {
    const payment = await buyer.sign(url);
    await charges(1, async (before) => {
        await chain.hold();
        try {
            const leave = new AbortController();
            const asked = buyer.pay(url, payment, { signal: leave.signal }).catch((error) => error);
            await chain.waiting(1);
            leave.abort();
            assert.equal((await asked).name, 'AbortError');
            await sleep(200);
        } finally {
            await chain.release();
        }
        await bought(await patiently(payment), { chain, payTo, payer, before });
    });
    console.log('x402: a client that leaves gets its answer later');
}

/// The facilitator is killed after it has sent the transaction. The payer is charged once. The next facilitator knows
/// nothing of the transaction, so the operator looks for it on the chain.
async function killedWhileSettling() {
    const payment = await buyer.sign(url);
    await charges(1, async (before) => {
        await chain.hold();
        try {
            const asked = buyer.pay(url, payment);
            await chain.waiting(1);
            await kill();
            await refused(await asked, 503, 'payment_pending');
        } finally {
            await chain.release();
        }
        assert.equal(await isUsed(payment), true);
        await refused(await buyer.pay(url, payment), 503, 'payment_pending');
        await start();
        await refused(await buyer.pay(url, payment), 503, 'payment_pending');
        const { from, nonce } = payment.payload.authorization;
        const name = nameOf(payment);
        assert((await access('unknown')).includes(name), name);
        await access('conclude', name, '--transaction', await chain.transactionOf(from, nonce));
        assert(!(await access('unknown')).includes(name), name);
        await bought(await buyer.pay(url, payment), { chain, payTo, payer, before });
        await refused(await buyer.pay(url, payment), 402, 'payment_required', 'payment_already_used');
    });
    console.log('x402: a facilitator killed while it settles: 503 payment_pending, charged once, found by the operator');
}

/// A facilitator that is away: nothing is charged, and the same payment is accepted once it is back.
async function facilitatorAway() {
    const payment = await buyer.sign(url);
    await kill();
    await charges(0, async () => {
        await refused(await buyer.pay(url, payment), 503, 'facilitator_unavailable');
        assert.equal(await isUsed(payment), false);
    });
    await start();
    await sleep(PAUSE_MS);
    await charges(1, async (before) => bought(await buyer.pay(url, payment), { chain, payTo, payer, before }));
    console.log('x402: a facilitator that is away: 503 facilitator_unavailable, nothing charged');
}

/// The report of the sales of all clients has what the chain has.
async function reported() {
    const sold = (await access('report', '--format', 'csv')).split('\n').map((line) => line.split(','));
    const amounts = sold.filter(([, , method]) => method === 'x402').map((columns) => BigInt(columns[4]));
    const sum = amounts.reduce((all, amount) => all + amount, 0n);
    assert.equal(sum, await chain.balance(payTo));
    console.log(`x402: ${sum / PRICE} sales in the report, as on the chain`);
}

await start();
for (const test of [
    sentTwice,
    changed,
    withoutMoney,
    spentInItsBlock,
    slowChain,
    clientLeaves,
    killedWhileSettling,
    facilitatorAway,
    reported,
]) {
    await test();
}
await kill();
