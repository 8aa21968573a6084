#!/usr/bin/env bash
# Ten questions that a reader answers on the pages of the server at $1 by clicks alone, against the answers of its API.
# SAVER_TPUB is the extended public key of the demo's saver, if no story on the home page has it.
# The driver's version is pinned and lies in the user's cache; the browser is the system's (Debian: chromium).
set -euo pipefail

base=$1
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/interop/install-pinned.sh
. "$here/install-pinned.sh"
browser=$(find_chromium)
if [ -z "$browser" ]; then
    echo "interop: skipped interop-pages-tasks: no Chromium (Debian: chromium)" >&2
    exit 0
fi
# The same versions as in pages.sh: they share a folder.
install_pinned interop-pages playwright-core@1.65.1 axe-core@4.14.1
PLAYWRIGHT="$tools/node_modules/playwright-core/index.js" BROWSER="$browser" SAVER_TPUB="${SAVER_TPUB:-}" \
    timeout 300 node "$here/pages_tasks.mjs" "$base"
