#!/usr/bin/env bash
# Browsers that we did not write look at the pages of the server at $1: Chromium as a phone and as a desk would show
# them, in the light and in the dark, with axe-core's rules; Firefox over WebDriver BiDi, since its engine lays out and
# reports in its own way. A folder as $2 receives pictures of the pages.
# The drivers' versions are pinned and lie in the user's cache; the browsers are the system's (Debian: chromium,
# firefox-esr).
set -euo pipefail

base=$1
pictures=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/interop/install-pinned.sh
. "$here/install-pinned.sh"
failed=0

browser=$(find_chromium)
if [ -z "$browser" ]; then
    echo "interop: skipped interop-pages: no Chromium (Debian: chromium)" >&2
else
    install_pinned interop-pages playwright-core@1.65.1 axe-core@4.14.1
    # Below the home folder: a browser that comes as a snap may not read elsewhere.
    profile=$(mktemp -d -p "$tools")
    trap 'rm -rf "$profile"' EXIT
    PLAYWRIGHT="$tools/node_modules/playwright-core/index.js" AXE="$tools/node_modules/axe-core/axe.min.js" \
        BROWSER="$browser" PROFILE="$profile" PICTURES="$pictures" \
        timeout 900 node "$here/pages.mjs" "$base" || failed=1
fi

firefox=$(command -v firefox-esr || command -v firefox || true)
if [ -z "$firefox" ]; then
    echo "interop: skipped interop-firefox: no Firefox (Debian: firefox-esr)" >&2
else
    install_pinned interop-firefox node@22.23.3 puppeteer-core@25.16.0
    PUPPETEER="$tools/node_modules/puppeteer-core" FIREFOX="$firefox" \
        timeout 300 "$tools/node_modules/.bin/node" "$here/firefox.mjs" "$base" || failed=1
fi
exit "$failed"
