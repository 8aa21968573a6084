#!/usr/bin/env bash
# Programs that we did not write build the image of deploy/Containerfile and run it as an operator would: buildah,
# podman with a read-only root and without capabilities; docker-compose reads deploy/compose.
#
# container.sh FOLDER: FOLDER has the package that `make package` built. The registry of images is not asked: the base
# is a Debian that mmdebstrap makes. Needs root.
set -euo pipefail

folder=${1:?usage: $0 FOLDER}
here=$(cd "$(dirname "$0")/../.." && pwd)
listen=127.0.0.1:18361
# shellcheck source=tests/interop/servers.sh
. "$here/tests/interop/servers.sh"
for program in mmdebstrap buildah podman docker-compose; do
    command -v "$program" >/dev/null || skip container "no $program (Debian: mmdebstrap, buildah, podman, docker-compose)"
done
# Machines without systemd have control groups that crun does not take.
runtime=$(command -v runc || command -v crun || true)
[ "$(id -u)" = 0 ] || skip container "not root, and images are made by root here"

begin_servers container
# Its parser accepts the file, and refuses one with a mistake.
compose() { POSTGRES_PASSWORD=x docker-compose --file "$1" config; }
compose "$here/deploy/compose/compose.yaml" >/dev/null || fail "docker-compose refuses compose.yaml"
name=cairn-interop-$$
clean_up() {
    podman rm --force --time 0 "$name" >/dev/null 2>&1 || true
    podman volume rm --force "$name" >/dev/null 2>&1 || true
    podman rmi --force "localhost/$name" "localhost/$name-base" >/dev/null 2>&1 || true
}
sed 's/restart: unless-stopped/restarts: unless-stopped/' "$here/deploy/compose/compose.yaml" >"$work/compose.yaml"
! compose "$work/compose.yaml" >/dev/null 2>&1 || fail "docker-compose accepts a key that does not exist"

# The app of umbrelOS: the variables are those that umbrelOS and the node's app export, `app_proxy` gets its image from it.
umbrel() {
    (
        export APP_DATA_DIR=/umbrel/cairn DEVICE_DOMAIN_NAME=umbrel.local APP_PROXY_PORT=8322 NETWORK_IP=10.21.0.0
        export APP_BITCOIN_NODE_IP=10.21.21.8 APP_BITCOIN_RPC_PORT=8332 APP_BITCOIN_RPC_USER=umbrel APP_BITCOIN_RPC_PASS=x
        export APP_BITCOIN_DATA_DIR=/umbrel/bitcoin/data/bitcoin APP_BITCOIN_NETWORK=signet
        set -euo pipefail
        # shellcheck source=/dev/null
        . "$here/deploy/umbrel/exports.sh"
        docker-compose --file "$1" --file "$work/app_proxy.yml" config
    )
}
printf 'version: "3.7"\nservices: { app_proxy: { image: app_proxy } }\n' >"$work/app_proxy.yml"
umbrel "$here/deploy/umbrel/docker-compose.yml" >"$work/umbrel.yml" 2>"$work/umbrel.log" ||
    fail "docker-compose refuses the app of umbrelOS"
! grep -q 'not set' "$work/umbrel.log" || fail "umbrelOS does not set all variables of the app"
version=$(find "$folder" -name 'cairn_*.deb' -printf '%f\n' | sed -n 's/^cairn_\(.*\)-[^-]*_.*/\1/p' | sort -V | tail -n 1)
app_is_right() { python3 "$here/tests/interop/umbrel.py" "$1" "$work/umbrel.yml" "$version" "$here/docs/configuration.md"; }
app_is_right "$here/deploy/umbrel/umbrel-app.yml" || fail "the app of umbrelOS has faults"
sed 's/port: 8322/port: 2100/' "$here/deploy/umbrel/umbrel-app.yml" >"$work/umbrel-app.yml"
! app_is_right "$work/umbrel-app.yml" 2>/dev/null || fail "a port that is taken is not noticed"

if command -v caddy >/dev/null; then
    caddy validate --adapter caddyfile --config "$here/deploy/compose/Caddyfile" >"$work/caddy.log" 2>&1 ||
        fail "caddy refuses the Caddyfile of compose"
else
    echo "interop: skipped the Caddyfile of compose: no caddy (Debian: caddy)" >&2
fi
if command -v promtool >/dev/null; then
    cp "$here/deploy/compose/prometheus.yml" "$work/prometheus.yml"
    sed -i "s|/etc/prometheus/rules.yml|$here/deploy/prometheus/rules.yml|" "$work/prometheus.yml"
    promtool check config "$work/prometheus.yml" >"$work/promtool.log" 2>&1 ||
        fail "promtool refuses prometheus.yml of compose"
else
    echo "interop: skipped prometheus.yml of compose: no promtool (Debian: prometheus)" >&2
fi

# Only the package is in the context.
mkdir -p "$work/context/target/package" "$work/context/deploy"
cp "$folder"/cairn_*.deb "$work/context/target/package/"
cp "$here/deploy/Containerfile" "$work/context/deploy/"
mmdebstrap --quiet --variant=minbase bookworm "$work/base.tar" http://deb.debian.org/debian
podman import --quiet "$work/base.tar" "localhost/$name-base" >/dev/null
rm "$work/base.tar"
buildah build --quiet --format docker --isolation chroot --build-arg "DEBIAN=localhost/$name-base" \
    --tag "localhost/$name" --file "$work/context/deploy/Containerfile" "$work/context" >"$work/buildah.log" 2>&1 ||
    fail "buildah does not build it"
size=$(podman image inspect --format '{{.Size}}' "localhost/$name")

start() { # start WORDS…: the container, as deploy/compose has it.
    podman run --detach --quiet --name "$name" --read-only --cap-drop all --security-opt no-new-privileges \
        --network host --runtime "$runtime" --ulimit nofile=16384:16384 --ulimit nproc=4096:4096 \
        --volume "$name:/data" --env "CAIRN_LISTEN=$listen" --env CAIRN_ADMIN_LISTEN=127.0.0.1:18362 \
        "localhost/$name" "$@" >"$work/podman.log" 2>&1 ||
        { cat "$work/podman.log" >&2; skip container "podman runs no container here"; }
}
runs() { [ "$(podman inspect --format '{{.State.Running}}' "$name")" = true ]; }
answers() {
    podman logs "$name" >"$work/container.log" 2>&1
    ! runs || curl -fsS "http://$listen/v1/network/summary" -o "$work/answer"
}
wait_for_answer() {
    wait_for 120 "an answer of the container" answers
    runs || fail "the container has ended"
}

begun=$(date +%s)
start demo --still
wait_for_answer
taken=$(($(date +%s) - begun))
grep -q '"height"' "$work/answer" || fail "the first answer is $(cat "$work/answer")"
podman exec "$name" /usr/bin/cairn ready | grep -qx ok || fail "the health check fails"
[ "$(podman healthcheck run "$name" >/dev/null 2>&1; echo $?)" = 0 ] || fail "podman's health check fails"
! podman exec "$name" /bin/sh -c true 2>/dev/null || fail "the image has a shell"
pid=$(podman inspect --format '{{.State.Pid}}' "$name")
[ "$(awk '/^Uid:/ { print $2 }' "/proc/$pid/status")" = 8332 ] || fail "it does not run as user 8332"
grep -q '^CapEff:[[:space:]]*0*$' "/proc/$pid/status" || fail "it has capabilities"
# SIGTERM ends it by itself, and the volume keeps the index.
begun_stop=$(date +%s)
podman stop --time 30 "$name" >/dev/null 2>&1
[ $(($(date +%s) - begun_stop)) -lt 15 ] || fail "it does not stop"
[ "$(podman inspect --format '{{.State.ExitCode}}' "$name")" = 143 ] || fail "it was killed"
podman rm "$name" >/dev/null 2>&1
start demo --still
wait_for_answer
podman logs "$name" 2>&1 | grep -q 'generat' && fail "the second start made the chain again"

echo "interop: container of $((size >> 20)) MiB: first answer after $taken s; user 8332, no capability, no shell, read-only root"
