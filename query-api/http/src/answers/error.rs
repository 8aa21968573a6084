//! Errors as `application/problem+json`: one form for all, without internal details.

use std::{any::Any, error::Error, ops::Deref, sync::Arc};

use axum::{
    http::{HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use cairn_work::Stopped;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::answers::{code::ErrorCode, meta::Warning, secrets::shown_path};

/// The media type of every error.
pub(crate) const PROBLEM: &str = "application/problem+json";

/// Location of an invalid value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Location {
    /// A parameter in the path.
    Path,
    /// A parameter in the query string.
    Query,
    /// A field of the body.
    Body,
    /// A header with a secret.
    Header,
}

impl Location {
    /// Its name in answers.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Location::Path => "path",
            Location::Query => "query",
            Location::Body => "body",
            Location::Header => "header",
        }
    }
}

/// One invalid field of a request.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FieldError {
    /// Location of the field.
    #[serde(rename = "in")]
    pub location: Location,
    /// Name of the field.
    pub name: String,
    /// Explanation of the problem.
    pub message: String,
    /// Allowed values or bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Value>,
    /// Example of a valid value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<Value>,
}

/// An error of a request. Boxed, so that results stay small.
#[derive(Clone, Debug)]
pub struct ApiError(Box<Failure>);

/// The data of an error.
#[derive(Clone, Debug)]
pub struct Failure {
    /// HTTP status.
    pub status: StatusCode,
    /// Stable code.
    pub code: ErrorCode,
    /// Explanation for people.
    pub detail: String,
    /// All invalid fields.
    pub errors: Vec<FieldError>,
    /// True if the same request may succeed later.
    pub retryable: bool,
    /// Seconds.
    pub retry_after: Option<u32>,
    /// Methods of the path (405).
    pub allow: Option<String>,
    /// Warnings about the request.
    pub warnings: Vec<Warning>,
    /// Further headers.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Further fields of the body.
    pub extra: Map<String, Value>,
    /// Names and values of invalid path parameters. They may be private keys: the error does not repeat them.
    pub(crate) hidden: Vec<(String, String)>,
    /// Its cause in another layer. Clients never see it.
    pub source: Option<Arc<dyn Error + Send + Sync>>,
}

impl Deref for ApiError {
    type Target = Failure;

    fn deref(&self) -> &Failure {
        &self.0
    }
}

impl ApiError {
    /// An error with a code, which determines the status.
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        ApiError(Box::new(Failure {
            status: code.status(),
            code,
            detail: detail.into(),
            errors: Vec::new(),
            retryable: false,
            retry_after: None,
            allow: None,
            warnings: Vec::new(),
            headers: Vec::new(),
            extra: Map::new(),
            hidden: Vec::new(),
            source: None,
        }))
    }

    /// An error with all invalid fields.
    #[must_use]
    pub fn of_fields(code: ErrorCode, errors: Vec<FieldError>) -> Self {
        let detail = match errors.as_slice() {
            [only] => format!("{}: {}", only.name, only.message),
            many => format!("{} fields of the request are invalid", many.len()),
        };
        let mut error = ApiError::new(code, detail);
        error.0.errors = errors;
        error
    }

    /// 422 for one field.
    pub fn validation(location: Location, name: &str, message: impl Into<String>) -> Self {
        let field =
            FieldError { location, name: name.to_owned(), message: message.into(), allowed: None, example: None };
        ApiError::of_fields(ErrorCode::ValidationError, vec![field])
    }

    /// 503 for a temporary condition; the client may retry after this many seconds.
    pub fn unavailable(code: ErrorCode, detail: impl Into<String>, retry_after: u32) -> Self {
        ApiError::new(code, detail).retryable(Some(retry_after))
    }

    /// The index is empty, or too far behind for the request.
    pub fn syncing(detail: impl Into<String>) -> Self {
        ApiError::unavailable(ErrorCode::IndexSyncing, detail, 10)
    }

    /// 500. Only the log has details.
    #[must_use]
    pub fn internal() -> Self {
        let detail = "the server failed to answer; its log has details under this request id";
        ApiError::new(ErrorCode::InternalError, detail).retryable(None)
    }

    /// 405 for a path with the methods in `allow`.
    pub fn method_not_allowed(method: &Method, allow: String) -> Self {
        let mut error = ApiError::new(ErrorCode::MethodNotAllowed, format!("method {method} not allowed; use {allow}"));
        error.0.allow = Some(allow);
        error
    }

    /// Marks the error as retryable, after this many seconds if known.
    pub fn retryable(mut self, after: Option<u32>) -> Self {
        self.0.retryable = true;
        self.0.retry_after = after;
        self
    }

    /// Adds warnings about the request that failed.
    #[must_use]
    pub(crate) fn warned(mut self, warnings: Vec<Warning>) -> Self {
        self.0.warnings.extend(warnings);
        self
    }

    /// Hides invalid parameters of the path: given are all of them, by name.
    #[must_use]
    pub(crate) fn hiding(mut self, path: &[(String, String)]) -> Self {
        let errors = &self.0.errors;
        let is_invalid = |name: &String| errors.iter().any(|e| e.location == Location::Path && e.name == *name);
        let hidden = path.iter().filter(|(name, _)| is_invalid(name)).cloned().collect();
        self.0.hidden = hidden;
        self
    }

    /// Adds a field to the body.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.extra.insert(key.to_owned(), value.into());
        self
    }

    /// Adds a header. An invalid value is omitted.
    pub fn header(mut self, name: HeaderName, value: &str) -> Self {
        self.0.headers.extend(HeaderValue::from_str(value).ok().map(|value| (name, value)));
        self
    }

    /// Adds headers.
    #[must_use]
    pub(crate) fn headers(mut self, headers: Vec<(HeaderName, HeaderValue)>) -> Self {
        self.0.headers.extend(headers);
        self
    }

    /// The response with its body.
    pub fn render(self, base_url: &str, request_id: &str, instance: &str) -> Response {
        let body = self.body(base_url, request_id, instance);
        let failure = *self.0;
        let mut response = (failure.status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM));
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
    pub fn body(&self, base_url: &str, request_id: &str, instance: &str) -> Vec<u8> {
        let failure = &self.0;
        let problem = Problem {
            kind: format!("urn:cairn:problem:{}", failure.code.name()),
            title: failure.code.title().to_owned(),
            status: failure.status.as_u16(),
            detail: failure.detail.clone(),
            instance: shown_path(instance, &failure.hidden),
            error: failure.code.name().to_owned(),
            request_id: request_id.to_owned(),
            errors: failure.errors.clone(),
            warnings: failure.warnings.clone(),
            retryable: failure.retryable,
            docs_url: failure.code.explained_at(base_url),
            extra: failure.extra.clone(),
        };
        // Plain strings and numbers always serialize.
        serde_json::to_vec(&problem).unwrap_or_default()
    }
}

/// 503: there is no memory for a large body or answer.
pub(crate) fn no_room() -> ApiError {
    let detail =
        "too many large requests and answers are on their way; read your other answers, or try again in a moment";
    ApiError::unavailable(ErrorCode::Overloaded, detail, 1)
}

/// The error is passed on as an extension; the outermost layer has the request id and writes the body.
impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// An error of a lower layer: 500, unless it is [`Stopped`] work or the service maps it (see [`crate::Backend`]).
impl<E: Error + Send + Sync + 'static> From<E> for ApiError {
    fn from(error: E) -> Self {
        if let Some(stopped) = (&error as &dyn Any).downcast_ref::<Stopped>() {
            return match stopped {
                // Nobody reads the first.
                Stopped::Abandoned | Stopped::Late => {
                    ApiError::new(ErrorCode::Timeout, Stopped::Late.to_string()).retryable(Some(1))
                }
                Stopped::Memory => no_room(),
                Stopped::Processor(_) | Stopped::Rows(_) | Stopped::Bytes(_) | Stopped::Answer(_) => {
                    ApiError::new(ErrorCode::WorkLimitExceeded, stopped.to_string())
                }
            };
        }
        let mut failure = ApiError::internal();
        failure.0.source = Some(Arc::new(error));
        failure
    }
}

/// Body of every error (RFC 9457 with additional fields).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Problem {
    /// Kind of problem, as a URI.
    #[serde(rename = "type")]
    kind: String,
    /// Short title of the error code.
    title: String,
    /// HTTP status.
    status: u16,
    /// Explanation for people.
    detail: String,
    /// Path of the request. An invalid parameter in it is replaced by its name in braces, and text that looks like a
    /// private key by `[redacted]`.
    instance: String,
    /// Stable code, for programs.
    error: String,
    /// Id of the request, also in the header `X-Request-Id`.
    request_id: String,
    /// All invalid fields of the request.
    errors: Vec<FieldError>,
    /// Warnings about the request, for example that a session was not accepted; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Warning>,
    /// True if the same request may succeed later.
    retryable: bool,
    /// URL of the explanation.
    docs_url: String,
    /// Additional fields of some errors.
    #[serde(flatten)]
    extra: Map<String, Value>,
}

/// 405 for a path with these methods.
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
        let error = ApiError::of_fields(ErrorCode::ValidationError, vec![field("a"), field("b")]);
        assert_eq!(error.status, 422);
        assert_eq!(ApiError::of_fields(ErrorCode::InvalidAddress, vec![field("a")]).status, 400);
    }

    #[test]
    fn what_it_comes_from_stays_inside() {
        let error = ApiError::from(std::io::Error::other("secret"));
        assert_eq!((error.status.as_u16(), error.code), (500, ErrorCode::InternalError));
        let body = String::from_utf8(error.body("", "", "")).unwrap();
        assert!(!error.detail.contains("secret") && !body.contains("secret"));
        assert_eq!(error.source.as_ref().unwrap().to_string(), "secret");
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
