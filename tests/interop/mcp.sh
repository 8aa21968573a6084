#!/usr/bin/env bash
# The clients of the Model Context Protocol that we did not write, against the server at $1, and against the binary $2 over standard input,
# for that server and over the data folder $3. The Python client and the Inspector's command line list and call every tool, in
# the present revision of the protocol and in those before it; of two frameworks for agents it is looked at what they would show to a
# model. Versions are pinned; they live in the user's cache.
set -euo pipefail

base=$1 cairn=$2 datadir=$3
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/interop/install-pinned.sh
. "$here/install-pinned.sh"
# They want an earlier Python client than ours.
install_pinned interop-mcp-hosts openai-agents==0.24.0 langchain-mcp-adapters==0.3.2
OPENAI_AGENTS_DISABLE_TRACING=1 timeout 300 "$tools/bin/python" -W ignore "$here/mcp_hosts.py" "$base" "$cairn" "$datadir"

# The Inspector wants a newer Node than many systems have; that one comes from the registry too.
install_pinned interop-mcp mcp==2.3.0 jsonschema==4.26.0 node@22.23.3 @modelcontextprotocol/inspector@2.12.0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$tools/bin/python" "$here/mcp_client.py" "$base" "$work/arguments" "$cairn" "$datadir"

inspect() {
    PATH="$tools/node_modules/.bin:$PATH" HOME="$work" \
        "$tools/node_modules/.bin/mcp-inspector" --cli --format json --quiet "$@"
}
# Over standard input it lists the tools and calls one: a process is started for each call.
for how in "--url $base" "--datadir $datadir"; do
    # shellcheck disable=SC2086 # words, not one
    inspect "$cairn" mcp $how --log error --method tools/list >"$work/list"
    # shellcheck disable=SC2086
    inspect "$cairn" mcp $how --log error --method tools/call --tool-name wallet_overview \
        --tool-args-json "$(grep '^wallet_overview' "$work/arguments" | cut -f2)" >"$work/answer"
    grep -q confirmed_sats "$work/answer"
    echo "mcp inspector (stdio, $how): tools listed, a balance read"
done
for how in "--transport http --protocol-era modern" "--transport http --protocol-era legacy" "--transport sse"; do
    # shellcheck disable=SC2086 # words, not one
    inspect --server-url "$base/mcp/" $how --method tools/list --strict >"$work/list"
    count=0
    while IFS=$'\t' read -r tool arguments; do
        # Exit status 5: the tool said that it failed, which the Python client has looked at.
        status=0
        # shellcheck disable=SC2086
        inspect --server-url "$base/mcp/" $how --method tools/call --tool-name "$tool" --tool-args-json "$arguments" >"$work/answer" 2>"$work/said" </dev/null || status=$?
        if [ "$status" -ne 0 ] && [ "$status" -ne 5 ]; then
            echo "interop: the Inspector ($how) could not call $tool: exit $status" >&2
            cat "$work/said" >&2
            exit 1
        fi
        count=$((count + 1))
    done <"$work/arguments"
    echo "mcp inspector ($how): $count tools called"
done
