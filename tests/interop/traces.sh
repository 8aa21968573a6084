#!/usr/bin/env bash
# Traces of Cairn ($1, the binary), read by the messages of PyPI's
# opentelemetry-proto, which we did not write: a tree from the socket to the rows, and nothing that a client wrote.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/interop/install-pinned.sh
. "$here/install-pinned.sh"
install_pinned traces opentelemetry-proto==1.45.2
timeout 120 "$tools/bin/python" "$here/traces.py" "$1"
