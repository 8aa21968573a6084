"""Asks for QR codes of all kinds of text, has zbarimg read them, and compares bytes.

Usage: qr.py BASE_URL
"""

import json
import random
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

# What a code of the largest size holds with the least correction.
BYTES, DIGITS = 2953, 7089
# What the operation takes, in characters.
LONGEST = 4096
# Beyond ASCII, 12 bits say that the bytes are UTF-8.
UTF8_BYTES = BYTES - 2

ADDRESS = "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"


def texts():
    """Names and texts that have to come back."""
    yield "an address", ADDRESS
    yield "an address in capitals", ADDRESS.upper()
    yield "a bitcoin: URI", f"bitcoin:{ADDRESS}"
    yield "a bitcoin: URI in capitals", f"BITCOIN:{ADDRESS.upper()}?AMOUNT=0.001"
    amount = "amount=20.3&label=Luke-Jr%20%26%20Söhne&message=a+b%2Bc"
    yield "a bitcoin: URI with everything", f"bitcoin:175tWpb8K1S7NmH4Zx6rewF9WsqeZxTJgR?{amount}"
    yield "an invoice", "LIGHTNING:" + "LNBC1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" * 9
    for one in ["0", "A", "a", " ", "%", "~", "ß", "中", "\U0001f511", "\n", "\x01"]:
        yield f"one character ({one!r})", one
    yield "white space", " \t a  b \r\n\r\n c "
    yield "accents", "Zażółć gęślą jaźń – ÄÖÜ ñ œ €"
    yield "kanji, that Shift JIS has too", "日本語の文字列、点茗"
    yield "many scripts", "ελληνικά кириллица עברית العربية हिन्दी ไทย 한국어"
    yield "emoji", "\U0001f469\u200d\U0001f4bb \U0001f1eb\U0001f1ee e\u0301"
    yield "bytes that could be Latin-1", "Ã¤Ã¶Ã¼ ÿþ \u0080\u00ff"
    yield "control characters", "".join(map(chr, range(1, 32))) + "\x7f"
    yield "no bytes left out", "a\0b\0\0c"
    yield "all of Latin-1", "".join(map(chr, range(1, 256)))
    yield "something like a file", "\x89PNG\r\n\x1a\n" + "\x00\x01\xff" * 50
    yield "JSON", json.dumps({"a": [1, None, "é"], "b": "\\\"'"}, ensure_ascii=False)
    yield "digits between letters", "a0123456789b01234567890123456789ABCDEFGHIJKLMNOP0123456789c"
    yield "all bytes that fit", "x" * BYTES
    yield "all characters, capitals", ("ABC$%*+-./: 0123456789" * 200)[:LONGEST]
    yield "all characters, digits", ("31415926535" * 400)[:LONGEST]
    yield "UTF-8 that fits", "ä" * (UTF8_BYTES // 2)
    yield "long UTF-8", "中文" * 490
    random.seed(1)
    for number in range(40):
        pools = ["01", "0123456789", "ABC:/ 19", "abcXYZ019", "aä中\U0001f511", "".join(map(chr, range(1, 300)))]
        pool = random.choice(pools)
        yield f"random text {number}", "".join(random.choice(pool) for _ in range(random.randint(1, 600)))


def ask(base, text):
    return urllib.request.urlopen(f"{base}/v1/qr?data={urllib.parse.quote(text, safe='')}", timeout=20)


def read(picture):
    """What the scanner finds."""
    with tempfile.NamedTemporaryFile(suffix=".png") as file:
        file.write(picture)
        file.flush()
        command = ["zbarimg", "--quiet", "--raw", "--oneshot", "-Sdisable", "-Sqrcode.enable", "-Sbinary", file.name]
        return subprocess.run(command, capture_output=True, check=True).stdout


def main():
    base = sys.argv[1]
    wrong, count = [], 0
    for name, text in texts():
        try:
            with ask(base, text) as answer:
                assert answer.headers["content-type"] == "image/png", answer.headers
                found = read(answer.read())
        except urllib.error.HTTPError as error:
            found = error.read()
        except subprocess.CalledProcessError as error:
            found = f"exit {error.returncode}".encode()
        if found == text.encode():
            count += 1
        else:
            wrong.append(f"{name}: {text.encode()[:60]!r} came back as {found[:200]!r} ({len(found)} bytes)")
    for text, code in [
        ("", "validation_error"),
        ("x" * (LONGEST + 1), "validation_error"),
        ("1" * DIGITS, "validation_error"),
        ("x" * (BYTES + 1), "qr_capacity_exceeded"),
        ("ä" * (BYTES // 2 + 1), "qr_capacity_exceeded"),
        ("中" * LONGEST, "qr_capacity_exceeded"),
    ]:
        try:
            ask(base, text).close()
            wrong.append(f"{len(text)} characters were taken")
        except urllib.error.HTTPError as error:
            problem = json.load(error)
            if (error.code, problem["error"]) != (422, code):
                wrong.append(f"{len(text)} characters: {error.code} {problem['error']}")
    print(f"qr: {count} codes read back to the same bytes by zbarimg")
    if wrong:
        sys.exit("\n".join(wrong))


main()
