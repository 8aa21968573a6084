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
use serde_json::{Map, json};

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

#[derive(Deserialize, Default)]
struct Sent {
    #[serde(default)]
    tx_hex: String,
    #[serde(default)]
    max_fee_rate_sat_vb: String,
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
    let limit = sent.max_fee_rate_sat_vb.trim();
    let limit = match limit.parse::<u32>() {
        Ok(limit) => Some(limit),
        Err(_) if limit.is_empty() => None,
        Err(_) => {
            let fault = "The highest feerate is a whole number of sat/vB, such as 50, or empty.".to_owned();
            return shown(
                &site,
                StatusCode::UNPROCESSABLE_ENTITY,
                &PushPage { fault: Some(fault), result: None, sent: &sent },
            );
        }
    };
    let mut input = Map::from_iter([("tx_hex".to_owned(), json!(sent.tx_hex.trim()))]);
    if let Some(limit) = limit {
        input.insert("max_fee_rate_sat_vb".to_owned(), json!(limit));
    }
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
        assert_eq!(get(Canned::new(), "/tx/push").await.status(), StatusCode::OK);
    }
}
