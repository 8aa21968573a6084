//! The stable error codes. Status, title and meaning of each are defined only here.

use axum::http::StatusCode;

/// The page that explains the codes.
pub(crate) const PAGE: &str = "/api/reference/errors/";

/// Declares the codes: variant, HTTP status, name on the wire, title, meaning.
macro_rules! error_codes {
    ($($variant:ident, $status:literal, $name:literal, $title:literal, $meaning:expr;)*) => {
        /// A stable error code.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum ErrorCode {
            $(#[doc = $meaning] $variant,)*
        }

        impl ErrorCode {
            /// All of them, by status.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$variant,)*];

            const fn row(self) -> (u16, &'static str, &'static str, &'static str) {
                match self {
                    $(ErrorCode::$variant => ($status, $name, $title, $meaning),)*
                }
            }
        }
    };
}

error_codes! {
    InvalidAddress, 400, "invalid_address", "Invalid address",
        "The address has a wrong checksum, length or form.";
    WrongNetwork, 400, "wrong_network", "Wrong network", "The address belongs to another network than the index.";
    InvalidDescriptor, 400, "invalid_descriptor", "Invalid descriptor",
        "An output descriptor or extended public key cannot be read: its form, its checksum or a hardened step. The input is \
         not repeated.";
    PrivateKeyRefused, 400, "private_key_refused", "Private key refused",
        "The request has a private key or a recovery phrase. It was not stored. Anyone who has seen it can spend the \
         coins.";
    InvalidTxid, 400, "invalid_txid", "Invalid transaction id", "A transaction id has 64 hexadecimal digits.";
    InvalidHash, 400, "invalid_hash", "Invalid hash",
        "Give a block height in decimal digits, or a block hash of 64 hexadecimal digits. The hash of a file has 64 \
         hexadecimal digits, or 40.";
    IncompleteBody, 400, "incomplete_body", "Incomplete body",
        "The body ended early, or its chunked encoding is broken.";
    MalformedRequest, 400, "malformed_request", "Malformed request",
        "The bytes are not an HTTP/1.1 request, or the request does not have exactly one `Host` header.";
    InvalidPath, 400, "invalid_path", "Invalid path", "The path is not valid UTF-8, or is not a path.";
    InvalidQuery, 400, "invalid_query", "Invalid query string", "The query string cannot be read.";
    MalformedJson, 400, "malformed_json", "Malformed JSON",
        "The body is not a JSON object, or it has a duplicate field.";
    InvalidTransaction, 400, "invalid_transaction", "Invalid transaction",
        "The bytes are not a transaction, or the transaction is invalid by consensus.";
    InvalidProof, 400, "invalid_proof", "Invalid proof of a timestamp",
        "The bytes are not an OpenTimestamps proof, or exceed a limit of proofs. `offset` has the first byte that \
         is wrong; it is absent if the text is not base64.";
    InvalidPayment, 400, "invalid_payment", "Invalid payment",
        "The value of `PAYMENT-SIGNATURE` is not a payment of x402 version 2. `detail` has the reason. Nothing was \
         charged.";
    InsufficientFee, 400, "insufficient_fee", "Insufficient fee",
        "The transaction pays too little to be relayed, or to replace the transactions it conflicts with.";
    MissingInputs, 400, "missing_inputs", "Missing inputs",
        "The transaction spends coins that are unknown or already spent. Its parents may still arrive.";
    Conflict, 400, "conflict", "Conflicting transaction",
        "The transaction conflicts with another one that it cannot replace.";
    NonStandard, 400, "non_standard", "Non-standard transaction", "Nodes do not relay this kind of transaction.";
    ScriptFailed, 400, "script_failed", "Script failed", "A script or signature of the transaction is invalid.";
    NonFinal, 400, "non_final", "Transaction not final",
        "A locktime, relative locktime or coinbase maturity of the transaction is not reached.";
    TooLongMempoolChain, 400, "too_long_mempool_chain", "Too many unconfirmed relatives",
        "The transaction has too many unconfirmed relatives. Some of them must confirm first.";
    MaxFeeExceeded, 400, "max_fee_exceeded", "Fee too high",
        "The fee exceeds the node's limit, which protects against mistakes.";
    MaxBurnExceeded, 400, "max_burn_exceeded", "Burned amount too high",
        "The transaction burns more than the node allows.";
    PaymentRequired, 402, "payment_required", "Payment required",
        "The call is sold. `payment_options` has the ways to pay for this call, if it is sold one by one; the key of a \
         pass or a wallet session opens it too.";
    WalletSessionRequired, 402, "wallet_session_required", "Wallet session required",
        "This part of a long history needs a wallet session or a bridge key.";
    HostNotAllowed, 403, "host_not_allowed", "Host not allowed",
        "The `Host` header does not name this server. The operator sets the base URL.";
    OriginNotAllowed, 403, "origin_not_allowed", "Origin not allowed",
        "Pages of other sites must not call the tool endpoint, nor send broadcasts or feedback.";
    NotAsTool, 403, "not_as_tool", "Not as a tool",
        "The input is private, so agents have no tool for the operation unless the operator allows it (`--private-tools true`). \
         It can be called over HTTP.";
    RouteNotFound, 404, "route_not_found", "Route not found",
        "No operation has this path. `did_you_mean` names the nearest ones.";
    TxNotFound, 404, "tx_not_found", "Transaction not found", "Neither the chain nor the mempool has the transaction.";
    BlockNotFound, 404, "block_not_found", "Block not found", "The active chain has no such block.";
    EntityNotFound, 404, "entity_not_found", "Entity not found",
        "No entity has the name. `did_you_mean` has similar names.";
    PoolNotFound, 404, "pool_not_found", "Mining pool not found",
        "No list of mining pools has a tag of such a pool, and none of the scanned blocks belongs to it. \
         `did_you_mean` names the nearest pools.";
    CodeNotFound, 404, "code_not_found", "Code not found", "This server has not issued the code.";
    ReportNotFound, 404, "report_not_found", "Report not found", "No community report has the id.";
    ChallengeNotFound, 404, "challenge_not_found", "Challenge not found",
        "This server has made no challenge with the id, or has removed it some days after its end.";
    CheckoutNotFound, 404, "checkout_not_found", "Checkout not found",
        "This server has no checkout with the id, or the header `X-Checkout-Secret` does not have its secret. Checkouts \
         that were never paid are removed 30 days after their end.";
    TimestampNotFound, 404, "timestamp_not_found", "Timestamp not found",
        "The hash was not handed in to this server. A proof from elsewhere can be verified nevertheless.";
    McpSessionNotFound, 404, "mcp_session_not_found", "Stream not found",
        "The message names no open stream of the legacy MCP transport. Open one with GET.";
    MethodNotAllowed, 405, "method_not_allowed", "Method not allowed",
        "The path does not support this method. The `Allow` header lists the supported ones.";
    RequestTimeout, 408, "request_timeout", "Request timeout", "The body did not arrive in time.";
    CursorExpired, 409, "cursor_expired", "Cursor expired",
        "A reorganization replaced blocks that the cursor refers to. Start again from the first page.";
    ReportNotPublished, 409, "report_not_published", "Report not published",
        "Only published reports take votes. A report is published by the block that confirms its payment.";
    ProofNotReady, 409, "proof_not_ready", "Proof not ready",
        "No block has the transaction of the hash yet. `state` has the state of the hash, `Retry-After` the seconds to \
         wait.";
    CodeNotRedeemable, 409, "code_not_redeemable", "Code not redeemable",
        "The code gives no key. `state` has the reason: `redeemed`, `revoked` or `expired`.";
    PaymentInUse, 409, "payment_in_use", "Payment in use",
        "Another request has the same payment at present. If that one fails, the payment can be used again after the \
         seconds in `Retry-After`.";
    PayloadTooLarge, 413, "payload_too_large", "Body too large", "The body is larger than the server accepts.";
    UriTooLong, 414, "uri_too_long", "URI too long", "The path and query string are longer than the server accepts.";
    UnsupportedMediaType, 415, "unsupported_media_type", "Unsupported media type",
        "The body must be JSON or another type that the operation supports.";
    ValidationError, 422, "validation_error", "Validation error",
        "Parameters are missing or invalid. `errors` lists all of them.";
    QrCapacityExceeded, 422, "qr_capacity_exceeded", "Text too long for a QR code",
        "The text does not fit into the largest QR code.";
    AnswerTooLarge, 422, "answer_too_large", "Answer too large for a tool",
        "A tool returns at most 256 KiB of JSON. `narrow_with` names parameters that make the answer smaller; `url` \
         returns the whole answer over HTTP.";
    RateLimited, 429, "rate_limited", "Rate limited",
        "The client has exceeded its rate limit. Wait for the seconds in `Retry-After`.";
    VoteLimit, 429, "vote_limit", "Vote limit reached",
        "The client has voted in the last 24 hours. `Retry-After` has the seconds until it can vote again.";
    TooManyConnections, 429, "too_many_connections", "Too many connections",
        "The client has too many open connections. Send requests one after the other on the same connection.";
    HeadersTooLarge, 431, "headers_too_large", "Headers too large",
        "The request has more headers, or longer ones, than the server accepts.";
    InternalError, 500, "internal_error", "Internal error",
        "The server failed. Its log has details under the request id.";
    // 500 and not 503: a 503 has Retry-After, because it passes. This lasts until the operator has mended the index.
    IndexDamaged, 500, "index_damaged", "Index damaged",
        "The answer needs rows that are damaged on the server's disk. `detail` names the table. Requests that need other \
         rows are answered; this one fails until the operator has run `cairn verify` and the command that it names.";
    NotImplemented, 501, "not_implemented", "Not implemented",
        "The operation is part of the interface but not implemented yet.";
    WorkLimitExceeded, 503, "work_limit_exceeded", "Too much work for one request",
        "The answer needs more processor time, rows or bytes than one request of its class may use. `narrow_with` \
         names parameters that reduce it. The same request fails again.";
    HistoryLimitExceeded, 503, "history_limit_exceeded", "Too many transactions",
        "The addresses have more transactions than this operation computes, except for showcase addresses. \
         `transaction_count` has their number, `hard_max_transactions` the limit. The same request fails again.";
    NotIndexed, 503, "not_indexed", "Not indexed",
        "The answer needs tables that the operator has not asked for. `setting` names the setting. The same request \
         fails again.";
    IndexSyncing, 503, "index_syncing", "Index syncing",
        "The index is empty or behind, and the request needs the tip.";
    MempoolUnavailable, 503, "mempool_unavailable", "Mempool unavailable", "The mempool is not available at present.";
    NodeUnavailable, 503, "node_unavailable", "Node unavailable", "No node is configured, or it does not answer.";
    StateUnavailable, 503, "state_unavailable", "Service state unavailable",
        "No database for the service state is configured, or it does not answer.";
    FacilitatorUnavailable, 503, "facilitator_unavailable", "Payment service unavailable",
        "The service that carries out x402 payments does not answer, or has too many of them at once. Nothing was \
         charged: repeat the request with the same payment.";
    PaymentPending, 503, "payment_pending", "Payment pending",
        "It is not known yet whether the x402 payment was carried out. Repeat the same request with the same payment \
         after the seconds in `Retry-After`: it is charged once, and opens one answer.";
    FeedbackFull, 503, "feedback_full", "Too much open feedback",
        "The server accepts no more feedback until its operator has closed some tickets.";
    PaymentsNotConfigured, 503, "payments_not_configured", "Payments not configured",
        "The operator has set no descriptor for payments. `setting` names the setting.";
    ReportsFull, 503, "reports_full", "Too many open reports",
        "The server accepts no more reports until some are paid or expire.";
    CheckoutPaused, 503, "checkout_paused", "Checkout paused",
        "Passes are not sold at present. `reason` has the reason: `public_beta`, `no_price`, `no_payment_method` or \
         `descriptor_unusable`. The same request fails again.";
    CheckoutsFull, 503, "checkouts_full", "Too many open checkouts",
        "The server opens no more checkouts until some are paid or expire.";
    LightningUnavailable, 503, "lightning_unavailable", "Lightning node unavailable",
        "The Lightning node of this server does not answer at present. Nothing was paid by this request.";
    AnchoringUnavailable, 503, "anchoring_unavailable", "Anchoring unavailable",
        "The server cannot anchor hashes at present. `reason` has the reason: `wallet_missing`, `locked`, `empty` or \
         `limit`.";
    StreamFull, 503, "stream_full", "Stream full",
        "The stream of the legacy MCP transport has unread answers. Read them first.";
    TooManyStreams, 503, "too_many_streams", "Too many streams",
        "Too many streams of the legacy MCP transport are open. POST to the endpoint without a stream.";
    Overloaded, 503, "overloaded", "Overloaded", "Too many requests at once. Try again in a moment.";
    Timeout, 504, "timeout", "Timeout", "The answer took longer than the time limit of a request.";
}

impl ErrorCode {
    /// The name in answers: the field `error`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().1
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(self) -> StatusCode {
        StatusCode::from_u16(self.row().0).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// A short title: the field `title`.
    #[must_use]
    pub const fn title(self) -> &'static str {
        self.row().2
    }

    /// Meaning and remedy.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        self.row().3
    }

    /// URL of its explanation.
    #[must_use]
    pub fn explained_at(self, base_url: &str) -> String {
        format!("{base_url}{PAGE}#{}", self.name())
    }
}

impl PartialEq<&str> for ErrorCode {
    fn eq(&self, name: &&str) -> bool {
        self.name() == *name
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_code_is_one_of_a_kind() {
        let names: BTreeSet<_> = ErrorCode::ALL.iter().map(|code| code.name()).collect();
        let titles: BTreeSet<_> = ErrorCode::ALL.iter().map(|code| code.title()).collect();
        assert_eq!((names.len(), titles.len()), (ErrorCode::ALL.len(), ErrorCode::ALL.len()));
        assert!(ErrorCode::ALL.is_sorted_by_key(|code| code.status()));
        for code in ErrorCode::ALL {
            assert_eq!(code.status().as_u16(), code.row().0, "{}", code.name());
            assert!(code.meaning().ends_with('.') && !code.title().ends_with('.'), "{}", code.name());
        }
    }

    #[test]
    fn codes_say_where_they_are_explained() {
        let at = ErrorCode::RateLimited.explained_at("http://x");
        assert_eq!(at, "http://x/api/reference/errors/#rate_limited");
    }
}
