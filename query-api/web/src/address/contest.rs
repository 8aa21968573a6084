//! The form that says that a label is wrong or missing. The answer names the ticket; who holds the key of the address
//! gets a message to sign, which contests the claim at once.

use std::sync::Arc;

use askama::Template;
use axum::{
    Form,
    extract::{Path, State, rejection::FormRejection},
    http::{StatusCode, request::Parts},
    response::Response,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    answer::{Kind, Shown},
    ask::{Part, Refused},
    format, links,
    operations::Request,
    query::Parameters,
    site::Site,
    tabs::{Tab, Tabs, tabs},
};

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Fields {
    claim_id: String,
    message: String,
    suggested_label: String,
    suggested_category: String,
    source_url: String,
    signed_message: String,
    signature: String,
}

impl Fields {
    fn input(&self, address: &str) -> Map<String, Value> {
        // A signed message has line breaks, which forms write as two characters.
        let signed = self.signed_message.replace("\r\n", "\n");
        let kind = if self.claim_id.is_empty() { "missing_label" } else { "label_correction" };
        let given = [
            ("type", kind),
            ("address", address),
            ("claim_id", &self.claim_id),
            ("message", &self.message),
            ("suggested_label", &self.suggested_label),
            ("suggested_category", &self.suggested_category),
            ("source_url", &self.source_url),
            ("signed_message", &signed),
            ("signature", &self.signature),
        ];
        let given = given.into_iter().filter(|(_, value)| !value.trim().is_empty());
        given.map(|(name, value)| (name.to_owned(), Value::from(value.trim()))).collect()
    }
}

#[derive(Deserialize)]
struct Ticket {
    ticket_id: String,
    received_at: String,
    #[serde(default)]
    already_received: bool,
    contest: Option<Contest>,
}

#[derive(Deserialize)]
struct Contest {
    state: String,
    explanation: String,
    message_to_sign: Option<String>,
    expires_at: Option<String>,
}

#[derive(Template)]
#[template(path = "address/contest.html")]
struct ContestPage<'a> {
    tabs: Tabs,
    address: String,
    path: String,
    fields: &'a Fields,
    result: Option<Part<Ticket>>,
}

pub(super) async fn page(State(site): State<Arc<Site>>, Path(address): Path<String>, parts: Parts) -> Response {
    let claim_id = Parameters::of(&parts).get("claim").unwrap_or_default().to_owned();
    shown(&site, address, &Fields { claim_id, ..Fields::default() }, None)
}

pub(super) async fn send(
    State(site): State<Arc<Site>>,
    Path(address): Path<String>,
    parts: Parts,
    form: Result<Form<Fields>, FormRejection>,
) -> Response {
    let fields = match form {
        Ok(Form(fields)) => fields,
        Err(error) => {
            let refused = Refused {
                status: error.status().as_u16(),
                code: "invalid_body".to_owned(),
                title: "The form cannot be read".to_owned(),
                detail: "send it again from this page, with a shorter text".to_owned(),
                ..Refused::default()
            };
            return shown(&site, address, &Fields::default(), Some(Err(refused)));
        }
    };
    let input = fields.input(&address);
    let bytes = input.values().map(|value| value.as_str().map_or(0, str::len)).sum();
    let result = site.send(Request { operation: "submit_feedback", input, bytes, from: &parts, is_form: true }).await;
    shown(&site, address, &fields, Some(result))
}

fn shown(site: &Site, address: String, fields: &Fields, result: Option<Part<Ticket>>) -> Response {
    let status = match &result {
        Some(Err(refused)) => refused.http_status(),
        _ => StatusCode::OK,
    };
    let title = format!("Label of {}", links::short(&address));
    let path = format!("{}/contest", links::address_path(&address));
    let content = ContestPage { tabs: tabs(&address, Tab::Overview), address, path, fields, result };
    Shown { title: &title, place: "", kind: Kind::Private, status, scripts: &[], content: &content }.answer(site)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Canned, body_of, get, post};

    #[tokio::test]
    async fn a_claim_is_contested_in_two_steps() {
        let html = body_of(get(Canned::new(), "/address/a%3C1/contest?claim=ab%3C:1").await).await;
        assert!(html.contains("name=\"claim_id\" value=\"ab&#60;:1\"") && html.contains("a&#60;1"), "{html}");
        let canned = Canned::new().told(
            "submit_feedback",
            r#"{"ticket_id":"t<1","received_at":"2024-01-01T00:00:00Z","contest":{"state":"to_sign","explanation":"sign <it>",
                "message_to_sign":"line 1\nline <2>","expires_at":"2024-01-02T00:00:00Z"}}"#,
        );
        let html = body_of(post(canned, "/address/a/contest", "claim_id=ab:1&message=not+mine%3C").await).await;
        for part in ["t&#60;1", "sign &#60;it&#62;", "line 1\nline &#60;2&#62;", "name=\"signature\"", "not mine&#60;"]
        {
            assert!(html.contains(part), "{part}: {html}");
        }
    }

    #[tokio::test]
    async fn a_refusal_keeps_the_text() {
        let canned = Canned::new().refused("submit_feedback", 429, "rate_limited", "wait <a> day");
        let response = post(canned, "/address/a/contest", "message=mine&suggested_label=Me").await;
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        let html = body_of(response).await;
        assert!(
            html.contains("wait &#60;a&#62; day") && html.contains("mine</textarea>") && html.contains("value=\"Me\"")
        );
    }

    #[test]
    fn empty_fields_are_left_out() {
        let fields = Fields { message: " m ".to_owned(), signed_message: "a\r\nb".to_owned(), ..Fields::default() };
        let expected =
            serde_json::json!({"type": "missing_label", "address": "x", "message": "m", "signed_message": "a\nb"});
        assert_eq!(Value::Object(fields.input("x")), expected);
        let fields = Fields { claim_id: "c:1".to_owned(), ..fields };
        assert_eq!(fields.input("x")["type"], "label_correction");
    }
}
