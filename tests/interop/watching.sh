#!/usr/bin/env bash
# Prometheus, which we did not write, watches two servers of Cairn ($1, the binary) with the files of deploy/: the demo,
# which anchors, and an indexer over the same block files, which fetches prices and sells passes. The alerting rules
# pass their tests; after CAIRN_WATCHING_SECONDS (300) every expression of the dashboard has values and no alert fires.
set -euo pipefail

cairn=$1 seconds=${CAIRN_WATCHING_SECONDS:-300}
here=$(cd "$(dirname "$0")" && pwd)
deploy=$here/../../deploy
for tool in prometheus promtool amtool; do
    if ! command -v "$tool" >/dev/null; then
        echo "interop: skipped watching: no $tool (Debian: prometheus, prometheus-alertmanager)" >&2
        exit 0
    fi
done

promtool check rules "$deploy/prometheus/rules.yml" >/dev/null
(cd "$deploy/prometheus" && promtool test rules rules_test.yml rules_days_test.yml >/dev/null)
amtool check-config "$deploy/prometheus/alertmanager.yml" >/dev/null

work=$(mktemp -d)
started=()
stop() {
    for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
    for process in "${started[@]}"; do wait "$process" 2>/dev/null || true; done
    rm -rf "$work"
}
trap stop EXIT
fail() {
    echo "interop: watching: $1; the logs:" >&2
    tail -n 20 "$work"/*.log >&2
    exit 1
}
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
# address_of LOG WORDS: the address that the log names after these words.
address_of() { sed -n "s|.*$2\"\?\([0-9.]*:[0-9]*\).*|\1|p" "$1" | head -n 1; }
# wait_for SECONDS WHAT COMMAND…: until the command succeeds.
wait_for() {
    local left=$1 what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || fail "waited too long for $what"
        sleep 1
    done
}

CAIRN_RATE_LIMIT=0 "$cairn" demo --datadir "$work/demo" --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 >"$work/demo.log" 2>&1 &
started+=($!)
wait_for 120 "the demo" grep -q "serving operators" "$work/demo.log"
demo=$(address_of "$work/demo.log" 'serving url="http://')
demo_admin=$(address_of "$work/demo.log" 'serving operators address=')

exchange=$(free_port)
python3 "$here/watching.py" prices "$exchange" &
started+=($!)
"$cairn" run --network regtest --datadir "$work/run" --blocks-dir "$work/demo/blocks" --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 \
    --access-mode live --lightning simulated --pass-price-sats 50000 \
    --price-sources kraken --price-endpoint "kraken=http://127.0.0.1:$exchange" --allow-private-addresses >"$work/run.log" 2>&1 &
runs=$!
started+=("$runs")
wait_for 120 "the indexer" grep -q "serving operators" "$work/run.log"
run_admin=$(address_of "$work/run.log" 'serving operators address=')

# The configuration that we ship, with these two targets, and read and evaluated more often than each 15 seconds.
sed -e "s|targets: \[\"127.0.0.1:9090\"\]|targets: [\"$demo_admin\", \"$run_admin\"]|" -e "s|_interval: 15s|_interval: 5s|" \
    -e "s|/etc/prometheus/cairn-rules.yml|$(cd "$deploy" && pwd)/prometheus/rules.yml|" \
    "$deploy/prometheus/prometheus.yml" >"$work/prometheus.yml"
promtool check config "$work/prometheus.yml" >/dev/null
prometheus=127.0.0.1:$(free_port)
prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/prometheus" --web.listen-address="$prometheus" \
    --log.level=error >"$work/prometheus.log" 2>&1 &
started+=($!)
wait_for 60 "Prometheus" curl -fsS "http://$prometheus/-/ready"

python3 "$here/watching.py" traffic "http://$demo" "$seconds" || fail "the demo answers badly"
python3 "$here/watching.py" check "http://$prometheus" "$deploy/grafana/cairn.json" "$deploy/prometheus/rules.yml" ||
    fail "the dashboard or the alerts are wrong"
kill "$runs"
python3 "$here/watching.py" pending "http://$prometheus" CairnDown
