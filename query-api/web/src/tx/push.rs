//! The form that sends a transaction. Nothing of what is pasted is kept.

use std::sync::Arc;

use askama::Template;
use axum::{
    Form, Router,
    extract::{DefaultBodyLimit, State, rejection::FormRejection},
    http::{StatusCode, request::Parts},
    response::Response,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    answer::{Kind, Shown},
    ask::Part,
    links,
    operations::Request,
    route::PageRoutes,
    site::Site,
};

const PATH: &str = "/tx/push";
/// Bytes of a form: a transaction of the highest weight that nodes relay, in hexadecimal.
const MOST_BYTES: usize = 1 << 20;

/// How a PSBT begins, in base64 and in hexadecimal.
const PSBT: [&str; 2] = ["cHNidP8", "70736274ff"];

#[derive(Deserialize, Default)]
struct Sent {
    #[serde(default)]
    tx_hex: String,
    #[serde(default)]
    max_fee_rate_sat_vb: String,
    #[serde(default)]
    max_burn_sats: String,
}

impl Sent {
    /// The parameters of the operation, or why the form has none.
    fn input(&self) -> Result<Map<String, Value>, String> {
        // Copied text often has line breaks in it.
        let hex: String = self.tx_hex.split_whitespace().collect();
        if PSBT.iter().any(|start| hex.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start))) {
            let fault = "This is a PSBT, and nodes take only whole transactions. Sign and finalize it in a wallet, and \
                         paste the transaction that the wallet exports as hexadecimal digits.";
            return Err(fault.to_owned());
        }
        let mut input = Map::from_iter([("tx_hex".to_owned(), Value::from(hex))]);
        for (name, value, rule) in [
            ("max_fee_rate_sat_vb", &self.max_fee_rate_sat_vb, "The highest feerate is a whole number of sat/vB"),
            ("max_burn_sats", &self.max_burn_sats, "The most to burn is a whole number of satoshis"),
        ] {
            let value = value.trim();
            if !value.is_empty() {
                let number = value.parse::<u64>().map_err(|_| format!("{rule}, such as 50, or empty."))?;
                input.insert(name.to_owned(), Value::from(number));
            }
        }
        Ok(input)
    }
}

#[derive(Deserialize)]
struct Broadcast {
    txid: String,
    state: String,
    vsize: u64,
    confirmations: Option<u64>,
}

#[derive(Template)]
#[template(path = "tx/push.html")]
struct PushPage<'a> {
    /// Why nothing was sent, before any operation was asked.
    fault: Option<String>,
    result: Option<Part<Broadcast>>,
    /// The form as it was sent, so that it can be mended.
    sent: &'a Sent,
}

pub(super) fn routes() -> Router<Arc<Site>> {
    Router::new().form(PATH, form, send).layer(DefaultBodyLimit::max(MOST_BYTES))
}

async fn form(State(site): State<Arc<Site>>) -> Response {
    shown(&site, StatusCode::OK, &PushPage { fault: None, result: None, sent: &Sent::default() })
}

async fn send(State(site): State<Arc<Site>>, parts: Parts, form: Result<Form<Sent>, FormRejection>) -> Response {
    let sent = match form {
        Ok(Form(sent)) => sent,
        Err(error) => {
            let fault = format!("The form cannot be read. A form of at most {MOST_BYTES} bytes is allowed.");
            let page = PushPage { fault: Some(fault), result: None, sent: &Sent::default() };
            return shown(&site, error.status(), &page);
        }
    };
    let input = match sent.input() {
        Ok(input) => input,
        Err(fault) => {
            let page = PushPage { fault: Some(fault), result: None, sent: &sent };
            return shown(&site, StatusCode::UNPROCESSABLE_ENTITY, &page);
        }
    };
    let bytes = sent.tx_hex.len();
    let result: Part<Broadcast> =
        site.send(Request { operation: "tx_broadcast", input, bytes, from: &parts, is_form: true }).await;
    let status = result.as_ref().map_or_else(|refused| refused.http_status(), |_| StatusCode::OK);
    shown(&site, status, &PushPage { fault: None, result: Some(result), sent: &sent })
}

fn shown(site: &Site, status: StatusCode, content: &PushPage<'_>) -> Response {
    Shown { title: "Send a transaction", place: PATH, kind: Kind::Private, status, scripts: &[], content }.answer(site)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Canned, body_of, get, post};

    #[tokio::test]
    async fn a_refusal_keeps_what_was_pasted() {
        let canned = Canned::new().refused("tx_broadcast", 422, "invalid_tx", "a push is <cut>");
        let response = post(canned, "/tx/push", "tx_hex=00%3Cb&max_fee_rate_sat_vb=").await;
        assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(response.headers()["cache-control"], "private, no-store");
        let html = body_of(response).await;
        assert!(html.contains("a push is &#60;cut&#62;") && html.contains("00&#60;b</textarea>"), "{html}");
    }

    #[tokio::test]
    async fn a_sent_one_is_linked() {
        let canned =
            Canned::new().told("tx_broadcast", r#"{"txid":"abcd","state":"accepted","vsize":90,"confirmations":0}"#);
        let html = body_of(post(canned, "/tx/push", "tx_hex=00&max_fee_rate_sat_vb=50").await).await;
        assert!(html.contains("/tx/abcd") && html.contains("accepted"), "{html}");
    }

    #[tokio::test]
    async fn faults_of_the_form_are_said() {
        let response = post(Canned::new(), "/tx/push", "tx_hex=00&max_fee_rate_sat_vb=much").await;
        assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY);
        assert!(body_of(response).await.contains("whole number"));
        let response = post(Canned::new(), "/tx/push", &format!("tx_hex={}", "0".repeat(MOST_BYTES))).await;
        assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
        assert!(body_of(response).await.contains("1048576 bytes"));
        assert_eq!(get(Canned::new(), "/tx/push").await.status(), StatusCode::OK);
    }

    #[tokio::test]
    async fn a_psbt_is_not_sent() {
        for form in ["tx_hex=+cHNidP8BAHUC", "tx_hex=70736274FF01"] {
            let canned = Canned::new().told("tx_broadcast", r#"{"txid":"abcd","state":"accepted","vsize":9}"#);
            let response = post(canned, "/tx/push", form).await;
            assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY);
            let html = body_of(response).await;
            assert!(html.contains("This is a PSBT") && !html.contains("/tx/abcd"), "{html}");
        }
    }

    #[test]
    fn spaces_and_limits_of_a_form() {
        let (tx_hex, max_burn_sats) = (" 00\r\n01 ".to_owned(), "7".to_owned());
        let sent = Sent { tx_hex, max_burn_sats, ..Sent::default() };
        assert_eq!(Value::Object(sent.input().unwrap()), serde_json::json!({"tx_hex": "0001", "max_burn_sats": 7}));
    }
}
