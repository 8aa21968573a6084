// A facilitator of x402 version 2 for one EVM chain (scheme `exact`, EIP-3009): checks payments and sends them to the
// chain. All rules are those of @x402/core and @x402/evm; this file serves them over HTTP.
//
// Its account only pays for gas. A payment names its recipient, and the payer has signed it: the account never holds
// the money that is paid.
//
// Settings, from the environment:
//   X402_NETWORK     the chain, for example eip155:8453
//   X402_RPC_URL     JSON-RPC of a node of this chain
//   X402_KEY_FILE    file with the private key of the account: 0x and 64 hexadecimal digits
//   X402_PAY_TO      accounts that may be paid, comma-separated: payments to others would use up the gas
//   X402_TOKEN_FILE  optional: file with the token that callers send as `Authorization: Bearer`
//   X402_LISTEN      address and port; default: 127.0.0.1:4022
//   X402_WAIT_SECS   how long a settlement waits for a block before it answers `settlement_pending`; default: 60

import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

import { x402Facilitator } from '@x402/core/facilitator';
import { toFacilitatorEvmSigner } from '@x402/evm';
import { ExactEvmScheme } from '@x402/evm/exact/facilitator';
import { createWalletClient, defineChain, formatEther, http, isAddress, publicActions } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

const MAX_BODY_BYTES = 64 << 10;
const RPC_TIMEOUT_MS = 10_000;
const MAX_LOGGED_CHARS = 200;
/// How often a settlement asks for a new block.
const POLLING_MS = 500;
/// Wrong settings: a restart does not help.
const EXIT_USAGE = 2;

class UsageError extends Error {}

function setting(name, fallback) {
    const value = process.env[name] || fallback;
    if (!value) throw new UsageError(`${name} is not set; facilitator.mjs begins with the list of settings`);
    return value;
}

/// Reads a file with one secret. Errors never show the content.
function secret(name) {
    const path = setting(name);
    try {
        return readFileSync(path, 'utf8').trim();
    } catch (error) {
        throw new UsageError(`${name}: ${path} cannot be read (${error.code}); check the path and its permissions`);
    }
}

function settings() {
    const network = setting('X402_NETWORK');
    const chainId = Number(/^eip155:([1-9][0-9]*)$/.exec(network)?.[1]);
    if (!Number.isSafeInteger(chainId)) {
        throw new UsageError(`X402_NETWORK is ${network}; expected eip155: and the chain's id, for example eip155:8453`);
    }
    const key = secret('X402_KEY_FILE');
    if (!/^0x[0-9a-fA-F]{64}$/.test(key)) {
        throw new UsageError('X402_KEY_FILE has no private key; expected 0x and 64 hexadecimal digits');
    }
    const payTo = setting('X402_PAY_TO').split(',').map((address) => address.trim());
    const wrong = payTo.find((address) => !isAddress(address));
    if (wrong !== undefined) {
        const what = wrong || 'an empty entry';
        throw new UsageError(`X402_PAY_TO has ${what}; expected 0x and 40 hexadecimal digits, with a right checksum`);
    }
    const token = process.env.X402_TOKEN_FILE ? secret('X402_TOKEN_FILE') : null;
    if (token === '') throw new UsageError('X402_TOKEN_FILE is empty; write a token into it, or unset it');
    const listen = setting('X402_LISTEN', '127.0.0.1:4022');
    const [, host, port] = /^\[?([^\]]+)\]?:([0-9]{1,5})$/.exec(listen) ?? [];
    if (host === undefined || Number(port) > 65_535) {
        throw new UsageError(`X402_LISTEN is ${listen}; expected an address and a port, for example 127.0.0.1:4022`);
    }
    const waitSecs = Number(setting('X402_WAIT_SECS', '60'));
    if (!(waitSecs >= 1 && waitSecs <= 600)) throw new UsageError('X402_WAIT_SECS must be a number from 1 to 600');
    return { network, chainId, rpc: setting('X402_RPC_URL'), key, payTo, token, host, port: Number(port), waitSecs };
}

/// Sends transactions one by one, so that no two get the same nonce.
function inTurn(send) {
    let last = Promise.resolve();
    return (...args) => {
        const sent = last.then(() => send(...args));
        last = sent.catch(() => {});
        return sent;
    };
}

function chainClient({ network, chainId, rpc, key }) {
    const chain = defineChain({
        id: chainId,
        name: network,
        nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
        rpcUrls: { default: { http: [rpc] } },
    });
    const transport = http(rpc, { timeout: RPC_TIMEOUT_MS });
    const options = { account: privateKeyToAccount(key), chain, transport, pollingInterval: POLLING_MS };
    return createWalletClient(options).extend(publicActions);
}

function makeFacilitator({ network, waitSecs }, client) {
    const signer = toFacilitatorEvmSigner(
        {
            ...client,
            address: client.account.address,
            writeContract: inTurn(client.writeContract),
            sendTransaction: inTurn(client.sendTransaction),
        },
        { confirmationTimeoutMs: waitSecs * 1_000 },
    );
    return new x402Facilitator().register(network, new ExactEvmScheme(signer));
}

/// Returns true if the request has the token, in a time that does not depend on how much of it is right.
function mayCall(request, token) {
    if (token === null) return true;
    const digest = (text) => createHash('sha256').update(text).digest();
    return timingSafeEqual(digest(request.headers.authorization ?? ''), digest(`Bearer ${token}`));
}

async function readBody(request) {
    const chunks = [];
    let length = 0;
    for await (const chunk of request) {
        length += chunk.length;
        if (length > MAX_BODY_BYTES) return null;
        chunks.push(chunk);
    }
    try {
        return JSON.parse(Buffer.concat(chunks).toString('utf8'));
    } catch {
        return null;
    }
}

const calls = {
    async verify(facilitator, payload, requirements, isAllowed) {
        if (!isAllowed) return { isValid: false, invalidReason: 'recipient_not_allowed' };
        return facilitator.verify(payload, requirements);
    },
    async settle(facilitator, payload, requirements, isAllowed) {
        const { network } = requirements;
        if (!isAllowed) return { success: false, errorReason: 'recipient_not_allowed', transaction: '', network };
        return facilitator.settle(payload, requirements);
    },
};

async function answer(request, facilitator, { payTo, token }) {
    const { method } = request;
    const { pathname } = new URL(request.url, 'http://facilitator');
    if (!mayCall(request, token)) {
        return [401, { error: 'the token is missing or wrong; send it as `Authorization: Bearer`' }];
    }
    if (method === 'GET' && pathname === '/supported') return [200, facilitator.getSupported()];
    const name = pathname.slice(1);
    if (method !== 'POST' || !Object.hasOwn(calls, name)) {
        return [404, { error: 'not found; this facilitator has GET /supported, POST /verify and POST /settle' }];
    }
    const body = await readBody(request);
    const { paymentPayload: payload, paymentRequirements: requirements } = body ?? {};
    if (!payload || !requirements) {
        const error = `expected JSON with paymentPayload and paymentRequirements, of at most ${MAX_BODY_BYTES} bytes`;
        return [400, { error }];
    }
    const isAllowed = payTo.some((address) => address.toLowerCase() === String(requirements.payTo).toLowerCase());
    const begun = Date.now();
    const result = await calls[name](facilitator, payload, requirements, isAllowed);
    const { isValid, invalidReason, invalidMessage, success, errorReason, errorMessage, transaction, payer } = result;
    const message = (invalidMessage ?? errorMessage)?.slice(0, MAX_LOGGED_CHARS);
    const reason = invalidReason ?? errorReason;
    log(name, { ok: isValid ?? success, reason, message, transaction, payer, ms: Date.now() - begun });
    return [200, result];
}

function log(event, fields) {
    console.log(JSON.stringify({ time: new Date().toISOString(), event, ...fields }));
}

async function main() {
    const given = settings();
    const client = chainClient(given);
    const found = await client.getChainId();
    if (found !== given.chainId) {
        throw new UsageError(`the node of X402_RPC_URL is on eip155:${found}, and X402_NETWORK is ${given.network}`);
    }
    const { address } = client.account;
    const balance = await client.getBalance({ address });
    const facilitator = makeFacilitator(given, client);
    const server = createServer((request, response) => {
        answer(request, facilitator, given)
            .catch((error) => {
                log('failed', { path: request.url, error: error.shortMessage ?? error.message });
                return [500, { error: 'the call failed; the log of the facilitator has the reason' }];
            })
            .then(([status, body]) => {
                response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
            });
    });
    server.listen(given.port, given.host, () => {
        const { network, payTo } = given;
        log('listening', { ...server.address(), network, account: address, ether: formatEther(balance), payTo });
        if (balance === 0n) log('warning', { text: 'the account has no money for gas; send it some' });
    });
    server.on('error', (error) => fail(error, EXIT_USAGE));
    // Settlements in progress are completed.
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => server.close());
}

function fail(error, code) {
    console.error(`x402 facilitator: ${error.shortMessage ?? error.message}`);
    process.exit(code);
}

main().catch((error) => fail(error, error instanceof UsageError ? EXIT_USAGE : 1));
