//! The admin listener: metrics, liveness and readiness.

use std::{future::Future, io, sync::Arc};

use axum::{
    Router,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use tokio::{net::TcpListener, task::spawn_blocking};

use super::metrics::{Metrics, gauges};
use crate::{requests::ask::Backend, server::Service};

/// State for the admin routes.
struct Watched {
    backend: Arc<dyn Backend>,
    metrics: Arc<Metrics>,
}

/// `/metrics` (Prometheus), `/livez` and `/readyz` for a service.
pub fn admin_router(service: &Service) -> Router {
    let watched = Watched { backend: Arc::clone(&service.backend), metrics: Arc::clone(&service.metrics) };
    Router::new()
        .route("/metrics", get(metrics))
        .route("/livez", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .with_state(Arc::new(watched))
}

/// Serves the admin routes until `shutdown` resolves.
///
/// # Errors
/// The listener fails.
pub async fn serve_admin<F>(listener: TcpListener, router: Router, shutdown: F) -> io::Result<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    axum::serve(listener, router).with_graceful_shutdown(shutdown).await
}

async fn metrics(State(watched): State<Arc<Watched>>) -> Response {
    let counted = watched.metrics.text();
    // The service may read its data for the gauges, which blocks.
    let looked_at = spawn_blocking(move || watched.backend.gauges()).await.unwrap_or_default();
    let mut response = (counted + &gauges(looked_at)).into_response();
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

async fn ready(State(watched): State<Arc<Watched>>) -> Response {
    match spawn_blocking(move || watched.backend.ready()).await {
        Ok(Ok(())) => "ok\n".into_response(),
        Ok(Err(why)) => (StatusCode::SERVICE_UNAVAILABLE, why + "\n").into_response(),
        Err(error) => {
            tracing::error!(%error, "reading the state of the service panicked");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
