//! Documents about the service: made once, when the server starts, from its operations and configuration.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    response::IntoResponse,
    routing::any,
};
use serde_json::Value;

use crate::{
    config::ApiConfig, discovery, document::Document, openapi, operation::Registered, reference, routes, shared::Shared,
};

/// The description of the interface (OpenAPI 3.1.0), as `/openapi.json` serves it under this configuration.
#[must_use]
pub fn openapi_document(config: &ApiConfig) -> Value {
    openapi::of(&routes::operations(), config)
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
