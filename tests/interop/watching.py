"""Steps of watching.sh: `prices PORT` is an exchange, `traffic URL SECONDS` asks for pages, `check PROMETHEUS CAIRN_JSON
RULES` evaluates the dashboard and looks at the alerts, `pending PROMETHEUS ALERT` waits for one."""

import hashlib
import json
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Exchange(BaseHTTPRequestHandler):
    """Kraken with a price of now, and closed candles of the last days."""

    def do_GET(self):
        query = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)
        if "/Ticker" in self.path:
            result = {"XXBTZUSD": {"c": ["100000.0", "1"]}}
        else:
            step = int(query["interval"][0]) * 60
            now = int(time.time()) // step * step
            row = lambda at: [at, "100", "102", "99", "101", "100.5", "1.5", 3]
            result = {"XXBTZUSD": [row(now - n * step) for n in range(5, -1, -1)], "last": now}
        body = json.dumps({"error": [], "result": result}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)


def traffic(base, seconds):
    """Asks for some operations again and again, one of them with an error; anchors a hash at the beginning."""
    body = json.dumps({"hash_hex": hashlib.sha256(str(time.time()).encode()).hexdigest()}).encode()
    ask = urllib.request.Request(base + "/v1/timestamp", body, {"Content-Type": "application/json"})
    urllib.request.urlopen(ask, timeout=10).read()
    until = time.time() + seconds
    while time.time() < until:
        for path in ["/api/health", "/v1/network/summary", "/v1/blocks/100", "/v1/blocks/not-a-block"]:
            try:
                urllib.request.urlopen(base + path, timeout=10).read()
            except urllib.error.HTTPError as error:
                assert error.code < 500, (path, error.code)
        time.sleep(1)


def check(prometheus, dashboard, rules):
    targets = get(prometheus + "/api/v1/targets")["data"]["activeTargets"]
    down = [target["scrapeUrl"] for target in targets if target["health"] != "up"]
    assert len(targets) == 2 and not down, f"not scraped: {down}"
    wrong, seen = [], 0
    for panel in json.load(open(dashboard))["panels"]:
        for target in panel.get("targets", []):
            expression = target["expr"].replace("$instance", ".*")
            seen += 1
            try:
                result = get(f"{prometheus}/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
            except urllib.error.HTTPError as error:
                wrong.append(f"{panel['title']}: {json.load(error)['error']}: {expression}")
                continue
            if not result["data"]["result"]:
                wrong.append(f"{panel['title']}: empty: {expression}")
    loaded = [rule for group in get(prometheus + "/api/v1/rules")["data"]["groups"] for rule in group["rules"]]
    expected = re.findall(r"- alert: (\w+)", open(rules).read())
    if sorted(rule["name"] for rule in loaded) != sorted(expected):
        wrong.append(f"{len(loaded)} of {len(expected)} rules are loaded")
    wrong += [f"{rule['name']}: {rule.get('lastError')}" for rule in loaded if rule["health"] != "ok"]
    wrong += [f"{rule['name']} is {rule['state']}: {rule['alerts']}" for rule in loaded if rule["state"] != "inactive"]
    assert not wrong, "\n".join(wrong)
    print(f"watching: {seen} expressions of the dashboard have values, none of {len(loaded)} alerts fires")


def pending(prometheus, alert):
    """A server that is gone is noticed."""
    until = time.time() + 60
    while time.time() < until:
        alerts = get(prometheus + "/api/v1/alerts")["data"]["alerts"]
        if any(found["labels"]["alertname"] == alert for found in alerts):
            return
        time.sleep(1)
    sys.exit(f"watching: {alert} is not noticed")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["prices", port]:
            ThreadingHTTPServer(("127.0.0.1", int(port)), Exchange).serve_forever()
        case ["traffic", base, seconds]:
            traffic(base, float(seconds))
        case ["check", prometheus, dashboard, rules]:
            check(prometheus, dashboard, rules)
        case ["pending", prometheus, alert]:
            pending(prometheus, alert)
        case _:
            sys.exit(__doc__)
