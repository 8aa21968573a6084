#!/usr/bin/env bash
# The agent card of the server at $1, as the A2A project's own Python kit finds and reads it. The version is pinned; it
# lives in the user's cache.
set -euo pipefail

base=$1
here=$(cd "$(dirname "$0")" && pwd)
tools="${XDG_CACHE_HOME:-$HOME/.cache}/cairn/interop-a2a"
pins=(a2a-sdk==1.3.0)

if [ "$(cat "$tools/pins" 2>/dev/null)" != "${pins[*]}" ]; then
    echo "interop: installing ${pins[*]}"
    rm -rf "$tools"
    python3 -m venv "$tools" || { echo "interop: python3 with venv is missing (Debian: python3-venv)" >&2; exit 1; }
    "$tools/bin/pip" install --quiet "${pins[@]}"
    echo "${pins[*]}" >"$tools/pins"
fi
"$tools/bin/python" "$here/interop-a2a.py" "$base"
