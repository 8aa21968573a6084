#!/usr/bin/env bash
# A browser that we did not write looks at the pages of the server at $1, as a phone and as a desk would show them, in
# the light and in the dark, with axe-core's rules. A folder as $2 receives pictures of the pages.
# The driver's version is pinned and lies in the user's cache; the browser is the system's (Debian: chromium).
set -euo pipefail

base=$1
pictures=${2:-}
here=$(cd "$(dirname "$0")" && pwd)

# shellcheck source=tests/interop/install-pinned.sh
. "$here/install-pinned.sh"

# Firefox, too: its engine lays out and reports in its own way.
firefox=$(command -v firefox-esr || command -v firefox || true)
if [ -z "$firefox" ]; then
    echo "interop: skipped interop-firefox: no Firefox (Debian: firefox-esr)" >&2
else
    install_pinned interop-firefox node@22.23.3 puppeteer-core@25.16.0
    PUPPETEER="$tools/node_modules/puppeteer-core" FIREFOX="$firefox" \
        timeout 300 "$tools/node_modules/.bin/node" "$here/firefox.mjs" "$base"
fi

browser=$(find_chromium)
if [ -z "$browser" ]; then
    echo "interop: skipped interop-pages: no Chromium (Debian: chromium)" >&2
    exit 0
fi
install_pinned interop-pages playwright-core@1.65.1 axe-core@4.14.1

# Below the home folder: a browser that comes as a snap may not read elsewhere.
profile=$(mktemp -d -p "$tools")
trap 'rm -rf "$profile"' EXIT
PLAYWRIGHT="$tools/node_modules/playwright-core/index.js" AXE="$tools/node_modules/axe-core/axe.min.js" BROWSER="$browser" PROFILE="$profile" PICTURES="$pictures" \
    timeout 900 node "$here/pages.mjs" "$base"
