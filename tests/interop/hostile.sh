#!/usr/bin/env bash
# Some hundred thousand requests that nobody means well, against a demo of its own: see tests/cli/hostile. How many, and
# for how long at most, can be set.
set -euo pipefail

export CAIRN_HOSTILE_REQUESTS=${CAIRN_HOSTILE_REQUESTS:-300000}
export CAIRN_HOSTILE_SECONDS=${CAIRN_HOSTILE_SECONDS:-600}
# Others than those that the tests send each time.
export CAIRN_HOSTILE_FIRST=${CAIRN_HOSTILE_FIRST:-1000000}
cargo test --locked --release --workspace --test cli -- --nocapture --exact hostile::hostile_requests_do_no_harm |
    grep -E '^(test |[0-9]+ requests)'
