//! Access in the OpenAPI document: security schemes, operations that need them, and answers that ask for payment.

use serde_json::{Value, json};

use super::{header_refs::headers, problem};
use crate::{config::HttpConfig, contract::operation::RegisteredOperation};

/// Names of the security schemes.
const SESSION: &str = "walletSession";
const BRIDGE: &str = "bridgeKey";
const L402: &str = "l402";
const X402: &str = "x402";

/// Name of the header with the receipt of a payment.
const RECEIPT: &str = "PAYMENT-RESPONSE";
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
    if config.is_x402_open() {
        schemes[X402] = json!({"type": "apiKey", "in": "header", "name": "PAYMENT-SIGNATURE", "description": "A payment \
            of x402 version 2: base64 of JSON with one of the offers in `PAYMENT-REQUIRED`, signed. It opens one answer \
            to the same request, and is carried out before the answer is sent."});
    }
    schemes
}

/// Returns the `security` of an operation; `None` if every request is open.
pub(super) fn requirement(op: &RegisteredOperation, config: &HttpConfig) -> Option<Value> {
    if op.info.conditional {
        // The first object: some requests need neither.
        return Some(json!([{}, {SESSION: []}, {BRIDGE: []}]));
    }
    let paid = [(L402, config.sells_over_lightning(op)), (X402, config.sells_by_x402(op))];
    let paid = paid.into_iter().filter(|(_, is_sold)| *is_sold).map(|(name, _)| name);
    config.is_billable(op).then(|| paid.chain([SESSION, BRIDGE]).map(|name| json!({name: []})).collect())
}

/// Adds the receipt of a payment to the headers of the answer of an operation that is sold by x402.
pub(super) fn add_receipt(answer: &mut Value, op: &RegisteredOperation, config: &HttpConfig) {
    if config.sells_by_x402(op) {
        answer["headers"][RECEIPT] = headers(&[RECEIPT])[RECEIPT].take();
    }
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
    if config.is_x402_open() {
        names.push(RECEIPT);
        components["headers"][RECEIPT] = json!({"description": "The receipt of a payment of x402, as base64 of JSON: \
            `success` and `transaction`. A refused settlement answers 402 with `success` false. An error such as 404 has \
            it too if the payment was carried out.", "schema": {"type": "string"}});
        components["headers"]["PAYMENT-REQUIRED"]["description"] =
            "`PaymentRequired` of x402 version 2 as base64 of JSON, \
            if the call is sold by x402; otherwise the requirements of a bridge pass, as compact JSON."
                .into();
    }
    components["responses"][CALL] = json!({
        "description": "The call must be paid, or made with the key of a pass or a wallet session.",
        "headers": headers(&names),
        "content": {"application/problem+json": {"schema": {"$ref": format!("#/components/schemas/{CALL}")}}},
    });
}
