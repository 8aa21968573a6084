"""Electrum over Cairn, on a Bitcoin Core node on regtest: its daemon restores a wallet of 200 used addresses, receives,
spends, bumps fees, and follows reorganizations. After each step it has the coins, heights and balance of a watch-only
wallet of the node. The same over TLS.

Usage: electrum_wallet.py RUN_ELECTRUM FOLDER; start_regtest in regtest.sh sets the variables.
"""

import collections
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import urllib.request
from decimal import Decimal

from json_rpc import Refused, call

USED = 200
GAP = 20
# More than Electrum asks for at once: 2 016.
BLOCKS = 2100
RPC_PORT = 18357
WAIT_SECONDS = 120
COIN = 100_000_000

counts = collections.Counter()


class Node:
    def __init__(self, wallet=None):
        self.url = os.environ["NODE_URL"] + (f"/wallet/{wallet}" if wallet else "/")

    def __getattr__(self, method):
        return lambda *params, **named: call(self.url, os.environ["NODE_LOGIN"], method, named or list(params), parse_float=Decimal)


class Electrum:
    """A daemon of Electrum, which knows one server."""

    def __init__(self, program, folder, server):
        self.login = "interop:" + os.urandom(16).hex()
        config = pathlib.Path(folder, "regtest", "config")
        config.parent.mkdir(parents=True, exist_ok=True)
        user, password = self.login.split(":")
        settings = {"rpcuser": user, "rpcpassword": password, "rpcport": RPC_PORT, "rpcsock": "tcp"}
        config.write_text(json.dumps(settings | {"config_version": 3}))
        options = ["--regtest", "--dir", folder, "--oneserver", "--server", server, "-v"]
        self.log = pathlib.Path(folder, "log")
        with self.log.open("w", encoding="utf-8") as log:
            self.process = subprocess.Popen([program, "daemon", *options], stdout=log, stderr=log)

        def connected():
            if self.process.poll() is not None:
                raise SystemExit("interop: Electrum ended")
            return self.getinfo()["connected"]

        self.is_old = False
        until(connected, f"Electrum connects to {server}")
        self.is_old = self.version() < "4.4"

    def __getattr__(self, method):
        def ask(**named):
            # Until version 4.4, commands name the wallet otherwise if they use one that is open.
            if self.is_old and method not in ("create", "restore", "load_wallet", "close_wallet"):
                named = {"wallet" if name == "wallet_path" else name: value for name, value in named.items()}
            return call(f"http://127.0.0.1:{RPC_PORT}", self.login, method, named, parse_float=Decimal)

        return ask

    def open_wallet(self, path):
        self.load_wallet(wallet_path=path)
        until(lambda: self.is_synchronized(wallet_path=path), "Electrum reads the wallet's transactions")

    def history_of(self, path):
        history = self.onchain_history(wallet_path=path)
        # Until version 4.5, with a summary.
        return history["transactions"] if isinstance(history, dict) else history

    def close(self):
        self.stop()
        self.process.wait(timeout=60)
        # Electrum disconnects from a server that it finds fault with, and connects again.
        connections = re.findall(r"connection established. version: .*", self.log.read_text(encoding="utf-8"))
        assert len(connections) == 1 and ("'1.4'" if self.is_old else "'1.6'") in connections[0], connections

    def kill(self):
        self.process.kill()
        self.process.wait()


def until(check, what):
    """Waits until `check` returns something true. A check that raises is repeated, too."""
    end, last = time.monotonic() + WAIT_SECONDS, None
    while time.monotonic() < end:
        try:
            if check():
                return
            last = "Electrum says that it is not synchronized"
        except (AssertionError, OSError, Refused) as error:
            last = error
        time.sleep(0.5)
    raise SystemExit(f"interop: not within {WAIT_SECONDS} s: {what}: {last}")


def sats(btc):
    amount = Decimal(btc) * COIN
    assert amount == int(amount), btc
    return int(amount)


node, miner, watch = Node(), Node("miner"), Node("watch")
# Descriptors of the wallet, and the addresses that they describe.
descriptors, ours = [], set()


def state_of_node():
    """Heights of the wallet's transactions (0: in the mempool), its coins, and their sum.

    The coins are those of the node's own set and mempool. Its wallet leaves out some that wait.
    """
    mempool = set(node.getrawmempool())
    heights = {}
    for entry in watch.listtransactions("*", 100_000, 0, True):
        if entry["confirmations"] > 0:
            heights[entry["txid"]] = entry["blockheight"]
        elif entry["txid"] in mempool:
            heights[entry["txid"]] = 0
    unspent = node.scantxoutset("start", [{"desc": desc, "range": 2 * USED} for desc in descriptors])["unspents"]
    coins = {(coin["txid"], coin["vout"]): sats(coin["amount"]) for coin in unspent}
    waiting = [(txid, node.getrawtransaction(txid, 1)) for txid in mempool]
    for txid, transaction in waiting:
        for output in transaction["vout"]:
            if output["scriptPubKey"].get("address") in ours:
                coins[(txid, output["n"])] = sats(output["value"])
    for _, transaction in waiting:
        for spent in transaction["vin"]:
            coins.pop((spent["txid"], spent["vout"]), None)
    return heights, coins, sum(coins.values())


def state_of_electrum(electrum, path):
    heights = {}
    for entry in electrum.history_of(path):
        # Those that only the wallet knows have -2.
        if entry["height"] > -2:
            # A transaction of a block has confirmations only after Electrum has verified its branch.
            assert entry["height"] <= 0 or entry["confirmations"] > 0, f"not verified: {entry}"
            heights[entry["txid"]] = max(entry["height"], 0)
    coins = {}
    for coin in electrum.listunspent(wallet_path=path):
        coins[(coin["prevout_hash"], coin["prevout_n"])] = sats(coin["value"])
    balance = electrum.getbalance(wallet_path=path)
    return heights, coins, sum(sats(balance.get(kind, 0)) for kind in ("confirmed", "unconfirmed", "unmatured"))


def same(electrum, path, step, is_shorter=False):
    """Waits until Electrum knows what the node knows, and says that it is synchronized.

    On a shorter chain it may not say so: it waits for the height of a transaction that vanished while it was verified.
    """

    def check():
        tip = node.getblockcount()
        info = electrum.getinfo()
        expectations = state_of_node()
        # Electrum keeps what vanished, counts it, and leaves its removal to the user.
        for entry in electrum.history_of(path):
            if entry["height"] == -2 and entry["txid"] not in expectations[0]:
                electrum.removelocaltx(wallet_path=path, txid=entry["txid"])
                counts["vanished"] += 1
        assert info["blockchain_height"] == info["server_height"] == tip, (info, tip)
        its = state_of_electrum(electrum, path)
        for what, own, expected in zip(("heights", "coins"), its, expectations):
            missing, surplus = expected.items() - own.items(), own.items() - expected.items()
            assert not missing and not surplus, f"{what}: missing {missing}, surplus {surplus}"
        assert its[2] == expectations[2], f"balance {its[2]}, not {expectations[2]}"
        return is_shorter or electrum.is_synchronized(wallet_path=path)

    start = time.monotonic()
    until(check, step)
    heights, coins, balance = state_of_node()
    counts["steps"] += 1
    took = time.monotonic() - start
    print(f"  {step}: {len(heights)} transactions, {len(coins)} coins, {balance} sats, after {took:.1f} s", flush=True)


def mine(blocks=1):
    """Mines blocks for nobody: the wallet of the node has enough."""
    return node.generatetodescriptor(blocks, "raw(51)")


def branch(blocks, first=()):
    """Mines blocks without the transactions of the mempool, except `first` in the first one of them."""
    for at in range(blocks):
        # The place of the payment makes these blocks differ from others of the same second.
        node.generateblock(miner.getnewaddress(), list(first) if at == 0 else [])


def prepare(electrum, folder):
    """Pays to the first 200 addresses of a new wallet; returns its seed."""
    path = f"{folder}/first"
    seed = electrum.create(wallet_path=path, seed_type="segwit")["seed"]
    electrum.load_wallet(wallet_path=path)
    addresses = electrum.listaddresses(wallet_path=path, receiving=True)
    assert len(addresses) == GAP, len(addresses)
    while len(addresses) < USED:
        addresses.append(electrum.createnewaddress(wallet_path=path))
    key = electrum.convert_xkey(xkey=electrum.getmpk(wallet_path=path), xtype="standard")
    electrum.close_wallet(wallet_path=path)
    pathlib.Path(path).unlink()

    node.createwallet(wallet_name="watch", disable_private_keys=True, blank=True)
    wanted = []
    for index in (0, 1):
        described = node.getdescriptorinfo(f"wpkh({key}/{index}/*)")["descriptor"]
        descriptors.append(described)
        ours.update(node.deriveaddresses(described, [0, 2 * USED]))
        wanted.append(
            {"desc": described, "timestamp": 0, "range": [0, 2 * USED], "internal": index == 1, "active": True}
        )
    assert all(done["success"] for done in watch.importdescriptors(wanted))

    # 150 payments of their own, and one transaction that pays to 50.
    for at, address in enumerate(addresses[:150]):
        miner.sendtoaddress(address, str(Decimal(100_000 + at) / COIN))
        if at % 15 == 14:
            mine()
    miner.sendmany("", {address: str(Decimal(50_000 + at) / COIN) for at, address in enumerate(addresses[150:])})
    # Electrum moves its gap limit on only after three confirmations.
    mine(3)
    return seed


def spend(electrum, path, to, amount, feerate):
    """Builds, signs and sends a payment with Electrum; returns its transaction's id."""
    signed = electrum.payto(wallet_path=path, destination=to, amount=str(amount), feerate=str(feerate), rbf=True)
    return electrum.broadcast(tx=signed)


def restored(electrum, path, seed):
    electrum.restore(wallet_path=path, text=seed)
    electrum.open_wallet(path)
    same(electrum, path, "a restored seed")
    # The gap limit follows the last used address.
    assert len(electrum.listaddresses(wallet_path=path, receiving=True)) == USED + GAP
    assert len(electrum.history_of(path)) == 151
    funded = electrum.listaddresses(wallet_path=path, receiving=True, funded=True)
    assert len(funded) == USED, len(funded)
    counts["addresses restored"] = len(funded)


def fees_bumped(electrum, path):
    """Bumps fees, and joins many coins."""
    first = spend(electrum, path, miner.getnewaddress(), "0.2", 2)
    same(electrum, path, "spent")
    before = electrum.gettransaction(txid=first)
    for rate in (10, 25):
        raw = electrum.bumpfee(wallet_path=path, tx=first, new_fee_rate=str(rate))
        bumped = electrum.broadcast(tx=raw)
        same(electrum, path, f"fee bumped to {rate} sat/vB")
        assert bumped in node.getrawmempool() and first not in node.getrawmempool()
        first = bumped
    # The replaced one is refused.
    try:
        electrum.broadcast(tx=before)
    except Refused as refused:
        counts["refused"] += 1
        assert "insufficient fee" in str(refused) or "rejected" in str(refused).lower(), refused
    else:
        raise SystemExit("interop: a replaced transaction was sent")
    mine()
    same(electrum, path, "the bumped one confirmed")
    # Many inputs and one output, of which the wallet is notified once for each address. Electrum goes through all
    # inputs for each of them: 200 take it up to a minute on a busy machine.
    coins = electrum.listunspent(wallet_path=path)
    chosen = [f"{coin['prevout_hash']}:{coin['prevout_n']}" for coin in coins[:60]]
    joined = electrum.payto(
        wallet_path=path, destination=electrum.createnewaddress(wallet_path=path), amount="!", feerate="1.5",
        from_coins=",".join(chosen)
    )
    electrum.broadcast(tx=joined)
    same(electrum, path, "60 coins into one")
    assert len(electrum.listunspent(wallet_path=path)) == len(coins) - 59
    mine()
    same(electrum, path, "it confirmed")


def payments(electrum, path):
    """Receives and spends."""
    received = miner.sendtoaddress(electrum.getunusedaddress(wallet_path=path), "1.5")
    same(electrum, path, "received, unconfirmed")
    # The coin is not confirmed: then the height of the transaction that spends it is -1.
    own = electrum.createnewaddress(wallet_path=path)
    coin = next(coin for coin in electrum.listunspent(wallet_path=path) if coin["prevout_hash"] == received)
    signed = electrum.payto(
        wallet_path=path, destination=own, amount="0.5", feerate="3",
        from_coins=f"{received}:{coin['prevout_n']}",
    )
    child = electrum.broadcast(tx=signed)
    same(electrum, path, "an unconfirmed coin spent")
    assert [(item["tx_hash"], item["height"]) for item in electrum.getaddresshistory(address=own)] == [(child, -1)]
    mine()
    same(electrum, path, "both confirmed")

    # Debian has switched bumping off in its version 4.3.
    if not electrum.is_old:
        fees_bumped(electrum, path)


def reorganizations(electrum, path):
    # Back to the mempool, and confirmed again.
    received = miner.sendtoaddress(electrum.getunusedaddress(wallet_path=path), "0.7")
    spent = spend(electrum, path, miner.getnewaddress(), "0.1", 4)
    block = mine()[0]
    same(electrum, path, "a block")
    node.invalidateblock(block)
    branch(2)
    same(electrum, path, "two empty blocks in its place")
    heights = state_of_node()[0]
    assert heights[received] == heights[spent] == 0
    mine()
    same(electrum, path, "mined in the new branch")

    # A longer branch; the transactions get other heights. Every second payment may only be in a block of its height
    # or later: the node drops it when its chain is shorter.
    block = mine()[0]
    coins, paid = [coin for coin in miner.listunspent() if coin["confirmations"] > 100], []
    for at in range(8):
        height = 0 if at % 2 == 0 else node.getblockcount()
        outputs = {electrum.createnewaddress(wallet_path=path): str(Decimal(at + 1) / 100)}
        inputs = [{"txid": coins[at]["txid"], "vout": coins[at]["vout"]}]
        paid.append(miner.send(outputs=outputs, options={"inputs": inputs, "locktime": height})["txid"])
        mine()
    same(electrum, path, "eight payments in eight blocks")
    node.invalidateblock(block)
    branch(3)
    same(electrum, path, "a shorter chain: four payments wait, four are gone", is_shorter=True)
    assert set(node.getrawmempool()) == set(paid[::2])
    mine(9)
    same(electrum, path, "a branch longer than the old one")

    # A payment is taken back: the new branch spends its coins elsewhere.
    coin = max(miner.listunspent(), key=lambda coin: coin["amount"])
    paid = electrum.getunusedaddress(wallet_path=path)

    def pay(to):
        inputs = [{"txid": coin["txid"], "vout": coin["vout"]}]
        raw = node.createrawtransaction(inputs, {to: str(coin["amount"] - Decimal("0.0001"))})
        return miner.signrawtransactionwithwallet(raw)["hex"]

    lost, other = pay(paid), pay(miner.getnewaddress())
    taken = node.sendrawtransaction(lost)
    block = mine()[0]
    same(electrum, path, "a payment that will be taken back")
    node.invalidateblock(block)
    branch(2, [other])
    same(electrum, path, "taken back by the new branch")
    assert taken not in state_of_node()[0] and electrum.getaddresshistory(address=paid) == []

    # Away and back again: the first branch wins in the end.
    block = mine()[0]
    node.invalidateblock(block)
    branch(2)
    same(electrum, path, "another branch")
    fork = node.getblockhash(node.getblockheader(block)["height"])
    node.reconsiderblock(block)
    node.invalidateblock(fork)
    mine(2)
    same(electrum, path, "the first branch again")


def queries(electrum, path):
    """What Electrum asks the server without its wallet."""
    info = electrum.getinfo()
    assert info["connected"] and info["spv_nodes"] == 1, info
    for address in electrum.listaddresses(wallet_path=path, funded=True)[:5]:
        coins = node.scantxoutset("start", [f"addr({address})"])["unspents"]
        told = electrum.getaddressunspent(address=address)
        expected = {(coin["txid"], coin["vout"], coin["height"], sats(coin["amount"])) for coin in coins}
        assert {(coin["tx_hash"], coin["tx_pos"], coin["height"], coin["value"]) for coin in told} == expected, told
        balance = electrum.getaddressbalance(address=address)
        assert sats(balance["confirmed"]) == sum(coin[3] for coin in expected), balance
        assert sats(balance["unconfirmed"]) == 0, balance
    # A transaction that the wallet does not know.
    block = node.getblock(node.getblockhash(5))
    assert electrum.gettransaction(txid=block["tx"][0]) == node.getrawtransaction(block["tx"][0], 0, block["hash"])
    branch_of = electrum.getmerkle(txid=block["tx"][0], height=5)
    assert branch_of == {"block_height": 5, "merkle": [], "pos": 0}, branch_of


def sweep(electrum, path):
    """A private key is swept: its coins are the server's word."""
    address = electrum.createnewaddress(wallet_path=path)
    miner.sendtoaddress(address, "0.3")
    mine()
    same(electrum, path, "a coin to sweep")
    key = electrum.getprivatekeys(wallet_path=path, address=address)
    electrum.broadcast(tx=electrum.sweep(privkey=key, destination=miner.getnewaddress(), feerate="2"))
    same(electrum, path, "a private key swept")
    mine()
    same(electrum, path, "the sweep confirmed")


def main(program, folder):
    tcp, tls = os.environ["ELECTRUM_ADDRESS"] + ":t", os.environ["ELECTRUM_TLS_ADDRESS"] + ":s"
    node.createwallet(wallet_name="miner")
    node.generatetoaddress(40, miner.getnewaddress())
    while node.getblockcount() < BLOCKS:
        mine(100)
    # Electrum asks about each header that it is notified of, and lets a second pass before each question.
    height = os.environ["ESPLORA_URL"] + "/blocks/tip/height"
    until(lambda: int(urllib.request.urlopen(height, timeout=10).read()) >= BLOCKS, "Cairn indexes the chain")
    pathlib.Path(folder).mkdir()
    path = f"{folder}/restored"
    with contextlib.ExitStack() as stack:
        electrum = Electrum(program, folder, tcp)
        stack.callback(electrum.kill)
        seed = prepare(electrum, folder)
        start = time.monotonic()
        restored(electrum, path, seed)
        took = time.monotonic() - start
        payments(electrum, path)
        reorganizations(electrum, path)
        queries(electrum, path)
        if not electrum.is_old:
            sweep(electrum, path)
        version = electrum.version()
        electrum.close()

    with contextlib.ExitStack() as stack:
        # It accepts a certificate of its own making at the first connection, and holds on to it.
        electrum = Electrum(program, folder, tls)
        stack.callback(electrum.kill)
        assert any(pathlib.Path(folder, "regtest", "certs").iterdir())
        electrum.open_wallet(path)
        same(electrum, path, "over TLS")
        miner.sendtoaddress(electrum.getunusedaddress(wallet_path=path), "0.4")
        same(electrum, path, "received over TLS")
        spend(electrum, path, miner.getnewaddress(), "0.05", 2)
        block = mine()[0]
        same(electrum, path, "spent over TLS")
        node.invalidateblock(block)
        branch(2)
        same(electrum, path, "a reorganization over TLS")
        electrum.close()
    print(
        f"interop: Electrum {version} restored {counts['addresses restored']} addresses in {took:.1f} s, and knew what "
        f"the node knows after {counts['steps']} steps, over TCP and TLS"
    )


main(*sys.argv[1:])
