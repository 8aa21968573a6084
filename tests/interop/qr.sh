#!/usr/bin/env bash
# A scanner that we did not write reads the QR codes of the server at $1 (Debian: zbar-tools): the bytes that come out
# are the bytes that went in.
set -euo pipefail

base=$1
here=$(cd "$(dirname "$0")" && pwd)
if ! command -v zbarimg >/dev/null; then
    echo "interop: skipped interop-qr: no zbarimg (Debian: zbar-tools)" >&2
    exit 0
fi
timeout 120 python3 "$here/qr.py" "$base"
