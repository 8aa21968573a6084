#!/usr/bin/env bash
# Clients that we did not write, against the demo chain: a validator reads the OpenAPI document, and schemathesis calls
# every operation in it with what the document allows and what it does not, and checks the answers against it; agents'
# clients list and call every tool.
# Versions are pinned; they live in the user's cache. Bounded to a few minutes.
set -euo pipefail

listen=127.0.0.1:18333
tools="${XDG_CACHE_HOME:-$HOME/.cache}/cairn/interop"
pins=(openapi-spec-validator==0.9.0 schemathesis==4.32.5)

if [ "$(cat "$tools/pins" 2>/dev/null)" != "${pins[*]}" ]; then
    echo "interop: installing ${pins[*]}"
    rm -rf "$tools"
    python3 -m venv "$tools" || { echo "interop: python3 with venv is missing (Debian: python3-venv)" >&2; exit 1; }
    "$tools/bin/pip" install --quiet "${pins[@]}"
    echo "${pins[*]}" >"$tools/pins"
fi

cargo build --locked --release --bin cairn
work=$(mktemp -d)
server=
stop() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    [ -z "$server" ] || wait "$server" 2>/dev/null || true
    rm -rf "$work"
}
trap stop EXIT
# Thousands of requests of one client are the point here.
CAIRN_RATE_LIMIT=0 "${CARGO_TARGET_DIR:-target}/release/cairn" demo --datadir "$work/data" --listen "$listen" >"$work/log" 2>&1 &
server=$!

document="$work/openapi.json"
for attempt in $(seq 1 120); do
    if curl -fsS "http://$listen/openapi.json" -o "$document" 2>/dev/null; then break; fi
    if ! kill -0 "$server" 2>/dev/null || [ "$attempt" = 120 ]; then
        echo "interop: the demo does not answer; its log:" >&2
        cat "$work/log" >&2
        exit 1
    fi
    sleep 1
done

"$tools/bin/openapi-spec-validator" "$document"
"$(dirname "$0")/interop-mcp.sh" "http://$listen"
# The seed makes a failure repeatable. One check is left out: that whatever fits the schema is accepted. No schema can say
# that an address's checksum is right, or that a cursor was issued by this server.
"$tools/bin/schemathesis" run "http://$listen/openapi.json" --seed 1 --max-examples 25 --request-timeout 10 \
    --exclude-checks positive_data_acceptance
