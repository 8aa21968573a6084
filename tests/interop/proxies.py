"""Checks of proxies.sh. Usage: proxies.py CAIRN_ADDRESS CAIRN_PID CERTIFICATE NAME=PORT… : each port is that of a proxy in
front of the demo, for the hosts cairn.example and esplora.cairn.example."""

import hashlib
import http.client
import json
import os
import signal
import socket
import ssl
import struct
import sys
import threading
import time
import uuid

HOST, ESPLORA = "cairn.example", "esplora.cairn.example"
MAX_BODY = 1 << 20
# Longer than the 30 seconds after which the proxies end what is silent elsewhere.
SILENCE_SECS = 35
# More than what a client of the demo may use in a minute (proxies.sh).
MANY_REQUESTS = 700


class Proxy:
    """A proxy; each check comes from an address of its own, so that limits of clients do not mix."""

    def __init__(self, name, port, number, certificate):
        self.name, self.port, self.number = name, port, number
        self.context = ssl.create_default_context(cafile=certificate)

    def connect(self, client, host=HOST):
        plain = socket.create_connection(("127.0.0.1", self.port), 60, (f"127.{self.number}.0.{client}", 0))
        return self.context.wrap_socket(plain, server_hostname=host)

    def ask(self, client, method, path, body=None, headers=None, host=HOST, chunked=False):
        """Status and body of the answer to one request."""
        connection = http.client.HTTPSConnection(host)
        connection.sock = self.connect(client, host)
        headers = {"Content-Type": "application/json", **(headers or {})}
        try:
            connection.request(method, path, body, headers, encode_chunked=chunked)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            # Refused before all of the body was sent: the answer is there all the same.
            pass
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, text

    def said(self, what, found):
        raise AssertionError(f"{self.name}: {what}: {str(found)[:400]}")


def bodies(proxy):
    """A body just below the limit arrives whole; one above it gets 413 in Cairn's words, with or without a length."""
    digest = hashlib.sha256(uuid.uuid4().bytes).hexdigest()
    body = json.dumps({"hash_hex": digest}).encode()
    status, text = proxy.ask(1, "POST", "/v1/timestamp", body + b" " * (MAX_BODY - len(body)))
    if status not in (200, 202) or digest.encode() not in text:
        proxy.said("a large body is not taken", (status, text))
    for size in (MAX_BODY + 1, 3 * MAX_BODY, 20 * MAX_BODY):
        for chunked in (False, True):
            large = iter([b"a" * 65536] * (size // 65536) + [b"a"]) if chunked else b"a" * size
            headers = {"Transfer-Encoding": "chunked"} if chunked else {}
            status, text = proxy.ask(1, "POST", "/v1/wallets/lookup", large, headers, chunked=chunked)
            if status != 413 or b'"error":"payload_too_large"' not in text:
                proxy.said(f"a body of {size} bytes (chunked: {chunked}) is not refused by Cairn", (status, text))


def addresses(proxy):
    """Each client has a budget of its own, and cannot name itself."""
    connection = http.client.HTTPSConnection(HOST)
    connection.sock = proxy.connect(2)
    for n in range(MANY_REQUESTS):
        connection.request("GET", "/api/health", headers={"X-Forwarded-For": f"192.0.2.{n % 250}"})
        answer = connection.getresponse()
        answer.read()
        if answer.status == 429:
            break
    else:
        proxy.said("a client has no limit", MANY_REQUESTS)
    connection.close()
    status, _ = proxy.ask(3, "GET", "/api/health")
    if status != 200:
        proxy.said("one client uses up the budget of another one", status)


def stream(connect, arrived, at):
    """Notes when the first event of the feed comes."""
    connection = http.client.HTTPConnection(HOST)
    connection.sock = connect()
    connection.request("GET", "/v1/events", headers={"Accept": "text/event-stream"})
    answer = connection.getresponse()
    assert answer.status == 200, (at, answer.status)
    arrived[at] = None
    for line in answer:
        if line.startswith(b"id:"):
            arrived[at] = time.monotonic()
            return


def events(cairn, proxies):
    """An event that comes over a direct connection comes through each proxy at the same time."""
    host, port = cairn.split(":")
    connects = {"directly": lambda: socket.create_connection((host, int(port)), 60, ("127.99.0.1", 0))}
    connects |= {proxy.name: lambda proxy=proxy: proxy.connect(4) for proxy in proxies}
    arrived = {}
    threads = [threading.Thread(target=stream, args=(connects[name], arrived, name), daemon=True) for name in connects]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 30
    while len(arrived) < len(connects):
        assert time.monotonic() < until, f"only these streams are open: {list(arrived)}"
        time.sleep(0.1)
    # A hash makes the demo add a block, which is an event.
    body = json.dumps({"hash_hex": hashlib.sha256(uuid.uuid4().bytes).hexdigest()})
    status, text = proxies[0].ask(5, "POST", "/v1/timestamp", body)
    assert status in (200, 202), text
    for thread in threads:
        thread.join(60)
    late = [name for name, when in arrived.items() if when is None or when - arrived["directly"] > 2]
    assert not late, f"events do not come at once: {late}"


def frame(text):
    """A text frame of a client, with a mask of zeros."""
    data = text.encode()
    assert len(data) < 126
    return struct.pack("!BB", 0x81, 0x80 | len(data)) + bytes(4) + data


def silent_websocket(proxy):
    """A websocket that is silent for long still answers."""
    connection = proxy.connect(6, ESPLORA)
    connection.sendall(
        f"GET /api/v1/ws HTTP/1.1\r\nHost: {ESPLORA}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
    )
    head = connection.recv(4096)
    if not head.startswith(b"HTTP/1.1 101"):
        proxy.said("no websocket", head)
    time.sleep(SILENCE_SECS)
    connection.sendall(frame('{"action":"ping"}'))
    connection.settimeout(10)
    text = b""
    while b"pong" not in text:
        more = connection.recv(4096)
        if not more:
            proxy.said("the silent websocket was closed", text)
        text += more
    status, text = proxy.ask(6, "GET", "/api/blocks/tip/height", host=ESPLORA)
    if status != 200 or not text.isdigit():
        proxy.said("Esplora's API is not reached", (status, text))


def silent_stream(proxy):
    """A stream without events stays open for longer than an answer may take."""
    connection = proxy.connect(7)
    connection.sendall(f"GET /v1/events HTTP/1.1\r\nHost: {HOST}\r\nAccept: text/event-stream\r\n\r\n".encode())
    connection.settimeout(20)
    until = time.monotonic() + SILENCE_SECS
    while time.monotonic() < until:
        if not connection.recv(4096):
            proxy.said("the stream was closed", "")


def silences(proxy):
    """Both of them, at the same time."""
    failed = []

    def websocket():
        try:
            silent_websocket(proxy)
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=websocket)
    thread.start()
    silent_stream(proxy)
    thread.join()
    if failed:
        raise failed[0]


def stopped(proxy):
    """A server that does not answer costs a client half a minute at most."""
    began = time.monotonic()
    status, text = proxy.ask(8, "GET", "/api/health")
    took = time.monotonic() - began
    if status not in (502, 503, 504) or took > 40:
        proxy.said("a server that hangs is not noticed", (status, took, text))


def all_at_once(check, proxies):
    wrong = []

    def run(proxy):
        try:
            check(proxy)
        except Exception as error:
            wrong.append(f"{check.__name__}: {proxy.name}: {error!r}")

    threads = [threading.Thread(target=run, args=(proxy,)) for proxy in proxies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, "\n".join(wrong)


def main(cairn, pid, certificate, *ports):
    proxies = []
    for number, pair in enumerate(ports, 1):
        name, port = pair.split("=")
        proxies.append(Proxy(name, int(port), number, certificate))
    # One after the other: large bodies of several clients would meet the limit of all that are on their way.
    for proxy in proxies:
        bodies(proxy)
    all_at_once(addresses, proxies)
    events(cairn, proxies)
    all_at_once(silences, proxies)
    os.kill(int(pid), signal.SIGSTOP)
    try:
        all_at_once(stopped, proxies)
    finally:
        os.kill(int(pid), signal.SIGCONT)
    for proxy in proxies:
        until = time.monotonic() + 30
        while proxy.ask(9, "GET", "/api/health")[0] != 200:
            assert time.monotonic() < until, f"{proxy.name} does not come back"
            time.sleep(1)
    names = ", ".join(proxy.name for proxy in proxies)
    print(f"proxies: {names}: bodies, limits, clients' addresses, streams, websockets and time-outs")


if __name__ == "__main__":
    main(*sys.argv[1:])
