//! Executes operations for HTTP, MCP and pages: rate limit, sessions, admission, validation, time limit, ETag and
//! metrics.

use std::{cell::RefCell, hash::BuildHasher, sync::Arc, time::Instant};

use axum::{
    body::Body,
    http::{HeaderMap, StatusCode, header, request::Parts},
};
use tokio::{runtime::Handle, task::spawn_blocking, time::timeout};

use super::{
    ask::{Answer, Ask, Call},
    body,
    parameters::from_request,
};
use crate::{
    answers::{code::ErrorCode, error::ApiError},
    contract::{
        input::Raw,
        method::Method,
        work::{Work, timed_out},
    },
    limits::client::Client,
    server::Server,
};

/// Source of a request's parameters.
pub(crate) enum Input {
    /// In a request over HTTP.
    Http(Box<Parts>, Body),
    /// In parts, as `from_object` makes them of one object.
    Ready(Raw),
}

/// The caller.
pub(crate) struct Caller<'c> {
    /// The client that is charged; `None` for calls without a charge.
    pub(crate) client: Option<Client>,
    /// Units that have already been charged.
    pub(crate) paid: u32,
    /// The headers with sessions and keys.
    pub(crate) headers: &'c HeaderMap,
    /// Versions of the answer that the client has.
    pub(crate) if_none_match: Option<String>,
    /// Id of the request.
    pub(crate) id: &'c str,
    /// When it arrived.
    pub(crate) began: Instant,
}

/// Executes the operation at index `at` of the list.
///
/// # Errors
/// The reason why there is no answer.
pub(crate) async fn execute(
    server: &Arc<Server>,
    at: usize,
    input: Input,
    caller: Caller<'_>,
) -> Result<Answer, ApiError> {
    let (id, began) = (caller.id, caller.began);
    let result = answer(server, at, input, caller).await;
    let (status, rows_read) = match &result {
        Ok(Answer::Body { rows_read, .. }) => (StatusCode::OK, *rows_read),
        Ok(Answer::NotModified { .. }) => (StatusCode::NOT_MODIFIED, 0),
        Err(error) => (error.status, 0),
    };
    server.record(Some(at), status, began.elapsed(), rows_read, id);
    result
}

async fn answer(server: &Arc<Server>, at: usize, input: Input, caller: Caller<'_>) -> Result<Answer, ApiError> {
    let info = server.operations.get(at).map(|op| op.info).ok_or_else(ApiError::internal)?;
    if let Some(client) = &caller.client {
        server.charge(client, info.cost.units().saturating_sub(caller.paid))?;
    }
    let limit = server.config.request_timeout;
    let raw = match input {
        Input::Ready(raw) => raw,
        Input::Http(mut parts, body) => {
            let mut raw = from_request(&mut parts).await?;
            if info.method == Method::Post {
                let body = body::members(&parts.headers, body, server.config.max_body_bytes, info.text_body);
                raw.body = timeout(limit, body).await.map_err(|_| {
                    let detail = "the body did not arrive within the request timeout";
                    ApiError::new(ErrorCode::RequestTimeout, detail).retryable(None)
                })??;
            }
            raw
        }
    };
    let access = server.sessions.access(caller.headers).await;
    let permit = server.admission.enter(info.cost, limit).await?;
    let work = Work::within(limit);
    // Dropped with this future: when it is done, late, or abandoned.
    let _waits = work.guard();
    let (shared, if_none_match) = (Arc::clone(server), caller.if_none_match);
    let (span, runtime) = (tracing::Span::current(), Handle::current());
    let working = spawn_blocking(move || {
        // Held until the work ends, even if the client has disconnected.
        let _permit = permit;
        span.in_scope(|| {
            let op = shared.operations.get(at).ok_or_else(ApiError::internal)?;
            let (input, mut warnings) = op.input.bind(&raw, shared.formats, shared.backend.network())?;
            warnings.extend(access.warnings);
            let call = Call {
                config: &shared.config,
                about: &shared.about,
                operations: &shared.operations,
                planned: &shared.planned,
                now_ms: (shared.clock)(),
                has_session: access.has_session,
                work,
                warnings: RefCell::new(warnings),
                client: caller.client.map(|client| shared.pseudonyms.hash_one(client)),
                state: shared.state.as_ref(),
                runtime,
            };
            let ask = Ask {
                at,
                op,
                input,
                call,
                state_version: &shared.state_version,
                docs: &shared.docs,
                if_none_match: if_none_match.as_deref(),
            };
            shared.backend.answer(&ask).map_err(|error| match &error.source {
                Some(source) => shared.backend.explain(&**source),
                None => error,
            })
        })
    });
    match timeout(limit, working).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => {
            tracing::error!(%error, "an operation panicked");
            Err(ApiError::internal())
        }
        Err(_) => Err(timed_out()),
    }
}

/// The value of `If-None-Match`.
pub(crate) fn if_none_match(headers: &HeaderMap) -> Option<String> {
    headers.get(header::IF_NONE_MATCH)?.to_str().ok().map(str::to_owned)
}
