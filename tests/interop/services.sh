#!/usr/bin/env bash
# The services of deploy/compose as an operator would have them, with its files: only addresses differ, because they run
# without containers. PostgreSQL, Caddy, Prometheus and Alertmanager, which we did not write, run with Cairn ($1, the
# binary), its standby and a replica of both, on a Bitcoin Core node, which BITCOIND_EXE names, or else on block files.
# Shown: TLS and HTTP/2; state that outlives a kill, and an outage of the database; reads that go on while servers are
# killed or hang; an alert that comes and goes.
set -euo pipefail

cairn=$1
here=$(cd "$(dirname "$0")" && pwd)
deploy=$(cd "$here/../../deploy" && pwd)
# shellcheck source=tests/interop/servers.sh
. "$here/servers.sh"
for tool in docker-compose caddy prometheus prometheus-alertmanager; do
    command -v "$tool" >/dev/null ||
        skip services "no $tool (Debian: docker-compose, caddy, prometheus, prometheus-alertmanager)"
done
python3 -c 'import yaml' 2>/dev/null || skip services "no PyYAML (Debian: python3-yaml)"
postgres=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
[ -n "$postgres" ] || skip services "no PostgreSQL (Debian: postgresql)"
as=()
if [ "$(id -u)" = 0 ]; then
    id postgres >/dev/null 2>&1 || skip services "PostgreSQL does not run as root, and there is no user postgres"
    as=(runuser -u postgres --)
fi

begin_servers services
clean_up() { stop_postgres immediate; }
chmod 0711 "$work"
# Each service has an address of its own on this machine, and its own ports there.
net=127.83.$(($$ % 250 + 1))
hosts=bitcoind=$net.2,cairn=$net.3,standby=$net.4,replica=$net.5,postgres=$net.6,alertmanager=$net.7
url=https://$net.8:8443 prometheus=$net.9:9090 receiver=$net.10:9099 certificate=$work/caddy/pki/authorities/local/root.crt

# What an operator writes into .env: see deploy/compose/README.md.
export CAIRN_NETWORK=regtest POSTGRES_PASSWORD=$RANDOM$RANDOM CAIRN_SERVERS="cairn:8080 standby:8080 replica:8080"
export CAIRN_BLOCKS_DIR=/node/regtest/blocks CAIRN_NODE_COOKIE=/node/regtest/.cookie
docker-compose --file "$deploy/compose/compose.yaml" config >"$work/compose.yaml"
# settings_of SERVICE: its environment in place of that of another one, and $words, its command.
settings_of() {
    unset "${!CAIRN_@}"
    python3 "$here/services.py" service "$work/compose.yaml" "$1" "$hosts" "$work" >"$work/settings" || fail "no service $1"
    # shellcheck source=/dev/null
    . "$work/settings"
}

start_postgres() {
    "${as[@]}" "$postgres/pg_ctl" -D "$work/state/data" -l "$work/state/log" -w -t 60 \
        -o "-c listen_addresses=$net.6 -c port=5432 -c unix_socket_directories= -c fsync=off" start >>"$work/postgres.log" 2>&1
}
stop_postgres() { "${as[@]}" "$postgres/pg_ctl" -D "$work/state/data" -m immediate stop >/dev/null 2>&1 || true; }
# start_cairn NAME ADDRESS [DATADIR]: the image sets the folder and the ports.
start_cairn() {
    # A replica has the settings of the standby, and a copy of the index.
    settings_of "${1/replica/standby}"
    [ -n "${BITCOIND_EXE:-}" ] || unset CAIRN_NODE CAIRN_NODE_COOKIE
    export CAIRN_DATADIR=${3:-$work/data} CAIRN_LISTEN=$2:8080 CAIRN_ADMIN_LISTEN=$2:9090
    # shellcheck disable=SC2154 # words: see settings_of
    start_server "$1" "$cairn" "${words[@]}"
}
# ask PATH [WORDS OF CURL…]: through the proxy.
ask() {
    curl -sS --fail-with-body --max-time 10 --cacert "$certificate" --resolve "localhost:8443:$net.8" \
        "https://localhost:8443$1" "${@:2}"
}

# PostgreSQL, with the user, the password and the database that its container makes, and the check of its health.
settings_of postgres
mkdir "$work/state"
printf %s "$POSTGRES_PASSWORD" >"$work/state/password"
[ ${#as[@]} = 0 ] || chown -R postgres "$work/state"
(cd "$work/state" && "${as[@]}" "$postgres/initdb" -D data -U "$POSTGRES_USER" -A scram-sha-256 --pwfile=password) \
    >"$work/initdb.log" 2>&1 || fail "PostgreSQL has no folder"
start_postgres || fail "PostgreSQL does not start"
PGPASSWORD=$POSTGRES_PASSWORD "$postgres/createdb" -h "$net.6" -U "$POSTGRES_USER" "$POSTGRES_DB"

# Caddy, and a standby that waits for an index: while no server is ready, the proxy passes on the reason.
settings_of caddy
mkdir "$work/data"
{
    # Its ports, and no new root in the certificates of this machine.
    printf '{\n\tadmin off\n\tskip_install_trust\n\tdefault_bind %s\n\thttp_port 8081\n\thttps_port 8443\n}\n' "$net.8"
    cat "$deploy/compose/Caddyfile"
} >"$work/Caddyfile"
XDG_DATA_HOME=$work XDG_CONFIG_HOME=$work start_server caddy caddy run --config "$work/Caddyfile" --adapter caddyfile
start_cairn standby "$net.4"
standby=$newest
says_why() { ask /v1/network/summary | grep -q '"index_syncing"'; [ "${PIPESTATUS[1]}" = 0 ]; }
wait_for 60 "the reason why no server is ready" says_why

# The node, or its block files alone.
if [ -n "${BITCOIND_EXE:-}" ]; then
    mkdir "$work/node"
    settings_of bitcoind
    words[0]=$BITCOIND_EXE
    start_server bitcoind "${words[@]}" -listen=0
    core() {
        curl -fsS --user "$(cat "$work/node/regtest/.cookie")" --data "{\"method\":\"$1\",\"params\":[$2]}" "http://$net.2:8332"
    }
    wait_for 60 bitcoind core getblockcount ''
    core generatetodescriptor '120, "raw(51)#8lvh9jxk"' >/dev/null
else
    echo "interop: services without a node: BITCOIND_EXE names no bitcoind" >&2
    unset "${!CAIRN_@}"
    start_server demo "$cairn" demo --still --datadir "$work/demo" --listen "$net.11:8080"
    wait_for 120 "the demo" curl -fsS "http://$net.11:8080/api/health"
    end_server "$newest"
    mkdir -p "$work/node/regtest"
    mv "$work/demo/blocks" "$work/node/regtest/blocks"
fi
start_cairn cairn "$net.3"
writer=$newest
wait_for 120 "Cairn" ask /v1/network/summary

# A replica: a copy of the index by a checkpoint, and the same database.
mkdir "$work/replica"
"$cairn" snapshot checkpoint --out "file://$work/checkpoints" --keep 2 >"$work/checkpoint.log" 2>&1 || fail "no checkpoint"
"$cairn" snapshot restore "file://$work/checkpoints" --datadir "$work/replica" --replica >"$work/restore.log" 2>&1 ||
    fail "no replica"
start_cairn replica "$net.5" "$work/replica"
wait_for 60 "the replica" curl -fsS "http://$net.5:9090/readyz"
wait_for 60 "the standby" curl -fsS "http://$net.4:9090/readyz"

# Prometheus and Alertmanager, with a receiver in the place of the operator's.
python3 "$here/services.py" file "$deploy/compose/prometheus.yml" "$hosts" >"$work/prometheus.yml"
sed -i "s|/etc/prometheus/rules.yml|$deploy/prometheus/rules.yml|" "$work/prometheus.yml"
start_server prometheus prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/metrics" \
    --web.listen-address="$prometheus" --log.level=error
sed "s|//127.0.0.1:9099|//$receiver|" "$deploy/prometheus/alertmanager.yml" >"$work/alertmanager.yml"
start_server alertmanager prometheus-alertmanager --config.file="$work/alertmanager.yml" --storage.path="$work/alerts" \
    --web.listen-address="$net.7:9093" --cluster.listen-address= --log.level=error
start_server receiver python3 "$here/services.py" receive "$receiver" "$work/alerts.txt"
wait_for 60 "Prometheus" curl -fsS "http://$prometheus/-/ready"
wait_for 60 "Alertmanager" curl -fsS "http://$net.7:9093/-/ready"
python3 "$here/services.py" scraped "http://$prometheus" "$net.3:9090" "$net.4:9090" ||
    fail "Prometheus does not read both servers"

# TLS and HTTP/2, and plain HTTP leads there.
version=$(ask /v1/network/summary --http2 -o "$work/answer" -w '%{http_version}')
[ "$version" = 2 ] || fail "the proxy answers by HTTP/$version"
grep -q '"height":' "$work/answer" || fail "the answer is $(cat "$work/answer")"
curl -sS -H 'Host: localhost' -o /dev/null -w '%{redirect_url}' "http://$net.8:8081/" | grep -q '^https://localhost' ||
    fail "plain HTTP does not lead to TLS"

# The state is in PostgreSQL: a key and a ticket outlive Cairn's death.
issue() { "$cairn" keys issue --kind session --label interop 2>"$work/issue.log" || fail "no key is issued"; }
ticket() { ask /v1/feedback -H 'Content-Type: application/json' -d '{"type": "general", "message": "of services.sh"}'; }
# knows_key KEY: the answer has no warning that the key counts as absent.
knows_key() {
    ask /v1/network/summary -H "Authorization: Bearer $1" >"$work/answer" && ! grep -q '"authorization_ignored"' "$work/answer"
}
knows_ticket() { ticket | grep -q '"already_received":true'; }
settings_of cairn
export CAIRN_DATADIR=$work/data
key=$(issue) unused=$(issue)
knows_key "$key" || fail "the key is not known"
! knows_key "${key%?}x" || fail "any key is known"
ticket | grep -q '"already_received":false' || fail "the ticket is not taken"
end_server "$writer" KILL
start_cairn cairn "$net.3"
writer=$newest
wait_for 60 "Cairn after a kill" curl -fsS "http://$net.3:9090/readyz"
knows_key "$key" || fail "the key is lost"
knows_ticket || fail "the ticket is lost"
[ ! -e "$work/data/state.sqlite" ] || fail "the state is in a file"

# Cairn is killed, and the standby after it: reads go on.
python3 "$here/services.py" takeover "$url" "$certificate" "$writer" "$standby" || fail "reads fail while servers die"
newest=''
start_cairn standby "$net.4"
wait_for 60 "the standby after a kill" curl -fsS "http://$net.4:9090/readyz"

# PostgreSQL is away: reads go on, keys are not known, tickets are not taken. It comes back: all is as before.
stop_postgres
ask /v1/network/summary >"$work/answer" || fail "without PostgreSQL, reads fail: $(cat "$work/answer")"
if knows_key "$unused" || ! grep -q '"authorization_ignored"' "$work/answer"; then
    fail "without PostgreSQL, an answer with a key is $(cat "$work/answer")"
fi
! ticket >"$work/answer" 2>&1 || fail "a ticket is taken without PostgreSQL"
grep -q '"state_unavailable"' "$work/answer" || fail "without PostgreSQL, a ticket gets $(cat "$work/answer")"
start_postgres || fail "PostgreSQL does not start again"
wait_for 30 "the key after an outage" knows_key "$unused"
wait_for 30 "the ticket after an outage" knows_ticket

# The alert of the server that was killed has come, and goes when it is back.
python3 "$here/services.py" alert "$work/alerts.txt" 240 firing CairnDown "$net.3:9090" || fail "no alert comes"
start_cairn cairn "$net.3"
writer=$newest
wait_for 60 "Cairn" curl -fsS "http://$net.3:9090/readyz"
python3 "$here/services.py" alert "$work/alerts.txt" 180 resolved CairnDown "$net.3:9090" || fail "the alert stays"

python3 "$here/services.py" hangs "$url" "$certificate" "$writer" || fail "a server that hangs is asked"
echo "services: HTTP/2 and TLS, state in PostgreSQL, takeover and alerts with the files of deploy/compose"
