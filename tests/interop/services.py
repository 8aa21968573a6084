"""Steps of services.sh. The limits of time are far from what a machine with other work needs.

`service COMPOSE NAME HOSTS FOLDER`: shell commands with the service NAME of a file that `docker-compose config` has printed:
its environment as exports, its command as the array `words`. Names of services become the addresses in HOSTS
(`name=address,…`), FOLDER is where the volumes are.
`file PATH HOSTS`: prints a configuration with these addresses.
`receive ADDRESS FILE`: takes Alertmanager's messages, and writes a line for each alert.
`alert FILE SECONDS STATUS ALERT INSTANCE`: waits for such a line.
`scraped PROMETHEUS TARGET…`: waits until each target is read, without a failure.
`takeover URL CERTIFICATE PROCESS…`: kills the processes, one after the other, while readers read: none may fail but what
was on its way.
`hangs URL CERTIFICATE PROCESS`: stops a process; readers are answered as before after a moment.
"""

import http.client
import json
import os
import re
import shlex
import signal
import socket
import ssl
import sys
import threading
import time
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

READERS, PAUSE_SECS = 4, 0.03
PATHS = ["/v1/network/summary", "/v1/blocks/100", "/v1/blocks/1", "/api/health"]


def with_addresses(text, hosts):
    for name, address in hosts.items():
        # A host has a port behind it, or the name of a database; `cairn` is the name of a user, too.
        text = re.sub(rf"(?<![\w.:-]){name}(?=:\d+\b(?!@)|/\w+\?)", address, text)
    return text


def parsed(hosts):
    return dict(pair.split("=") for pair in hosts.split(","))


def service(compose, name, hosts, folder):
    import yaml

    found, hosts = yaml.safe_load(open(compose))["services"][name], parsed(hosts)

    def here(text):
        text = re.sub(r"(?<![\w/])/(node|data)\b", rf"{folder}/\1", str(text))
        text = text.replace("10.83.32.0/24", "127.0.0.0/8").replace("0.0.0.0", hosts.get(name, "0.0.0.0"))
        return shlex.quote(with_addresses(text, hosts))

    for variable, value in (found.get("environment") or {}).items():
        print(f"export {variable}={here(value)}")
    print(f"words=({' '.join(here(word) for word in [*(found.get('entrypoint') or []), *(found.get('command') or [])])})")


def file(path, hosts):
    print(with_addresses(open(path).read(), parsed(hosts)), end="")


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with open(self.server.file, "a") as lines:
            for alert in message["alerts"]:
                print(alert["status"], alert["labels"]["alertname"], alert["labels"].get("instance", "-"), file=lines)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def receive(address, file):
    host, port = address.split(":")
    server = ThreadingHTTPServer((host, int(port)), Receiver)
    server.file = file
    server.serve_forever()


def alert(file, seconds, *line):
    line, until = " ".join(line), time.time() + float(seconds)
    while time.time() < until:
        lines = open(file).read().splitlines() if os.path.exists(file) else []
        if line in lines:
            return
        time.sleep(1)
    sys.exit(f"services: no `{line}` within {seconds} s; the receiver has {lines}")


def scraped(prometheus, *targets):
    until, states = time.time() + 60, {}
    while time.time() < until:
        with urllib.request.urlopen(f"{prometheus}/api/v1/targets", timeout=10) as answer:
            active = json.load(answer)["data"]["activeTargets"]
        states = {target["labels"]["instance"]: target["health"] for target in active}
        if states == dict.fromkeys(targets, "up"):
            return
        time.sleep(1)
    sys.exit(f"services: not all of {targets} are read: {states}")


class Reader(threading.Thread):
    """Reads again and again over TLS connections that stay open."""

    def __init__(self, url, certificate, number):
        super().__init__(daemon=True)
        parts = urllib.parse.urlparse(url)
        self.address, self.number, self.ends = (parts.hostname, parts.port), number, False
        self.context = ssl.create_default_context(cafile=certificate)
        # (begin, end, what is wrong or nothing)
        self.reads = []

    def connect(self):
        connection = http.client.HTTPSConnection("localhost", timeout=40)
        plain = socket.create_connection(self.address, 40)
        connection.sock = self.context.wrap_socket(plain, server_hostname="localhost")
        return connection

    def run(self):
        connection, at = self.connect(), self.number
        while not self.ends:
            path, begun, wrong = PATHS[at % len(PATHS)], time.time(), None
            try:
                connection.request("GET", path)
                answer = connection.getresponse()
                body = answer.read()
                json.loads(body)
                if answer.status != 200:
                    wrong = f"{path}: {answer.status} {body[:200]}"
            except (OSError, ValueError, http.client.HTTPException) as error:
                wrong, connection = f"{path}: {error!r}", self.connect()
            self.reads.append((begun, time.time(), wrong))
            at += 1
            time.sleep(PAUSE_SECS)


def readers(url, certificate):
    found = [Reader(url, certificate, number) for number in range(READERS)]
    for reader in found:
        reader.start()
    return found


def finish(found):
    for reader in found:
        reader.ends = True
    for reader in found:
        reader.join(60)
    return sorted(read for reader in found for read in reader.reads)


def takeover(url, certificate, *processes):
    found, killed = readers(url, certificate), []
    time.sleep(3)
    for process in processes:
        killed.append(time.time())
        os.kill(int(process), signal.SIGKILL)
        time.sleep(12)
    reads = finish(found)
    failed = [(begun, end, wrong) for begun, end, wrong in reads if wrong]
    on_the_way = [read for read in failed if any(read[0] <= at <= read[1] for at in killed)]
    slowest = max(end - begun for begun, end, _ in reads)
    said = [f"{begun - killed[0]:+.2f} s: {wrong}" for begun, _, wrong in failed[:5]]
    assert len(failed) == len(on_the_way), f"{len(failed)} of {len(reads)} reads failed: {said}"
    fewest = min(len(reader.reads) for reader in found)
    assert fewest > 100 and slowest < 10, f"a reader has read {fewest} times, the slowest read took {slowest:.1f} s"
    print(
        f"services: {len(processes)} servers killed under {READERS} readers: {len(reads)} reads, {len(failed)} failed on the way,"
        f" the slowest took {slowest:.2f} s"
    )


def hangs(url, certificate, process):
    os.kill(int(process), signal.SIGSTOP)
    try:
        # An interval and a time-out of the health check, and a second.
        time.sleep(8)
        found = readers(url, certificate)
        time.sleep(3)
        reads = finish(found)
    finally:
        os.kill(int(process), signal.SIGCONT)
    late = [read for read in reads if read[2] or read[1] - read[0] > 3]
    assert not late and len(reads) > 20, f"{len(late)} of {len(reads)} reads failed or were late: {late[:3]}"


if __name__ == "__main__":
    steps = [service, file, receive, alert, scraped, takeover, hangs]
    step = {step.__name__: step for step in steps}.get((sys.argv[1:] or [""])[0])
    sys.exit(step(*sys.argv[2:]) if step else __doc__)
