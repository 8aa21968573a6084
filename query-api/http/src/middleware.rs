//! What happens to every request, whatever its route.

use std::{any::Any, sync::Arc};

use axum::{
    extract::{Request, State},
    http::{HeaderName, HeaderValue, Method, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use uuid::Uuid;

use crate::{body::too_large, error::ApiError, router::Shared};

/// The request id's header.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Outermost: gives the request an id, writes the bodies of errors, counts.
pub(crate) async fn outermost(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let id = Uuid::now_v7().to_string();
    let path = request.uri().path().to_owned();
    let is_head = request.method() == Method::HEAD;
    let too_long = content_length(&request).is_some_and(|n| n > shared.config.max_body_bytes as u64);
    let mut response =
        if too_long { too_large(shared.config.max_body_bytes).into_response() } else { next.run(request).await };
    if let Some(error) = response.extensions_mut().remove::<ApiError>() {
        let mut rendered = error.render(&shared.config.base_url, &id, &path);
        for (name, value) in response.headers() {
            if name != header::CONTENT_LENGTH && name != header::CONTENT_TYPE {
                rendered.headers_mut().append(name, value.clone());
            }
        }
        response = rendered;
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    shared.counters.count(response.status());
    tracing::debug!(request_id = %id, status = response.status().as_u16(), "answered");
    if is_head {
        *response.body_mut() = axum::body::Body::empty();
    }
    response
}

fn content_length(request: &Request) -> Option<u64> {
    request.headers().get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// A panic on the way to an operation: 500, and the reason in the log.
pub(crate) fn panicked(reason: Box<dyn Any + Send + 'static>) -> Response {
    let text = reason.downcast_ref::<&str>().copied().or_else(|| reason.downcast_ref::<String>().map(String::as_str));
    tracing::error!(reason = text.unwrap_or("unknown"), "a request panicked");
    ApiError::internal().into_response()
}
