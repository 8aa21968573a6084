"""PyPI `l402-requests` buys answers within a budget, one by one and concurrently. It sends a credential with every
request whose path has the same first two segments, also with free ones. It reads only the second challenge (LSAT).

Usage: l402_httpx.py BASE_URL CAIRN DATADIR
"""

import asyncio
import sys

from l402_requests import AsyncL402Client, BudgetController, L402Client
from l402_requests.exceptions import BudgetExceededError
from l402_requests.wallets import WalletBase

from l402_shop import BATCH_SATS_PER_ADDRESS, FEED_SATS, TX_SATS, Purse, goods

TIMEOUT_SECS = 20


class Wallet(WalletBase):
    def __init__(self, purse):
        self.purse = purse

    async def pay_invoice(self, bolt11):
        return await asyncio.to_thread(self.purse.pay, bolt11)


def bought(answer, sats):
    """Checks the answer to a paid request, and returns its body."""
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert body["_meta"]["price_sats"] == sats, body["_meta"]
    return body


def one_by_one(base, purse, txids, addresses):
    budget = BudgetController(max_sats_per_request=2 * BATCH_SATS_PER_ADDRESS)
    client = L402Client(wallet=Wallet(purse), budget=budget, timeout=TIMEOUT_SECS)
    for txid in [txids[0], txids[0], txids[1]]:
        assert bought(client.get(f"{base}/v1/tx/{txid}"), TX_SATS)["txid"] == txid
    bought(client.get(f"{base}/v1/tx/{txids[2]}/status"), 0)
    answer = client.post(f"{base}/v1/batch/summary", json={"addresses": addresses[:2]})
    assert len(bought(answer, 2 * BATCH_SATS_PER_ADDRESS)["results"]) == 2
    try:
        client.get(f"{base}/v1/chain/activity-feed?limit=1")
        sys.exit("l402-requests paid more than its budget")
    except BudgetExceededError as error:
        assert str(FEED_SATS) in str(error), error
    spent = 3 * TX_SATS + 2 * BATCH_SATS_PER_ADDRESS
    assert (client.spending_log.total_spent(), len(purse.payments)) == (spent, 4), purse.payments


async def concurrently(base, purse, txids):
    client = AsyncL402Client(wallet=Wallet(purse), timeout=TIMEOUT_SECS)
    answers = await asyncio.gather(*(client.get(f"{base}/v1/tx/{txid}") for txid in txids))
    assert [bought(answer, TX_SATS)["txid"] for answer in answers] == txids
    assert client.spending_log.total_spent() == len(txids) * TX_SATS


def main():
    base, cairn, datadir = sys.argv[1:]
    purse = Purse(cairn, datadir)
    txids, addresses = goods(base)
    one_by_one(base, purse, txids, addresses)
    asyncio.run(concurrently(base, purse, txids[3:11]))
    assert len(set(purse.payments)) == 12, purse.payments
    print(f"l402-requests: {len(purse.payments)} invoices paid, 8 of them concurrently")


main()
