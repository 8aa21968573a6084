//! Feedback of clients: the one operation that writes the service state.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::ConnectInfo,
    http::{Method, Request},
};
use cairn_link::IndexSlot;
use cairn_operations::{ApiConfig, ApiState, router};
use cairn_state::{MAX_TICKETS_OF_CLIENT, State, StateUrl, TicketKind, TicketState};
use cairn_testkit::temp_dir;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Reply, assert_problem, assert_valid, open_config, post, send};

const FEEDBACK: &str = "/v1/feedback";
const ADDRESS: &str = "scripthash:00000000000000000000000000000000000000000000000000000000000000aa";

/// An API whose state can be looked into.
struct Desk {
    router: Router,
    state: State,
    folder: TempDir,
}

impl Desk {
    async fn new() -> Self {
        let folder = temp_dir();
        let state = State::open(&StateUrl::in_folder(folder.path())).await.unwrap();
        let api = ApiState::new(Arc::new(IndexSlot::new()), open_config());
        let router = router(ApiState { state: Some(state.clone()), ..api });
        Desk { router, state, folder }
    }

    async fn submit(&self, body: Value) -> Value {
        let reply = post(&self.router, FEEDBACK, &body).await;
        assert_eq!(reply.status, 200, "{body}: {}", reply.text);
        assert_eq!(reply.header("cache-control"), "no-store");
        assert_valid(FEEDBACK, &reply.body);
        reply.body
    }
}

/// A POST that comes from an address.
async fn post_from(router: &Router, address: &str, body: &Value) -> Reply {
    let mut request = Request::post(FEEDBACK).header("host", "cairn.test").header("content-type", "application/json");
    let peer: SocketAddr = format!("{address}:1").parse().unwrap();
    request = request.extension(ConnectInfo(peer));
    send(router, request.body(Body::from(body.to_string())).unwrap()).await
}

#[tokio::test]
async fn feedback_becomes_a_ticket() {
    let desk = Desk::new().await;
    let full = json!({
        "type": "label_correction", "address": ADDRESS, "message": " not an exchange\n\tsince 2020 ",
        "suggested_label": "Somebody", "suggested_category": "miner", "source_url": "https://example.com/a?b",
    });
    let first = desk.submit(full.clone()).await;
    assert_eq!((&first["state"], &first["already_received"]), (&json!("open"), &json!(false)));
    assert_eq!((&first["feedback_type"], &first["address"]), (&json!("label_correction"), &json!(ADDRESS)));
    let tickets = desk.state.tickets(None, 9).await.unwrap();
    let [ticket] = tickets.as_slice() else { panic!("{tickets:?}") };
    assert_eq!((ticket.id.as_str(), ticket.state), (first["ticket_id"].as_str().unwrap(), TicketState::Open));
    let kept = &ticket.feedback;
    assert_eq!((kept.kind, kept.message.as_str()), (TicketKind::LabelCorrection, "not an exchange\n\tsince 2020"));
    let texts = [&kept.address, &kept.suggested_label, &kept.suggested_category, &kept.source_url];
    let texts = texts.map(|text| text.as_deref().unwrap());
    assert_eq!(texts, [ADDRESS, "Somebody", "miner", "https://example.com/a?b"]);

    let again = desk.submit(full).await;
    assert_eq!((&again["ticket_id"], &again["already_received"]), (&first["ticket_id"], &json!(true)));
    assert_eq!(again["received_at"], first["received_at"]);
    // The other names, and nothing but what is needed.
    let other = desk.submit(json!({"feedback_type": "general", "reason": "thank you", "feeling": 7})).await;
    assert_ne!(other["ticket_id"], first["ticket_id"]);
    assert_eq!(other["address"], Value::Null);
    assert_eq!(other["_meta"]["warnings"][0]["code"], "unknown_parameter");
    assert_eq!(desk.state.tickets(None, 9).await.unwrap().len(), 2);
}

#[tokio::test]
async fn what_is_not_right_is_refused_with_every_field() {
    let desk = Desk::new().await;
    for (body, status, code, fields) in [
        (json!({}), 422, "validation_error", &["type", "message"][..]),
        (json!({"type": "praise", "message": "m"}), 422, "validation_error", &["type"]),
        (
            json!({"type": "general", "feedback_type": "general", "message": "m"}),
            422,
            "validation_error",
            &["feedback_type"],
        ),
        (json!({"type": "general", "message": "m", "reason": "r"}), 422, "validation_error", &["reason"]),
        (json!({"type": "general", "message": "x".repeat(2_001)}), 422, "validation_error", &["message"]),
        (json!({"type": "missing_label", "message": "m"}), 422, "validation_error", &["address"]),
        (
            json!({"type": "label_correction", "message": " \n", "suggested_label": "a\u{1b}b", "source_url": "ftp://x"}),
            422,
            "validation_error",
            &["address", "message", "suggested_label", "source_url"],
        ),
        (json!({"type": "general", "message": "a\u{0}b"}), 422, "validation_error", &["message"]),
        (
            json!({"type": "general", "message": "m", "source_url": "https:// x"}),
            422,
            "validation_error",
            &["source_url"],
        ),
        (json!({"type": "general", "message": "m", "address": "nobody"}), 400, "invalid_address", &["address"]),
    ] {
        let reply = post(&desk.router, FEEDBACK, &body).await;
        assert_problem(&reply, status, code);
        let named: Vec<&str> =
            reply.body["errors"].as_array().unwrap().iter().map(|e| e["name"].as_str().unwrap()).collect();
        assert_eq!(named, fields, "{body}");
    }
    assert_eq!(desk.state.tickets(None, 9).await.unwrap(), []);
    let request = Request::builder().method(Method::GET).uri(FEEDBACK).body(Body::empty()).unwrap();
    assert_problem(&send(&desk.router, request).await, 405, "method_not_allowed");
}

#[tokio::test]
async fn a_client_has_a_limit_and_no_address_is_kept() {
    let desk = Desk::new().await;
    let body = |n: u32| json!({"type": "general", "message": format!("message {n}")});
    for n in 0..MAX_TICKETS_OF_CLIENT {
        assert_eq!(post_from(&desk.router, "192.0.2.7", &body(n)).await.status, 200);
    }
    let more = post_from(&desk.router, "192.0.2.7", &body(MAX_TICKETS_OF_CLIENT)).await;
    assert_problem(&more, 429, "rate_limited");
    assert_eq!(more.header("retry-after"), "3600");
    assert_eq!(post_from(&desk.router, "192.0.2.7", &body(0)).await.body["already_received"], true);
    assert_eq!(post_from(&desk.router, "192.0.2.8", &body(MAX_TICKETS_OF_CLIENT)).await.status, 200);
    let file = std::fs::read(desk.folder.path().join("state.sqlite-wal")).unwrap();
    let holds = |text: &[u8]| file.windows(text.len()).any(|window| window == text);
    assert!(holds(b"message 3") && !holds(b"192.0.2.7"));
}

#[tokio::test]
async fn without_a_database_nothing_is_taken() {
    let router = router(ApiState::new(Arc::new(IndexSlot::new()), ApiConfig::default()));
    let reply = post(&router, FEEDBACK, &json!({"type": "general", "message": "m"})).await;
    assert_problem(&reply, 503, "state_unavailable");
    let folder = temp_dir();
    let url: StateUrl = format!("sqlite:{}", folder.path().join("no/such/folder.sqlite").display()).parse().unwrap();
    let api = ApiState::new(Arc::new(IndexSlot::new()), open_config());
    let router = cairn_operations::router(ApiState { state: Some(State::of(&url)), ..api });
    let reply = post(&router, FEEDBACK, &json!({"type": "general", "message": "m"})).await;
    assert_problem(&reply, 503, "state_unavailable");
    assert_eq!(reply.body["retryable"], true);
}
