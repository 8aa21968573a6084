// The chain of the test: an anvil with the token. As a program it prepares a chain that has just begun.
//
// Usage: x402_chain.mjs RPC_URL FOLDER, with MODULES in the environment: the folder of its packages. Writes to FOLDER:
// `chain.json` for the clients, `facilitator.key`, and `settings.sh` for the shell.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const require = createRequire(`${process.env.MODULES}/`);
const viem = require('viem');
const { createTestClient, defineChain, http, publicActions, walletActions } = viem;
const { parseAbi, parseEther, parseEventLogs, parseGwei } = viem;
const { generatePrivateKey, privateKeyToAccount } = require('viem/accounts');

export const CHAIN_ID = 31_337;
export const NETWORK = `eip155:${CHAIN_ID}`;
/// What a wallet has at first: 5 tokens.
const FUNDS = 5_000_000n;
const MULTICALL = '0xcA11bde05977b3631167028862bE2a173976CA11';
const TOKEN = parseAbi([
    'function balanceOf(address) view returns (uint256)',
    'function authorizationState(address, bytes32) view returns (bool)',
    'function mint(address, uint256)',
    'function transfer(address, uint256) returns (bool)',
    'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
    'event Transfer(address indexed from, address indexed to, uint256 value)',
]);

/// The chain with its token, read and changed directly.
export class Chain {
    constructor(rpc, token) {
        const chain = defineChain({
            id: CHAIN_ID,
            name: 'anvil',
            nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
            rpcUrls: { default: { http: [rpc] } },
        });
        const options = { chain, mode: 'anvil', transport: http(rpc, { timeout: 30_000 }), pollingInterval: 100 };
        this.client = createTestClient(options).extend(publicActions).extend(walletActions);
        this.token = token;
    }

    async read(functionName, ...args) {
        return this.client.readContract({ address: this.token, abi: TOKEN, functionName, args });
    }

    balance(address) {
        return this.read('balanceOf', address);
    }

    /// Sends a call of the token from an account without its key. Does not wait for a block. Its fee is so high that it
    /// precedes others in a block.
    async send(from, functionName, ...args) {
        await this.client.impersonateAccount({ address: from });
        await this.client.setBalance({ address: from, value: parseEther('1') });
        const fees = { maxFeePerGas: parseGwei('200'), maxPriorityFeePerGas: parseGwei('100') };
        return this.client.writeContract({
            account: from,
            address: this.token,
            abi: TOKEN,
            functionName,
            args,
            ...fees,
        });
    }

    async mint(to, value) {
        await this.mined(await this.send(to, 'mint', to, value));
    }

    /// Waits until a block has the transaction, and returns its receipt.
    async mined(hash) {
        const receipt = await this.client.waitForTransactionReceipt({ hash, timeout: 60_000 });
        assert.equal(receipt.status, 'success', hash);
        return receipt;
    }

    /// Returns the transfers of the token in a transaction.
    async transfers(hash) {
        const { logs } = await this.mined(hash);
        const ours = logs.filter((log) => log.address.toLowerCase() === this.token.toLowerCase());
        return parseEventLogs({ abi: TOKEN, eventName: 'Transfer', logs: ours }).map((log) => log.args);
    }

    /// Returns the only transaction that used a nonce.
    async transactionOf(authorizer, nonce) {
        const event = TOKEN.find(({ name }) => name === 'AuthorizationUsed');
        const range = { fromBlock: 0n, toBlock: 'latest' };
        const logs = await this.client.getLogs({ address: this.token, event, args: { authorizer, nonce }, ...range });
        assert.equal(logs.length, 1, 'transactions with the nonce');
        return logs[0].transactionHash;
    }

    /// Has no blocks until `release` is called.
    async hold() {
        await this.client.setAutomine(false);
    }

    /// Has a block with all transactions that wait, and one with each further one.
    async release() {
        await this.client.mine({ blocks: 1 });
        await this.client.setAutomine(true);
        await this.client.mine({ blocks: 1 });
    }

    /// Waits until this number of transactions wait for a block.
    async waiting(count) {
        for (let attempt = 0; attempt < 600; attempt += 1) {
            if (Number((await this.client.getTxpoolStatus()).pending) >= count) return;
            await new Promise((resolve) => setTimeout(resolve, 100));
        }
        assert.fail(`no ${count} transactions wait for a block after a minute`);
    }
}

/// Reads what the program below has written.
export function readChain(folder) {
    const { rpc, token, payTo, wallets, contractWallet } = JSON.parse(readFileSync(join(folder, 'chain.json'), 'utf8'));
    return { chain: new Chain(rpc, token), payTo, wallets, contractWallet };
}

function compile() {
    const file = 'x402_token.sol';
    const content = readFileSync(fileURLToPath(new URL(file, import.meta.url)), 'utf8');
    const outputSelection = { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } };
    const settings = { optimizer: { enabled: true, runs: 200 }, outputSelection };
    const input = { language: 'Solidity', sources: { [file]: { content } }, settings };
    const { errors = [], contracts } = JSON.parse(require('solc').compile(JSON.stringify(input)));
    assert.deepEqual(errors.map((error) => error.formattedMessage), []);
    return contracts[file];
}

async function main(rpc, folder) {
    const contracts = compile();
    const { client } = new Chain(rpc);
    const [deployer] = await client.getAddresses();
    const deploy = async ({ abi, evm }, ...args) => {
        const options = { abi, bytecode: `0x${evm.bytecode.object}`, args, account: deployer };
        const hash = await client.deployContract(options);
        return (await client.waitForTransactionReceipt({ hash, timeout: 60_000 })).contractAddress;
    };
    const token = await deploy(contracts.Token);
    await client.setCode({ address: MULTICALL, bytecode: `0x${contracts.Calls.evm.deployedBytecode.object}` });

    const key = generatePrivateKey();
    await client.setBalance({ address: privateKeyToAccount(key).address, value: parseEther('1') });
    writeFileSync(join(folder, 'facilitator.key'), key, { mode: 0o600 });

    const chain = new Chain(rpc, token);
    const wallets = {};
    for (const name of ['fetch', 'httpx', 'requests', 'mcp', 'owner', 'failures', 'poor']) {
        wallets[name] = generatePrivateKey();
        if (name !== 'poor') await chain.mint(privateKeyToAccount(wallets[name]).address, FUNDS);
    }
    const contractWallet = await deploy(contracts.Wallet, privateKeyToAccount(wallets.owner).address);
    await chain.mint(contractWallet, FUNDS);
    const payTo = privateKeyToAccount(generatePrivateKey()).address;
    const written = JSON.stringify({ rpc, token, payTo, wallets, contractWallet });
    writeFileSync(join(folder, 'chain.json'), written, { mode: 0o600 });
    writeFileSync(join(folder, 'settings.sh'), `network=${NETWORK}\ntoken=${token}\npay_to=${payTo}\n`);
    console.log(`x402 chain: token ${token} on ${NETWORK}, ${await client.request({ method: 'web3_clientVersion' })}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(...process.argv.slice(2));
