//! A document: made once, served as a whole.

use axum::{
    body::Bytes,
    extract::Request,
    http::{HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{
    answers::{
        error::not_allowed,
        validators::{matches, matches_any, set_validators},
    },
    pages::shell::POLICY,
};

/// Marks an answer whose bytes are there anyway.
#[derive(Clone, Copy)]
pub(crate) struct AlreadyInMemory;

/// A document.
pub struct Document {
    /// Path of its URL.
    pub path: String,
    media_type: &'static str,
    body: Bytes,
    etag: String,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Document {
    /// A document at a path.
    pub fn new(path: impl Into<String>, media_type: &'static str, body: impl Into<Bytes>) -> Self {
        let body = body.into();
        let etag = format!("\"{}\"", hex::encode(&Sha256::digest(&body)[..16]));
        Document { path: path.into(), media_type, body, etag, headers: Vec::new() }
    }

    /// An HTML page.
    pub fn page(path: impl Into<String>, body: String) -> Self {
        let page = Document::new(path, "text/html; charset=utf-8", body);
        page.with(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY))
    }

    /// A JSON document.
    pub fn json(path: impl Into<String>, body: &Value) -> Self {
        Document::new(path, "application/json", body.to_string())
    }

    /// Adds a header.
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Its path with a slash at the end, or without the one that it has: people type both. `None` for the root.
    pub(crate) fn other_path(&self) -> Option<String> {
        match self.path.strip_suffix('/') {
            Some("") => None,
            Some(without) => Some(without.to_owned()),
            None => Some(format!("{}/", self.path)),
        }
    }

    /// The answer at the other path: where the document is. The place is relative, since a proxy may serve the API
    /// below another path.
    pub(crate) fn redirect(&self, request: &Request) -> Response {
        let name = self.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let place = if self.path.ends_with('/') { format!("{name}/") } else { format!("../{name}") };
        let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
        read_only(request, || {
            let mut response = StatusCode::PERMANENT_REDIRECT.into_response();
            let place = HeaderValue::from_str(&format!("{place}{query}"));
            response.headers_mut().extend(place.map(|place| (header::LOCATION, place)));
            response
        })
    }

    /// Its answer to a request.
    pub fn answer(&self, request: &Request) -> Response {
        read_only(request, || self.answer_read(request))
    }

    fn answer_read(&self, request: &Request) -> Response {
        let asked = request.headers().get(header::IF_NONE_MATCH).and_then(|v| v.to_str().ok());
        let mut response = if asked.is_some_and(|tags| matches(tags, &self.etag) || matches_any(tags)) {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            let mut response = self.body.clone().into_response();
            // All answers share the bytes.
            response.extensions_mut().insert(AlreadyInMemory);
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(self.media_type));
            response
        };
        set_validators(response.headers_mut(), &self.etag);
        for (name, value) in &self.headers {
            response.headers_mut().insert(name, value.clone());
        }
        response
    }
}

/// The answer of a read-only path: 405 for other methods.
pub(crate) fn read_only(request: &Request, answer: impl FnOnce() -> Response) -> Response {
    let method = request.method();
    if method == Method::GET || method == Method::HEAD { answer() } else { not_allowed(["GET"].into_iter(), method) }
}
