#!/usr/bin/env bash
# The clients of the Model Context Protocol that we did not write, against the server at $1: the Python client, and the
# Inspector's command line. Both list and call every tool, in the present revision of the protocol and in those before
# it. Versions are pinned; they live in the user's cache.
set -euo pipefail

base=$1
here=$(cd "$(dirname "$0")" && pwd)
# The Inspector wants a newer Node than many systems have; that one comes from the registry too.
# shellcheck source=tests/interop/install-pinned.sh
. "$here/install-pinned.sh"
install_pinned interop-mcp mcp==2.3.0 jsonschema==4.26.0 node@22.23.3 @modelcontextprotocol/inspector@2.12.0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$tools/bin/python" "$here/mcp_client.py" "$base" "$work/arguments"

inspect() {
    PATH="$tools/node_modules/.bin:$PATH" HOME="$work" \
        "$tools/node_modules/.bin/mcp-inspector" --cli --server-url "$base/mcp/" --format json --quiet "$@"
}
for how in "--transport http --protocol-era modern" "--transport http --protocol-era legacy" "--transport sse"; do
    # shellcheck disable=SC2086 # words, not one
    inspect $how --method tools/list --strict >"$work/list"
    count=0
    while IFS=$'\t' read -r tool arguments; do
        # Exit status 5: the tool said that it failed, which the Python client has looked at.
        status=0
        # shellcheck disable=SC2086
        inspect $how --method tools/call --tool-name "$tool" --tool-args-json "$arguments" >"$work/answer" 2>"$work/said" </dev/null || status=$?
        if [ "$status" -ne 0 ] && [ "$status" -ne 5 ]; then
            echo "interop: the Inspector ($how) could not call $tool: exit $status" >&2
            cat "$work/said" >&2
            exit 1
        fi
        count=$((count + 1))
    done <"$work/arguments"
    echo "mcp inspector ($how): $count tools called"
done
