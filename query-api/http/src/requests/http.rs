//! From a request over HTTP to the answer of its operation, and back.

use std::{sync::Arc, time::Instant};

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream};
use tokio::task::spawn_blocking;

use super::{
    accept,
    ask::{Answer, Content},
    execute::{Caller, Input, execute, if_none_match},
};
use crate::{
    answers::{code::ErrorCode, error::ApiError, validators::set_validators},
    contract::{
        cost::Cost,
        output::{HTML, Parts},
        tool::Effect,
    },
    limits::{client::Client, session},
    pages::shell::FILE_POLICY,
    server::Server,
    traces::request::RequestTrace,
};

/// Header with the number of rows of the index that an answer took.
pub(crate) const ROWS_READ: HeaderName = HeaderName::from_static("x-rows-read");
/// Header with a warning about the request, for answers that are not JSON objects: its code and its sentence.
pub(crate) const WARNING: HeaderName = HeaderName::from_static("x-warning");
/// For answers that depend on nothing but the request.
const FOR_GOOD: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// For answers that were paid for, and for offers.
const FOR_ONE: HeaderValue = HeaderValue::from_static("private, no-store");
/// The headers of credentials.
const CREDENTIALS: HeaderValue = HeaderValue::from_static("authorization, x-wr-api-key, payment-signature");

/// When a request came, and its id.
#[derive(Clone, Debug)]
pub(crate) struct RequestArrival {
    pub(crate) at: Instant,
    pub(crate) id: Arc<str>,
}

/// Marks a request that a tool made.
#[derive(Clone, Copy)]
pub(crate) struct ToolRequest;

/// 403.
pub(crate) fn not_as_tool() -> ApiError {
    let detail = "agents have no tool for this operation: its input is private, and a tool call is seen by the model and by whoever \
                  keeps its conversations; send it over HTTP, or let the operator allow it (--private-tools true)";
    ApiError::new(ErrorCode::NotAsTool, detail)
}

/// Marks an answer that has been counted.
#[derive(Clone, Copy)]
pub(crate) struct CountedAnswer;

/// Marks an answer that a payment for this call opened.
#[derive(Clone, Copy)]
pub(crate) struct PaidAnswer;

/// Answers a request to the operation at `at` of the list, which came by this alias if it did not come by the
/// operation's own path.
pub(crate) async fn dispatch(
    server: Arc<Server>,
    at: usize,
    alias: Option<&'static str>,
    request: Request,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let accepts = server.operations.get(at).map_or(&[][..], |op| op.info.accepts);
    if !accepts.is_empty() {
        accept::choose(&mut parts, accepts);
    }
    // A page can send plain text without asking the server first.
    if server.operations.get(at).is_some_and(|op| op.info.tool.effect != Effect::Reads)
        && let Err(refused) = server.hosts.origin(&parts.uri, &parts.headers)
    {
        return refused.into_response();
    }
    if parts.extensions.get::<ToolRequest>().is_some()
        && server.operations.get(at).is_some_and(|op| !op.is_for_tools(&server.config))
    {
        return not_as_tool().into_response();
    }
    if parts.extensions.get::<ToolRequest>().is_none()
        && let Some((trace, op)) = RequestTrace::current().zip(server.operations.get(at))
    {
        trace.set_route(alias.unwrap_or(op.info.path));
    }
    let canonical = alias.zip(server.operations.get(at)).and_then(|(alias, op)| {
        let query = parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        let path = same_parameters(alias, parts.uri.path(), op.info.path);
        HeaderValue::from_str(&format!("<{path}{query}>; rel=\"canonical\"")).ok()
    });
    let headers = parts.headers.clone();
    let personal = session::presents_any(&headers);
    let lasts_for_good = server.operations.get(at).is_some_and(|op| op.info.freshness.is_empty()) && !personal;
    let came = parts.extensions.get::<RequestArrival>().cloned();
    let client = parts.extensions.get::<Client>().copied();
    let caller = Caller {
        client,
        // The first unit was for coming in.
        paid: Cost::Light.units(),
        headers: &headers,
        is_own: false,
        is_head: parts.method == Method::HEAD,
        alias,
        if_none_match: if_none_match(&headers),
        id: came.as_ref().map_or("", |came| &came.id),
        began: came.as_ref().map_or_else(Instant::now, |came| came.at),
    };
    let mut response = match execute(&server, at, Input::Http(Box::new(parts), body), caller).await {
        Ok(answer) => {
            let mut response = respond(answer);
            if let Some(op) = server.operations.get(at).filter(|_| response.status() == StatusCode::OK) {
                *response.status_mut() = op.info.success();
            }
            if lasts_for_good {
                response.headers_mut().insert(header::CACHE_CONTROL, FOR_GOOD);
            }
            response
        }
        Err(error) => error.into_response(),
    };
    if !accepts.is_empty() {
        response.headers_mut().append(header::VARY, HeaderValue::from_static("accept"));
    }
    if personal && response.headers().contains_key(header::ETAG) {
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    }
    if server.operations.get(at).is_some_and(|op| server.config.is_billable(op)) {
        response.headers_mut().insert(header::CACHE_CONTROL, FOR_ONE);
        response.headers_mut().append(header::VARY, CREDENTIALS);
    }
    let hides = response.extensions().get::<ApiError>().is_some_and(|error| !error.hidden.is_empty());
    if let Some(link) = canonical.filter(|_| !hides) {
        response.headers_mut().insert(header::LINK, link);
    }
    response.extensions_mut().insert(CountedAnswer);
    response
}

/// A path of the template `to` with the parameters that `path` has by the template `from`, as they were sent.
fn same_parameters(from: &str, path: &str, to: &str) -> String {
    let given: Vec<_> = from.split('/').zip(path.split('/')).filter(|(name, _)| name.starts_with('{')).collect();
    let value = |segment| given.iter().find(|(name, _)| *name == segment).map_or(segment, |(_, value)| *value);
    to.split('/').map(value).collect::<Vec<_>>().join("/")
}

fn respond(answer: Answer) -> Response {
    let (mut response, etag) = match answer {
        Answer::Body { media_type, content, etag, rows_read, warnings, notes } => {
            let body = match content {
                Content::Whole(bytes) => Body::from(bytes),
                Content::Parts(parts) => of_parts(parts),
            };
            let mut response = body.into_response();
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
            if media_type == HTML {
                response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, FILE_POLICY.clone());
            }
            if notes.is_paid {
                response.headers_mut().extend(notes.headers);
                response.extensions_mut().insert(PaidAnswer);
            }
            if notes.is_accepted {
                *response.status_mut() = StatusCode::ACCEPTED;
            }
            if let Some(name) = &notes.file_name {
                let disposition = HeaderValue::from_str(&format!("attachment; filename=\"{name}\""));
                response.headers_mut().extend(disposition.ok().map(|value| (header::CONTENT_DISPOSITION, value)));
            }
            response.headers_mut().insert(ROWS_READ, HeaderValue::from(rows_read));
            for warning in warnings {
                let text = format!("{}; {}", warning.code, ascii(&warning.message));
                response.headers_mut().extend(HeaderValue::from_str(&text).map(|text| (WARNING, text)));
            }
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

/// A body of parts. Each is made when the client can take it, on a thread that may block.
fn of_parts(parts: Parts) -> Body {
    let parts = stream::unfold(Some(parts), |parts| async {
        let mut parts = parts?;
        match spawn_blocking(move || parts.next().map(|part| (part, parts))).await {
            Ok(made) => made.map(|(part, parts)| (Ok(part), Some(parts))),
            // The panic is in the log; the client sees that the answer is incomplete.
            Err(error) => Some((Err(error), None)),
        }
    });
    // Compression asks once more after the end.
    Body::from_stream(parts.fuse())
}

/// A text for a header: other characters than printable ASCII are escaped.
fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, ' '..='~') {
            out.push(c);
        } else {
            out.extend(c.escape_unicode());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_taken_over() {
        let of = |path| same_parameters("/v1/address/{address}/of/{n}", path, "/v1/{n}/wallets/{address}");
        assert_eq!(of("/v1/address/a%20b/of/7"), "/v1/7/wallets/a%20b");
    }
}
