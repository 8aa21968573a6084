"""The Python client of the Model Context Protocol lists and calls every tool: in the present revision, in those with a
handshake, and over the old transport of server-sent events. Every answer is checked against the tool's own schema.

Over standard input it speaks to `cairn mcp`, for that server and over the index.

Usage: mcp_client.py BASE_URL ARGUMENTS_FILE CAIRN DATADIR, where the arguments of each call are written for other clients to use.
"""

import asyncio
import json
import sys
import urllib.request

from jsonschema import Draft202012Validator
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client

# What the demo may lack: a mempool, a node, a wallet that anchors.
MAY_BE_ABSENT = {"anchoring_unavailable", "node_unavailable", "mempool_unavailable", "mempool_syncing"}
OVER_THE_INDEX = "stdio over the index"


def get(base, path):
    with urllib.request.urlopen(base + path, timeout=10) as answer:
        return json.load(answer)


def subjects(base):
    """Something that exists, of each kind that a tool asks for."""
    block = get(base, "/v1/blocks/5")
    txid = (block.get("transactions") or block.get("txids"))[0]
    txid = txid if isinstance(txid, str) else txid["txid"]
    tx = get(base, f"/v1/tx/{txid}")
    return {"txid": txid, "tx_hex": tx.get("hex"), "unconfirmed": unconfirmed(base)}


def unconfirmed(base):
    """An unconfirmed transaction of the example wallet, if it has one."""
    examples = (endpoint["example"] for endpoint in get(base, "/v1/wallets")["endpoints"])
    page = next(example for example in examples if example.endswith("/transactions"))
    listed = get(base, page.removeprefix(base))["transactions"]
    return next((tx["txid"] for tx in listed if tx["status"]["state"] == "mempool"), None)


def said_of(result):
    """The answer in a result: as text, and the same as structured content where the revision has it."""
    said = json.loads(result.content[0].text)
    assert result.structured_content in (None, said), "text and structured content differ"
    return said


def arguments_of(tool, schema, known):
    """Arguments for a tool, from its schema: what is required, and one of each group of other names."""
    properties = schema.get("properties", {})

    def value(name):
        field = properties[name]
        # The example of a transaction is of the main network.
        if known.get(name) is not None:
            return known[name]
        if field.get("examples"):
            return field["examples"][0]
        sys.exit(f"{tool.name}: no value for {name}: {field}")

    own = tool.name in ("describe_endpoint", "call_endpoint")
    found = {} if own else {name: value(name) for name in schema.get("required", [])}
    if tool.name == "verify_timestamp":
        # One of two names; a tool's schema has no word for that.
        found = {"proof_base64": value("proof_base64")}
    if tool.name == "timestamp_hash":
        found = {"hash": "ab" * 32}
    if tool.name == "tx_verify":
        found = {"txid": known["txid"], "address": value("address"), "expected_amount_btc": 0.00000001}
    if tool.name == "mempool_tx" and known["unconfirmed"]:
        found = {"txid": known["unconfirmed"]}
    if tool.name == "wallet_balance_history":
        # A life is more than a tool says at once.
        found |= {"from": value("from"), "to": value("to")}
    if tool.name == "submit_feedback":
        found = {"type": value("type"), "message": value("message")}
    if tool.name in ("describe_endpoint", "call_endpoint"):
        found = {"endpoint": "/v1/fees/recommended"}
    if tool.name == "search_endpoints":
        found = {"query": "fees"}
    return found


async def walk(label, client, known):
    listed = (await client.list_tools()).tools
    again = (await client.list_tools()).tools
    assert [tool.name for tool in listed] == [tool.name for tool in again], "the order of tools changes"
    succeeded, arguments = 0, {}
    for tool in listed:
        Draft202012Validator.check_schema(tool.input_schema)
        # The list is short; the rest is in the description of each tool.
        described = said_of(await client.call_tool("describe_endpoint", {"endpoint": tool.name}))["data"]
        Draft202012Validator.check_schema(described["result"])
        assert tool.annotations.read_only_hint is not None, tool.name
        arguments[tool.name] = arguments_of(tool, described["arguments"], known)
        result = await client.call_tool(tool.name, arguments[tool.name])
        said = said_of(result)
        Draft202012Validator(described["result"]).validate(said)
        if said["ok"]:
            succeeded += 1
        else:
            assert result.is_error, tool.name
            # Without a server there is no database for what clients write.
            absent = MAY_BE_ABSENT | ({"state_unavailable"} if label == OVER_THE_INDEX else set())
            assert said["error"]["error"] in absent, f"{tool.name}: {said['error']}"
    wrong = await client.call_tool("tx_lookup", {"txid": "00" * 32})
    assert wrong.is_error and said_of(wrong)["error"]["error"] == "tx_not_found", wrong
    # A long answer is cut, and says how to get the rest and where all of it is.
    # The server's example has a long life; over the index, examples are addresses of the network that nobody used.
    whole = {"address": known.setdefault("long_lived", arguments["wallet_balance_history"]["address"])}
    for name, given in [
        ("wallet_balance_history", whole),
        ("call_endpoint", {"endpoint": "wallet_balance_history", "arguments": whole}),
    ]:
        result = await client.call_tool(name, given)
        assert len(result.content[0].text) <= 24_000, len(result.content[0].text)
        left_out = said_of(result)["left_out"]
        assert left_out["arguments"][:2] == ["from", "to"] and left_out["lists"], left_out
    if label != OVER_THE_INDEX:
        with urllib.request.urlopen(left_out["url"], timeout=10) as answer:
            assert len(answer.read()) > 256 * 1024, "HTTP has no such bound"
    print(f"mcp ({label}, {client.protocol_version}): {len(listed)} tools, {succeeded} answered with data")
    assert succeeded >= len(listed) * 2 // 3, "too few tools answered with data"
    return arguments


async def main():
    base, out, cairn, datadir = sys.argv[1:]
    known = subjects(base)
    async with Client(f"{base}/mcp/", mode="auto") as client:
        assert client.protocol_version == "2026-07-28", client.protocol_version
        arguments = await walk("streamable HTTP", client, known)
    async with Client(f"{base}/mcp/v1/", mode="legacy") as client:
        assert client.protocol_version == "2025-11-25", client.protocol_version
        await walk("streamable HTTP", client, known)
    async with Client(sse_client(f"{base}/mcp/"), mode="legacy") as client:
        await walk("server-sent events", client, known)
    for label, how in [("stdio for the server", ["--url", base]), (OVER_THE_INDEX, ["--datadir", datadir])]:
        started = StdioServerParameters(command=cairn, args=["mcp", *how, "--log", "error"])
        async with Client(stdio_client(started), mode="legacy") as client:
            await walk(label, client, known)
    with open(out, "w", encoding="utf-8") as file:
        for name, values in arguments.items():
            file.write(f"{name}\t{json.dumps(values)}\n")


asyncio.run(main())
