#!/usr/bin/env bash
# Readers of OpenAPI that we did not write, of the document at $1: a validator, and Spectral's rules of style, all of
# them. Versions are pinned; they live in the user's cache.
set -euo pipefail

document=$1
here=$(cd "$(dirname "$0")" && pwd)

# shellcheck source=tests/interop/install-pinned.sh
. "$here/install-pinned.sh"
install_pinned interop-openapi openapi-spec-validator==0.9.0 @stoplight/spectral-cli@6.16.3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# All rules of Spectral for OpenAPI, recommended or not, but two that cannot hold:
# - contact-properties wants an e-mail address: a server knows its operator's address on the web only.
# - license-url wants an address: OpenAPI 3.1 has the licence's SPDX expression instead, and allows one of the two.
# What else clients lean on has rules of ours.
cat >"$work/rules.yaml" <<'RULES'
extends: [["spectral:oas", all]]
rules:
  contact-properties: "off"
  license-url: "off"
  license-identifier:
    severity: error
    given: $.info.license
    then: {field: identifier, function: truthy}
  operation-id-snake-case:
    severity: error
    given: $.paths[*][get,post].operationId
    then: {function: pattern, functionOptions: {match: "^[a-z][a-z0-9]*(_[a-z0-9]+)*$"}}
  summary-is-a-line:
    severity: error
    given: $.paths[*][get,post].summary
    then: {function: length, functionOptions: {min: 10, max: 100}}
  failures-are-problems:
    message: "a failure is application/problem+json"
    severity: error
    given: $.paths[*][get,post].responses[?(@property >= '400')].content
    then: {field: application/problem+json, function: truthy}
  limits-are-told:
    message: "every operation may answer 429"
    severity: error
    given: $.paths[*][get,post].responses
    then: {field: "429", function: truthy}
  parameters-have-examples:
    message: "what has to be given has an example"
    severity: error
    given: $.paths[*][get,post].parameters[?(@.required == true)]
    then: {field: example, function: defined}
RULES
"$tools/bin/openapi-spec-validator" "$document"
"$tools/node_modules/.bin/spectral" lint "$document" --ruleset "$work/rules.yaml" --fail-severity hint
