//! Executes operations for HTTP, MCP and pages: rate limit, sessions, admission, validation, time limit, ETag and
//! metrics.

use std::{
    cell::{Cell, RefCell},
    hash::BuildHasher,
    pin::pin,
    rc::Rc,
    sync::Arc,
    time::Instant,
};

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, StatusCode, header, request::Parts},
};
use cairn_work::{Stopped, Work};
use serde_json::json;
use tokio::{runtime::Handle, time::timeout};

use super::{
    ask::{Answer, Ask, Call},
    body::{self, Kind},
    parameters::from_request,
    running::{ExtraCharge, panicked},
};
use crate::{
    access::{
        delivery::{Delivery, Waiting},
        gate::{self, Visitor},
    },
    answers::{
        code::ErrorCode,
        error::{ApiError, Location},
    },
    contract::{input::Raw, method::Method, operation::RegisteredOperation},
    limits::{
        admitted::Admitted,
        client::Client,
        memory::{SMALL, Share},
        size::units_of_body,
    },
    server::Server,
    traces::request::{RequestTrace, WorkSpan, waited},
};

/// Source of a request's parameters.
pub(crate) enum Input {
    /// In a request over HTTP.
    Http(Box<Parts>, Body),
    /// Parameters that are divided into path, query and body already, as `from_object` divides one object.
    Ready(Raw),
}

pub(crate) struct Caller<'c> {
    /// The client that is charged; `None` for calls without a charge.
    pub(crate) client: Option<Client>,
    /// Units that have already been charged.
    pub(crate) paid: u32,
    /// The headers with sessions and keys.
    pub(crate) headers: &'c HeaderMap,
    /// True for work of the server itself, which pays nothing.
    pub(crate) is_own: bool,
    /// True if only the headers of the answer are wanted.
    pub(crate) is_head: bool,
    /// The path template by which it came, if that is not the operation's own.
    pub(crate) alias: Option<&'static str>,
    /// Versions of the answer that the client has.
    pub(crate) if_none_match: Option<String>,
    /// Id of the request.
    pub(crate) id: &'c str,
    /// When it arrived.
    pub(crate) began: Instant,
}

impl<'c> Caller<'c> {
    /// The server itself, with a version of the answer that it has: it is not charged, and pays nothing.
    pub(crate) fn own(headers: &'c HeaderMap, id: &'c str, if_none_match: Option<String>) -> Self {
        Caller {
            client: None,
            paid: 0,
            headers,
            is_own: true,
            is_head: false,
            alias: None,
            if_none_match,
            id,
            began: Instant::now(),
        }
    }
}

/// Memory of a body and of what it is parsed to, in terms of its size.
const PARSED: u64 = 16;

/// Executes the operation at index `at` of the list.
pub(crate) async fn execute(
    server: &Arc<Server>,
    at: usize,
    input: Input,
    caller: Caller<'_>,
) -> Result<Answer, ApiError> {
    let (id, began) = (caller.id, caller.began);
    let result = answer(server, at, input, caller).await;
    let (status, rows_read) = match &result {
        Ok(Answer::Body { rows_read, notes, .. }) if notes.is_accepted => (StatusCode::ACCEPTED, *rows_read),
        Ok(Answer::Body { rows_read, .. }) => {
            (server.operations.get(at).map_or(StatusCode::OK, |op| op.info.success()), *rows_read)
        }
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
    let share = server.flight.share(caller.client.as_ref());
    let (mut raw, body) = match input {
        Input::Ready(raw) => (raw, None),
        Input::Http(mut parts, sent) => {
            let raw = from_request(&mut parts, info.secret_header).await?;
            let body = match info.method {
                Method::Get => None,
                Method::Post => {
                    let is_read = server.operations.get(at).is_some_and(|op| op.input.has_body());
                    let kind = if is_read { Kind::of(&parts.headers, &info)? } else { Kind::Unread };
                    Some((kind, received(server, sent, caller.client.as_ref(), &share).await?))
                }
            };
            (raw, body)
        }
    };
    let access = server.sessions.access(caller.headers, |value| gate::is_proof(server, value)).await;
    let visitor = Visitor {
        is_own: caller.is_own,
        is_head: caller.is_head,
        template: caller.alias.unwrap_or(info.path),
        proofs: gate::proofs_in(server, caller.headers),
    };
    let redeeming = gate::redeeming_limit(server, &visitor.proofs);
    let delivery = Arc::new(Delivery::default());
    let waiting = Waiting::of(Arc::clone(&delivery), server.metrics.lost_answers());
    let trace = RequestTrace::current();
    let entering = server.admission.enter(info.cost, caller.client.as_ref(), limit);
    let permit = waited(trace.as_deref(), "admission", entering).await?;
    if let Some((_, bytes)) = body.as_ref().filter(|(_, bytes)| bytes.len() as u64 > SMALL) {
        share.hold(bytes.len() as u64 * PARSED)?;
    }
    let work = Work::within(info.cost.limits(limit)).held_by(Box::new(share));
    let work = work.in_turns(Arc::clone(&server.turns), permit.beside()).traced(trace.is_some());
    // Dropped with this future: when it is done, late, or abandoned.
    let _waits = work.guard();
    let (shared, if_none_match) = (Arc::clone(server), caller.if_none_match);
    let (span, runtime, mine) = (tracing::Span::current(), Handle::current(), Arc::clone(&delivery));
    let queued = Instant::now();
    let working = server.queue.run(move || {
        span.in_scope(|| {
            let op = shared.operations.get(at).ok_or_else(ApiError::internal)?;
            let admitted = Rc::new(Admitted::new(&shared.admission, op.info.cost, caller.client, permit));
            work.begin();
            let work = Rc::new(work);
            let _traced = WorkSpan::begin(trace, Some(op.info.name), queued, &work);
            let _rest =
                ExtraCharge { server: &shared, client: caller.client.as_ref(), cost: op.info.cost, work: &work };
            let parsed = body.map(|(kind, bytes)| kind.members(&bytes)).transpose();
            let bound = parsed.and_then(|members| {
                raw.body = members.unwrap_or(std::mem::take(&mut raw.body));
                op.input.bind(&raw, shared.formats, shared.backend.network())
            });
            let (input, mut warnings) = match bound {
                Ok(bound) => bound,
                Err(error) => return Err(error.warned(access.warnings)),
            };
            warnings.extend(access.warnings);
            let call = Call {
                config: &shared.config,
                about: &shared.about,
                operations: &shared.operations,
                planned: &shared.planned,
                now_ms: (shared.clock)(),
                has_session: access.has_session,
                is_head: visitor.is_head,
                work: Rc::clone(&work),
                admitted: Rc::clone(&admitted),
                snapshot: shared.snapshot.get(),
                warnings: RefCell::new(warnings),
                notes: RefCell::default(),
                price_sats: Cell::default(),
                client: caller.client.map(|client| shared.pseudonyms.hash_one(client)),
                network: caller.client.map(Client::network),
                state: shared.state.as_ref(),
                runtime,
                delivery: Arc::clone(&mine),
            };
            let mut ask = Ask {
                at,
                op,
                input,
                call,
                state_version: &shared.state_version,
                docs: &shared.docs,
                if_none_match: if_none_match.as_deref(),
            };
            let explained = |error: ApiError| match &error.source {
                Some(source) => shared.backend.explain(&**source),
                None => error,
            };
            let answered = gate::answer(&shared, &mut ask, &visitor, &mine, |ask| {
                shared.backend.answer(ask).map_err(explained).map_err(|error| narrowed(error, op))
            });
            answered.map_err(|error| error.warned(ask.call.warnings.take()))
        })
    });
    let mut working = pin!(working);
    let done = match timeout(limit, &mut working).await {
        // Its answer is paid for, and follows.
        Err(_) if !delivery.abandon() => timeout(redeeming, working).await,
        done => done,
    };
    if done.is_ok() {
        waiting.end();
    }
    match done {
        Ok(Ok(Ok(answer))) => answer,
        Ok(Ok(Err(panic))) => Err(panicked(&*panic)),
        // The runtime ends.
        Ok(Err(_)) => Err(ApiError::internal()),
        Err(_) => Err(Stopped::Late.into()),
    }
}

/// The bytes of a body.
async fn received(server: &Server, body: Body, client: Option<&Client>, share: &Share) -> Result<Bytes, ApiError> {
    let arriving = body::bytes(body, server.config.max_body_bytes, share);
    let bytes = timeout(server.config.request_timeout, arriving).await.map_err(|_| {
        let detail = "the body did not arrive within the request timeout";
        ApiError::new(ErrorCode::RequestTimeout, detail).retryable(None)
    })??;
    // Before it is parsed, which happens with the work.
    if let Some(client) = client {
        server.charge(client, units_of_body(bytes.len()))?;
    }
    Ok(bytes)
}

/// Adds the parameters that reduce the work to an error about too much work.
fn narrowed(error: ApiError, op: &RegisteredOperation) -> ApiError {
    if error.code != ErrorCode::WorkLimitExceeded {
        return error;
    }
    let fields = op.input.fields.iter().filter(|field| !field.required && field.location != Location::Path);
    let names: Vec<&str> = fields.map(|field| field.name.as_str()).filter(|name| !FORMS.contains(name)).collect();
    let how = match names.as_slice() {
        [] => "its parameters cannot make it less".to_owned(),
        names => format!("narrow the question with {}", names.join(", ")),
    };
    let detail = format!("{}; {how}", error.detail);
    ApiError::new(error.code, detail).with("narrow_with", json!(names))
}

/// Parameters that change the form of an answer, not its work.
const FORMS: [&str; 2] = ["view", "format"];

pub(crate) fn if_none_match(headers: &HeaderMap) -> Option<String> {
    headers.get(header::IF_NONE_MATCH)?.to_str().ok().map(str::to_owned)
}
