"""What the parts of analysts.py share: its arguments, requests to the API, and a list of what is wrong."""

import json
import pathlib
import sys
import time
import urllib.parse
import urllib.request

BASE, CAIRN, DATADIR = sys.argv[1:4]
WORK = pathlib.Path(sys.argv[4])
BEGAN = time.monotonic()
WRONG = []


def say(what):
    print(f"analysts: {time.monotonic() - BEGAN:5.1f} s: {what}", flush=True)


def check(is_right, what):
    if not is_right:
        WRONG.append(what)


def stop_if_wrong():
    if WRONG:
        sys.exit(f"analysts: {len(WRONG)} things are wrong; the first:\n" + "\n".join(WRONG[:40]))


def same(found, wanted, what):
    check(found == wanted, f"{what}: {str(found)[:300]} is not {str(wanted)[:300]}")


def near(found, wanted, slack, what):
    check(abs(found - wanted) <= slack + 1e-12 * abs(wanted), f"{what}: {found} is not {wanted}")


def ask(path, **query):
    query = {name: value for name, value in query.items() if value is not None}
    url = BASE + path + ("?" + urllib.parse.urlencode(query) if query else "")
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.load(answer)


def pages(path, rows, **query):
    """All rows of a list, page by page."""
    cursor = None
    while True:
        answer = ask(path, cursor=cursor, **query)
        yield from answer[rows]
        cursor = answer["next_cursor"]
        if cursor is None:
            return
