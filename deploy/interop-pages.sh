#!/usr/bin/env bash
# A browser that we did not write looks at every page of the server at $1, as a phone and as a desk would show it, in
# the light and in the dark. A folder as $2 receives pictures of the pages.
# The driver's version is pinned and lies in the user's cache; the browser is the system's (Debian: chromium).
set -euo pipefail

base=$1
pictures=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
tools="${XDG_CACHE_HOME:-$HOME/.cache}/cairn/interop-pages"
pins=(playwright-core@1.65.1)

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$browser" ]; then
    echo "interop: skipped interop-pages: no Chromium (Debian: chromium)" >&2
    exit 0
fi
if [ "$(cat "$tools/pins" 2>/dev/null)" != "${pins[*]}" ]; then
    echo "interop: installing ${pins[*]}"
    command -v npm >/dev/null || { echo "interop: npm is missing (Debian: npm)" >&2; exit 1; }
    rm -rf "$tools"
    mkdir -p "$tools"
    npm install --prefix "$tools" --silent --no-audit --no-fund --no-save "${pins[@]}" </dev/null
    echo "${pins[*]}" >"$tools/pins"
fi

# Below the home folder: a browser that comes as a snap may not read elsewhere.
profile=$(mktemp -d -p "$tools")
trap 'rm -rf "$profile"' EXIT
PLAYWRIGHT="$tools/node_modules/playwright-core/index.js" BROWSER="$browser" PROFILE="$profile" PICTURES="$pictures" \
    timeout 300 node "$here/interop-pages.mjs" "$base"
