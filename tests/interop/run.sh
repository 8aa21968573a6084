#!/usr/bin/env bash
# Clients that we did not write, against the demo chain: readers of the OpenAPI document and of the agent card, agents'
# clients that list and call every tool, and schemathesis, which calls every operation with what the document allows and
# with what it does not, and checks the answers against it.
# Versions are pinned; they live in the user's cache. Bounded to a few minutes.
set -euo pipefail

listen=127.0.0.1:18333 esplora=127.0.0.1:18339 electrum=127.0.0.1:18340
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/interop/servers.sh
. "$here/servers.sh"
# shellcheck source=tests/interop/install-pinned.sh
. "$here/install-pinned.sh"
install_pinned interop schemathesis==4.32.5

cargo build --locked --release --bin cairn
begin_servers interop
# Thousands of requests of one client are the point here. Reports are paid to a watch-only account of the test networks.
account=tpubDC5FSnBiZDMmhiuCmWAYsLwgLYrrT9rAqvTySfuCCrgsWz8wxMXUS9Tb9iVMvcRbvFcAHGkMD5Kx8koh4GquNGNTfohfk7pgjhaPCdXpoba
document="$work/openapi.json"
CAIRN_PAYMENTS_DESCRIPTOR="wpkh($account/0/*)" CAIRN_RATE_LIMIT=0 start_server demo \
    "${CARGO_TARGET_DIR:-target}/release/cairn" demo --still --datadir "$work/data" \
    --listen "$listen" --esplora "$esplora" --electrum "$electrum"
wait_for 120 "the demo" curl -fsS "http://$listen/openapi.json" -o "$document"

"$here/openapi.sh" "$document"
"$here/a2a.sh" "http://$listen"
"$here/mcp.sh" "http://$listen" "${CARGO_TARGET_DIR:-target}/release/cairn" "$work/data"
"$here/generated.sh" "http://$listen" "$document"
"$here/pages.sh" "http://$listen"
"$here/pages_tasks.sh" "http://$listen"
python3 "$here/pages_speed.py" "http://$listen"
"$here/lighthouse.sh" "http://$listen"
"$here/qr.sh" "http://$listen"
"$here/descriptors.sh" "http://$listen"
"$here/events.sh" "http://$listen"
"$here/analysts.sh" "http://$listen" "${CARGO_TARGET_DIR:-target}/release/cairn" "$work/data"
"$here/stores.sh" "${CARGO_TARGET_DIR:-target}/release/cairn" "$work/data"
"$here/l402.sh" "${CARGO_TARGET_DIR:-target}/release/cairn"
"$here/lightning.sh" "${CARGO_TARGET_DIR:-target}/release/cairn"
"$here/protocols.sh" "http://$listen" "http://$esplora" "tcp://$electrum"
"$here/watchers.sh" "${CARGO_TARGET_DIR:-target}/release/cairn" "http://$esplora"
"$here/electrum_wallet.sh" "${CARGO_TARGET_DIR:-target}/release/cairn"
"$here/wallets.sh" "${CARGO_TARGET_DIR:-target}/release/cairn"
"$here/electrs.sh" "${CARGO_TARGET_DIR:-target}/release/cairn"
"$here/crowd.sh" "${CARGO_TARGET_DIR:-target}/release/cairn"
"$here/mempool_backend.sh" "${CARGO_TARGET_DIR:-target}/release/cairn"
"$here/x402.sh" "${CARGO_TARGET_DIR:-target}/release/cairn"
"$here/proxies.sh" "${CARGO_TARGET_DIR:-target}/release/cairn"
"$here/hardening.sh" "${CARGO_TARGET_DIR:-target}/release/cairn"
"$here/watching.sh" "${CARGO_TARGET_DIR:-target}/release/cairn"
"$here/services.sh" "${CARGO_TARGET_DIR:-target}/release/cairn"
"$here/traces.sh" "${CARGO_TARGET_DIR:-target}/release/cairn"

# What schemathesis cannot know: sending a transaction needs a node, and anchoring a hash a wallet, which the demo has
# not, and says so by a 503 that is in the document; and an unconfirmed transaction has to be one that waits here and now.
# A body that is too large is refused as such, even if it is wrong, too.
cat >"$work/schemathesis.toml" <<'CONFIG'
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429, "5xx"]

[[operations]]
include-name = "POST /v1/tx/broadcast"
checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 503]

# No example of a code is one that somebody issued.
[[operations]]
include-name = "POST /v1/billing/redeem"
checks.positive_data_acceptance.expected-statuses = ["2xx", 404]

# Nothing is sold during the beta, and no example of a checkout is one that somebody opened.
[[operations]]
include-name = "POST /v1/billing/checkout"
checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 503]
checks.positive_data_acceptance.expected-statuses = ["2xx", 503]

[[operations]]
include-name = "GET /v1/billing/checkout/{checkout_id}"
checks.positive_data_acceptance.expected-statuses = ["2xx", 404]

[[operations]]
include-name = "POST /v1/billing/checkout/{checkout_id}/refresh"
checks.positive_data_acceptance.expected-statuses = ["2xx", 404]

# Nor is one of a challenge.
[[operations]]
include-name = "GET /v1/l402/challenges/{challenge_id}"
checks.positive_data_acceptance.expected-statuses = ["2xx", 404]

[[operations]]
include-name = "POST /v1/timestamp"
checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 503]
checks.positive_data_acceptance.expected-statuses = ["2xx", 503]
CONFIG
cp "$work/schemathesis.toml" "$work/examples.toml"
# It adds values of its own to the examples of a body: a cursor that nobody issued, a file together with parts of which there is none.
# tests/api/examples.rs sends the example as it is.
cat >>"$work/examples.toml" <<'CONFIG'
[[operations]]
include-name = "POST /v1/wallets/lookup"
checks.positive_data_acceptance.expected-statuses = ["2xx", 422]

# A report that another answer named, without the address that it is about.
[[operations]]
include-name = "POST /v1/feedback"
checks.positive_data_acceptance.expected-statuses = ["2xx", 422]

# Its address and transaction are of the main network.
[[operations]]
include-name = "POST /v1/community/reports"
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 422]
CONFIG
"$tools/bin/python" - "http://$listen" >>"$work/examples.toml" <<'PYTHON'
import json, sys, urllib.request

base = sys.argv[1]
get = lambda path: json.load(urllib.request.urlopen(base + path, timeout=10))
page = next(e["example"] for e in get("/v1/wallets")["endpoints"] if e["example"].endswith("/transactions"))
listed = get(page.removeprefix(base))["transactions"]
txid = next(tx["txid"] for tx in listed if tx["status"]["state"] == "mempool")
print(f'[[operations]]\ninclude-name = "GET /v1/mempool/tx/{{txid}}"\nparameters = {{ "path.txid" = "{txid}" }}')
PYTHON
# The seed makes a failure repeatable.
api_test() {
    "$tools/bin/schemathesis" --config-file "$1" run "http://$listen/openapi.json" --seed 1 --request-timeout 10 "${@:2}"
}
# What the document gives as an example is accepted.
api_test "$work/examples.toml" --phases examples
# One check is left out: that whatever fits the schema is accepted. No schema can say that an address's checksum is right,
# or that a cursor was issued by this server.
api_test "$work/schemathesis.toml" --phases coverage,fuzzing,stateful --max-examples 100 --exclude-checks positive_data_acceptance
"$here/hostile.sh"
"$here/ots.sh"
