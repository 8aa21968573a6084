//! Layers around all routes.

use std::{
    any::Any,
    convert::Infallible,
    hash::BuildHasher,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::{ConnectInfo, Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use hyper::body::Frame;
use tracing::Instrument;
use uuid::Uuid;

use crate::{
    answers::{code::ErrorCode, error::ApiError},
    contract::cost::Cost,
    limits::{budget::WINDOW, client::Client},
    requests::{
        body::too_large,
        http::{CountedAnswer, RequestArrival},
    },
    server::Server,
    traces::request::RequestSpan,
    transport::{
        cors, head,
        names::{RATE_LIMIT, RATE_LIMIT_POLICY, REQUEST_ID},
    },
};

/// Delay of each answer to a client without budget. Refusals are free, and a connection may send many requests at once:
/// without a pause, one client's refusals would keep the processors busy.
const REFUSAL_PAUSE: Duration = Duration::from_millis(10);

/// Routes with their layers: those of the API, or of another interface over HTTP.
#[derive(Clone)]
pub(crate) struct Surrounded {
    pub(crate) server: Arc<Server>,
    /// `None` for the API.
    pub(crate) dialect: Option<Dialect>,
}

/// Differences of another interface over HTTP from the API.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// Writes an error: its status is kept if this does not set another one.
    pub error: fn(&ApiError) -> Response,
}

/// Outermost layer: assigns the request id, applies the rate limit, writes error bodies, counts.
pub(crate) async fn outermost(
    State(Surrounded { server, dialect }): State<Surrounded>,
    mut request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let in_flight = server.metrics.begin();
    let id = server.new_id();
    let mut buffer = Uuid::encode_buffer();
    let id: Arc<str> = Arc::from(&*id.hyphenated().encode_lower(&mut buffer));
    let path = request.uri().path().to_owned();
    let is_options = request.method() == Method::OPTIONS;
    let asked_headers = request.headers().get(header::ACCESS_CONTROL_REQUEST_HEADERS).filter(|_| is_options).cloned();
    // Calls from inside the process have no peer and no rate limit.
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| *peer);
    let client = peer.map(|peer| Client::of(peer, request.headers(), &server.config));
    let traced =
        RequestSpan::begin(server.config.traces.as_ref(), &id, began, request.method(), request.headers(), || {
            client.map(|client| server.pseudonyms.hash_one(client))
        });
    let too_long = content_length(&request).is_some_and(|n| n > server.config.max_body_bytes as u64);
    let accepted = acceptable(request.headers());
    match accepted {
        Some(Some(accepted)) => drop(request.headers_mut().insert(header::ACCEPT_ENCODING, accepted)),
        Some(None) => drop(request.headers_mut().remove(header::ACCEPT_ENCODING)),
        None => {}
    }
    // OPTIONS is free, and never refused for a spent budget: a browser asks on its own, before requests of a page, and
    // shows the page no reason. It costs what a refused request costs, which is free too, so a bound gains nothing.
    let charged = client.filter(|_| !is_options).map_or(Ok(()), |client| server.charge(&client, Cost::Light.units()));
    if charged.is_err() {
        tokio::time::sleep(REFUSAL_PAUSE).await;
    }
    let may = charged.and_then(|()| head::check(&request, peer.is_some()));
    // Other interfaces have no sessions and nothing that costs money: a page of another site gains nothing by them.
    let may = if dialect.is_none() { may.and_then(|()| may_send(&server, &request)) } else { may };
    let mut response = match may {
        Err(error) => error.into_response(),
        Ok(()) if is_options && path == "*" => cors::of_server(),
        Ok(()) if too_long => too_large(server.config.max_body_bytes).into_response(),
        Ok(()) => {
            if let Some(client) = client {
                request.extensions_mut().insert(client);
            }
            request.extensions_mut().insert(RequestArrival { at: began, id: Arc::clone(&id) });
            let span = tracing::info_span!("request", %id);
            let answering = next.run(request).instrument(span);
            let response = match &traced {
                Some(traced) => Box::pin(traced.0.scope(answering)).await,
                None => answering.await,
            };
            if is_options { cors::preflight(response, asked_headers) } else { response }
        }
    };
    if let Some(error) = response.extensions_mut().remove::<ApiError>() {
        let mut rendered = match dialect {
            None => error.render(&server.config.base_url, &id, &path),
            Some(dialect) => (dialect.error)(&error),
        };
        for (name, value) in response.headers() {
            match *name {
                header::CONTENT_LENGTH | header::CONTENT_TYPE => {}
                header::CACHE_CONTROL => drop(rendered.headers_mut().insert(name, value.clone())),
                _ => drop(rendered.headers_mut().append(name, value.clone())),
            }
        }
        *rendered.extensions_mut() = std::mem::take(response.extensions_mut());
        response = rendered;
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    if let Some(client) = &client {
        say_budget(&server, client, response.headers_mut());
    }
    cors::open(response.headers_mut());
    weaken(response.headers_mut());
    // Answers of operations are counted where they are made.
    let is_counted = response.extensions().get::<CountedAnswer>().is_some();
    if !is_counted {
        server.record(None, response.status(), began.elapsed(), 0, &id);
    }
    // A connection that sends many requests at once takes its turn for each of them. Operations have waited for their
    // work.
    if !is_counted || response.status().is_client_error() || response.status().is_server_error() {
        tokio::task::yield_now().await;
    }
    drop(in_flight);
    if let Some(traced) = traced {
        traced.end(response.status());
    }
    // The router leaves out the body of an answer to HEAD, and gives the length of the body that GET has.
    if matches!(response.status(), StatusCode::NOT_MODIFIED | StatusCode::NO_CONTENT) {
        *response.body_mut() = Body::new(UnsizedBody);
    }
    response
}

/// An empty body without a length: a 304 must not give another length than the 200 has, and a 204 none at all (RFC
/// 9110, 8.6).
struct UnsizedBody;

impl HttpBody for UnsizedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        true
    }
}

/// Checks the name that a request was sent to, if it may change something. Data may be read under any name: it is
/// public, and pages of all sites may read it anyway.
fn may_send(server: &Server, request: &Request) -> Result<(), ApiError> {
    match *request.method() {
        Method::GET | Method::HEAD | Method::OPTIONS => Ok(()),
        _ => server.hosts.host(request.uri(), request.headers()),
    }
}

/// The answer to bytes that are not a request, as it is sent. The HTTP library answers them with a status alone.
pub(super) fn unreadable(server: &Server, client: &Client, is_counted: bool, status: StatusCode) -> Vec<u8> {
    let charged = if is_counted { server.charge(client, Cost::Light.units()) } else { Ok(()) };
    let error = charged.err().unwrap_or_else(|| head::unreadable(status));
    let id = server.new_id().hyphenated().to_string();
    // There is no path that the answer could name.
    let instance = format!("urn:uuid:{id}");
    let body = error.body(&server.config.base_url, &id, &instance);
    let mut response = error.render(&server.config.base_url, &id, &instance);
    let headers = response.headers_mut();
    headers.extend(HeaderValue::from_str(&id).map(|id| (REQUEST_ID, id)));
    say_budget(server, client, headers);
    cors::open(headers);
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    let status = response.status();
    let line = format!("HTTP/1.1 {} {}\r\n", status.as_u16(), status.canonical_reason().unwrap_or_default());
    let mut bytes = line.into_bytes();
    for (name, value) in response.headers() {
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(&body);
    bytes
}

/// `Accept-Encoding` without elements that forbid an uncompressed answer, if there are any: a client that accepts none
/// of our codings still gets the answer (RFC 9110, 12.5.3). `Some(None)`: no element is left.
fn acceptable(headers: &HeaderMap) -> Option<Option<HeaderValue>> {
    let lines = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
    let elements: Vec<&str> = lines.flat_map(|line| line.split(',')).map(str::trim).collect();
    let forbids = |element: &&&str| {
        let (coding, parameters) = element.split_once(';').unwrap_or((element, ""));
        let weight = parameters.trim().trim_start_matches(['q', 'Q']).trim_start_matches('=').trim();
        let is_zero = !weight.is_empty() && weight.chars().all(|c| c == '0' || c == '.');
        is_zero && ["*", "identity"].iter().any(|name| coding.trim().eq_ignore_ascii_case(name))
    };
    if !elements.iter().any(|element| forbids(&element)) {
        return None;
    }
    let kept: Vec<&str> = elements.iter().filter(|element| !forbids(element)).copied().collect();
    Some(HeaderValue::from_str(&kept.join(", ")).ok().filter(|_| !kept.is_empty()))
}

fn content_length(request: &Request) -> Option<u64> {
    request.headers().get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Sets the rate limit headers.
fn say_budget(server: &Server, client: &Client, headers: &mut HeaderMap) {
    let limit = server.budgets.limit();
    if limit == 0 {
        return;
    }
    // Zero units are left if even a charge of zero fails.
    let (units, whole_in) =
        server.budgets.take(client, 0).map_or((0, WINDOW.as_secs()), |left| (left.units, left.whole_in));
    let left = HeaderValue::from_str(&format!("\"client\";r={units};t={whole_in}"));
    let policy = HeaderValue::from_str(&format!("\"client\";q={limit};w={}", WINDOW.as_secs()));
    if let (Ok(left), Ok(policy)) = (left, policy) {
        headers.insert(RATE_LIMIT, left);
        headers.insert(RATE_LIMIT_POLICY, policy);
    }
}

/// Makes the ETag weak, because a compressed body has other bytes.
fn weaken(headers: &mut HeaderMap) {
    if !headers.contains_key(header::CONTENT_ENCODING) {
        return;
    }
    let strong = headers.get(header::ETAG).and_then(|tag| tag.to_str().ok()).filter(|tag| tag.starts_with('"'));
    if let Some(weak) = strong.and_then(|tag| HeaderValue::from_str(&format!("W/{tag}")).ok()) {
        headers.insert(header::ETAG, weak);
    }
}

impl Server {
    /// Charges units to a client.
    ///
    /// # Errors
    /// Returns 429 if the rate limit is exceeded.
    pub(crate) fn charge(&self, client: &Client, units: u32) -> Result<(), ApiError> {
        self.budgets.take(client, units).map(drop).map_err(|wait| {
            let limit = self.budgets.limit();
            let detail =
                format!("this client has exceeded its rate limit of {limit} units per minute; try again in {wait} s");
            ApiError::new(ErrorCode::RateLimited, detail).retryable(Some(wait))
        })
    }

    /// Counts an answer and logs it.
    pub(crate) fn record(&self, at: Option<usize>, status: StatusCode, took: Duration, rows_read: u64, id: &str) {
        self.metrics.count(at, status, took, rows_read);
        let operation = at.and_then(|at| self.operations.get(at)).map_or("other", |op| op.info.name);
        let (status, micros) = (status.as_u16(), u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
        if self.config.slow_request.is_some_and(|limit| took >= limit) {
            tracing::warn!(id, operation, status, micros, rows_read, "slow request");
        } else {
            tracing::debug!(id, operation, status, micros, rows_read, "answered");
        }
    }
}

/// A panic in a layer: 500, and the reason in the log.
pub(crate) fn panicked(reason: Box<dyn Any + Send + 'static>) -> Response {
    let text = reason.downcast_ref::<&str>().copied().or_else(|| reason.downcast_ref::<String>().map(String::as_str));
    tracing::error!(reason = text.unwrap_or("unknown"), "a request panicked");
    ApiError::internal().into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_as_it_is_cannot_be_forbidden() {
        let of = |lines: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(header::ACCEPT_ENCODING, HeaderValue::from_static(line));
            }
            acceptable(&headers).map(|kept| kept.map(|kept| kept.to_str().unwrap_or_default().to_owned()))
        };
        for untouched in ["gzip", "gzip;q=0, br", "*", "identity", "identity;q=0.5", "*;q=0.001", ""] {
            assert_eq!(of(&[untouched]), None, "{untouched}");
        }
        assert_eq!(of(&["identity;q=0"]), Some(None));
        assert_eq!(of(&["Identity; Q=0.000", "*;q=0."]), Some(None));
        assert_eq!(of(&["gzip;q=0, br;q=0, *;q=0"]), Some(Some("gzip;q=0, br;q=0".to_owned())));
        assert_eq!(of(&["br;q=0.5", "identity;q=0"]), Some(Some("br;q=0.5".to_owned())));
    }
}
