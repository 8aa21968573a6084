"""A holder narrows macaroons with pymacaroons: they open what was paid, and nothing else. bolt11 decodes the invoices.

Usage: l402_macaroons.py BASE_URL CAIRN DATADIR
"""

import datetime
import hashlib
import json
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import bolt11
from pymacaroons import Macaroon

from l402_shop import BATCH_SATS_PER_ADDRESS, FEED_SATS, TX_SATS, Purse, goods, read

# The regular expression of the client of aperture (7ee3ed7).
APERTURE = re.compile('(LSAT|L402) macaroon="(.*?)", invoice="(.*?)"')
# An invoice ends with its challenge, or a little before.
MAX_GAP_SECS = 60


def ask(base, target, body=None, authorization=None):
    """Returns status, headers and JSON of an answer; a body makes it a POST."""
    headers = {"authorization": authorization} if authorization else {}
    content = None if body is None else body.encode()
    if content is not None:
        headers["content-type"] = "application/json"
    try:
        with urllib.request.urlopen(urllib.request.Request(base + target, content, headers), timeout=20) as answer:
            return answer.status, answer.headers, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, error.headers, json.load(error)


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def copied(token):
    """Reads a macaroon, in the alphabet of the library."""
    return Macaroon.deserialize(token.translate(str.maketrans("+/", "-_")))


def narrowed(token, *caveats):
    macaroon = copied(token)
    for caveat in caveats:
        macaroon.add_first_party_caveat(caveat)
    return macaroon.serialize()


def without_last_caveat(token):
    macaroon = copied(token)
    macaroon.caveats = macaroon.caveats[:-1]
    return macaroon.serialize()


def with_third_party(token):
    macaroon = copied(token)
    macaroon.add_third_party_caveat("https://auth.example.org/", "a key of theirs", "user = alice")
    return macaroon.serialize()


def check_headers(headers, l402):
    """Checks that both challenges have the macaroon and the invoice of the body."""
    first, second = headers.get_all("www-authenticate")
    token, invoice = l402["payment"]["macaroon"], l402["payment"]["invoice"]
    assert first == f'L402 version="0", token="{token}", macaroon="{token}", invoice="{invoice}"', first
    assert APERTURE.fullmatch(second).groups() == ("LSAT", token, invoice), second


def check_invoice(l402, sats):
    """Checks the invoice against the body."""
    payment, invoice = l402["payment"], bolt11.decode(l402["payment"]["invoice"])
    assert (invoice.currency, invoice.amount_msat) == ("bcrt", sats * 1000), invoice
    assert (payment["price_sats"], payment["payment_hash"]) == (sats, invoice.payment_hash), payment
    ends = datetime.datetime.fromisoformat(l402["challenge"]["expires_at"].replace("Z", "+00:00")).timestamp()
    gap = ends - (invoice.date + invoice.expiry)
    assert 0 <= gap <= MAX_GAP_SECS, f"the invoice ends {gap} s before the challenge"
    assert not invoice.has_expired()
    return invoice.payment_hash, ends


def check_macaroon(token, payment_hash, ends, method, target, body):
    """Checks the identifier and the caveats, and returns the time of the last one."""
    macaroon = copied(token)
    assert macaroon.identifier[:34] == bytes(2) + bytes.fromhex(payment_hash), macaroon.identifier
    assert len(macaroon.identifier) == 66
    caveats = [caveat.caveat_id.decode().split("=", 1) for caveat in macaroon.caveats]
    url = urllib.parse.urlsplit(target)
    assert caveats[:-1] == [
        ["wr_method", method],
        ["wr_path", url.path],
        ["wr_query_sha256", sha256(url.query)],
        ["wr_body_sha256", sha256(body or "")],
    ], caveats
    name, expires = caveats[-1]
    assert name == "wr_expires" and int(expires) >= int(ends), (caveats, ends)
    return int(expires)


def buy(base, purse, target, body, sats, scheme):
    status, headers, refusal = ask(base, target, body)
    assert (status, refusal["error"]) == (402, "payment_required"), refusal
    l402 = refusal["payment_options"]["l402"]
    check_headers(headers, l402)
    payment_hash, ends = check_invoice(l402, sats)
    token = l402["payment"]["macaroon"]
    expires = check_macaroon(token, payment_hash, ends, "GET" if body is None else "POST", target, body)
    preimage = purse.pay(l402["payment"]["invoice"])
    assert hashlib.sha256(bytes.fromhex(preimage)).hexdigest() == payment_hash

    def state():
        return read(base + urllib.parse.urlsplit(l402["links"]["status_url"]).path)

    # The library writes base64url without padding, and a location.
    soon = min(int(time.time()) + 60, expires)
    copy = narrowed(token, "app=interop", f"wr_expires={soon}")
    wrong = {
        "expired": narrowed(token, f"wr_expires={int(time.time()) - 1}"),
        "no number": narrowed(token, "wr_expires=tomorrow"),
        "widened": narrowed(copy, f"wr_expires={expires + 1}"),
        "later than its own": narrowed(copy, f"wr_expires={soon + 1}"),
        "another path": narrowed(token, "wr_path=/v1/tx/other"),
        "a caveat removed": without_last_caveat(copy),
        "third party": with_third_party(token),
        "another key": Macaroon(identifier=copied(token).identifier, key="a guess", version=2).serialize(),
    }
    for why, macaroon in wrong.items():
        status, _, answer = ask(base, target, body, f"L402 {macaroon}:{preimage}")
        assert status == 402, f"{why}: {status} {answer}"
        assert preimage not in json.dumps(answer), why
    status, _, answer = ask(base, target, body, f"L402 {copy}:{'00' * 32}")
    assert status == 402, f"another preimage: {status} {answer}"
    # Refusals took nothing away.
    assert state()["status"] == "pending", state()
    paid = f"{scheme} {copy}:{preimage.upper()}"
    status, _, answer = ask(base, target, body, paid)
    assert (status, answer["_meta"]["price_sats"]) == (200, sats), answer
    assert state()["status"] == "redeemed" and state()["redeemed_at"], state()
    # Neither the copy nor the original opens it a second time.
    for used in [paid, f"L402 {token}:{preimage}"]:
        status, _, answer = ask(base, target, body, used)
        assert status == 402, answer
        assert answer["payment_options"]["l402"]["payment"]["payment_hash"] != payment_hash, answer
    return len(wrong) + 1


def main():
    base, cairn, datadir = sys.argv[1:]
    purse = Purse(cairn, datadir)
    txids, addresses = goods(base)
    body = json.dumps({"addresses": addresses[:3]})
    refused = [
        buy(base, purse, f"/v1/tx/{txids[0]}", None, TX_SATS, "L402"),
        buy(base, purse, "/v1/chain/activity-feed?limit=2&min_sats=0", None, FEED_SATS, "LSAT"),
        buy(base, purse, "/v1/batch/summary", body, 3 * BATCH_SATS_PER_ADDRESS, "l402"),
    ]
    print(f"pymacaroons: {len(purse.payments)} narrowed macaroons opened their requests, {sum(refused)} others did not")


main()
