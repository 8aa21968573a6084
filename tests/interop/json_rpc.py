"""Calls of JSON-RPC over HTTP, for the scripts beside: to Bitcoin Core, and to Electrum's daemon."""

import base64
import json
import urllib.error
import urllib.request


class Refused(RuntimeError):
    """An error that a JSON-RPC server answers."""


def call(url, login, method, params, **parse):
    """The result of a method. `login` is user:password; `parse` goes to the parser of the answer."""
    header = "Basic " + base64.b64encode(login.encode()).decode()
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    request = urllib.request.Request(url, body, {"authorization": header, "content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            answer = json.load(answer, **parse)
    except urllib.error.HTTPError as error:
        answer = json.load(error, **parse)
    if answer.get("error"):
        raise Refused(f"{method}: {json.dumps(answer['error'], default=str)}")
    return answer["result"]
