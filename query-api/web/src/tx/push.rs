//! The form that checks a transaction and then sends it. Nothing of what is pasted is kept.

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

use super::{answers::Label, cut};
use crate::{
    answer::{Kind, Shown},
    ask::Part,
    format, links,
    operations::Request,
    route::PageRoutes,
    site::Site,
};

const PATH: &str = "/tx/push";
/// Bytes of a form: a transaction of the highest weight that nodes relay, in hexadecimal.
const MOST_BYTES: usize = 1 << 20;

#[derive(Deserialize, Default)]
struct Sent {
    #[serde(default)]
    tx_hex: String,
    #[serde(default)]
    max_fee_rate_sat_vb: String,
    #[serde(default)]
    max_burn_sats: String,
    /// `send` to send; anything else only checks.
    #[serde(default)]
    act: String,
}

impl Sent {
    fn is_to_be_sent(&self) -> bool {
        self.act == "send"
    }

    /// The parameters of the operation, or why the form has none.
    fn input(&self) -> Result<Map<String, Value>, String> {
        // Copied text often has line breaks in it.
        let hex: String = self.tx_hex.split_whitespace().collect();
        let mut input = Map::from_iter([("tx_hex".to_owned(), Value::from(hex))]);
        if !self.is_to_be_sent() {
            input.insert("dry_run".to_owned(), Value::from(true));
        }
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
    weight: Option<u64>,
    confirmations: Option<u64>,
    check: Option<Check>,
    decoded: Option<Decoded>,
}

impl Broadcast {
    /// True if sending it makes sense: nobody has it yet, and nothing is known against it.
    fn is_sendable(&self) -> bool {
        self.state == "not_sent" && self.check.as_ref().is_some_and(|check| check.allowed != Some(false))
    }

    fn check(&self) -> Check {
        self.check.clone().unwrap_or_default()
    }
}

/// If the node would take it.
#[derive(Deserialize, Clone, Default)]
struct Check {
    allowed: Option<bool>,
    reason: Option<String>,
    reject_reason: Option<String>,
}

#[derive(Deserialize)]
struct Decoded {
    fee_sats: Option<i64>,
    fee_rate_sat_vb: Option<serde_json::Number>,
    fee_reason: Option<String>,
    input_count: u64,
    inputs: Vec<Input>,
    inputs_omitted: u64,
    output_sats: i64,
    output_count: u64,
    outputs: Vec<Output>,
    outputs_omitted: u64,
}

#[derive(Deserialize)]
struct Input {
    index: u64,
    txid: String,
    vout: u64,
    prevout: Option<Coin>,
    conflicts_with: Option<String>,
    label: Option<Label>,
}

#[derive(Deserialize)]
struct Coin {
    value_sats: i64,
    address: Option<String>,
    height: Option<u64>,
}

#[derive(Deserialize)]
struct Output {
    index: u64,
    value_sats: i64,
    address: Option<String>,
    script_type: Option<String>,
    spendable: bool,
    label: Option<Label>,
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

    const CHECKED: &str = r#"{"txid":"abcd","state":"not_sent","vsize":90,"weight":360,"confirmations":0,
        "check":{"allowed":true,"reason":null,"reject_reason":null},
        "decoded":{"fee_sats":270,"fee_rate_sat_vb":3.0,"fee_reason":null,"input_count":2,"inputs_omitted":1,"inputs":[
            {"index":0,"txid":"ef","vout":1,"prevout":null,"conflicts_with":"c0","label":null}],
        "output_sats":5000,"output_count":1,"outputs_omitted":0,"outputs":[
            {"index":0,"value_sats":5000,"address":"bc<1","script_type":"v0_p2wpkh","spendable":true,
             "label":{"value":"Bad <b>"}}]}}"#;

    #[tokio::test]
    async fn a_checked_one_is_shown_and_can_be_sent() {
        let canned = Canned::new().told("tx_broadcast", CHECKED);
        let html = body_of(post(canned, "/tx/push", "tx_hex=00").await).await;
        for part in
            ["would accept it", "0.00005 BTC", "3.0 sat/vB", "bc&#60;1", "Bad &#60;b&#62;", "value=\"send\"", "/tx/c0"]
        {
            assert!(html.contains(part), "{part}: {html}");
        }
    }

    #[tokio::test]
    async fn a_refused_one_is_shown_and_cannot_be_sent() {
        let refused =
            CHECKED.replace(r#""allowed":true,"reason":null"#, r#""allowed":false,"reason":"its <fee> is too low""#);
        let html = body_of(post(Canned::new().told("tx_broadcast", &refused), "/tx/push", "tx_hex=00").await).await;
        assert!(html.contains("its &#60;fee&#62; is too low") && !html.contains("value=\"send\""), "{html}");
        let unknown = CHECKED.replace(r#""allowed":true,"reason":null"#, r#""allowed":null,"reason":"no node""#);
        let html = body_of(post(Canned::new().told("tx_broadcast", &unknown), "/tx/push", "tx_hex=00").await).await;
        assert!(html.contains("no node") && html.contains("value=\"send\""), "{html}");
    }

    #[test]
    fn spaces_and_limits_of_a_form() {
        let (tx_hex, max_burn_sats) = (" 00\r\n01 ".to_owned(), "7".to_owned());
        let sent = Sent { tx_hex, max_burn_sats, ..Sent::default() };
        let expected = serde_json::json!({"tx_hex": "0001", "dry_run": true, "max_burn_sats": 7});
        assert_eq!(Value::Object(sent.input().unwrap()), expected);
        let sent = Sent { act: "send".to_owned(), ..sent };
        let expected = serde_json::json!({"tx_hex": "0001", "max_burn_sats": 7});
        assert_eq!(Value::Object(sent.input().unwrap()), expected);
    }
}
