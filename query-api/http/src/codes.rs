//! The codes of failures: what each means, and where that is said.

/// The page about them.
pub(crate) const PAGE: &str = "/api/reference/errors/";

/// Codes with their status and what to do about them.
pub(crate) const ERRORS: &[(u16, &str, &str)] = &[
    (400, "invalid_address", "The address has a wrong checksum, length or form. Nothing is known of such an address."),
    (400, "wrong_network", "The address is one of another network than the index."),
    (400, "invalid_txid", "A transaction id has 64 hexadecimal digits."),
    (400, "invalid_hash", "Expected a height in decimal digits, or a block hash of 64 hexadecimal digits."),
    (400, "malformed_request", "What was sent is no HTTP request."),
    (400, "incomplete_body", "The body ended before it was whole, or its parts are no chunks."),
    (400, "invalid_path", "The path holds bytes that are no UTF-8 text, or is no path."),
    (400, "invalid_query", "The query string cannot be read."),
    (400, "malformed_json", "The body is no JSON object, or names a member twice."),
    (400, "invalid_transaction", "The bytes are no transaction, or one that no block may hold."),
    (400, "insufficient_fee", "The transaction pays too little to be relayed, or to replace what it conflicts with."),
    (400, "missing_inputs", "Coins that the transaction spends are unknown or spent; its parents may still come."),
    (400, "conflict", "The transaction conflicts with another one that may not be replaced."),
    (400, "non_standard", "Nodes do not relay such transactions."),
    (400, "script_failed", "A script or signature of the transaction is not valid."),
    (400, "non_final", "The time or height that the transaction waits for has not come."),
    (400, "too_long_mempool_chain", "Too many unconfirmed relatives; some have to be mined first."),
    (400, "max_fee_exceeded", "The fee is higher than the node lets pass, to guard against mistakes."),
    (400, "max_burn_exceeded", "The transaction destroys more coins than the node lets pass."),
    (402, "wallet_session_required", "This page of a long history needs a wallet session or a bridge key."),
    (403, "host_not_allowed", "The header `Host` does not name this server: its operator sets the base address."),
    (403, "origin_not_allowed", "Pages of other sites may not call the endpoint of tools."),
    (404, "route_not_found", "No operation has this path; `did_you_mean` names the nearest."),
    (404, "tx_not_found", "Neither chain nor mempool know the transaction."),
    (404, "block_not_found", "The active chain has no such block."),
    (404, "mcp_session_not_found", "The message names no open stream of the old transport of tools: open one by GET."),
    (405, "method_not_allowed", "The path knows other methods: they stand in the header `Allow`."),
    (408, "request_timeout", "The body did not arrive in time."),
    (409, "cursor_expired", "A reorganization replaced blocks that the cursor knew: begin with the first page again."),
    (413, "payload_too_large", "The body is larger than the server takes."),
    (414, "uri_too_long", "The parameters are too long for an address."),
    (415, "unsupported_media_type", "The body has to be JSON, or of a type that the operation names."),
    (422, "validation_error", "Values are missing or out of bounds; `errors` lists every one of them."),
    (422, "qr_capacity_exceeded", "The text does not fit into the largest QR code."),
    (
        422,
        "answer_too_large",
        "A tool answers an agent with at most 256 KiB of JSON. `narrow_with` names parameters that make the answer \
         smaller; `url` is where it is whole: HTTP has no such bound.",
    ),
    (429, "rate_limited", "The client has spent its budget: wait as long as `Retry-After` says."),
    (429, "too_many_connections", "The client has too many connections open: let requests follow one another on one."),
    (431, "headers_too_large", "The headers are more, or longer, than the server reads."),
    (500, "internal_error", "The server failed; its log has more under the request id."),
    (501, "not_implemented", "The operation is part of the interface, but not built yet."),
    (503, "index_syncing", "The index is empty or behind, and the question needs the tip."),
    (503, "mempool_unavailable", "The mempool cannot be read at present."),
    (503, "node_unavailable", "No node is configured, or it does not answer."),
    (503, "stream_full", "Answers of a stream of the old transport of tools wait to be read: read them first."),
    (
        503,
        "too_many_streams",
        "Too many streams of the old transport of tools are open; POST to its address needs none.",
    ),
    (503, "overloaded", "Too many requests at once: try again in a moment."),
    (504, "timeout", "The answer took longer than the time limit of a request."),
];

/// The address of what is said about a code.
pub(crate) fn explained_at(base_url: &str, code: &str) -> String {
    let is_known = ERRORS.iter().any(|(_, known, _)| *known == code);
    format!("{base_url}{PAGE}#{}", if is_known { code } else { "errors" })
}
