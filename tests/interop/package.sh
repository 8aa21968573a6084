#!/usr/bin/env bash
# Debian's own tools look at the package and use it: lintian reads it, a fresh Debian installs it, answers with the
# commands of deploy/README.md, upgrades it over an older one, removes and purges it.
#
# package.sh FOLDER [SUITE]: FOLDER has the package that `make package` built; SUITE (bookworm) is the Debian that
# mmdebstrap makes. Needs root, as chroot and mount do. Where BITCOIND_EXE names a bitcoind, Cairn is set up on a node,
# too.
set -euo pipefail

folder=${1:?usage: $0 FOLDER [SUITE]}
suite=${2:-bookworm}
here=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/interop/servers.sh
. "$here/tests/interop/servers.sh"
for program in mmdebstrap dpkg-deb lintian; do
    command -v "$program" >/dev/null || skip package "no $program (Debian: mmdebstrap, dpkg-dev, lintian)"
done
[ "$(id -u)" = 0 ] || skip package "not root, and a chroot needs it"
begin_servers package
deb=$(find "$folder" -name 'cairn_*.deb' -printf '%T@ %p\n' 2>/dev/null | sort -rn | head -n 1 | cut -d' ' -f2-)
[ -f "$deb" ] || fail "no package in $folder; make package builds one"

# A package of ours is not Debian's own: it has no changelog in Debian's form, and its libraries are linked in.
lintian --allow-root --fail-on error,warning \
    --suppress-tags no-changelog,wrong-name-for-upstream-changelog,embedded-library "$deb" ||
    fail "lintian finds faults"

root=$work/root
clean_up() { umount "$root/proc" 2>/dev/null || true; }
# What runs in it is not root.
chmod 0755 "$work"
mmdebstrap --quiet --variant=minbase "$suite" "$root" http://deb.debian.org/debian
mount -t proc proc "$root/proc" || skip package "proc cannot be mounted here"
cp /etc/resolv.conf "$root/etc/resolv.conf"
# Services do not start in a chroot.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod +x "$root/usr/sbin/policy-rc.d"
inside=(chroot "$root" env HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive)
inside() { "${inside[@]}" "$@"; }

# The version before: the same files with a lower version, and one line of its settings changed by the operator.
mkdir "$root/old" "$root/new"
dpkg-deb --raw-extract "$deb" "$root/old/tree"
version=$(dpkg-deb --field "$deb" Version)
sed -i 's/^Version: .*/Version: 0.0.1-1/' "$root/old/tree/DEBIAN/control"
dpkg-deb --root-owner-group --build "$root/old/tree" "$root/old/cairn_0.0.1-1.deb" >/dev/null
rm -r "$root/old/tree"
cp "$deb" "$root/new/"

# From a fresh machine to the first answer, by the commands of the guide.
begun=$(date +%s)
inside apt-get -qq update
commands=$(awk '/^## From the Debian package/ { found = 1 } found && /^```$/ { exit } found && shown { print }
    found && /^```sh$/ { shown = 1 }' "$here/deploy/README.md")
grep -q 'apt-get install' <<<"$commands" || fail "deploy/README.md has no commands of the package"
grep -q 'cairn demo' <<<"$commands" || fail "deploy/README.md does not start the demo"
install=$(grep 'apt-get install' <<<"$commands" | sed 's/ *#.*//')
demo=$(grep '^cairn demo' <<<"$commands" | sed 's/ *[&#].*//')
ask=$(grep '^curl' <<<"$commands" | sed 's/ *#.*//; s/^curl/curl -fsS/')
inside sh -c "cd /new && $install -y -qq" >"$work/apt.log" 2>&1 || fail "apt-get does not install it"
start_server demo "${inside[@]}" sh -c "exec $demo"
wait_for 120 "the demo" bash -c "$ask"
taken=$(($(date +%s) - begun))
answer=$(bash -c "$ask")
grep -q '"height"' <<<"$answer" || fail "the first answer is: $answer"
[ "$taken" -lt 300 ] || fail "the first answer took $taken s"
end_server "$newest"

[ "$(inside cairn -V | cut -d' ' -f2)" = "${version%-*}" ] || fail "another version than $version runs"
inside getent passwd cairn | grep -q ':/var/lib/cairn:/usr/sbin/nologin$' || fail "the user cairn is not there"
[ "$(stat -c %a "$root/var/lib/cairn")" = 750 ] || fail "/var/lib/cairn is open to others"
for path in usr/lib/systemd/system/cairn.service usr/share/man/man1/cairn.1.gz usr/share/man/man1/cairn-run.1.gz \
    usr/share/bash-completion/completions/cairn usr/share/zsh/vendor-completions/_cairn etc/cairn/cairn.toml; do
    [ -s "$root/$path" ] || fail "/$path is missing"
done
! grep -rq /usr/local/bin "$root"/usr/lib/systemd/system/cairn* || fail "a unit names /usr/local/bin"
bash -n "$root/usr/share/bash-completion/completions/cairn" || fail "bash does not read the completions"
# The packaged settings are read, and the first thing that they lack is said.
inside sh -c 'cd / && CAIRN_CONFIG=/etc/cairn/cairn.toml cairn config' | grep -q '/var/lib/cairn' ||
    fail "the packaged settings are not read"

# On a node of this machine: by the guide's `cairn init`, then as the service's user.
on_node=''
if [ -z "${BITCOIND_EXE:-}" ]; then
    echo "interop: skipped the package on a node: BITCOIND_EXE names no bitcoind" >&2
else
    begun=$(date +%s)
    rpc=127.0.0.1:18363
    mkdir -p "$root/var/lib/bitcoind"
    cat >"$root/var/lib/bitcoind/bitcoin.conf" <<CONF
regtest=1
server=1
rest=1
[regtest]
rpcport=${rpc#*:}
zmqpubhashblock=tcp://127.0.0.1:18364
zmqpubsequence=tcp://127.0.0.1:18364
CONF
    # The guide gives the user access by an access control list; here everybody may read.
    as_node() { umask 022 && exec "$@"; }
    start_server node as_node "$BITCOIND_EXE" -datadir="$root/var/lib/bitcoind" -listen=0 -rpccookieperms=all \
        -startupnotify="chmod -R go+rX $root/var/lib/bitcoind" -printtoconsole=0
    node=$newest
    cookie="$root/var/lib/bitcoind/regtest/.cookie"
    core() {
        curl -fsS --user "$(cat "$cookie")" --data "{\"method\":\"$1\",\"params\":[$2]}" "http://$rpc"
    }
    wait_for 60 bitcoind core getblockcount ''
    core generatetodescriptor '120, "raw(51)#8lvh9jxk"' >/dev/null
    chmod -R go+rX "$root/var/lib/bitcoind"
    init=$(sed -n 's/ *#.*//; /^cairn init/p' "$here/deploy/README.md")
    inside sh -c "$init" >"$work/init.log" 2>&1 || fail "$init finds faults"
    doctor=$(sed -n 's/^sudo -u cairn \(CAIRN_CONFIG.*cairn doctor\).*/\1/p' "$here/deploy/README.md")
    [ -n "$doctor" ] || fail "deploy/README.md does not name the doctor"
    listen=$(sed -n 's/^listen = "\(.*\)"/\1/p' "$root/etc/cairn/cairn.toml")
    start_server cairn chroot --userspec=cairn:cairn "$root" env CAIRN_CONFIG=/etc/cairn/cairn.toml cairn run
    at_the_tip() { curl -fsS "http://$listen/v1/network/summary" | grep -q '"height":120'; }
    wait_for 60 "an answer on the node" at_the_tip
    on_node=", on a node after $(($(date +%s) - begun)) s"
    chroot --userspec=cairn:cairn "$root" sh -c "cd / && $doctor" >"$work/doctor.log" 2>&1 || fail "the doctor finds faults"
    end_server "$newest"
    end_server "$node"
    rm -rf "$root/var/lib/bitcoind"
fi

# Purge keeps what exists once, and says so.
inside apt-get -qq purge -y cairn >"$work/apt.log" 2>&1 || fail "it is not purged"
grep -q '/var/lib/cairn stays' "$work/apt.log" || fail "purge does not say that the data stay"
[ -d "$root/var/lib/cairn" ] || fail "purge took the data"
if [ -e "$root/etc/cairn/cairn.toml" ] || [ -e "$root/usr/bin/cairn" ]; then fail "purge left settings or program"; fi

# An upgrade keeps what the operator changed, and the data.
inside sh -c 'apt-get -qq install -y /old/cairn_0.0.1-1.deb' >"$work/apt.log" 2>&1 || fail "no old one"
sed -i 's/^network = .*/network = "signet"/' "$root/etc/cairn/cairn.toml"
echo kept >"$root/var/lib/cairn/kept"
inside sh -c "cd /new && $install -y -qq" >"$work/apt.log" 2>&1 || fail "it does not upgrade"
inside dpkg -s cairn | grep -qxF "Version: $version" || fail "the upgrade is not $version"
grep -q '^network = "signet"' "$root/etc/cairn/cairn.toml" || fail "the upgrade took the operator's settings"
inside apt-get -qq remove -y cairn >"$work/apt.log" 2>&1
[ -e "$root/etc/cairn/cairn.toml" ] || fail "removal took the settings"
[ "$(cat "$root/var/lib/cairn/kept")" = kept ] || fail "removal took the data"

echo "interop: package $(basename "$deb"), $(du -h "$deb" | cut -f1): first answer on a fresh Debian $suite after $taken s$on_node;" \
    "installed, purged, upgraded, removed"
