//! What is for operators alone, on a listener of its own: metrics, and whether the process lives and is of use.

use std::{fmt::Write, future::Future, io, sync::Arc};

use axum::{
    Router,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use cairn_link::IndexSource;
use cairn_reader::ReadError;
use tokio::net::TcpListener;

use crate::{
    metrics::{Metrics, head},
    router::ApiState,
};

/// What the operators' pages look at.
struct Watched {
    index: Arc<dyn IndexSource>,
    metrics: Arc<Metrics>,
    max_lag_blocks: u32,
}

/// `/metrics` (Prometheus), `/livez` and `/readyz` for the API that is served from this state.
pub fn admin_router(state: &ApiState) -> Router {
    let watched = Watched {
        index: Arc::clone(&state.index),
        metrics: Arc::clone(&state.metrics),
        max_lag_blocks: state.config.max_lag_blocks,
    };
    Router::new()
        .route("/metrics", get(metrics))
        .route("/livez", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .with_state(Arc::new(watched))
}

/// Serves the operators' pages until `shutdown` resolves.
///
/// # Errors
/// The listener fails.
pub async fn serve_admin<F>(listener: TcpListener, router: Router, shutdown: F) -> io::Result<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    axum::serve(listener, router).with_graceful_shutdown(shutdown).await
}

/// Tip of the index; `None` while there is none.
fn tip(index: &dyn IndexSource) -> Result<Option<u32>, ReadError> {
    match index.reader().map(|reader| reader.view().map(|view| view.tip().height)).transpose() {
        Err(ReadError::Empty) => Ok(None),
        other => other,
    }
}

async fn metrics(State(watched): State<Arc<Watched>>) -> Response {
    let mut text = watched.metrics.text();
    let heights = [
        ("cairn_index_tip_height", "Height of the newest block in the index.", tip(&*watched.index).ok().flatten()),
        ("cairn_best_height", "Height of the best known chain.", watched.index.best_height()),
    ];
    for (name, help, height) in heights {
        if let Some(height) = height {
            head(&mut text, name, "gauge", help);
            let _ = writeln!(text, "{name} {height}");
        }
    }
    let mut response = text.into_response();
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

async fn ready(State(watched): State<Arc<Watched>>) -> Response {
    let lag = |tip: u32| watched.index.best_height().map_or(0, |best| best.saturating_sub(tip));
    let not_ready = |why: String| (StatusCode::SERVICE_UNAVAILABLE, why + "\n").into_response();
    match tip(&*watched.index) {
        Ok(Some(tip)) if lag(tip) <= watched.max_lag_blocks => "ok\n".into_response(),
        Ok(Some(tip)) => not_ready(format!("the index lacks {} blocks", lag(tip))),
        Ok(None) => not_ready("the index is empty".to_owned()),
        Err(error) => {
            tracing::error!(%error, "the index could not be read");
            not_ready("the index cannot be read".to_owned())
        }
    }
}
