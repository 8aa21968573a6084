"""A client that openapi-python-client made calls every GET of the document with the document's own examples; what it makes of an answer
has to be the answer.

Usage: generated.py BASE_URL DOCUMENT FOLDER SAID, where the client is the package `cairn_client` in the folder, and SAID has what the
generator said.
"""

import datetime
import importlib
import json
import sys
import urllib.request

# What the demo may lack: a mempool, a node, prices, a wallet that anchors, and what clients hand in, open or buy.
MAY_BE_ABSENT = {
    "anchoring_unavailable",
    "challenge_not_found",
    "checkout_not_found",
    "mempool_syncing",
    "mempool_unavailable",
    "node_unavailable",
    "not_implemented",
    "report_not_found",
    "timestamp_not_found",
}


class Word(str):
    """A word where the client has an enumeration of its own."""

    @property
    def value(self):
        return str(self)


def argument(parameter):
    schema, example = parameter["schema"], parameter["example"]
    if schema.get("format") == "date":
        return datetime.date.fromisoformat(example)
    if schema.get("format") == "date-time":
        return datetime.datetime.fromisoformat(example)
    return Word(example) if "enum" in schema else example


def given(operation):
    """The required parameters, by the names that the client gives them: in small letters, with underscores."""
    required = [parameter for parameter in operation.get("parameters", []) if parameter.get("required")]
    return {parameter["name"].lower().replace("-", "_"): argument(parameter) for parameter in required}


def unconfirmed(base):
    """A transaction that waits here and now, which no example can name."""
    with urllib.request.urlopen(f"{base}/v1/wallets", timeout=10) as answer:
        examples = [endpoint["example"] for endpoint in json.load(answer)["endpoints"]]
    page = next(example for example in examples if example.endswith("/transactions"))
    with urllib.request.urlopen(base + page.removeprefix(base), timeout=10) as answer:
        return next(tx["txid"] for tx in json.load(answer)["transactions"] if tx["status"]["state"] == "mempool")


def main():
    base, path, folder, said = sys.argv[1:]
    sys.path.insert(0, folder)
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    client = importlib.import_module("cairn_client").Client(base_url=base, raise_on_unexpected_status=True)
    called, absent, failed, left_out = 0, [], [], []
    for path, methods in document["paths"].items():
        operation = methods.get("get")
        if operation is None:
            continue
        answers = operation["responses"].get("200", {}).get("content", {})
        if "application/json" not in answers:
            left_out.append(path)
            continue
        tag = operation["tags"][0].replace("-", "_").replace(" ", "_")
        name = operation["operationId"]
        try:
            module = importlib.import_module(f"cairn_client.api.{tag}.{name}")
            arguments = given(operation) | ({"txid": unconfirmed(base)} if name == "mempool_tx" else {})
            response = module.sync_detailed(client=client, **arguments)
            answer = json.loads(response.content)
            if response.status_code != 200:
                (absent if answer.get("error") in MAY_BE_ABSENT else failed).append(f"{name}: {answer.get('error')}: {answer.get('detail')}")
                continue
            read = response.parsed.to_dict()
            called += 1
            if read != answer:
                failed.append(f"{name}: {differences(read, answer)}")
        except Exception as error:  # noqa: BLE001 - each is told
            failed.append(f"{name}: {type(error).__name__}: {error}")
    with open(said, encoding="utf-8") as file:
        text = file.read()
    print(f"openapi-python-client: {called} operations called and read, {len(absent)} absent, {len(left_out)} are no JSON")
    # It leaves out bodies of plain text, which is told; a schema that it leaves out is a fault.
    failed += [line for line in text.splitlines() if "#/components/schemas/" in line or "Unable to parse" in line]
    if failed:
        print(*failed, sep="\n")
        sys.exit(f"interop: {len(failed)} faults of the client")
    assert called >= 50, "too few operations were called"


def differences(read, answer, at=""):
    if isinstance(read, dict) and isinstance(answer, dict):
        for key in read.keys() | answer.keys():
            if read.get(key, "absent") != answer.get(key, "absent"):
                return differences(read.get(key, "absent"), answer.get(key, "absent"), f"{at}.{key}")
    if isinstance(read, list) and isinstance(answer, list) and len(read) == len(answer):
        for i, (one, other) in enumerate(zip(read, answer)):
            if one != other:
                return differences(one, other, f"{at}[{i}]")
    return f"{at}: {read!r:.80} was {answer!r:.80}"


main()
