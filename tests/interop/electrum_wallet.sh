#!/usr/bin/env bash
# Electrum itself, over Cairn ($1, the binary) on a Bitcoin Core node, which BITCOIND_EXE names. Skipped without one.
# Electrum is not on PyPI: its commit is fetched from GitHub. Its dependencies are pinned; all is in the user's cache.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${BITCOIND_EXE:-}" ]; then
    echo "interop: skipped Electrum: BITCOIND_EXE names no bitcoind" >&2
    exit 0
fi
# shellcheck source=tests/interop/install-pinned.sh
. "$here/install-pinned.sh"
# shellcheck source=tests/interop/regtest.sh
. "$here/regtest.sh"

# Version 4.8.1.
commit=1bfee7d1956ccb31778c76955683b789d1585d0c
ecc=0.0.8
# Its build wants autoconf, automake and libtool; the library is three files for a compiler.
export ELECTRUM_ECC_DONT_COMPILE=1
install_pinned interop-electrum electrum-ecc==$ecc electrum-aionostr==0.1.0 aiohttp==3.14.5 aiohttp-socks==0.12.0 \
    aiorpcX==0.25.0 attrs==22.2.0 certifi==2026.10.19.post1 cryptography==50.0.2 dnspython==2.4.2 jsonpatch==1.48 \
    python-socks==3.2.1 qrcode==8.2
if [ "$(git -C "$tools/electrum" rev-parse HEAD 2>/dev/null)" != "$commit" ]; then
    rm -rf "$tools/electrum"
    git init --quiet "$tools/electrum"
    if ! git -C "$tools/electrum" fetch --quiet --depth 1 https://github.com/spesmilo/electrum "$commit"; then
        echo "interop: skipped Electrum: its source cannot be fetched from GitHub" >&2
        exit 0
    fi
    git -C "$tools/electrum" -c advice.detachedHead=false checkout --quiet FETCH_HEAD
fi
library=$("$tools/bin/python" -c 'import importlib.util as i; print(i.find_spec("electrum_ecc").submodule_search_locations[0])')
if [ ! -e "$library/libsecp256k1.so" ]; then
    "$tools/bin/pip" download --quiet --no-deps --no-binary electrum-ecc -d "$tools" "electrum-ecc==$ecc"
    tar xzf "$tools/electrum_ecc-$ecc.tar.gz" -C "$tools"
    (
        cd "$tools/electrum_ecc-$ecc/libsecp256k1"
        ${CC:-cc} -O2 -shared -fPIC -Iinclude -DENABLE_MODULE_RECOVERY -DENABLE_MODULE_EXTRAKEYS \
            -DENABLE_MODULE_SCHNORRSIG -DENABLE_MODULE_ECDH -o "$library/libsecp256k1.so" \
            src/secp256k1.c src/precomputed_ecmult.c src/precomputed_ecmult_gen.c
    )
fi

start_regtest "$1"
timeout 600 "$tools/bin/python" "$here/electrum_wallet.py" "$tools/electrum/run_electrum" "$work/electrum" ||
    fail_regtest "Electrum differs from the node"
