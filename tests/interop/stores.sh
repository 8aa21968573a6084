#!/usr/bin/env bash
# A store that we did not write, moto, holds exports and checkpoints of the data folder $2, which the binary $1 makes: boto3,
# Polars and DuckDB read them, minisign checks and makes signatures, a proxy disturbs what is sent, and processes are killed.
# Versions are pinned; they live in the user's cache.
set -euo pipefail

cairn=$1 datadir=$2
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/interop/install-pinned.sh
. "$here/install-pinned.sh"
# s3fs wants this version of boto3.
install_pinned interop-stores 'moto[server]==5.2.5' boto3==1.43.117 s3fs==2026.9.0 duckdb==2.0.1 polars==2.1.0
if ! command -v minisign >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    DEBIAN_FRONTEND=noninteractive apt-get install -y minisign >/dev/null 2>&1 || true
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
timeout 300 "$tools/bin/python" -W ignore "$here/stores.py" "$cairn" "$datadir" "$work"
