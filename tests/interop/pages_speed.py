"""Time to the last byte of every kind of page, over the server at BASE, one request at a time.

Usage: pages_speed.py BASE [TIMES]. Pages are those that links lead to, from the home page on, at most eight of a kind; a
kind is a path without its values. Each is asked for TIMES (25) times, in turns. The 99th percentile of each kind has to
be below 50 ms.
"""

import http.client
import re
import sys
import time
import urllib.parse

base = urllib.parse.urlsplit(sys.argv[1])
TIMES = int(sys.argv[2]) if len(sys.argv) > 2 else 25
OF_A_KIND, LIMIT = 8, 0.050
connection = http.client.HTTPConnection(base.hostname, base.port, timeout=60)


def get(path):
    begun = time.perf_counter()
    connection.request("GET", path, headers={"Accept": "text/html", "Host": base.netloc})
    answer = connection.getresponse()
    body = answer.read()
    return time.perf_counter() - begun, answer, body


def kind(path):
    path, _, query = path.partition("?")
    parts = [part if re.fullmatch(r"[a-z-]+", part) and len(part) < 20 else "…" for part in path.split("/")]
    names = sorted({pair.split("=")[0] for pair in query.split("&") if pair})
    return "/".join(parts) + ("?" + "&".join(names) if names else "")


kinds, waiting, seen = {}, ["/"], {"/"}
while waiting:
    path = waiting.pop(0)
    of_kind = kinds.setdefault(kind(path), [])
    if len(of_kind) >= OF_A_KIND:
        continue
    _, answer, body = get(path)
    if answer.status != 200 or "text/html" not in answer.headers.get("content-type", ""):
        continue
    of_kind.append(path)
    for link in re.findall(r'href="(/[^"#]*)', body.decode()):
        link = link.replace("&amp;", "&")
        if link not in seen and not link.startswith(("/v1/", "/api/", "/docs")):
            seen.add(link)
            waiting.append(link)

times = {name: [] for name, paths in kinds.items() if paths}
for _ in range(TIMES):
    for name, some in times.items():
        some.extend(get(path)[0] for path in kinds[name])
slowest = []
for name, some in times.items():
    some.sort()
    slowest.append((some[(len(some) - 1) * 99 // 100], some[len(some) // 2], len(some), name))
slowest.sort(reverse=True)
for p99, median, count, name in slowest[:12]:
    print(f"interop: {p99 * 1e3:6.1f} ms at the 99th percentile, {median * 1e3:5.1f} at the median of {count}: {name}")
requests = sum(count for *_, count, _ in slowest)
print(f"interop: {requests} answers of {len(slowest)} kinds of pages")
assert len(slowest) > 20, "too few kinds of pages were found"
for p99, _, _, name in slowest:
    assert p99 < LIMIT, f"{name} takes {p99 * 1e3:.0f} ms"
