//! What surrounds every operation, shown with operations that misbehave.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use axum::body::{Body, to_bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tower::ServiceExt;

use super::*;
use crate::{
    context::Ctx,
    index::IndexSlot,
    operation::{Info, Method as OpMethod, NoInput, Operation},
};

#[derive(Serialize, JsonSchema)]
struct Said {
    text: String,
}

struct Panics;

impl Operation for Panics {
    const INFO: Info = Info::get("panics", "/t/panics", "t");
    type Input = NoInput;
    type Output = Said;

    fn run(_: &Ctx<'_>, _: NoInput) -> Result<Said, ApiError> {
        panic!("a secret of the server")
    }
}

struct Sleeps;

impl Operation for Sleeps {
    const INFO: Info = Info::get("sleeps", "/t/sleeps", "t");
    type Input = NoInput;
    type Output = Said;

    fn run(_: &Ctx<'_>, _: NoInput) -> Result<Said, ApiError> {
        std::thread::sleep(Duration::from_millis(400));
        Ok(Said { text: "late".to_owned() })
    }
}

#[derive(Deserialize, JsonSchema)]
struct EchoInput {
    #[schemars(length(min = 1, max = 10))]
    text: String,
}

struct Echo;

impl Operation for Echo {
    const INFO: Info = Info { method: OpMethod::Post, ..Info::get("echo", "/t/echo", "t") };
    type Input = EchoInput;
    type Output = Said;

    fn run(_: &Ctx<'_>, input: EchoInput) -> Result<Said, ApiError> {
        Ok(Said { text: input.text })
    }
}

fn app(config: ApiConfig) -> (Router, Arc<Metrics>) {
    let state = ApiState::new(Arc::new(IndexSlot::new()), config);
    let counters = Arc::clone(&state.metrics);
    let operations = vec![Registered::of::<Panics>(), Registered::of::<Sleeps>(), Registered::of::<Echo>()];
    (with_operations(state, operations), counters)
}

async fn send(router: &Router, request: Request) -> (u16, axum::http::HeaderMap, Value) {
    let response = router.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, 1 << 20).await.unwrap();
    (parts.status.as_u16(), parts.headers, serde_json::from_slice(&bytes).unwrap_or_default())
}

fn get(path: &str) -> Request {
    Request::get(path).body(Body::empty()).unwrap()
}

#[tokio::test]
async fn a_panic_is_a_plain_500() {
    let (router, counters) = app(ApiConfig::default());
    let (status, headers, body) = send(&router, get("/t/panics")).await;
    assert_eq!((status, &body["error"]), (500, &"internal_error".into()));
    assert_eq!(headers["content-type"], "application/problem+json");
    assert!(!body.to_string().contains("secret"));
    assert_eq!((counters.answers(), counters.client_errors(), counters.server_errors()), (1, 0, 1));
    // The server goes on.
    assert_eq!(send(&router, get("/t/nothing")).await.0, 404);
    assert_eq!((counters.answers(), counters.client_errors()), (2, 1));
}

#[tokio::test]
async fn slow_answers_time_out_and_full_houses_say_so() {
    let config =
        ApiConfig { request_timeout: Duration::from_millis(100), max_concurrent_reads: 1, ..ApiConfig::default() };
    let (router, _) = app(config);
    let (status, headers, body) = send(&router, get("/t/sleeps")).await;
    assert_eq!((status, &body["error"], &headers["retry-after"]), (504, &"timeout".into(), &"1".parse().unwrap()));
    // The first one still holds the only permit.
    let (status, _, body) = send(&router, get("/t/sleeps")).await;
    assert_eq!((status, &body["error"], &body["retryable"]), (503, &"overloaded".into(), &true.into()));
}

#[tokio::test]
async fn bodies_are_read_checked_and_bounded() {
    let (router, _) = app(ApiConfig { max_body_bytes: 50, ..ApiConfig::default() });
    let post = |kind: &str, body: &str| {
        Request::post("/t/echo").header("content-type", kind).body(Body::from(body.to_owned())).unwrap()
    };
    let (status, _, body) = send(&router, post("application/json", r#"{"text":"hi","more":1}"#)).await;
    assert_eq!((status, &body["text"]), (200, &"hi".into()));
    assert_eq!(body["_meta"]["endpoint"], "POST /t/echo");
    assert_eq!(body["_meta"]["warnings"][0]["code"], "unknown_parameter");
    for (kind, text, status, code) in [
        ("application/json", "{", 400, "malformed_json"),
        ("application/json", "[1]", 400, "malformed_json"),
        ("text/plain", "{}", 415, "unsupported_media_type"),
        ("application/json", "{}", 422, "validation_error"),
        ("application/json", r#"{"text":""}"#, 422, "validation_error"),
        ("application/json", r#"{"text":"0123456789012345678901234567890123456789"}"#, 413, "payload_too_large"),
    ] {
        let (found, _, body) = send(&router, post(kind, text)).await;
        assert_eq!((found, &body["error"]), (status, &code.into()), "{text}");
    }
    let (status, headers, _) = send(&router, get("/t/echo")).await;
    assert_eq!((status, &headers["allow"]), (405, &"POST, OPTIONS".parse().unwrap()));
}

#[tokio::test]
async fn it_serves_and_shuts_down() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let state = ApiState::new(Arc::new(IndexSlot::new()), ApiConfig::default());
    let server = tokio::spawn(serve(listener, state, |_| Router::new(), async {
        let _ = stopped.await;
    }));
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = b"GET /api/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    tokio::io::AsyncWriteExt::write_all(&mut stream, request).await.unwrap();
    let mut text = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut stream, &mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 200") && text.contains("\"syncing\""), "{text}");
    stop.send(()).unwrap();
    server.await.unwrap().unwrap();
}
