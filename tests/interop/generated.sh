#!/usr/bin/env bash
# Clients that generators make of the OpenAPI document $2, against the server at $1: openapi-python-client calls every GET and reads each
# answer without loss; the types of openapi-typescript hold under `tsc --strict`, and tell the variants of a caveat apart.
# Versions are pinned; they live in the user's cache.
set -euo pipefail

base=$1 document=$2
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/interop/install-pinned.sh
. "$here/install-pinned.sh"
install_pinned interop-generated openapi-python-client==0.29.1 typescript@5.9.3 openapi-typescript@7.13.0 openapi-fetch@0.17.0 @types/node@22.20.5

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && "$tools/bin/openapi-python-client" generate --path "$document" --meta none --output-path cairn_client >"$work/said" 2>&1) ||
    { cat "$work/said" >&2; exit 1; }
timeout 300 "$tools/bin/python" "$here/generated.py" "$base" "$document" "$work" "$work/said"

"$tools/node_modules/.bin/openapi-typescript" "$document" -o "$work/schema.d.ts" >/dev/null
cp "$here/generated.mts" "$work/"
ln -s "$tools/node_modules" "$work/node_modules"
(cd "$work" && "$tools/node_modules/.bin/tsc" --strict --target es2022 --module nodenext --types node --skipLibCheck false --outDir out generated.mts)
(cd "$work" && node out/generated.mjs "$base")
