#!/usr/bin/env bash
# A client of server-sent events that we did not write reads the whole feed of the server at $1, over a connection that breaks
# again and again: each event has to come once, in order.
# Its version is pinned; it lies in the user's cache.
set -euo pipefail

base=$1
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/interop/install-pinned.sh
. "$here/install-pinned.sh"
install_pinned interop-events eventsource@3.0.7

EVENTSOURCE="$tools/node_modules/eventsource/dist/index.js" timeout 120 node "$here/events.mjs" "$base"
