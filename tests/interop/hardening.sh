#!/usr/bin/env bash
# systemd's own judgement of the units in deploy/: an exposure of at most 2.0 each, where 10 is a unit without a
# sandbox. The units' commands of Cairn ($1, the binary) also work in the parts of the sandbox that can be had without
# systemd: an unprivileged user without capabilities, a file system that is read-only but for the data folder, and a
# /proc with nothing but processes. tests/cli/deployed.rs compares their system calls with the filters.
set -euo pipefail

cairn=$1
here=$(cd "$(dirname "$0")" && pwd)
deploy=$here/../../deploy
# shellcheck source=tests/interop/servers.sh
. "$here/servers.sh"
command -v systemd-analyze >/dev/null || skip hardening "no systemd-analyze (Debian: systemd)"
begin_servers hardening

# is_closed UNIT: an exposure of at most 2.0.
is_closed() {
    systemd-analyze security --offline=yes --no-pager --threshold=20 "$1" >"$work/judgement" 2>&1
}
units=0
for unit in "$deploy"/*.service; do
    is_closed "$unit" || { cat "$work/judgement" >&2; echo "interop: hardening: $unit is above 2.0" >&2; exit 1; }
    grep -v -e '^SystemCallFilter=' -e '^CapabilityBoundingSet=' -e '^Protect' "$unit" >"$work/open.service"
    if is_closed "$work/open.service"; then
        echo "interop: hardening: $unit without its sandbox is not noticed" >&2
        exit 1
    fi
    units=$((units + 1))
done

if ! unshare --mount --pid --fork true 2>/dev/null || ! command -v setpriv >/dev/null; then
    echo "interop: skipped the sandbox of the units: needs root, or unshare and setpriv (Debian: util-linux)" >&2
    exit 0
fi
cp "$cairn" "$work/cairn"
start_server demo "$work/cairn" demo --still --datadir "$work/demo" --listen 127.0.0.1:0
wait_for 120 "the demo" grep -q "serving url" "$work/demo.log"
end_server "$newest"
chmod 0755 "$work"
chown -R nobody: "$work"
cat >"$work/inside.sh" <<'SANDBOX'
set -eu
mount -t proc -o subset=pid,hidepid=invisible proc /proc
mount --bind "$1" "$1"
mount -o remount,ro,bind /
cd "$1"
cat >commands.sh <<'COMMANDS'
set -eu
! touch /var/tmp/outside 2>/dev/null || { echo "the file system is writable"; exit 1; }
! test -e /proc/meminfo || { echo "/proc is whole"; exit 1; }
./cairn snapshot checkpoint --datadir demo --out "file://$1/store" --keep 7
./cairn snapshot restore "file://$1/store" --datadir replica --replica
timeout --signal TERM 10 ./cairn run --network regtest --datadir data --blocks-dir demo/blocks --listen 127.0.0.1:0 2>&1 | tee run.log | tail -n 3
grep -q "serving url" run.log
grep -q "indexed in bulk" run.log
COMMANDS
exec setpriv --reuid nobody --regid nogroup --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs sh commands.sh "$1"
SANDBOX
unshare --mount --pid --fork sh "$work/inside.sh" "$work" >"$work/sandboxed" 2>&1 || {
    cat "$work/sandboxed" >&2
    echo "interop: hardening: a command of a unit fails in its sandbox" >&2
    exit 1
}
echo "hardening: $units units are at most 2.0, and their commands work in the sandbox"
