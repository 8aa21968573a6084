//! From a request to the answer of its operation.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::{FromRequestParts, Query, RawPathParams, Request},
    http::{HeaderName, HeaderValue, StatusCode, Uri, header, request::Parts},
    response::{IntoResponse, Response},
};
use cairn_link::{Absent, Lock, now_ms};
use cairn_model::Network;
use cairn_reader::{Reader, View};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::{sync::OwnedSemaphorePermit, time::timeout};

use crate::{
    body,
    budget::Cost,
    client::Client,
    compact::drop_members,
    context::{Ctx, Pool},
    error::ApiError,
    input::Raw,
    inside::Omitted,
    meta::{Meta, TipMeta, Warning, freshness, join},
    middleware::{Served, charge},
    node::NodeAccess,
    operation::{Freshness, Method, Registered},
    output::Written,
    raw_tx::{Brought, NodeBytes, Wanted},
    session::{self, Access},
    shared::Shared,
    validators::{matches, set_validators},
    values::rfc3339_ms,
};

/// Header with the number of rows of the index that an answer took.
pub(crate) const ROWS_READ: HeaderName = HeaderName::from_static("x-rows-read");

/// What a request asks, apart from its parameters.
struct Conditions {
    if_none_match: Option<String>,
    access: Access,
}

/// What an operation gives back.
enum Answer {
    /// Without an ETag it is not to be kept.
    Body {
        media_type: &'static str,
        bytes: Vec<u8>,
        etag: Option<String>,
        rows_read: u64,
    },
    NotModified {
        etag: String,
    },
}

/// For answers that depend on nothing but the request.
const FOR_GOOD: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// Answers a request to the operation at `at` of the registry.
pub(crate) async fn dispatch(shared: Arc<Shared>, at: usize, request: Request) -> Response {
    let personal = session::presents_any(request.headers());
    let lasts_for_good = shared.operations.get(at).is_some_and(|op| op.info.freshness.is_empty()) && !personal;
    let (mut response, rows_read) = match answer(shared, at, request).await {
        Ok(answer) => {
            let rows_read = if let Answer::Body { rows_read, .. } = &answer { *rows_read } else { 0 };
            let mut response = respond(answer);
            if lasts_for_good {
                response.headers_mut().insert(header::CACHE_CONTROL, FOR_GOOD);
            }
            (response, rows_read)
        }
        Err(error) => (error.into_response(), 0),
    };
    if personal && response.headers().contains_key(header::ETAG) {
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    }
    response.extensions_mut().insert(Served { operation: at, rows_read });
    response
}

fn respond(answer: Answer) -> Response {
    let (mut response, etag) = match answer {
        Answer::Body { media_type, bytes, etag, rows_read } => {
            let mut response = Body::from(bytes).into_response();
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
            response.headers_mut().insert(ROWS_READ, HeaderValue::from(rows_read));
            (response, etag)
        }
        Answer::NotModified { etag } => (StatusCode::NOT_MODIFIED.into_response(), Some(etag)),
    };
    match etag {
        Some(etag) => set_validators(response.headers_mut(), &etag),
        None => drop(response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))),
    }
    response
}

async fn answer(shared: Arc<Shared>, at: usize, request: Request) -> Result<Answer, ApiError> {
    let (mut parts, body) = request.into_parts();
    let info = shared.operations.get(at).map(|op| op.info).ok_or_else(ApiError::internal)?;
    if let Some(client) = parts.extensions.get::<Client>() {
        // The first unit was for coming in.
        charge(&shared, client, info.cost.units().saturating_sub(Cost::Light.units()))?;
    }
    let mut raw = parameters(&mut parts).await?;
    let limit = shared.config.request_timeout;
    if info.method == Method::Post {
        let body = body::members(&parts.headers, body, shared.config.max_body_bytes, info.text_body);
        raw.body = timeout(limit, body).await.map_err(|_| {
            let detail = "the body did not arrive within the time limit of a request";
            ApiError::new(StatusCode::REQUEST_TIMEOUT, "request_timeout", detail).retryable(None)
        })??;
    }
    let conditions = Conditions {
        if_none_match: parts.headers.get(header::IF_NONE_MATCH).and_then(|v| v.to_str().ok()).map(str::to_owned),
        access: shared.sessions.access(&parts.headers).await,
    };
    let permit = shared.admission.enter(info.cost, limit).await?;
    let span = tracing::Span::current();
    let work = tokio::task::spawn_blocking(move || span.in_scope(|| read(&shared, at, &raw, &conditions, permit)));
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
    let omitted = parts.extensions.get::<Omitted>();
    let given = path.iter().filter(|(name, _)| omitted.is_none_or(|omitted| !omitted.0.contains(*name)));
    let path = given.map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
    let unreadable = |detail: &str| ApiError::new(StatusCode::BAD_REQUEST, "invalid_query", detail);
    let Query(query) = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri)
        .map_err(|_| unreadable("the query string cannot be read"))?;
    // What is no text has become another one.
    if query.iter().any(|(_, value)| value.contains(char::REPLACEMENT_CHARACTER)) && !is_text(&parts.uri) {
        return Err(unreadable("the query string holds bytes that are no UTF-8 text"));
    }
    Ok(Raw { path, query, ..Raw::default() })
}

/// Whether the bytes that a query string stands for are UTF-8.
fn is_text(uri: &Uri) -> bool {
    let mut bytes = uri.query().unwrap_or_default().as_bytes().iter();
    let mut decoded = Vec::new();
    while let Some(byte) = bytes.next() {
        let rest = bytes.as_slice();
        match rest.get(..2).filter(|_| *byte == b'%').and_then(|digits| hex::decode(digits).ok()) {
            Some(byte) => {
                decoded.extend(byte);
                bytes.nth(1);
            }
            None => decoded.push(*byte),
        }
    }
    std::str::from_utf8(&decoded).is_ok()
}

/// The part of a request that may block. The permit is held until it ends, even when the client has stopped waiting.
fn read(
    shared: &Shared,
    at: usize,
    raw: &Raw,
    conditions: &Conditions,
    permit: OwnedSemaphorePermit,
) -> Result<Answer, ApiError> {
    let _permit = permit;
    let op = shared.operations.get(at).ok_or_else(ApiError::internal)?;
    let network = shared.index.reader().map(|r| r.facts().network);
    let (input, warnings) = op.input.bind(raw, network)?;
    let question = Question { op, input, warnings, network, conditions };
    let (mut brought, mut waits) = (None, 0);
    loop {
        match attempt(shared, &question, brought.as_ref(), waits < WAITS)? {
            Attempt::Answered(answer) => return Ok(answer),
            // It needs bytes of the node once.
            Attempt::Needs(wanted, node) => brought = Some(wanted.fetch(node)),
            Attempt::Apart(mark) => {
                shared.index.mempool().wait(mark, WAIT);
                waits += 1;
            }
        }
    }
}

/// How often, and how long each time, a request waits for index and mempool to come to one tip. They are apart for the
/// moments between a commit and its deltas, and for as long as the index catches up.
const WAITS: u32 = 10;
const WAIT: Duration = Duration::from_millis(50);

/// A request that has been checked.
struct Question<'q> {
    op: &'q Registered,
    input: Value,
    warnings: Vec<Warning>,
    network: Option<Network>,
    conditions: &'q Conditions,
}

/// What came of trying to answer.
enum Attempt<'s> {
    Answered(Answer),
    /// First the node has to be asked, with nothing held meanwhile.
    Needs(Wanted, &'s dyn NodeAccess),
    /// Index and mempool are at different tips, since this mark of the mempool at least.
    Apart(u64),
}

/// Reads index and mempool, as they are now, and runs the operation on them.
fn attempt<'s>(
    shared: &'s Shared,
    question: &Question<'_>,
    brought: Option<&Brought>,
    may_wait: bool,
) -> Result<Attempt<'s>, ApiError> {
    let Question { op, input, network, conditions, .. } = question;
    let source = shared.index.source();
    let slot = shared.index.mempool();
    let mark = slot.mark();
    // The mempool first: it does not change while it is held, and the index is read as it is after that.
    let lock = op.info.reads_mempool().then(|| slot.lock());
    let reader = shared.index.reader();
    let view = open(reader.as_deref())?;
    let pool = match &lock {
        None => Err(Absent::NotWatched),
        Some(lock) => match lock.absent(view.as_ref().map(|v| &v.tip().hash)) {
            Some(Absent::OtherTip) if may_wait => return Ok(Attempt::Apart(mark)),
            Some(absent) => Err(absent),
            None => Ok(Pool { mempool: lock.mempool(), as_of_ms: lock.as_of_ms(), projection: slot.projection() }),
        },
    };
    let ctx = Ctx {
        index: view.as_ref(),
        best_height: shared.index.best_height(),
        pool,
        source: source.as_ref(),
        slot,
        node: shared.node.as_deref(),
        node_bytes: NodeBytes::with(brought),
        now_ms: now_ms(),
        config: &shared.config,
        operations: &shared.operations,
        has_session: conditions.access.has_session,
        warnings: question.warnings.clone().into(),
    };
    ctx.warnings.borrow_mut().extend(conditions.access.warnings.iter().cloned());
    let tip = view.as_ref().map(|v| TipMeta::of(v.tip(), ctx.best_height));
    // What a POST does or says is for this moment, and what lacks bytes today may have them tomorrow.
    let lasts = op.info.method == Method::Get && brought.is_none_or(Brought::is_whole);
    let etag = lasts.then(|| etag(shared, op, input, &ctx, tip.as_ref(), lock.as_ref()));
    if let (Some(tags), Some(etag)) = (&conditions.if_none_match, &etag)
        && matches(tags, etag)
    {
        return Ok(Attempt::Answered(Answer::NotModified { etag: etag.clone() }));
    }
    if op.info.needs_tip && ctx.is_behind() {
        let state = ctx.lag().map_or("is empty".to_owned(), |lag| format!("lacks {lag} blocks"));
        return Err(ApiError::syncing(format!("this question needs the tip, and the index {state}")));
    }
    let compact = input.get("view").is_some_and(|v| v == "compact");
    let outcome = op.run(&ctx, input.clone());
    if let (None, Some(wanted), Some(node)) = (brought, ctx.node_bytes.wish(), shared.node.as_deref()) {
        return Ok(Attempt::Needs(wanted, node));
    }
    let rows_read = view.as_ref().map_or(0, View::rows_read);
    let mut json = match outcome? {
        Written::Json(json) => json,
        Written::File { media_type, bytes } => {
            return Ok(Attempt::Answered(Answer::Body { media_type, bytes, etag, rows_read }));
        }
    };
    if compact {
        json = drop_members(&json, op.info.compact).map_err(|error| unwritable(&error))?;
    }
    let meta = Meta {
        endpoint: op.info.endpoint(),
        freshness: match &ctx.pool {
            Ok(pool) => Some(rfc3339_ms(pool.as_of_ms)),
            Err(_) => view.as_ref().map(|v| freshness(v.tip())),
        },
        source: op.info.source,
        price_sats: 0,
        docs: format!("{}/openapi.json", shared.config.base_url),
        freshness_semantics: op.info.freshness_semantics,
        warnings: ctx.warnings.take(),
        tip,
        network: network.map(|n| n.name()),
    };
    let bytes = join(&json, &meta).map_err(|error| unwritable(&error))?.into_bytes();
    Ok(Attempt::Answered(Answer::Body { media_type: "application/json", bytes, etag, rows_read }))
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
fn etag(
    shared: &Shared,
    op: &Registered,
    input: &Value,
    ctx: &Ctx<'_>,
    tip: Option<&TipMeta>,
    lock: Option<&Lock<'_>>,
) -> String {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
    };
    part(env!("CARGO_PKG_VERSION").as_bytes());
    part(op.info.name.as_bytes());
    part(input.to_string().as_bytes());
    // Who has the answer by a session must not have it confirmed without.
    part(&[u8::from(op.info.conditional && ctx.has_session)]);
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
            Freshness::Mempool => {
                part(ctx.pool.as_ref().err().map_or(b"", |absent| absent.code().as_bytes()));
                part(&lock.map_or([0; 16], Lock::version));
                let projected = ctx.pool.as_ref().ok().and_then(|pool| pool.projection.as_ref());
                part(&projected.map_or([0xff; 8], |p| p.generation.to_be_bytes()));
            }
            Freshness::State => part(&shared.state_version),
            Freshness::Now => part(&ctx.now_ms.to_be_bytes()),
        }
    }
    format!("\"{}\"", hex::encode(&hash.finalize()[..16]))
}
