//! The admin listener: metrics, liveness and readiness.

use std::{future::Future, io, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use tokio::{
    net::TcpListener,
    sync::Semaphore,
    task::spawn_blocking,
    time::{Instant, timeout_at},
};

use super::metrics::{Metrics, readings};
use crate::{requests::ask::Backend, server::Service};

/// How long the data may take to be read for one answer, waiting for an earlier one included. Prometheus waits ten
/// seconds by default.
const PATIENCE: Duration = Duration::from_secs(5);

/// State for the admin routes.
struct AdminState {
    backend: Arc<dyn Backend>,
    metrics: Arc<Metrics>,
    /// One reads for `/metrics` at a time, and one for `/readyz`: a disk that hangs holds one thread each, however
    /// often it is asked.
    one_reads: Arc<Semaphore>,
    one_is_asked: Arc<Semaphore>,
    patience: Duration,
}

/// Why there is nothing to show.
enum ReadFailure {
    Late,
    Panicked,
}

impl AdminState {
    /// Runs `read` on a blocking thread. One caller reads at a time; others wait.
    async fn read<T: Send + 'static>(
        &self,
        turns: &Arc<Semaphore>,
        read: impl FnOnce(&dyn Backend) -> T + Send + 'static,
    ) -> Result<T, ReadFailure> {
        let until = Instant::now() + self.patience;
        let turn = timeout_at(until, Arc::clone(turns).acquire_owned()).await.map_err(|_| ReadFailure::Late)?;
        let backend = Arc::clone(&self.backend);
        let reading = spawn_blocking(move || {
            // Held until the reading ends, also if nobody waits for it any more.
            let _turn = turn;
            read(&*backend)
        });
        timeout_at(until, reading).await.map_err(|_| ReadFailure::Late)?.map_err(|error| {
            tracing::error!(%error, "reading the state of the service panicked");
            ReadFailure::Panicked
        })
    }
}

/// `/metrics` (Prometheus), `/livez` and `/readyz` for a service.
pub fn admin_router(service: &Service) -> Router {
    router_within(service, PATIENCE)
}

fn router_within(service: &Service, patience: Duration) -> Router {
    let watched = AdminState {
        backend: Arc::clone(&service.backend),
        metrics: Arc::clone(&service.metrics),
        one_reads: Arc::new(Semaphore::new(1)),
        one_is_asked: Arc::new(Semaphore::new(1)),
        patience,
    };
    Router::new()
        .route("/metrics", get(metrics))
        .route("/livez", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .with_state(Arc::new(watched))
}

/// Serves the admin routes until `shutdown` resolves.
pub async fn serve_admin<F>(listener: TcpListener, router: Router, shutdown: F) -> io::Result<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    axum::serve(listener, router).with_graceful_shutdown(shutdown).await
}

async fn metrics(State(watched): State<Arc<AdminState>>) -> Response {
    let looked_at = watched.read(&watched.one_reads, |backend| backend.readings()).await;
    if let Err(ReadFailure::Late) = &looked_at {
        tracing::warn!("the data could not be read in time: metrics without it");
    }
    // Counters need no disk. They are shown in any case.
    let mut response = (watched.metrics.text() + &readings(looked_at.unwrap_or_default())).into_response();
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

async fn ready(State(watched): State<Arc<AdminState>>) -> Response {
    let refused = |why: String| (StatusCode::SERVICE_UNAVAILABLE, why + "\n").into_response();
    match watched.read(&watched.one_is_asked, |backend| backend.ready()).await {
        Ok(Ok(remarks)) => ("ok\n".to_owned() + &remarks).into_response(),
        Ok(Err(why)) => refused(why),
        Err(ReadFailure::Late) => {
            refused(format!("the data could not be read within {} s", watched.patience.as_secs_f64()))
        }
        Err(ReadFailure::Panicked) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    };

    use axum::{
        body::{Body, to_bytes},
        http::Request,
    };
    use tower::ServiceExt;

    use super::*;
    use crate::{Answer, ApiError, Ask, Metric};

    /// A backend whose disk hangs while `disk` is locked.
    #[derive(Default)]
    struct Hanging {
        disk: Mutex<()>,
        reading: AtomicUsize,
        most: AtomicUsize,
    }

    impl Hanging {
        fn read(&self) {
            let now = self.reading.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(now, Ordering::SeqCst);
            drop(self.disk.lock().unwrap());
            self.reading.fetch_sub(1, Ordering::SeqCst);
        }
    }

    impl Backend for Hanging {
        fn network(&self) -> Option<&'static str> {
            None
        }

        fn answer(&self, _: &Ask<'_>) -> Result<Answer, ApiError> {
            Err(ApiError::internal())
        }

        fn ready(&self) -> Result<String, String> {
            self.read();
            Ok(String::new())
        }

        fn readings(&self) -> Vec<Metric> {
            self.read();
            vec![Metric::gauge("of_the_data", "A number.", 1)]
        }

        fn explain(&self, _: &(dyn std::error::Error + Send + Sync + 'static)) -> ApiError {
            ApiError::internal()
        }
    }

    async fn get(router: &Router, path: &str) -> (u16, String) {
        let response = router.clone().oneshot(Request::get(path).body(Body::empty()).unwrap()).await.unwrap();
        let status = response.status().as_u16();
        let body = to_bytes(response.into_body(), 100_000).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_disk_that_hangs_holds_one_thread_for_each_route() {
        let backend = Arc::new(Hanging::default());
        let mut service = crate::transport::router::tests::service(crate::HttpConfig::default());
        service.backend = Arc::clone(&backend) as Arc<dyn Backend>;
        service.metrics.prepare(&service.operations);
        let router = router_within(&service, Duration::from_millis(200));
        let hanging = Arc::clone(&backend);
        let (locked, is_locked) = tokio::sync::oneshot::channel();
        let (mend, mended) = std::sync::mpsc::channel::<()>();
        let disk = std::thread::spawn(move || {
            let _disk = hanging.disk.lock().unwrap();
            locked.send(()).unwrap();
            mended.recv().unwrap();
        });
        is_locked.await.unwrap();
        let asked = (0..20).map(|at| {
            let router = router.clone();
            tokio::spawn(async move { get(&router, ["/metrics", "/readyz"][at % 2]).await })
        });
        let asked: Vec<_> = asked.collect();
        assert_eq!(get(&router, "/livez").await, (200, "ok\n".to_owned()));
        for (at, answer) in asked.into_iter().enumerate() {
            let (status, body) = answer.await.unwrap();
            if at % 2 == 0 {
                assert_eq!(status, 200);
                assert!(body.contains("cairn_http_requests_in_flight") && !body.contains("of_the_data"), "{body}");
            } else {
                assert_eq!((status, body.as_str()), (503, "the data could not be read within 0.2 s\n"));
            }
        }
        assert_eq!(backend.most.load(Ordering::SeqCst), 2);
        mend.send(()).unwrap();
        disk.join().unwrap();
        // As soon as the disk answers, so does the listener.
        let until = Instant::now() + Duration::from_secs(10);
        while get(&router, "/readyz").await.0 != 200 {
            assert!(Instant::now() < until);
        }
        assert!(get(&router, "/metrics").await.1.contains("of_the_data 1"));
    }
}
