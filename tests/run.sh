#!/usr/bin/env bash
# Runs the tests with cargo-nextest, or with `cargo test` where that is not installed. Arguments filter by name.
# Tests that could not run (no data folder, no tool) have noted themselves in $CAIRN_SKIPPED_FILE; they are named.
# The last line is the runner's own summary.
set -euo pipefail

mkdir -p "$(dirname "$CAIRN_SKIPPED_FILE")"
: >"$CAIRN_SKIPPED_FILE"
log=$(mktemp)
# shellcheck source=tests/postgres.sh
. "$(dirname "$0")/postgres.sh"
trap 'rm -f "$log"; stop_postgres' EXIT
start_postgres

status=0
if cargo nextest --version >/dev/null 2>&1; then
    profile=default
    [ -z "${CI:-}" ] || profile=ci
    cargo nextest run --locked --release --workspace --profile "$profile" "$@" 2>&1 | tee "$log" || status=$?
    summary=$(grep -aE '^ *Summary \[' "$log" | tail -n 1 || true)
else
    cargo test --locked --release --workspace --lib --bins --tests --no-fail-fast -- "$@" 2>&1 | tee "$log" || status=$?
    # One line per test binary: a failed one counts for the run.
    summary=$(grep -aE '^test result: FAILED' "$log" | tail -n 1 || true)
    [ -n "$summary" ] || summary=$(grep -aE '^test result:' "$log" | tail -n 1 || true)
fi

# Counts of instructions are a test too, but no program of the runner's; a filter by name leaves them out.
if [ $# -eq 0 ]; then
    benches/instructions.sh || status=$?
fi

if [ -s "$CAIRN_SKIPPED_FILE" ]; then
    echo "Skipped, by name:"
    sort -u "$CAIRN_SKIPPED_FILE" | sed 's/^/  /'
fi
echo "${summary:-tests: the runner printed no summary}"
exit "$status"
