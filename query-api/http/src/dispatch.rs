//! From a request to the answer of its operation.

use std::sync::Arc;

use axum::{
    body::{Body, to_bytes},
    extract::{FromRequestParts, Query, RawPathParams, Request},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use cairn_reader::{Reader, View};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::{sync::OwnedSemaphorePermit, time::timeout};

use crate::{
    compact::drop_members,
    context::Ctx,
    error::ApiError,
    input::Raw,
    meta::{Meta, TipMeta, Warning, freshness, join},
    operation::{Freshness, Method, Registered},
    router::Shared,
};

/// Header with the number of rows of the index that an answer took.
pub(crate) const ROWS_READ: HeaderName = HeaderName::from_static("x-rows-read");

/// What a request asks, apart from its parameters.
struct Conditions {
    if_none_match: Option<String>,
    authorization: bool,
}

/// What an operation gives back.
enum Answer {
    Body { json: String, etag: String, rows_read: u64 },
    NotModified { etag: String },
}

/// Answers a request to the operation at `at` of the registry.
pub(crate) async fn dispatch(shared: Arc<Shared>, at: usize, request: Request) -> Response {
    match answer(shared, at, request).await {
        Ok(answer) => respond(answer),
        Err(error) => error.into_response(),
    }
}

fn respond(answer: Answer) -> Response {
    let (mut response, etag) = match answer {
        Answer::Body { json, etag, rows_read } => {
            let mut response = Body::from(json).into_response();
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response.headers_mut().insert(ROWS_READ, HeaderValue::from(rows_read));
            (response, etag)
        }
        Answer::NotModified { etag } => (StatusCode::NOT_MODIFIED.into_response(), etag),
    };
    set_validators(response.headers_mut(), &etag);
    response
}

/// Headers by which a client can ask whether an answer has changed.
pub(crate) fn set_validators(headers: &mut HeaderMap, etag: &str) {
    if let Ok(etag) = HeaderValue::from_str(etag) {
        headers.insert(header::ETAG, etag);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
}

/// Whether an `If-None-Match` names the tag.
pub(crate) fn matches(if_none_match: &str, etag: &str) -> bool {
    let listed = if_none_match.split(',').map(|tag| tag.trim().trim_start_matches("W/"));
    let etag = etag.trim_start_matches("W/");
    listed.into_iter().any(|tag| tag == "*" || tag == etag)
}

async fn answer(shared: Arc<Shared>, at: usize, request: Request) -> Result<Answer, ApiError> {
    let (mut parts, body) = request.into_parts();
    let mut raw = parameters(&mut parts).await?;
    if shared.operations.get(at).is_some_and(|op| op.info.method == Method::Post) {
        raw.body = json_body(&parts.headers, body, shared.config.max_body_bytes).await?;
    }
    let conditions = Conditions {
        if_none_match: parts.headers.get(header::IF_NONE_MATCH).and_then(|v| v.to_str().ok()).map(str::to_owned),
        authorization: parts.headers.contains_key(header::AUTHORIZATION),
    };
    let limit = shared.config.request_timeout;
    let permits = Arc::clone(&shared.permits);
    let Ok(Ok(permit)) = timeout(limit, permits.acquire_owned()).await else {
        return Err(ApiError::unavailable("overloaded", "too many requests are being answered; try again", 1));
    };
    let work = tokio::task::spawn_blocking(move || read(&shared, at, &raw, &conditions, permit));
    match timeout(limit, work).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => {
            tracing::error!(%error, "an operation panicked");
            Err(ApiError::internal())
        }
        Err(_) => {
            let detail = "the answer took longer than the time limit of a request";
            Err(ApiError::new(StatusCode::GATEWAY_TIMEOUT, "timeout", detail).retryable(Some(1)))
        }
    }
}

/// Path and query parameters, decoded.
async fn parameters(parts: &mut Parts) -> Result<Raw, ApiError> {
    let path = RawPathParams::from_request_parts(parts, &()).await.map_err(|_| {
        ApiError::new(StatusCode::BAD_REQUEST, "invalid_path", "the path holds bytes that are no UTF-8 text")
    })?;
    let path = path.iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
    let Query(query) = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri)
        .map_err(|_| ApiError::new(StatusCode::BAD_REQUEST, "invalid_query", "the query string cannot be read"))?;
    Ok(Raw { path, query, ..Raw::default() })
}

/// The body of a POST: a JSON object within the size limit.
async fn json_body(headers: &HeaderMap, body: Body, limit: usize) -> Result<serde_json::Map<String, Value>, ApiError> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if kind != "application/json" && !(kind.starts_with("application/") && kind.ends_with("+json")) {
        let detail = "this operation takes a body of type application/json";
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail));
    }
    let bytes = to_bytes(body, limit).await.map_err(|_| too_large(limit))?;
    let malformed = |detail: String| ApiError::new(StatusCode::BAD_REQUEST, "malformed_json", detail);
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(malformed("the body is no JSON object".to_owned())),
        Err(e) => Err(malformed(format!("the body is no JSON: line {}, column {}", e.line(), e.column()))),
    }
}

/// 413.
pub(crate) fn too_large(limit: usize) -> ApiError {
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large", format!("a body has at most {limit} bytes"))
}

/// The part of a request that reads the index, on a thread that may block. The permit is held until it ends, even when
/// the client has stopped waiting.
fn read(
    shared: &Shared,
    at: usize,
    raw: &Raw,
    conditions: &Conditions,
    permit: OwnedSemaphorePermit,
) -> Result<Answer, ApiError> {
    let _permit = permit;
    let op = shared.operations.get(at).ok_or_else(ApiError::internal)?;
    let reader = shared.index.reader();
    let network = reader.as_ref().map(|r| r.facts().network);
    let (input, warnings) = op.input.bind(raw, network)?;
    let view = open(reader.as_deref())?;
    let ctx = Ctx {
        index: view.as_ref(),
        best_height: shared.index.best_height(),
        config: &shared.config,
        operations: &shared.operations,
        has_session: false,
        warnings: warnings.into(),
    };
    if conditions.authorization {
        ctx.warnings.borrow_mut().push(Warning::new(
            "authorization_ignored",
            "the Authorization header holds no wallet session that this server issued; it counts as absent",
        ));
    }
    let tip = view.as_ref().map(|v| TipMeta::of(v.tip(), ctx.best_height));
    let etag = etag(shared, op, &input, &ctx, tip.as_ref());
    if conditions.if_none_match.as_deref().is_some_and(|tags| matches(tags, &etag)) {
        return Ok(Answer::NotModified { etag });
    }
    if op.info.needs_tip && ctx.is_behind() {
        let state = ctx.lag().map_or("is empty".to_owned(), |lag| format!("lacks {lag} blocks"));
        return Err(ApiError::syncing(format!("this question needs the tip, and the index {state}")));
    }
    let compact = input.get("view").is_some_and(|v| v == "compact");
    let mut json = op.run(&ctx, input)?;
    if compact {
        json = drop_members(&json, op.info.compact).map_err(|error| unwritable(&error))?;
    }
    let meta = Meta {
        endpoint: op.info.endpoint(),
        freshness: view.as_ref().map(|v| freshness(v.tip())),
        source: op.info.source,
        price_sats: 0,
        docs: format!("{}/openapi.json", shared.config.base_url),
        freshness_semantics: op.info.freshness_semantics,
        warnings: ctx.warnings.take(),
        tip,
        network: network.map(|n| n.name()),
    };
    let json = join(&json, &meta).map_err(|error| unwritable(&error))?;
    let rows_read = view.as_ref().map_or(0, View::rows_read);
    Ok(Answer::Body { json, etag, rows_read })
}

fn unwritable(error: &serde_json::Error) -> ApiError {
    tracing::error!(%error, "an answer could not be written");
    ApiError::internal()
}

/// A view of the index as it is now; `None` while there is nothing in it.
fn open(reader: Option<&Reader>) -> Result<Option<View<'_>>, ApiError> {
    match reader.map(Reader::view).transpose() {
        Ok(view) => Ok(view),
        Err(cairn_reader::ReadError::Empty) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Hash of the request and of the versions of all that its answer depends on.
fn etag(shared: &Shared, op: &Registered, input: &Value, ctx: &Ctx<'_>, tip: Option<&TipMeta>) -> String {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
    };
    part(env!("CARGO_PKG_VERSION").as_bytes());
    part(op.info.name.as_bytes());
    part(input.to_string().as_bytes());
    for warning in ctx.warnings.borrow().iter() {
        part(warning.message.as_bytes());
    }
    for input in op.info.freshness {
        match input {
            Freshness::Tip => match tip {
                None => part(b"no tip"),
                Some(tip) => {
                    part(tip.hash.as_bytes());
                    part(&tip.height.to_be_bytes());
                    part(&tip.lag_blocks.map_or([0xff; 8], |lag| u64::from(lag).to_be_bytes()));
                }
            },
            Freshness::State => part(&shared.state_version),
        }
    }
    format!("\"{}\"", hex::encode(&hash.finalize()[..16]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn tags_match_as_lists() {
        assert!(matches("\"a\", \"b\"", "\"b\""));
        assert!(matches("W/\"b\"", "\"b\""));
        assert!(matches("*", "\"b\""));
        assert!(!matches("\"c\"", "\"b\""));
        assert!(!matches("", "\"b\""));
    }

    async fn body(kind: &str, text: &str) -> Result<serde_json::Map<String, Value>, u16> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_str(kind).unwrap());
        json_body(&headers, Body::from(text.to_owned()), 20).await.map_err(|e| e.status.as_u16())
    }

    #[tokio::test]
    async fn bodies_are_json_objects() {
        assert_eq!(body("application/json; charset=utf-8", "{\"a\":1}").await.unwrap().len(), 1);
        assert_eq!(body("application/json", "[]").await, Err(400));
        assert_eq!(body("application/json", "{").await, Err(400));
        assert_eq!(body("text/plain", "{}").await, Err(415));
        assert_eq!(body("application/json", &"{}".repeat(11)).await, Err(413));
    }
}
