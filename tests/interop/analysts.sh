#!/usr/bin/env bash
# Engines that we did not write read what `cairn snapshot export` writes: DuckDB, Spark and Polars count, add up and answer the
# questions of docs/analysts, each the same, and the same as the server at $1. $2 is the binary, $3 the server's datadir.
# Versions are pinned; they live in the user's cache. Spark needs Java 17 or newer.
set -euo pipefail

base=$1 cairn=$2 datadir=$3
here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${JAVA_HOME:-}" ] && ! command -v java >/dev/null; then
    echo "interop: java is missing, Spark needs it (Debian: default-jre-headless)" >&2
    exit 1
fi
# shellcheck source=tests/interop/install-pinned.sh
. "$here/install-pinned.sh"
install_pinned interop-analysts duckdb==2.0.1 polars==2.1.0 pyspark==4.3.0 matplotlib==3.11.2 nbformat==5.11.1 nbclient==0.11.0 \
    ipykernel==7.4.0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
timeout 360 "$tools/bin/python" -W ignore "$here/analysts.py" "$base" "$cairn" "$datadir" "$work"
