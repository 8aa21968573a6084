"""For the Python clients of x402: the wallets, the chain, and the checks of what was bought."""

import json
import pathlib
import urllib.request

from eth_account import Account
from eth_utils import keccak
from x402 import SchemeRegistration, x402ClientConfig
from x402.mechanisms.evm.exact import ExactEvmScheme

NETWORK = "eip155:31337"
# The price of every call that is sold by x402: one cent.
PRICE = 10_000
TRANSFER_EVENT = "0x" + keccak(text="Transfer(address,address,uint256)").hex()


def selector(signature):
    return "0x" + keccak(text=signature)[:4].hex()


class Chain:
    """The chain that x402_chain.mjs has prepared."""

    def __init__(self, folder):
        written = json.loads((pathlib.Path(folder) / "chain.json").read_text())
        self.rpc, self.token, self.pay_to = written["rpc"], written["token"], written["payTo"]
        self.wallets = {name: Account.from_key(key) for name, key in written["wallets"].items()}

    def call(self, method, *params):
        content = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        request = urllib.request.Request(self.rpc, content, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)["result"]

    def balance(self, address):
        data = selector("balanceOf(address)") + address[2:].lower().rjust(64, "0")
        return int(self.call("eth_call", {"to": self.token, "data": data}, "latest"), 16)

    def transfers(self, transaction):
        """Returns payer, recipient and amount of each transfer of the token in a transaction."""
        receipt = self.call("eth_getTransactionReceipt", transaction)
        assert receipt["status"] == "0x1", receipt
        logs = [log for log in receipt["logs"] if log["address"] == self.token.lower()]
        logs = [log for log in logs if log["topics"][0] == TRANSFER_EVENT]
        return [("0x" + log["topics"][1][26:], "0x" + log["topics"][2][26:], int(log["data"], 16)) for log in logs]

    def client_config(self, wallet):
        """Returns the settings of a client that pays with the token, one price at most."""
        allowed = {"network": NETWORK, "asset": self.token, "max_amount_per_payment": str(PRICE)}
        scheme = SchemeRegistration(network=NETWORK, client=ExactEvmScheme(self.wallets[wallet]))
        return x402ClientConfig(schemes=[scheme], spend_controls={"allowed_assets": [allowed]})

    def check_receipt(self, receipt, wallet, before):
        """Checks a receipt, and the transfer that it names."""
        payer = self.wallets[wallet].address.lower()
        assert (receipt.success, receipt.network, receipt.payer.lower()) == (True, NETWORK, payer), receipt
        assert self.transfers(receipt.transaction) == [(payer, self.pay_to.lower(), PRICE)], receipt
        assert self.balance(self.pay_to) == before + PRICE


def read(url):
    with urllib.request.urlopen(url, timeout=20) as answer:
        return json.load(answer)


def goods(base):
    """Returns a confirmed transaction and an address that it pays, by free operations."""
    height = read(f"{base}/v1/chain/recent-blocks?limit=1")["blocks"][0]["height"]
    block = read(f"{base}/v1/blocks/{height}")
    paid = [output["address"] for output in block["coinbase"]["outputs"] if output["address"]]
    return block["coinbase"]["txid"], paid[0]
