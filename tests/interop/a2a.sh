#!/usr/bin/env bash
# The agent card of the server at $1, as the A2A project's own Python kit finds and reads it. The version is pinned; it
# lives in the user's cache.
set -euo pipefail

base=$1
here=$(cd "$(dirname "$0")" && pwd)

# shellcheck source=tests/interop/install-pinned.sh
. "$here/install-pinned.sh"
install_pinned interop-a2a a2a-sdk==1.3.0
"$tools/bin/python" "$here/a2a_card.py" "$base"
