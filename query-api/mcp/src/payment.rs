//! Payments by x402: the members of `_meta` that carry them, and the headers of the same request over HTTP.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use base64::{Engine, engine::general_purpose::STANDARD};
use rmcp::model::MetaObject;
use serde_json::{Map, Value};

/// The member of `params._meta` with a payment.
pub(crate) const PAYMENT: &str = "x402/payment";
/// The member of `_meta` of a result with the receipt.
const RESPONSE: &str = "x402/payment-response";
pub(crate) const SIGNATURE: HeaderName = HeaderName::from_static("payment-signature");

/// Members of `PaymentRequired` besides `error`, which our answers have in another form.
const REQUIRED: [&str; 4] = ["x402Version", "resource", "accepts", "extensions"];

/// The header for a payment in `params._meta`. One that is malformed is passed on: the answer says why.
pub(crate) fn header_of(payment: &Value) -> Option<HeaderValue> {
    HeaderValue::from_str(&STANDARD.encode(payment.to_string())).ok()
}

/// Messages of x402 about an answer.
#[derive(Debug, Default)]
pub(crate) struct PaymentMessages {
    /// `PaymentRequired`.
    pub(crate) required: Option<Value>,
    /// `SettleResponse`.
    response: Option<Value>,
}

impl PaymentMessages {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let message = |name: &str| -> Option<Value> {
            let json = STANDARD.decode(headers.get(name)?.as_bytes()).ok()?;
            serde_json::from_slice(&json).ok().filter(Value::is_object)
        };
        let required = message("payment-required").filter(|required| required.get("x402Version").is_some());
        PaymentMessages { required, response: message("payment-response") }
    }

    /// The members of `PaymentRequired` for an object, each after a comma; empty if there are none.
    pub(crate) fn required_members(&self) -> String {
        let Some(required) = &self.required else { return String::new() };
        let members = REQUIRED.iter().filter_map(|name| Some(format!(",\"{name}\":{}", required.get(*name)?)));
        members.collect()
    }

    pub(crate) fn into_meta(self) -> Option<MetaObject> {
        Some(MetaObject(Map::from_iter([(RESPONSE.to_owned(), self.response?)])))
    }
}
