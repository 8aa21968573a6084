"""PyPI `x402` buys answers over HTTP, with httpx and with requests. Each price is found again on the chain.

Usage: x402_http.py BASE_URL FOLDER, where FOLDER is that of x402_chain.mjs.
"""

import asyncio
import sys

from x402 import x402Client, x402ClientSync
from x402.http.clients import x402_requests, x402HttpxClient
from x402.http.utils import decode_payment_response_header

from x402_shop import Chain, goods

TIMEOUT_SECS = 90


def bought(chain, answer, wallet, before):
    """Checks an answer that was paid, and returns its body."""
    assert answer.status_code == 200, answer.text
    receipt = decode_payment_response_header(answer.headers["payment-response"])
    chain.check_receipt(receipt, wallet, before)
    return answer.json()


async def with_httpx(base, chain, txid, address):
    payer = x402Client.from_config(chain.client_config("httpx"))
    async with x402HttpxClient(payer, timeout=TIMEOUT_SECS) as client:
        for target in ["/v1/chain/awakenings?limit=3", f"/v1/wallets/{address}/summary"]:
            before = chain.balance(chain.pay_to)
            bought(chain, await client.get(base + target), "httpx", before)
        before = chain.balance(chain.pay_to)
        request = {"txid": txid, "expected_address": address}
        body = bought(chain, await client.post(f"{base}/v1/tx/verify", json=request), "httpx", before)
        assert body["verified"] is True, body
        # What is free needs no payment.
        free = await client.get(f"{base}/v1/tx/{txid}/status")
        assert free.status_code == 200 and "payment-response" not in free.headers, free.text


def with_requests(base, chain, txid, address):
    session = x402_requests(x402ClientSync.from_config(chain.client_config("requests")))
    before = chain.balance(chain.pay_to)
    answer = session.get(f"{base}/v1/wallets/{address}/detail", timeout=TIMEOUT_SECS)
    assert bought(chain, answer, "requests", before)["address"] == address
    before = chain.balance(chain.pay_to)
    request = {"txid": txid, "expected_address": address}
    answer = session.post(f"{base}/v1/tx/verify", json=request, timeout=TIMEOUT_SECS)
    assert bought(chain, answer, "requests", before)["txid"] == txid


def main():
    base, folder = sys.argv[1:]
    chain = Chain(folder)
    txid, address = goods(base)
    asyncio.run(with_httpx(base, chain, txid, address))
    with_requests(base, chain, txid, address)
    print("x402 (PyPI): 3 answers bought with httpx, 2 with requests")


main()
