"""The A2A project's Python kit reads the agent card: found over HTTP by its own resolver, and parsed by its own types
without leave for any member that they do not know.

Usage: a2a_card.py BASE_URL
"""

import asyncio
import json
import sys
import urllib.request

import httpx
from a2a.client import A2ACardResolver
from a2a.types.a2a_pb2 import AgentCard
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf.json_format import MessageToDict, ParseDict


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.status, answer.headers, answer.read()


async def main():
    (base,) = sys.argv[1:]
    async with httpx.AsyncClient() as client:
        card = await A2ACardResolver(client, base).get_agent_card()
    status, headers, body = get(f"{base}/.well-known/agent-card.json")
    assert headers.get_content_type() == "application/json", headers
    written = json.loads(body)
    # The resolver forgives what it does not know and fills in what was called otherwise before 1.0; this does not.
    assert ParseDict(written, AgentCard()) == card, "the resolver reads something else than what is written"
    validate_proto_required_fields(card)
    # Nothing is lost on the way there and back, apart from what is false anyway.
    back = MessageToDict(card)
    back["capabilities"] = written["capabilities"] | back["capabilities"]
    assert back == written, "the card holds members that the types do not"

    ids = [skill.id for skill in card.skills]
    assert len(set(ids)) == len(ids) and ids, "skills share an id"
    # A second path of an operation is no skill of its own.
    operations = {
        operation["operationId"]
        for methods in json.loads(get(f"{base}/openapi.json")[2])["paths"].values()
        for operation in methods.values()
        if "x-alias-of" not in operation
    }
    assert set(ids) == operations, set(ids) ^ operations
    assert all(skill.examples and skill.tags and skill.description for skill in card.skills)
    for interface in card.supported_interfaces:
        assert interface.protocol_version, interface
        status, _, _ = get(interface.url)
        assert status == 200, interface.url
    for url in (card.documentation_url, card.provider.url):
        assert get(url)[0] == 200, url
    # Only a signature that verifies may stand there: there is none.
    assert not card.signatures
    print(f"a2a: {card.name} {card.version}, {len(ids)} skills, interfaces {[i.protocol_binding for i in card.supported_interfaces]}")


asyncio.run(main())
