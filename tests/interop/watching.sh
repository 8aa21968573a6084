#!/usr/bin/env bash
# Prometheus, which we did not write, watches two servers of Cairn ($1, the binary) with the files of deploy/: the demo,
# which anchors, and an indexer over the same block files, which fetches prices and sells passes. The alerting rules
# pass their tests; after CAIRN_WATCHING_SECONDS (300) every expression of the dashboard has values and no alert fires.
set -euo pipefail

cairn=$1 seconds=${CAIRN_WATCHING_SECONDS:-300}
here=$(cd "$(dirname "$0")" && pwd)
deploy=$here/../../deploy
# shellcheck source=tests/interop/servers.sh
. "$here/servers.sh"
for tool in prometheus promtool amtool; do
    command -v "$tool" >/dev/null || skip watching "no $tool (Debian: prometheus, prometheus-alertmanager)"
done

promtool check rules "$deploy/prometheus/rules.yml" >/dev/null
(cd "$deploy/prometheus" && promtool test rules rules_test.yml rules_days_test.yml >/dev/null)
amtool check-config "$deploy/prometheus/alertmanager.yml" >/dev/null

begin_servers watching
CAIRN_RATE_LIMIT=0 start_server demo "$cairn" demo --datadir "$work/demo" \
    --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0
wait_for 120 "the demo" grep -q "serving operators" "$work/demo.log"
demo=$(address_of "$work/demo.log" 'serving url="http://')
demo_admin=$(address_of "$work/demo.log" 'serving operators address=')

exchange=$(free_port)
start_server exchange python3 "$here/watching.py" prices "$exchange"
start_server run "$cairn" run --network regtest --datadir "$work/run" --blocks-dir "$work/demo/blocks" \
    --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 \
    --access-mode live --lightning simulated --pass-price-sats 50000 \
    --price-sources kraken --price-endpoint "kraken=http://127.0.0.1:$exchange" --allow-private-addresses
runs=$newest
wait_for 120 "the indexer" grep -q "serving operators" "$work/run.log"
run_admin=$(address_of "$work/run.log" 'serving operators address=')

# The configuration that we ship, with these two targets, and read and evaluated more often than each 15 seconds.
sed -e "s|targets: \[\"127.0.0.1:9090\"\]|targets: [\"$demo_admin\", \"$run_admin\"]|" -e "s|_interval: 15s|_interval: 5s|" \
    -e "s|/etc/prometheus/cairn-rules.yml|$(cd "$deploy" && pwd)/prometheus/rules.yml|" \
    "$deploy/prometheus/prometheus.yml" >"$work/prometheus.yml"
promtool check config "$work/prometheus.yml" >/dev/null
prometheus=127.0.0.1:$(free_port)
start_server prometheus prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/prometheus" \
    --web.listen-address="$prometheus" --log.level=error
wait_for 60 "Prometheus" curl -fsS "http://$prometheus/-/ready"

python3 "$here/watching.py" traffic "http://$demo" "$seconds" || fail "the demo answers badly"
python3 "$here/watching.py" check "http://$prometheus" "$deploy/grafana/cairn.json" "$deploy/prometheus/rules.yml" ||
    fail "the dashboard or the alerts are wrong"
end_server "$runs"
python3 "$here/watching.py" pending "http://$prometheus" CairnDown
