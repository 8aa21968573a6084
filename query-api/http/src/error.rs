//! Errors, as `application/problem+json`. One shape for every failure; nothing internal leaks into it.

use std::ops::Deref;

use axum::{
    http::{HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use cairn_reader::ReadError;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::codes;

/// Where a bad value stood.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Location {
    /// In the path.
    Path,
    /// In the query string.
    Query,
    /// In the body.
    Body,
}

impl Location {
    /// The word for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Location::Path => "path",
            Location::Query => "query",
            Location::Body => "body",
        }
    }
}

/// One bad field of a request.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct FieldError {
    /// Where it stood.
    #[serde(rename = "in")]
    pub(crate) location: Location,
    /// Name of the field.
    pub(crate) name: String,
    /// What is wrong with it.
    pub(crate) message: String,
    /// What would be right: values or bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allowed: Option<Value>,
    /// A value that would be right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) example: Option<Value>,
}

/// A request that gets no answer, and why. Boxed, so that results stay small.
#[derive(Clone, Debug)]
pub(crate) struct ApiError(Box<Failure>);

/// What is known about a failure.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    /// Stable code.
    pub(crate) code: &'static str,
    pub(crate) detail: String,
    pub(crate) errors: Vec<FieldError>,
    pub(crate) retryable: bool,
    /// Seconds.
    pub(crate) retry_after: Option<u32>,
    /// Methods that the path knows (405).
    pub(crate) allow: Option<String>,
    /// Further headers.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// Further members of the body.
    pub(crate) extra: Map<String, Value>,
}

impl Deref for ApiError {
    type Target = Failure;

    fn deref(&self) -> &Failure {
        &self.0
    }
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        ApiError(Box::new(Failure {
            status,
            code,
            detail: detail.into(),
            errors: Vec::new(),
            retryable: false,
            retry_after: None,
            allow: None,
            headers: Vec::new(),
            extra: Map::new(),
        }))
    }

    /// 400 or 422, with every bad field.
    pub(crate) fn of_fields(code: &'static str, errors: Vec<FieldError>) -> Self {
        let status = if code == VALIDATION { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::BAD_REQUEST };
        let detail = match errors.as_slice() {
            [only] => format!("{}: {}", only.name, only.message),
            many => format!("{} fields of the request are not valid", many.len()),
        };
        let mut error = ApiError::new(status, code, detail);
        error.0.errors = errors;
        error
    }

    /// 422 for one field.
    pub(crate) fn validation(location: Location, name: &str, message: impl Into<String>) -> Self {
        let field =
            FieldError { location, name: name.to_owned(), message: message.into(), allowed: None, example: None };
        ApiError::of_fields(VALIDATION, vec![field])
    }

    pub(crate) fn not_found(code: &'static str, detail: impl Into<String>) -> Self {
        ApiError::new(StatusCode::NOT_FOUND, code, detail)
    }

    /// 503 that passes by itself.
    pub(crate) fn unavailable(code: &'static str, detail: impl Into<String>, retry_after: u32) -> Self {
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, code, detail).retryable(Some(retry_after))
    }

    /// The index is empty, or too far behind for the question.
    pub(crate) fn syncing(detail: impl Into<String>) -> Self {
        ApiError::unavailable("index_syncing", detail, 10)
    }

    /// 500; what happened is in the log only.
    pub(crate) fn internal() -> Self {
        let detail = "the server failed to answer; the log of the server has more under this request id";
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", detail).retryable(None)
    }

    pub(crate) fn method_not_allowed(method: &Method, allow: String) -> Self {
        let detail = format!("this path does not know {method}; it knows {allow}");
        let mut error = ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail);
        error.0.allow = Some(allow);
        error
    }

    /// Says that the same request may succeed later, after some seconds if that is known.
    pub(crate) fn retryable(mut self, after: Option<u32>) -> Self {
        self.0.retryable = true;
        self.0.retry_after = after;
        self
    }

    /// Adds a member to the body.
    pub(crate) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.extra.insert(key.to_owned(), value.into());
        self
    }

    /// Adds a header; one that cannot be a header is left out.
    pub(crate) fn header(mut self, name: HeaderName, value: &str) -> Self {
        self.0.headers.extend(HeaderValue::from_str(value).ok().map(|value| (name, value)));
        self
    }

    /// The response with its body, now that the request is known.
    pub(crate) fn render(self, base_url: &str, request_id: &str, instance: &str) -> Response {
        let body = self.body(base_url, request_id, instance);
        let failure = *self.0;
        let mut response = (failure.status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = failure.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(allow) = failure.allow.and_then(|a| HeaderValue::from_str(&a).ok()) {
            headers.insert(header::ALLOW, allow);
        }
        headers.extend(failure.headers);
        response
    }

    /// The body of the response.
    pub(crate) fn body(&self, base_url: &str, request_id: &str, instance: &str) -> Vec<u8> {
        let failure = &self.0;
        let problem = Problem {
            kind: format!("urn:cairn:problem:{}", failure.code),
            title: title(failure.status).to_owned(),
            status: failure.status.as_u16(),
            detail: failure.detail.clone(),
            instance: instance.to_owned(),
            error: failure.code.to_owned(),
            request_id: request_id.to_owned(),
            errors: failure.errors.clone(),
            retryable: failure.retryable,
            docs_url: codes::explained_at(base_url, failure.code),
            extra: failure.extra.clone(),
        };
        // Plain strings and numbers always serialize.
        serde_json::to_vec(&problem).unwrap_or_default()
    }
}

/// Code of requests with bad values.
pub(crate) const VALIDATION: &str = "validation_error";

fn title(status: StatusCode) -> &'static str {
    status.canonical_reason().unwrap_or("Error")
}

/// The error travels as an extension; the outermost layer knows the request id and writes the body.
impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<ReadError> for ApiError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Empty => ApiError::syncing("nothing has been indexed yet"),
            ReadError::Unfinished(stage) => ApiError::syncing(format!("the tables of stage {stage} are being rebuilt")),
            ReadError::StageVersion { stage, .. } => {
                // Until the program that serves is that which indexes, or the tables are rebuilt.
                tracing::error!(%error, "tables of another version");
                ApiError::syncing(format!("the tables of stage {stage} are of another version"))
            }
            ReadError::NewerFormat { .. }
            | ReadError::Database(_)
            | ReadError::Decode(_)
            | ReadError::Broken(_)
            | ReadError::Unusable(_) => {
                tracing::error!(%error, "the index could not be read");
                ApiError::internal()
            }
        }
    }
}

/// Body of every failure (RFC 9457, with members of our own).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Problem {
    /// Names the kind of problem.
    #[serde(rename = "type")]
    kind: String,
    /// The status in words.
    title: String,
    /// HTTP status.
    status: u16,
    /// What happened, for people.
    detail: String,
    /// Path of the request.
    instance: String,
    /// Stable code, for programs.
    error: String,
    /// Id of the request, also in the header `X-Request-Id`.
    request_id: String,
    /// Every bad field, if the request was not valid.
    errors: Vec<FieldError>,
    /// Whether the same request may succeed later.
    retryable: bool,
    /// Where this failure is explained.
    docs_url: String,
    /// Members that some kinds of problem add.
    #[serde(flatten)]
    extra: Map<String, Value>,
}

/// 405 for a path that knows these methods.
pub(crate) fn not_allowed(known: impl Iterator<Item = &'static str>, method: &Method) -> Response {
    let mut known: Vec<&str> = known.collect();
    if known.contains(&"GET") {
        known.push("HEAD");
    }
    known.push("OPTIONS");
    ApiError::method_not_allowed(method, known.join(", ")).into_response()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn codes_decide_the_status() {
        let field = |name: &str| FieldError {
            location: Location::Query,
            name: name.to_owned(),
            message: "is wrong".to_owned(),
            allowed: None,
            example: None,
        };
        let error = ApiError::of_fields(VALIDATION, vec![field("a"), field("b")]);
        assert_eq!(error.status, 422);
        assert_eq!(ApiError::of_fields("invalid_address", vec![field("a")]).status, 400);
    }

    #[test]
    fn broken_rows_stay_inside() {
        let error = ApiError::from(ReadError::Broken("secret".to_owned()));
        assert_eq!((error.status.as_u16(), error.code), (500, "internal_error"));
        assert!(!error.detail.contains("secret"));
        assert_eq!(ApiError::from(ReadError::Empty).code, "index_syncing");
    }

    #[tokio::test]
    async fn bodies_have_every_member() {
        let response = ApiError::syncing("wait").with("more", 1).render("http://x", "id", "/v1/y");
        assert_eq!(response.status(), 503);
        assert_eq!(response.headers()["retry-after"], "10");
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        let body = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        for key in ["type", "title", "status", "detail", "instance", "error", "request_id", "errors", "docs_url"] {
            assert!(body.get(key).is_some(), "{key}");
        }
        assert_eq!((&body["retryable"], &body["more"], &body["instance"]), (&true.into(), &1.into(), &"/v1/y".into()));
    }
}
