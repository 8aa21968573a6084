//! Documents about the service: made once, when the server starts, from its operations and configuration.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::any,
};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{
    config::ApiConfig,
    discovery,
    dispatch::{matches, set_validators},
    openapi,
    operation::Registered,
    reference,
    router::{Shared, is_read, not_allowed},
};

/// What pages of ours may load: nothing from elsewhere.
pub(crate) const PAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; \
    connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// A document.
pub(crate) struct Document {
    /// Where it is.
    pub(crate) path: String,
    media_type: &'static str,
    body: String,
    etag: String,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Document {
    /// A document at a path.
    pub(crate) fn new(path: impl Into<String>, media_type: &'static str, body: String) -> Self {
        let etag = format!("\"{}\"", hex::encode(&Sha256::digest(body.as_bytes())[..16]));
        Document { path: path.into(), media_type, body, etag, headers: Vec::new() }
    }

    /// A page.
    pub(crate) fn page(path: impl Into<String>, body: String) -> Self {
        let page = Document::new(path, "text/html; charset=utf-8", body);
        page.with(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY))
    }

    /// A JSON document.
    pub(crate) fn json(path: impl Into<String>, body: &Value) -> Self {
        Document::new(path, "application/json", body.to_string())
    }

    /// The same with a further header.
    pub(crate) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    fn answer(&self, request: &Request) -> Response {
        if !is_read(request.method()) {
            return not_allowed(["GET"].into_iter(), request.method());
        }
        let asked = request.headers().get(header::IF_NONE_MATCH).and_then(|v| v.to_str().ok());
        let mut response = if asked.is_some_and(|tags| matches(tags, &self.etag)) {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            let mut response = self.body.clone().into_response();
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

/// All documents.
pub(crate) fn documents(operations: &[Registered], config: &ApiConfig) -> Vec<Document> {
    let openapi = openapi::of(operations, config);
    let mut all = vec![Document::json("/openapi.json", &openapi)];
    all.extend(discovery::documents(operations, config));
    all.extend(reference::documents(operations, &openapi, config));
    all
}

/// Their routes.
pub(crate) fn routes(documents: &[Document]) -> Router<Arc<Shared>> {
    documents.iter().enumerate().fold(Router::new(), |router, (at, document)| {
        let answer = move |State(shared): State<Arc<Shared>>, request: Request| async move {
            match shared.documents.get(at) {
                Some(document) => document.answer(&request),
                None => crate::error::ApiError::internal().into_response(),
            }
        };
        router.route(&document.path, any(answer))
    })
}
