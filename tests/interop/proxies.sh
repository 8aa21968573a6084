#!/usr/bin/env bash
# nginx, HAProxy and Caddy, which we did not write, in front of a demo of Cairn ($1, the binary) with the configurations
# of deploy/: only names, ports, certificates and addresses are replaced. Bodies and their limit, streams, websockets,
# clients' addresses, HTTP/2 and time-outs: see proxies.py. A proxy that is missing is skipped by name.
set -euo pipefail

cairn=$1
here=$(cd "$(dirname "$0")" && pwd)
deploy=$here/../../deploy
# shellcheck source=tests/interop/servers.sh
. "$here/servers.sh"
found=()
for tool in nginx haproxy caddy; do
    if command -v "$tool" >/dev/null; then
        found+=("$tool")
    else
        echo "interop: skipped $tool: not installed (Debian: $tool)" >&2
    fi
done
[ ${#found[@]} -gt 0 ] || exit 0

begin_servers proxies
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=cairn.example \
    -addext "subjectAltName=DNS:cairn.example,DNS:esplora.cairn.example" \
    -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null
cat "$work/cert.pem" "$work/key.pem" >"$work/both.pem"

# The settings of deploy/cairn.toml that matter to a proxy, and a budget that a test can use up.
listen=127.0.0.1:$(free_port) admin=127.0.0.1:$(free_port) esplora=127.0.0.1:$(free_port)
CAIRN_RATE_LIMIT=300 start_server demo "$cairn" demo --datadir "$work/demo" --listen "$listen" --admin-listen "$admin" \
    --esplora "$esplora" --base-url https://cairn.example --trusted-proxies 127.0.0.1,::1
demo=$newest
wait_for 120 "the demo" curl -fsS "http://$admin/readyz"

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
            start_server nginx nginx -p "$work" -c "$work/nginx.conf" -e stderr
            ;;
        haproxy)
            sed -e "s|bind :443|bind 127.0.0.1:$port|" -e "s|/etc/haproxy/cairn.pem|$work/both.pem|" \
                -e "s|10.0.0.1[12]:8080 port 9090|$listen port ${admin#*:}|" -e "s|10.0.0.1[12]:3002 port 9090|$esplora port ${admin#*:}|" \
                "$deploy/haproxy.cfg" >"$work/haproxy.cfg"
            start_server haproxy haproxy -db -f "$work/haproxy.cfg"
            ;;
        caddy)
            {
                printf '{\n\tadmin off\n\tauto_https disable_redirects\n}\n'
                sed -e "s|^\(.*cairn.example\) {|\1:$port {\n\ttls $work/cert.pem $work/key.pem|" \
                    -e "s|reverse_proxy 127.0.0.1:8080|reverse_proxy $listen|" -e "s|reverse_proxy 127.0.0.1:3002|reverse_proxy $esplora|" \
                    "$deploy/Caddyfile"
            } >"$work/Caddyfile"
            XDG_DATA_HOME="$work/caddy" XDG_CONFIG_HOME="$work/caddy" \
                start_server caddy caddy run --config "$work/Caddyfile" --adapter caddyfile
            ;;
    esac
    ports+=("$tool=$port")
    for host in cairn.example esplora.cairn.example; do
        path=/api/health
        [ "$host" = cairn.example ] || path=/api/blocks/tip/height
        secured() {
            curl -fsS --http2 --cacert "$work/cert.pem" --resolve "$host:$port:127.0.0.1" -o /dev/null -w '%{http_version}' "https://$host:$port$path"
        }
        wait_for 60 "$tool" secured
        version=$(secured)
        [ "$version" = 2 ] || fail "$tool serves $host by HTTP/$version"
    done
done
python3 "$here/proxies.py" "$listen" "$demo" "$work/cert.pem" "${ports[@]}" || fail "a proxy changes what clients get"
