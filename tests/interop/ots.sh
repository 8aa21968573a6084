#!/usr/bin/env bash
# The official client of OpenTimestamps stamps, upgrades and verifies with our calendar; the test is in tests/live/calendar.rs.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/interop/install-pinned.sh
. "$here/install-pinned.sh"
install_pinned interop-ots opentimestamps-client==0.7.2

OTS_EXE="$tools/bin/ots" cargo test --locked --release --workspace --test live the_official_client -- --nocapture
