#!/usr/bin/env bash
# Lighthouse measures pages of the server at $1 as a desk would show them: the median of five runs ($2 changes their
# number) has to reach 95 in performance, accessibility and best practices.
# Its version is pinned and lies in the user's cache, with the Node that it wants; the browser is the system's.
set -euo pipefail

base=$1 runs=${2:-5}
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/interop/install-pinned.sh
. "$here/install-pinned.sh"
browser=$(find_chromium)
if [ -z "$browser" ]; then
    echo "interop: skipped interop-lighthouse: no Chromium (Debian: chromium)" >&2
    exit 0
fi
install_pinned interop-lighthouse node@22.23.3 lighthouse@13.5.0
CHROME_PATH="$browser" LIGHTHOUSE="$tools/node_modules/lighthouse" LAUNCHER="$tools/node_modules/chrome-launcher" \
    timeout 1200 "$tools/node_modules/.bin/node" "$here/lighthouse.mjs" "$base" "$runs"
