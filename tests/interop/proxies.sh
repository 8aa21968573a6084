#!/usr/bin/env bash
# nginx, HAProxy and Caddy, which we did not write, in front of a demo of Cairn ($1, the binary) with the configurations
# of deploy/: only names, ports, certificates and addresses are replaced. Bodies and their limit, streams, websockets,
# clients' addresses, HTTP/2 and time-outs: see proxies.py. A proxy that is missing is skipped by name.
set -euo pipefail

cairn=$1
here=$(cd "$(dirname "$0")" && pwd)
deploy=$here/../../deploy
found=()
for tool in nginx haproxy caddy; do
    if command -v "$tool" >/dev/null; then
        found+=("$tool")
    else
        echo "interop: skipped $tool: not installed (Debian: $tool)" >&2
    fi
done
[ ${#found[@]} -gt 0 ] || exit 0

work=$(mktemp -d)
started=()
stop() {
    for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
    for process in "${started[@]}"; do wait "$process" 2>/dev/null || true; done
    rm -rf "$work"
}
trap stop EXIT
fail() {
    echo "interop: proxies: $1; the logs:" >&2
    tail -n 20 "$work"/*.log >&2
    exit 1
}
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
# wait_for WHAT COMMAND…: until the command succeeds.
wait_for() {
    local left=60 what=$1
    shift
    until "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || fail "waited too long for $what"
        sleep 1
    done
}

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=cairn.example \
    -addext "subjectAltName=DNS:cairn.example,DNS:esplora.cairn.example" \
    -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null
cat "$work/cert.pem" "$work/key.pem" >"$work/both.pem"

# The settings of deploy/cairn.toml that matter to a proxy, and a budget that a test can use up.
listen=127.0.0.1:$(free_port) admin=127.0.0.1:$(free_port) esplora=127.0.0.1:$(free_port)
CAIRN_RATE_LIMIT=300 "$cairn" demo --datadir "$work/demo" --listen "$listen" --admin-listen "$admin" --esplora "$esplora" \
    --base-url https://cairn.example --trusted-proxies 127.0.0.1,::1 >"$work/demo.log" 2>&1 &
demo=$!
started+=("$demo")
wait_for "the demo" curl -fsS "http://$admin/readyz"

ports=()
for tool in "${found[@]}"; do
    port=$(free_port)
    case $tool in
        nginx)
            {
                printf 'daemon off;\nmaster_process off;\npid %s/nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n' "$work"
                for of in client_body proxy fastcgi uwsgi scgi; do echo "${of}_temp_path $work/$of;"; done
                sed -e "/listen \[::\]/d" -e "s|listen 80;|listen 127.0.0.1:$(free_port);|" -e "s|listen 443|listen 127.0.0.1:$port|" \
                    -e "s|server 127.0.0.1:8080;|server $listen;|" -e "s|server 127.0.0.1:3002;|server $esplora;|" \
                    -e "s|/etc/letsencrypt/live/cairn.example/fullchain.pem|$work/cert.pem|" \
                    -e "s|/etc/letsencrypt/live/cairn.example/privkey.pem|$work/key.pem|" "$deploy/nginx.conf"
                echo '}'
            } >"$work/nginx.conf"
            nginx -p "$work" -c "$work/nginx.conf" -e stderr >"$work/nginx.log" 2>&1 &
            ;;
        haproxy)
            sed -e "s|bind :443|bind 127.0.0.1:$port|" -e "s|/etc/haproxy/cairn.pem|$work/both.pem|" \
                -e "s|10.0.0.1[12]:8080 port 9090|$listen port ${admin#*:}|" -e "s|10.0.0.1[12]:3002 port 9090|$esplora port ${admin#*:}|" \
                "$deploy/haproxy.cfg" >"$work/haproxy.cfg"
            haproxy -db -f "$work/haproxy.cfg" >"$work/haproxy.log" 2>&1 &
            ;;
        caddy)
            {
                printf '{\n\tadmin off\n\tauto_https disable_redirects\n}\n'
                sed -e "s|^\(.*cairn.example\) {|\1:$port {\n\ttls $work/cert.pem $work/key.pem|" \
                    -e "s|reverse_proxy 127.0.0.1:8080|reverse_proxy $listen|" -e "s|reverse_proxy 127.0.0.1:3002|reverse_proxy $esplora|" \
                    "$deploy/Caddyfile"
            } >"$work/Caddyfile"
            XDG_DATA_HOME="$work/caddy" XDG_CONFIG_HOME="$work/caddy" caddy run --config "$work/Caddyfile" --adapter caddyfile >"$work/caddy.log" 2>&1 &
            ;;
    esac
    started+=($!)
    ports+=("$tool=$port")
    for host in cairn.example esplora.cairn.example; do
        path=/api/health
        [ "$host" = cairn.example ] || path=/api/blocks/tip/height
        secured() {
            curl -fsS --http2 --cacert "$work/cert.pem" --resolve "$host:$port:127.0.0.1" -o /dev/null -w '%{http_version}' "https://$host:$port$path"
        }
        wait_for "$tool" secured
        version=$(secured)
        [ "$version" = 2 ] || fail "$tool serves $host by HTTP/$version"
    done
done
python3 "$here/proxies.py" "$listen" "$demo" "$work/cert.pem" "${ports[@]}" || fail "a proxy changes what clients get"
