#!/usr/bin/env bash
# A wallet that we did not write, BDK, makes random keys and the descriptors of them, and derives addresses itself: the
# server at $1, of a regtest chain, tells the same addresses. The version is pinned; it lives in the user's cache.
set -euo pipefail

base=$1
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/interop/install-pinned.sh
. "$here/install-pinned.sh"
install_pinned interop-descriptors bdkpython==3.1.1

timeout 120 "$tools/bin/python" "$here/descriptors.py" "$base"
