"""What agents' frameworks put before their models: the OpenAI Agents SDK and LangChain call tools of a server over HTTP, of `cairn mcp`
for that server, and of `cairn mcp` over the index, and what they hand on has the balance of an overview.

Usage: mcp_hosts.py BASE_URL CAIRN DATADIR
"""

import asyncio
import json
import sys
import urllib.request

from agents import RunContextWrapper
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp, MCPUtil
from langchain_mcp_adapters.client import MultiServerMCPClient

QUIET = {"CAIRN_LOG": "error"}


def get(base, path):
    with urllib.request.urlopen(base + path, timeout=10) as answer:
        return json.load(answer)


def rich(base):
    """A wallet of the examples with a balance, and the balance."""
    for endpoint in get(base, "/v1/wallets")["endpoints"]:
        if endpoint["example"].endswith("/overview"):
            overview = get(base, endpoint["example"].removeprefix(base))
            if overview["balance"]["confirmed_sats"] > 0:
                return overview["address"], overview["balance"]["confirmed_sats"]
    sys.exit("interop: no wallet of the examples has a balance")


def servers(base, cairn, datadir):
    """The ways to reach the tools, for both frameworks."""
    return {
        "HTTP": {"url": f"{base}/mcp/"},
        "stdio for the server": {"command": cairn, "args": ["mcp", "--url", base], "env": QUIET},
        "stdio over the index": {"command": cairn, "args": ["mcp", "--datadir", datadir], "env": QUIET},
    }


async def openai(label, how, wallet, balance):
    kind = MCPServerStreamableHttp if "url" in how else MCPServerStdio
    for structured in (False, True):
        async with kind(params=how, use_structured_content=structured, client_session_timeout_seconds=60) as server:
            tools = {tool.name: tool for tool in await server.list_tools()}
            context = RunContextWrapper(context=None)
            given = json.dumps({"address": wallet})
            shown = await MCPUtil.invoke_mcp_tool(server, tools["wallet_overview"], context, given)
        assert f'"confirmed_sats":{balance}' in shows(shown), f"{label}: the model sees {shown}"
    print(f"openai-agents ({label}): {len(tools)} tools, the model sees the balance")


async def langchain(label, how, wallet, balance):
    transport = "streamable_http" if "url" in how else "stdio"
    client = MultiServerMCPClient({"cairn": {"transport": transport, **how}})
    tools = {tool.name: tool for tool in await client.get_tools()}
    shown = await tools["wallet_overview"].ainvoke({"address": wallet})
    assert f'"confirmed_sats":{balance}' in shows(shown), f"{label}: the model sees {shown}"
    print(f"langchain-mcp-adapters ({label}): {len(tools)} tools, the model sees the balance")


def shows(output):
    """All text of what a framework hands on, without blanks and escapes."""
    text = output if isinstance(output, str) else json.dumps(output)
    return text.replace("\\", "").replace(" ", "")


async def main():
    base, cairn, datadir = sys.argv[1:]
    wallet, balance = rich(base)
    for label, how in servers(base, cairn, datadir).items():
        await openai(label, how, wallet, balance)
        await langchain(label, how, wallet, balance)


asyncio.run(main())
