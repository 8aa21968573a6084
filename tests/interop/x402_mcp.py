"""The MCP client of PyPI `x402` buys calls of tools, over streamable HTTP. Each price is found again on the chain.

Usage: x402_mcp.py BASE_URL FOLDER, where FOLDER is that of x402_chain.mjs.
"""

import asyncio
import json
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from x402 import x402Client
from x402.mcp import x402MCPSession

from x402_shop import NETWORK, PRICE, Chain, goods


async def calls(base, chain, txid, address):
    payer = x402Client.from_config(chain.client_config("mcp"))
    async with streamable_http_client(f"{base}/mcp/") as (read, write, _), ClientSession(read, write) as session:
        client = x402MCPSession(session, payer)
        await client.initialize()
        # Without a payment, the tool offers the call, and has no data.
        arguments = {"address": address}
        offered = await session.call_tool("wallet_summary", arguments)
        said = offered.structuredContent
        assert offered.isError and said["data"] is None and said["status_code"] == 402, said
        offer = said["accepts"][0]
        assert (offer["network"], offer["amount"], offer["payTo"]) == (NETWORK, str(PRICE), chain.pay_to), offer
        for tool, arguments in [
            ("wallet_summary", arguments),
            ("wallet_detail", arguments),
            ("tx_verify", {"txid": txid, "expected_address": address}),
            ("call_endpoint", {"endpoint": "chain_awakenings", "arguments": {"limit": 2}}),
        ]:
            before = chain.balance(chain.pay_to)
            result = await client.call_tool(tool, arguments)
            said = result.raw_result.structuredContent or json.loads(result.content[0].text)
            assert not result.is_error and result.payment_made and said["ok"], said
            chain.check_receipt(result.payment_response, "mcp", before)
        free = await client.call_tool("tx_status", {"txid": txid})
        assert not free.is_error and not free.payment_made, free


def main():
    base, folder = sys.argv[1:]
    chain = Chain(folder)
    txid, address = goods(base)
    asyncio.run(calls(base, chain, txid, address))
    print("x402 (MCP): 4 calls of tools bought")


main()
