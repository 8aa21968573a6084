"""Moto, which is S3 in Python, and a proxy in front of it."""

import collections
import http.client
import http.server
import json
import os
import pathlib
import random
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import boto3

BUCKET, REGION = "interop-stores", "us-east-1"


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Moto:
    def __init__(self, log):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        server = pathlib.Path(sys.executable).with_name("moto_server")
        with open(log, "w") as lines:
            self.process = subprocess.Popen([server, "-p", str(self.port)], stdout=lines, stderr=lines)
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{self.url}/moto-api/", timeout=5).close()
                break
            except OSError:
                if self.process.poll() is not None:
                    sys.exit(f"stores: moto does not start: {log.read_text()[-800:]}")
                time.sleep(0.1)
        self.key, self.secret = "any", "any"
        iam = self.client("iam")
        iam.create_user(UserName="cairn")
        policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
        iam.put_user_policy(UserName="cairn", PolicyName="all", PolicyDocument=json.dumps(policy))
        made = iam.create_access_key(UserName="cairn")["AccessKey"]
        self.key, self.secret = made["AccessKeyId"], made["SecretAccessKey"]
        # From here on, moto checks who asks, and the signature of each request.
        begin = urllib.request.Request(f"{self.url}/moto-api/reset-auth", b"0", {"Content-Type": "text/plain"}, method="POST")
        urllib.request.urlopen(begin, timeout=10).close()
        self.s3 = self.client("s3")
        self.s3.create_bucket(Bucket=BUCKET)

    def client(self, service):
        keys = {"aws_access_key_id": self.key, "aws_secret_access_key": self.secret}
        return boto3.client(service, endpoint_url=self.url, region_name=REGION, **keys)

    def names(self, below):
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{below}/")
        return [found["Key"].removeprefix(f"{below}/") for page in pages for found in page.get("Contents", [])]

    def get(self, name):
        return self.s3.get_object(Bucket=BUCKET, Key=name)["Body"].read()

    def put(self, name, body):
        """Writes an object, or removes it if `body` is None."""
        if body is None:
            self.s3.delete_object(Bucket=BUCKET, Key=name)
        else:
            self.s3.put_object(Bucket=BUCKET, Key=name, Body=body)

    def objects(self, below):
        return {name: self.get(f"{below}/{name}") for name in self.names(below)}

    def environment(self, endpoint=None, key=None, secret=None):
        others = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        return others | {
            "AWS_ACCESS_KEY_ID": key or self.key,
            "AWS_SECRET_ACCESS_KEY": secret or self.secret,
            "AWS_REGION": REGION,
            "AWS_ENDPOINT_URL": endpoint or self.url,
        }


class Proxy(http.server.ThreadingHTTPServer):
    """Stands in front of moto. `share` of the requests get another fate than to be passed on, by the seed. At request number
    `kill_at`, the process `victim` is killed: before the request is passed on, or after it."""

    daemon_threads, request_queue_size = True, 64

    def __init__(self, moto, seed, share, fates=("500", "503", "closed", "lost", "lost as 500", "cut", "slow")):
        super().__init__(("127.0.0.1", 0), Handler)
        self.port, self.random, self.share, self.fates = moto.port, random.Random(seed), share, fates
        self.lock, self.count, self.met = threading.Lock(), 0, collections.Counter()
        self.kill_at, self.victim, self.is_late = 0, None, False
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def fate(self):
        with self.lock:
            self.count += 1
            if self.count == self.kill_at:
                return "kill late" if self.is_late else "kill"
            if self.random.random() >= self.share:
                return "passed"
            fate = self.random.choice(self.fates)
            self.met[fate] += 1
            return fate

    def handle_error(self, request, client_address):
        """Clients that are killed leave broken connections."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version, timeout = "HTTP/1.1", 30

    def log_message(self, *arguments):
        pass

    def answer(self, status, headers, data, length=None):
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                self.send_header(name, value)
        self.send_header("Content-Length", len(data) if length is None else length)
        self.end_headers()
        self.wfile.write(data)

    def any_method(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fate = self.server.fate()
        if fate in ("500", "503"):
            return self.answer(int(fate), [], b"<Error><Code>InternalError</Code></Error>" if self.command != "HEAD" else b"")
        if fate == "kill":
            self.server.victim.kill()
        if fate in ("closed", "kill"):
            self.close_connection = True
            return None
        if fate == "slow":
            time.sleep(0.5)
        upstream = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        upstream.request(self.command, self.path, body, dict(self.headers))
        found = upstream.getresponse()
        data, length = found.read(), found.getheader("Content-Length")
        upstream.close()
        if fate == "kill late":
            self.server.victim.kill()
        if fate in ("lost", "kill late"):
            self.close_connection = True
            return None
        if fate == "lost as 500":
            return self.answer(500, [], b"")
        if fate == "cut":
            self.close_connection = True
            length, data = length or len(data) + 1, data[: len(data) // 2]
        return self.answer(found.status, found.getheaders(), data, length)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = any_method
