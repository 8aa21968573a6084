//! Access in the OpenAPI document: security schemes, operations that need them, and answers that ask for payment.

use serde_json::{Value, json};

use super::{openapi::headers, problem};
use crate::{config::HttpConfig, contract::operation::RegisteredOperation};

/// Names of the security schemes.
const SESSION: &str = "walletSession";
const BRIDGE: &str = "bridgeKey";
const L402: &str = "l402";

/// Name of the response and schema of a call that must be paid.
const CALL: &str = "CallPaymentRequired";

/// The security schemes.
pub(super) fn schemes(config: &HttpConfig) -> Value {
    let mode = config.access_mode;
    let mut schemes = json!({
        SESSION: {"type": "http", "scheme": "bearer", "description": mode.word(
            "A wallet session. An unusable one counts as absent, with a warning.",
            "A wallet session: it opens every premium operation. An unusable one counts as absent, with a warning.",
        )},
        BRIDGE: {"type": "apiKey", "in": "header", "name": "X-WR-API-Key", "description": mode.word(
            "The key of a bridge pass. An unusable one counts as absent, with a warning.",
            "The key of a bridge pass: it opens every premium operation. An unusable one counts as absent, with a \
             warning.",
        )},
    });
    if config.payment_backend().is_some() {
        schemes[L402] = json!({"type": "http", "scheme": "L402", "description": "A paid call: `L402 \
            <macaroon>:<preimage>`, with the macaroon of the 402 answer and the preimage of its paid invoice. It opens \
            one answer to the same request."});
    }
    schemes
}

/// Returns the `security` of an operation; `None` if every request is open.
pub(super) fn requirement(op: &RegisteredOperation, config: &HttpConfig) -> Option<Value> {
    if op.info.conditional {
        // The first object: some requests need neither.
        return Some(json!([{}, {SESSION: []}, {BRIDGE: []}]));
    }
    config.is_billable(op).then(|| match config.sells_over_lightning(op) {
        true => json!([{L402: []}, {SESSION: []}, {BRIDGE: []}]),
        false => json!([{SESSION: []}, {BRIDGE: []}]),
    })
}

/// Name of the response with this status.
pub(super) fn response_of(status: u16, op: &RegisteredOperation, config: &HttpConfig) -> &'static str {
    match status {
        402 if config.is_billable(op) => CALL,
        402 => "PaymentRequired",
        _ => "Problem",
    }
}

/// Adds the answers to calls that must be paid; they exist only in live mode.
pub(super) fn describe_sales(components: &mut Value, config: &HttpConfig) {
    if !config.access_mode.is_live() {
        return;
    }
    components["schemas"][CALL] = problem::call_payment_required();
    let mut names = vec!["X-Request-Id", "RateLimit", "RateLimit-Policy", "PAYMENT-REQUIRED"];
    if config.payment_backend().is_some() {
        names.push("WWW-Authenticate");
        components["headers"]["WWW-Authenticate"] = json!({"description": "The offer of the call: `L402` with the \
            macaroon and the invoice.", "schema": {"type": "string"}});
    }
    components["responses"][CALL] = json!({
        "description": "The call must be paid, or made with the key of a pass or a wallet session.",
        "headers": headers(&names),
        "content": {"application/problem+json": {"schema": {"$ref": format!("#/components/schemas/{CALL}")}}},
    });
}
