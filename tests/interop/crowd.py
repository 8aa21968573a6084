"""Ten thousand wallets at one Electrum port: memory of the server, and how fast a block reaches all of them.

Usage: crowd.py CAIRN BITCOIND [CONNECTIONS [SCRIPTS]]. Each connection subscribes to its own scripts (20 by default).
A block then pays 1 % of all scripts, and each of 100 later ones a single script, to which one more client subscribes.
"""

import hashlib
import json
import multiprocessing
import os
import resource
import select
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import json_rpc

CAIRN, BITCOIND = sys.argv[1:3]
CONNECTIONS = int(sys.argv[3]) if len(sys.argv) > 3 else 10_000
SCRIPTS = int(sys.argv[4]) if len(sys.argv) > 4 else 20
CACHE_MIB, SINGLES = 64, 100
USER, PASSWORD = "crowd", "crowd"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


RPC, HTTP, ELECTRUM = free_port(), free_port(), free_port()


def rpc(method, *params, wallet=False):
    url = f"http://127.0.0.1:{RPC}/{'wallet/crowd' if wallet else ''}"
    return json_rpc.call(url, f"{USER}:{PASSWORD}", method, params)



def until(ready, seconds=120):
    end = time.monotonic() + seconds
    while True:
        try:
            if found := ready():
                return found
        except (OSError, RuntimeError):
            pass
        if time.monotonic() > end:
            raise TimeoutError("not ready in time")
        time.sleep(0.2)


def program(number):
    return hashlib.sha256(b"crowd%d" % number).digest()


CHARS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


def address(number):
    """The P2WSH address of a script (BIP 173)."""
    bits = int.from_bytes(program(number), "big") << 4
    data = [0] + [(bits >> (5 * (51 - at))) & 31 for at in range(52)]
    prefix = "bcrt"
    values = [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix] + data
    check = 1
    for value in values + [0] * 6:
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ value
        for bit, part in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            check ^= part if top >> bit & 1 else 0
    check ^= 1
    return prefix + "1" + "".join(CHARS[value] for value in data + [check >> 5 * (5 - at) & 31 for at in range(6)])


def script_hash(number):
    return hashlib.sha256(b"\x00\x20" + program(number)).digest()[::-1].hex()


def resident_mib(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024


def call(connection, lines, number, method, *params):
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    connection.sendall(json.dumps(request).encode() + b"\n")
    answer = json.loads(lines.readline())
    assert "result" in answer, answer
    return answer["result"]


NEWS = b"blockchain.scripthash.subscribe"


def crowd(first, last, pipe):
    """Holds the connections `first` to `last`. For each number that comes over the pipe, it answers when as many
    notifications of scripts had come since the last one (by the clock that all processes share)."""
    poll, connections = select.epoll(), {}
    for number in range(first, last):
        source = f"127.0.{1 + number // 250 % 250}.{1 + number % 250}"
        connection = socket.create_connection(("127.0.0.1", ELECTRUM), 60, (source, 0))
        lines = connection.makefile("rb")
        call(connection, lines, 0, "server.version", "crowd", "1.4")
        call(connection, lines, 1, "blockchain.headers.subscribe")
        for at in range(number * SCRIPTS, (number + 1) * SCRIPTS):
            call(connection, lines, 2, "blockchain.scripthash.subscribe", script_hash(at))
        connection.setblocking(False)
        poll.register(connection, select.EPOLLIN)
        connections[connection.fileno()] = connection
    pipe.send(last - first)
    poll.register(pipe, select.EPOLLIN)
    came, wanted = 0, None
    while True:
        for file, _ in poll.poll():
            if file == pipe.fileno():
                wanted = pipe.recv()
            else:
                came += connections[file].recv(1 << 16).count(NEWS)
        if wanted is not None and came >= wanted:
            pipe.send(time.monotonic())
            came, wanted = came - wanted, None


class One:
    """A connection that waits for the notification of one script."""

    def __init__(self):
        self.connection = socket.create_connection(("127.0.0.1", ELECTRUM), 60)
        self.lines = self.connection.makefile("rb")
        self.call("server.version", "crowd", "1.4")

    def call(self, method, *params):
        return call(self.connection, self.lines, 0, method, *params)

    def hears(self, act):
        """Seconds from the end of `act` until the notification."""
        act()
        done = time.monotonic()
        while NEWS not in self.lines.readline():
            pass
        return time.monotonic() - done


def start_crowd():
    pipes, half = [], CONNECTIONS // 2
    for first, last in ((0, half), (half, CONNECTIONS)):
        pipe, other = multiprocessing.Pipe()
        multiprocessing.Process(target=crowd, args=(first, last, other), daemon=True).start()
        pipes.append(pipe)
    assert sum(pipe.recv() for pipe in pipes) == CONNECTIONS
    return pipes


def all_hear(pipes, count, act):
    """Seconds from the end of `act` until all of a crowd have heard of `count` scripts, of which each half has half."""
    for pipe in pipes:
        pipe.send(count // 2)
    act()
    done = time.monotonic()
    return max(0, max(pipe.recv() for pipe in pipes) - done)


def measure(cairn, own):
    before, begun = resident_mib(cairn.pid), time.monotonic()
    pipes = start_crowd()
    seconds, filled = time.monotonic() - begun, resident_mib(cairn.pid)
    print(f"crowd: {CONNECTIONS} connections with {SCRIPTS} scripts each in {seconds:.0f} s; "
          f"{before:.0f} MiB resident before, {filled:.0f} MiB with them (cache {CACHE_MIB} MiB)")

    some = CONNECTIONS * SCRIPTS // 100
    paid = {address(at * 100): 0.0001 for at in range(some)}
    unconfirmed = all_hear(pipes, some, lambda: rpc("sendmany", "", paid, wallet=True))
    block = all_hear(pipes, some, lambda: rpc("generatetoaddress", 1, own))
    print(f"crowd: {some} of all scripts, in one transaction, reached all {unconfirmed:.2f} s after it was sent, "
          f"its block {block:.2f} s after it was mined")

    one, singles = One(), []
    for at in range(SINGLES):
        number = CONNECTIONS * SCRIPTS + at
        one.call("blockchain.scripthash.subscribe", script_hash(number))
        one.hears(lambda: rpc("sendtoaddress", address(number), 0.0001, wallet=True))
        singles.append(one.hears(lambda: rpc("generatetoaddress", 1, own)))
    singles.sort()
    slowest = singles[-2]
    print(f"crowd: one script of a block: {singles[SINGLES // 2] * 1e3:.0f} ms after it was mined (median), "
          f"{slowest * 1e3:.0f} ms at the 99th percentile")
    peak = resident_mib(cairn.pid)
    print(f"crowd: {peak:.0f} MiB resident at the end")
    assert peak - CACHE_MIB < 512, f"{peak:.0f} MiB"
    assert block < 2, f"{block:.2f} s"
    assert slowest < 0.2, f"{slowest:.3f} s"


def allow_files():
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(65_536, most), most))


def main():
    allow_files()
    folder, started = tempfile.TemporaryDirectory(), []
    try:
        zmq = [f"-zmqpub{topic}=tcp://127.0.0.1:{free_port()}" for topic in ("sequence", "hashblock")]
        started.append(subprocess.Popen([
            BITCOIND, "-regtest", f"-datadir={folder.name}", f"-rpcport={RPC}", f"-rpcuser={USER}",
            f"-rpcpassword={PASSWORD}", "-listen=0", "-fallbackfee=0.0001", "-rest", "-printtoconsole=0", *zmq,
        ]))
        until(lambda: rpc("getblockchaininfo"))
        rpc("createwallet", "crowd")
        own = rpc("getnewaddress", wallet=True)
        rpc("generatetoaddress", 110, own)
        environment = dict(os.environ, CAIRN_NODE_USER=USER, CAIRN_NODE_PASSWORD=PASSWORD, CAIRN_RATE_LIMIT="0")
        with open(os.path.join(folder.name, "log"), "wb") as log:
            cairn = subprocess.Popen([
                CAIRN, "run", "--datadir", f"{folder.name}/cairn", "--network", "regtest", "--node",
                f"http://127.0.0.1:{RPC}", "--listen", f"127.0.0.1:{HTTP}", "--electrum", f"127.0.0.1:{ELECTRUM}",
                "--cache", f"{CACHE_MIB}M", "--max-connections", str(CONNECTIONS + 500),
            ], env=environment, stdout=log, stderr=log)
        started.append(cairn)

        def is_at_tip():
            with urllib.request.urlopen(f"http://127.0.0.1:{HTTP}/v1/network/mempool/stress", timeout=5) as answer:
                return json.load(answer)["_meta"]["tip"]["height"] >= 110

        until(is_at_tip)
        measure(cairn, own)
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(60)


main()
