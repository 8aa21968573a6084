"""Answers are bought with payments between two Lightning nodes: by hand, and by PyPI `l402-requests`. One invoice stays
unpaid, and one payment stays unredeemed until `cairn access reconcile` has found it. bolt11 decodes the invoices.

Usage: lightning.py BASE_URL CAIRN DATADIR NODES; NODES is the line of JSON that cairn-interop-lightning prints.
"""

import asyncio
import base64
import csv
import hashlib
import json
import subprocess
import sys
import time
import urllib.error
import urllib.request

import bech32
import bolt11
from l402_requests import AsyncL402Client, BudgetController
from l402_requests.wallets import WalletBase

from l402_shop import BATCH_SATS_PER_ADDRESS, TX_SATS, goods

# A payment takes less than a second, unless other programs keep the machine busy.
TIMEOUT_SECS = 90
# Enough for an HTLC above the dust limit: it has an output in the commitment transaction.
BATCH_ADDRESSES = 40
CONCURRENT = 8
# A payment is over for the payer when it has the preimage; the rest of the protocol follows.
SETTLE_SECS = 60


def send(url, body=None, headers=None):
    """Returns status and JSON of an answer; a body makes it a POST."""
    content = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json", **(headers or {})}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, content, headers), timeout=TIMEOUT_SECS) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


class Node:
    """A node behind the form of LND's REST."""

    def __init__(self, node):
        self.url, self.pubkey, self.credentials = node["url"], node["pubkey"], node

    def send(self, path, body=None, credential="admin"):
        return send(self.url + path, body, {"Grpc-Metadata-macaroon": self.credentials.get(credential, credential)})

    def balances(self):
        """Returns the shares of this node and of the other one in their channel, in thousandths of a satoshi."""
        status, found = self.send("/v1/balance/channels")
        assert status == 200, found
        return int(found["local_balance"]["msat"]), int(found["remote_balance"]["msat"])

    def invoice(self, payment_hash):
        status, found = self.send(f"/v1/invoice/{payment_hash}", credential="invoices")
        assert status == 200, found
        return found


class Wallet(WalletBase):
    """Pays over the channel. The wallet of l402-requests for LND does not work with LND either: it reads the preimage,
    which is hex in a payment, as base64.
    """

    def __init__(self, node):
        self.node, self.paid_sats = node, 0

    def pay(self, invoice):
        """Returns the preimage in hex."""
        status, answer = self.node.send("/v2/router/send", {"payment_request": invoice, "timeout_seconds": 60})
        assert status == 200, f"a payment failed: {status} {answer}"
        assert (answer["result"]["status"], answer["result"]["fee_msat"]) == ("SUCCEEDED", "0"), answer
        self.paid_sats += int(answer["result"]["value_msat"]) // 1000
        return answer["result"]["payment_preimage"]

    async def pay_invoice(self, invoice):
        return await asyncio.to_thread(self.pay, invoice)


class Market:
    """The server, the two nodes behind it, and what each side should have."""

    def __init__(self, base, cairn, datadir, nodes):
        self.base, self.cairn, self.datadir = base, cairn, datadir
        self.shop, self.wallet = Node(nodes["shop"]), Wallet(Node(nodes["wallet"]))
        # Payment hashes of invoices that are not paid.
        self.unpaid = set()
        self.before = self.shop.balances()
        assert self.before == self.wallet.node.balances()[::-1], self.before

    def check_balances(self):
        """Checks that the channel has moved exactly what was paid, in the view of each node."""
        sats = self.wallet.paid_sats
        wanted = (self.before[0] + sats * 1000, self.before[1] - sats * 1000)
        ends = time.monotonic() + SETTLE_SECS
        while (views := (self.shop.balances(), self.wallet.node.balances()[::-1])) != (wanted, wanted):
            assert time.monotonic() < ends, f"the channel has {views} instead of {wanted} after {sats} sats"
            time.sleep(0.1)

    def challenge(self, target, sats):
        """Returns the challenge of a request, whose invoice was checked, and the payment hash."""
        status, refusal = send(self.base + target)
        assert (status, refusal["error"]) == (402, "payment_required"), refusal
        l402 = refusal["payment_options"]["l402"]
        invoice = bolt11.decode(l402["payment"]["invoice"])
        assert (invoice.currency, invoice.amount_msat, invoice.payee) == ("bcrt", sats * 1000, self.shop.pubkey)
        # The channel is not public, so the invoice names it.
        hops = [hop.public_key for hint in invoice.route_hints for hop in hint.routes]
        assert hops == [self.wallet.node.pubkey], hops
        found = self.shop.invoice(invoice.payment_hash)
        assert (found["state"], found["value"], found["amt_paid_sat"]) == ("OPEN", str(sats), "0"), found
        self.unpaid.add(invoice.payment_hash)
        return l402, invoice.payment_hash

    def pay(self, l402):
        """Pays the invoice of a challenge, and returns the preimage in hex."""
        self.unpaid.remove(l402["payment"]["payment_hash"])
        return self.wallet.pay(l402["payment"]["invoice"])

    def use(self, target, l402, preimage):
        """Returns status and answer of a request with a proof. A refusal may have a new challenge."""
        proof = {"authorization": f"L402 {l402['payment']['macaroon']}:{preimage}"}
        status, answer = send(self.base + target, None, proof)
        if status == 402:
            self.unpaid.add(answer["payment_options"]["l402"]["payment"]["payment_hash"])
        return status, answer

    def unredeemed(self):
        """Returns the challenges that `cairn access reconcile` lists as paid, and its summary."""
        command = [self.cairn, "access", "reconcile", "--datadir", self.datadir, "--format", "csv"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECS)
        assert done.returncode == 0, done.stderr
        return [row["id"] for row in csv.DictReader(done.stdout.splitlines())], done.stderr

    def sold_sats(self):
        command = [self.cairn, "access", "report", "--datadir", self.datadir, "--format", "csv"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECS, check=True)
        return sum(int(row["amount"]) for row in csv.DictReader(done.stdout.splitlines()))


def addresses(count):
    """Returns addresses of the chain that it does not have."""
    return [bech32.encode("bcrt", 0, hashlib.sha256(bytes([at])).digest()[:20]) for at in range(count)]


def by_hand(market, txid):
    """Buys one answer, step by step."""
    target = f"/v1/tx/{txid}"
    l402, payment_hash = market.challenge(target, TX_SATS)
    status, answer = market.use(target, l402, "00" * 32)
    assert status == 402, f"a preimage that is not the payment's: {status} {answer}"
    preimage = market.pay(l402)
    assert hashlib.sha256(bytes.fromhex(preimage)).hexdigest() == payment_hash
    found = market.shop.invoice(payment_hash)
    assert (found["state"], found["amt_paid_sat"]) == ("SETTLED", str(TX_SATS)), found
    assert base64.b64decode(found["r_preimage"]).hex() == preimage
    status, answer = market.use(target, l402, preimage)
    assert (status, answer["txid"], answer["_meta"]["price_sats"]) == (200, txid, TX_SATS), answer
    status, answer = market.use(target, l402, preimage)
    assert (status, answer["error"]) == (402, "payment_required"), f"the second use: {status} {answer}"
    # Neither does the wallet pay twice.
    status, answer = market.wallet.node.send("/v2/router/send", {"payment_request": l402["payment"]["invoice"]})
    assert (status, answer["message"]) == (409, "invoice is already paid"), answer
    market.check_balances()


async def by_client(market, txids):
    """Buys a large answer, then some concurrently, with l402-requests."""
    client = AsyncL402Client(wallet=market.wallet, budget=BudgetController(), timeout=TIMEOUT_SECS)
    body = {"addresses": addresses(BATCH_ADDRESSES)}
    answer = await client.post(f"{market.base}/v1/batch/summary", json=body)
    assert answer.status_code == 200 and len(answer.json()["results"]) == BATCH_ADDRESSES, answer.text
    assert answer.json()["_meta"]["price_sats"] == BATCH_ADDRESSES * BATCH_SATS_PER_ADDRESS
    answers = await asyncio.gather(*(client.get(f"{market.base}/v1/tx/{txid}") for txid in txids))
    assert [answer.json()["txid"] for answer in answers] == txids
    market.check_balances()


def unpaid_and_unredeemed(market, unpaid_txid, paid_txid):
    """Leaves one invoice unpaid, and redeems a payment only after it was found."""
    unpaid, unpaid_hash = market.challenge(f"/v1/tx/{unpaid_txid}", TX_SATS)
    target = f"/v1/tx/{paid_txid}"
    paid, _ = market.challenge(target, TX_SATS)
    preimage = market.pay(paid)
    listed, summary = market.unredeemed()
    assert listed == [paid["challenge"]["id"]], (listed, summary)
    assert f" {len(market.unpaid)} unpaid, 0 unknown" in summary, summary
    # The proof of one payment does not open another request.
    status, answer = market.use(f"/v1/tx/{unpaid_txid}", unpaid, preimage)
    assert status == 402, answer
    status, answer = market.use(target, paid, preimage)
    assert (status, answer["txid"]) == (200, paid_txid), answer
    listed, summary = market.unredeemed()
    assert listed == [], (listed, summary)
    assert market.shop.invoice(unpaid_hash)["state"] == "OPEN"
    market.check_balances()


def credentials(market):
    """The credential that Cairn has cannot pay, and the interface refuses others."""
    status, answer = market.shop.send("/v2/router/send", {"payment_request": "lnbcrt1"}, credential="invoices")
    assert (status, answer["message"]) == (500, "permission denied"), answer
    status, answer = market.shop.send("/v1/getinfo", credential="00")
    assert status == 500 and answer["message"].startswith("verification failed"), answer


def main():
    base, cairn, datadir, nodes = sys.argv[1:]
    market = Market(base, cairn, datadir, json.loads(nodes))
    txids, _ = goods(base)
    credentials(market)
    by_hand(market, txids[0])
    asyncio.run(by_client(market, txids[1:][:CONCURRENT]))
    unpaid_and_unredeemed(market, txids[-1], txids[-2])
    sats = market.wallet.paid_sats
    assert market.sold_sats() == sats, (market.sold_sats(), sats)
    print(f"Lightning: {sats} sats went over the channel for {CONCURRENT + 3} answers, {CONCURRENT} of them concurrently")


main()
