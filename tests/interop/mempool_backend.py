"""mempool.space's backend with Cairn as its electrs: its answers have to match those of the node.

Usage: mempool_backend.py CAIRN BITCOIND BACKEND. Ten blocks with payments, replacements, children that pay for their
parents and batches; then a mempool of more than 50 transactions; then a reorganization of three blocks. All requests of
the backend to Cairn pass through a proxy, which counts them by route and status. Those of this program that the front
end's web server would pass to electrs take the same way.
"""

import collections
import http.client
import http.server
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

from json_rpc import call

CAIRN, BITCOIND, BACKEND = sys.argv[1:4]
BLOCKS, WAITING, DEPTH = 10, 60, 3
USER, PASSWORD, WALLET = "mempool", "mempool", "interop"
COIN = 100_000_000


def free_port():
    with http.server.HTTPServer(("127.0.0.1", 0), None) as server:
        return server.server_port


RPC, HTTP, INTERNAL, ESPLORA, API = (free_port() for _ in range(5))


# --- The node -------------------------------------------------------------------------------------------------------


def rpc(method, *params, wallet=False, **named):
    url = f"http://127.0.0.1:{RPC}/{f'wallet/{WALLET}' if wallet else ''}"
    return call(url, f"{USER}:{PASSWORD}", method, named or params)



def wallet(method, *params, **named):
    return rpc(method, *params, wallet=True, **named)


def sats(bitcoin):
    return round(bitcoin * COIN)


def new_address(kind="bech32"):
    return wallet("getnewaddress", "", kind)


def pay(amount=0.01, feerate=5, to=None):
    return wallet("sendtoaddress", address=to or new_address(), amount=amount, fee_rate=feerate)


def bump(feerate=3):
    """Sends a payment, and replaces it when the backend has seen it; returns both ids."""
    old = pay(feerate=feerate)
    until(lambda: "fee" in backend(f"/cpfp/{old}"))
    return old, wallet("bumpfee", old, {"fee_rate": feerate * 6})["txid"]


def pay_for_parent(feerate=40):
    """Sends a payment with a low feerate and a child of it with a high one; returns both ids."""
    address = new_address()
    parent = pay(0.02, 1.5, address)
    coins = wallet("listunspent", 0, 0, [address])
    coin = next(coin for coin in coins if coin["txid"] == parent)
    sent = wallet("send", outputs=[{new_address(): 0.01}], fee_rate=feerate,
                  options={"inputs": [{"txid": parent, "vout": coin["vout"]}], "add_inputs": False})
    return parent, sent["txid"]


def batch(count=12):
    kinds = ("bech32", "bech32m", "legacy", "p2sh-segwit")
    return wallet("sendmany", "", {new_address(kinds[at % 4]): 0.003 for at in range(count)})


# --- The proxy between the backend and Cairn ------------------------------------------------------------------------


class Counts:
    """Requests by client, route and status; and the answers to the backend that are errors."""

    def __init__(self):
        self.lock, self.routes, self.errors = threading.Lock(), collections.Counter(), []

    def add(self, asker, method, path, status, body):
        route = re.sub(r"[0-9a-f]{64}", "HASH", path.partition("?")[0])
        route = re.sub(r"/(\d+)(?=/|$)", "/N", route)
        route = re.sub(r"(?<=/address/)\w+", "ADDRESS", route)
        with self.lock:
            self.routes[asker, method, route, status] += 1
            # The backend hears of blocks from the node, and may ask for what is not in Cairn yet, or not any more. Then
            # it asks the node.
            if status >= 400 and status != 404 and asker == "backend":
                self.errors.append(f"{method} {path}: {status} {body[:200].decode(errors='replace')}")


COUNTS = Counts()


class Forward(http.server.BaseHTTPRequestHandler):
    """Passes a request to Cairn, and the answer back as it is."""

    protocol_version = "HTTP/1.1"

    def forward(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        connection = http.client.HTTPConnection("127.0.0.1", INTERNAL, timeout=60)
        connection.request(self.command, self.path, body or None, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        asker = "backend" if self.headers.get("User-Agent", "").startswith("axios") else "browser"
        COUNTS.add(asker, self.command, self.path, answer.status, content)
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = forward

    def log_message(self, *_):
        pass


class Proxy(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """Says nothing: a client that stops closes its connections."""


# --- Questions ------------------------------------------------------------------------------------------------------


def refuse_number(name):
    raise AssertionError(f"{name} in JSON")


def ask(port, path):
    """The answer and its status; text that is not JSON as it is."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
            status, text = answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read().decode()
    try:
        return status, json.loads(text, parse_constant=refuse_number)
    except json.JSONDecodeError:
        return status, text


def backend(path):
    status, answer = ask(API, f"/api/v1{path}")
    assert status == 200, (path, status, answer)
    return answer


def electrs(path):
    """A route that the front end's web server passes to electrs."""
    status, answer = ask(ESPLORA, path)
    assert status == 200, (path, status, answer)
    return answer


def until(ready, seconds=60):
    end, last = time.monotonic() + seconds, None
    while True:
        try:
            if found := ready():
                return found
        except (AssertionError, OSError, RuntimeError, http.client.HTTPException) as error:
            last = error
        if time.monotonic() > end:
            raise TimeoutError(f"{ready.__name__} after {seconds} s: {last}")
        time.sleep(0.1)


def same(what, found, expected):
    assert found == expected, f"{what}: {found!r}, expected {expected!r}"


# --- Comparisons ----------------------------------------------------------------------------------------------------


def no_null(what, value, allowed=()):
    for name, part in value.items():
        if name in allowed:
            continue
        assert part is not None, f"{what}: {name} is null"
        if isinstance(part, dict):
            no_null(f"{what}.{name}", part, allowed)


# Without a database and an index of the node, the backend leaves these null.
UNKNOWN = ("utxoSetSize", "totalInputAmt", "similarity", "feePercentiles", "medianFeeAmt", "matchRate", "expectedFees",
           "expectedWeight", "coinbaseAddress", "firstSeen", "pool")


def check_block(block, height):
    """A block of the backend against the node's."""
    node = rpc("getblock", rpc("getblockhash", height), 2)
    stats = rpc("getblockstats", height)
    what = f"block {height}"
    for ours, theirs in (("id", "hash"), ("height", "height"), ("version", "version"), ("timestamp", "time"),
                         ("nonce", "nonce"), ("merkle_root", "merkleroot"), ("tx_count", "nTx"), ("size", "size"),
                         ("weight", "weight"), ("mediantime", "mediantime")):
        same(f"{what} {ours}", block[ours], node[theirs])
    assert math.isclose(block["difficulty"], node["difficulty"], rel_tol=1e-12), (what, block["difficulty"])
    same(f"{what} bits", block["bits"], int(node["bits"], 16))
    extras = block["extras"]
    no_null(what, extras, UNKNOWN)
    coinbase = node["tx"][0]
    same(f"{what} reward", extras["reward"], sum(sats(output["value"]) for output in coinbase["vout"]))
    same(f"{what} coinbaseRaw", extras["coinbaseRaw"], coinbase["vin"][0]["coinbase"])
    for ours, theirs in (("totalFees", "totalfee"), ("totalInputs", "ins"), ("totalOutputs", "outs"),
                         ("totalOutputAmt", "total_out"), ("segwitTotalTxs", "swtxs")):
        same(f"{what} {ours}", extras[ours], stats[theirs])


def check_summary(hash_):
    """The list of a block's transactions against the node's. The backend keeps those of blocks that it saw lately."""
    summary, node = backend(f"/block/{hash_}/summary"), rpc("getblock", hash_, 2)
    same("ids of the summary", [tx["txid"] for tx in summary], [tx["txid"] for tx in node["tx"]])
    for ours, theirs in zip(summary[1:], node["tx"][1:]):
        same(f"fee of {theirs['txid']}", ours["fee"], sats(theirs["fee"]))
        assert abs(ours["vsize"] - theirs["weight"] / 4) < 1, (ours, theirs["weight"])


def check_blocks():
    tip = rpc("getblockcount")
    same("height of the tip", backend("/blocks/tip/height"), tip)
    listed = backend("/blocks")
    same("heights", [block["height"] for block in listed], list(range(tip, tip - len(listed), -1)))
    for block in listed[:4]:
        check_block(block, block["height"])
    for height in (0, 1, tip // 2, tip):
        check_block(backend(f"/block/{rpc('getblockhash', height)}"), height)
    hash_ = rpc("getbestblockhash")
    check_summary(hash_)
    same("tip of electrs", (electrs("/blocks/tip/height"), electrs("/blocks/tip/hash")), (tip, hash_))


def check_tx(txid):
    """A transaction of Cairn, which the front end shows, against the node's."""
    tx, node = electrs(f"/tx/{txid}"), rpc("getrawtransaction", txid, 2)
    for name in ("txid", "version", "locktime", "size", "weight"):
        same(f"{name} of {txid}", tx[name], node[name])
    confirmed = node.get("confirmations", 0) > 0
    fee = node.get("fee", 0) if confirmed else rpc("getmempoolentry", txid)["fees"]["base"]
    same(f"fee of {txid}", tx["fee"], sats(fee))
    same(f"status of {txid}", tx["status"]["confirmed"], confirmed)
    if confirmed:
        same(f"block of {txid}", tx["status"]["block_hash"], node["blockhash"])
    for ours, theirs in zip(tx["vout"], node["vout"], strict=True):
        script = theirs["scriptPubKey"]
        expected = (sats(theirs["value"]), script["hex"], script.get("address"))
        same(f"output of {txid}", (ours["value"], ours["scriptpubkey"], ours.get("scriptpubkey_address")), expected)
    for ours, theirs in zip(tx["vin"], node["vin"], strict=True):
        if "coinbase" not in theirs:
            same(f"input of {txid}", (ours["txid"], ours["vout"]), (theirs["txid"], theirs["vout"]))
            spent = rpc("getrawtransaction", ours["txid"], 1)["vout"][ours["vout"]]
            found = (ours["prevout"]["value"], ours["prevout"]["scriptpubkey"])
            same(f"prevout of {txid}", found, (sats(spent["value"]), spent["scriptPubKey"]["hex"]))
            same(f"witness of {txid}", ours.get("witness", []), theirs.get("txinwitness", []))


def relatives(list_):
    return sorted(tx["txid"] for tx in list_ or [])


def check_mempool():
    """The backend's view of every unconfirmed transaction, against the node's."""
    entries = rpc("getrawmempool", True)
    same("ids of electrs", sorted(electrs("/mempool/txids")), sorted(entries))
    mempool = electrs("/mempool")
    fees = sum(sats(entry["fees"]["base"]) for entry in entries.values())
    same("count and fees of electrs", (mempool["count"], mempool["total_fee"]), (len(entries), fees))
    same("vsize of electrs", mempool["vsize"], sum(entry["vsize"] for entry in entries.values()))
    same("transactions of the backend's blocks", sum(b["nTx"] for b in backend("/fees/mempool-blocks")), len(entries))
    times = backend("/transaction-times?" + "&".join(f"txId[]={txid}" for txid in list(entries)[:100]))
    assert all(time > 0 for time in times), times
    for txid, entry in entries.items():
        info = backend(f"/cpfp/{txid}")
        what = f"cpfp of {txid}"
        assert "fee" in info, f"{what}: the backend does not know it: {info}"
        no_null(what, info, ("bestDescendant", "acceleration"))
        same(f"{what}: fee", info["fee"], sats(entry["fees"]["base"]))
        assert entry["vsize"] - 1 < info["adjustedVsize"] <= entry["vsize"], (what, info, entry["vsize"])
        chunk = sats(entry["fees"]["chunk"]) * 4 / entry["chunkweight"]
        assert abs(info["effectiveFeePerVsize"] - chunk) < 0.01 * chunk, (what, info, chunk)
        if entry["ancestorcount"] > 1:
            same(f"{what}: ancestors", relatives(info["ancestors"]), sorted(rpc("getmempoolancestors", txid)))
            check_tx(txid)
    return entries


def check_fees():
    fees = backend("/fees/recommended")
    minimum = rpc("getmempoolinfo")["mempoolminfee"] * COIN / 1_000
    names = ("fastestFee", "halfHourFee", "hourFee", "economyFee", "minimumFee")
    rates = [fees[name] for name in names]
    assert all(isinstance(rate, (int, float)) and rate >= minimum for rate in rates), fees
    same("order of the feerates", rates, sorted(rates, reverse=True))


def check_address(address):
    received = wallet("listunspent", 0, 9_999_999, [address])
    utxos = electrs(f"/address/{address}/utxo")
    found, expected = (sorted((coin["txid"], coin["vout"]) for coin in list_) for list_ in (utxos, received))
    same(f"coins of {address}", found, expected)
    same(f"value of {address}", sum(coin["value"] for coin in utxos), sum(sats(coin["amount"]) for coin in received))
    stats = electrs(f"/address/{address}")
    parts = (stats["chain_stats"], stats["mempool_stats"])
    held = sum(part["funded_txo_sum"] - part["spent_txo_sum"] for part in parts)
    same(f"sum of {address}", held, sum(coin["value"] for coin in utxos))
    same(f"validity of {address}", backend(f"/validate-address/{address}")["isvalid"], True)
    txids = {tx["txid"] for tx in electrs(f"/address/{address}/txs")}
    assert txids >= {coin["txid"] for coin in received}, (address, txids)


def settled():
    """True when Cairn and the backend have the node's tip and mempool."""
    tip, txids = rpc("getblockcount"), rpc("getrawmempool")
    same("tip", (backend("/blocks/tip/height"), electrs("/blocks/tip/hash")), (tip, rpc("getbestblockhash")))
    same("mempool", sorted(electrs("/mempool/txids")), sorted(txids))
    same("number", sum(block["nTx"] for block in backend("/fees/mempool-blocks")), len(txids))
    return all("fee" in backend(f"/cpfp/{txid}") for txid in txids)


# --- The scenario ---------------------------------------------------------------------------------------------------


def ten_blocks():
    for _ in range(BLOCKS):
        address = new_address()
        paid = [pay(0.01, 4, address), pay(0.02, 7), batch()]
        (old, new), (parent, child) = bump(), pay_for_parent()
        until(settled)
        entries = check_mempool()
        assert old not in entries and {new, parent, child, *paid} <= set(entries)
        same("parents of the child", relatives(backend(f"/cpfp/{child}")["ancestors"]),
             sorted(rpc("getmempoolancestors", child)))
        same("what was replaced", backend(f"/tx/{new}/rbf")["replaces"], [old])
        check_address(address)
        rpc("generatetoaddress", 1, new_address())
        until(settled)
        check_blocks()
        for txid in (*paid, new, parent, child):
            check_tx(txid)
        check_address(address)
    print(f"mempool's backend: {BLOCKS} blocks with payments, replacements, children and batches match the node")


def full_mempool():
    wallet("sendmany", "", {new_address(): 0.05 for _ in range(3 * WAITING)})
    rpc("generatetoaddress", 1, new_address())
    for at in range(WAITING - 12):
        pay(0.001, 2 + at % 20)
    for _ in range(3):
        pay_for_parent()
        bump()
        batch()
    until(settled)
    count = len(check_mempool())
    check_fees()
    assert count > 50, count
    print(f"mempool's backend: {count} unconfirmed transactions match the node")


def reorganize():
    tip = rpc("getblockcount")
    rpc("generatetoaddress", 1, new_address())
    for _ in range(DEPTH - 1):
        pay()
        rpc("generatetoaddress", 1, new_address())
    until(settled)
    stale = [rpc("getblockhash", height) for height in range(tip + 1, tip + 1 + DEPTH)]
    coinbases = [rpc("getblock", hash_)["tx"][0] for hash_ in stale]
    rpc("invalidateblock", stale[0])
    returned = set(rpc("getrawmempool"))
    # The first block of the other branch is empty, so that transactions are unconfirmed for a while.
    rpc("generateblock", new_address(), [])
    rpc("generatetoaddress", DEPTH, new_address())
    pay_for_parent()
    until(settled)
    for height in range(tip + 1, tip + 2 + DEPTH):
        hash_ = rpc("getblockhash", height)
        same(f"block of electrs at {height}", electrs(f"/block-height/{height}"), hash_)
        check_block(backend(f"/block/{hash_}"), height)
        same("its ids", electrs(f"/block/{hash_}/txids"), rpc("getblock", hash_)["tx"])
    for txid in list(returned)[:40]:
        check_tx(txid)
    for hash_, coinbase in zip(stale, coinbases):
        same("stale block of electrs", ask(ESPLORA, f"/internal/block/{hash_}/txs")[0], 404)
        same("stale coinbase of electrs", ask(ESPLORA, f"/tx/{coinbase}")[0], 404)
    check_mempool()
    check_fees()
    print(f"mempool's backend: a reorganization of {DEPTH} blocks matches the node")


def older_blocks():
    """Blocks of the scenario, which a backend that starts now has not seen. For the list of such a block, it asks Cairn
    for all transactions of the block at once."""
    tip = rpc("getblockcount")
    heights = range(tip - BLOCKS - DEPTH - 6, tip + 1)
    counts = {height: rpc("getblockstats", height, ["txs"])["txs"] for height in heights}
    assert max(counts.values()) > 50, counts
    rpc("generatetoaddress", 10, new_address())
    until(settled)
    return [rpc("getblockhash", height) for height in counts]


def configuration(folder):
    return {
        "MEMPOOL": {
            "NETWORK": "regtest", "BACKEND": "esplora", "HTTP_PORT": API, "POLL_RATE_MS": 200, "CACHE_ENABLED": False,
            "CACHE_DIR": folder, "STDOUT_LOG_MIN_PRIORITY": "debug", "POOLS_JSON_TREE_URL": "http://127.0.0.1:1/",
            "POOLS_JSON_URL": "http://127.0.0.1:1/",
        },
        "CORE_RPC": {"HOST": "127.0.0.1", "PORT": RPC, "USERNAME": USER, "PASSWORD": PASSWORD},
        "ESPLORA": {"REST_API_URL": f"http://127.0.0.1:{ESPLORA}"},
        "DATABASE": {"ENABLED": False}, "STATISTICS": {"ENABLED": False}, "FIAT_PRICE": {"ENABLED": False},
        "SYSLOG": {"ENABLED": False},
    }


def check_log(path):
    """Makes sure that the backend has logged no warning and no error. Allowed are 404 (see Counts), and that the list
    of pools cannot be fetched."""
    with open(path, errors="replace") as log:
        lines = [line.rstrip() for line in log if re.search(r"WARN|ERR:|EMERG|CRIT|ALERT|NaN|Exception", line)]
    strange = [line for line in lines if not re.search(r"PoolsUpdater|status code 404", line)]
    assert not strange, strange


def start_node(folder):
    topics = [f"-zmqpub{topic}=tcp://127.0.0.1:{free_port()}" for topic in ("sequence", "hashblock")]
    return subprocess.Popen([
        BITCOIND, "-regtest", f"-datadir={folder}", f"-rpcport={RPC}", f"-rpcuser={USER}", f"-rpcpassword={PASSWORD}",
        "-listen=0", "-fallbackfee=0.0001", "-rest", "-txindex", "-printtoconsole=0", *topics,
    ])


def start_cairn(folder):
    environment = dict(os.environ, CAIRN_NODE_USER=USER, CAIRN_NODE_PASSWORD=PASSWORD, CAIRN_RATE_LIMIT="0")
    with open(f"{folder}/cairn.log", "wb") as log:
        return subprocess.Popen([
            CAIRN, "run", "--datadir", f"{folder}/cairn", "--network", "regtest", "--node", f"http://127.0.0.1:{RPC}",
            "--blocks-dir", f"{folder}/regtest/blocks", "--listen", f"127.0.0.1:{HTTP}",
            "--esplora-internal", f"127.0.0.1:{INTERNAL}",
        ], env=environment, stdout=log, stderr=log)


def start_backend(folder):
    with open(f"{folder}/config.json", "w") as file:
        json.dump(configuration(folder), file)
    environment = dict(os.environ, MEMPOOL_CONFIG_FILE=f"{folder}/config.json")
    program = ["node", os.path.join(BACKEND, "dist", "index.js")]
    with open(f"{folder}/backend.log", "ab") as log:
        return subprocess.Popen(program, cwd=BACKEND, env=environment, stdout=log, stderr=log)


def stop(process):
    process.terminate()
    process.wait(60)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("mempool's backend: out of time"))
    started = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            started.append(start_node(folder))
            until(lambda: rpc("getblockchaininfo"))
            rpc("createwallet", WALLET)
            rpc("generatetoaddress", 110, new_address())
            started.append(start_cairn(folder))
            until(lambda: ask(INTERNAL, "/blocks/tip/height") == (200, 110))
            until(lambda: ask(INTERNAL, "/mempool/txids") == (200, []))
            proxy = Proxy(("127.0.0.1", ESPLORA), Forward)
            threading.Thread(target=proxy.serve_forever, daemon=True).start()
            started.append(start_backend(folder))
            until(lambda: backend("/blocks/tip/height") == 110)
            check_blocks()
            ten_blocks()
            full_mempool()
            reorganize()
            older = older_blocks()
            stop(started.pop())
            started.append(start_backend(folder))
            until(settled)
            for hash_ in older:
                check_summary(hash_)
            print(f"mempool's backend: after a restart it lists {len(older)} older blocks like the node")
            check_log(f"{folder}/backend.log")
            assert not COUNTS.errors, COUNTS.errors
        finally:
            for process in reversed(started):
                stop(process)
            for (asker, method, route, status), count in sorted(COUNTS.routes.items()):
                if asker == "backend":
                    print(f"mempool's backend: {count:5} times {status} {method} {route}")


main()
