//! Measures the cost that the platform adds to each request: limits, request ids, CORS, metrics, `_meta`, ETag. The
//! operations do next to nothing, on an empty index. `bare` is the same body behind one route that hands over to a
//! thread that may block and back, as everything must that may read a disk: `operation` less `bare` is held to 40
//! microseconds.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use std::{hint::black_box, net::SocketAddr, sync::Arc};

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::ConnectInfo,
    http::Request,
};
use cairn_http::HttpConfig;
use cairn_link::IndexSlot;
use cairn_operations::{ApiConfig, ApiState, router};
use criterion::{Criterion, criterion_group, criterion_main};
use tower::ServiceExt;

/// A route, a thread that may block, a body.
fn bare(body: &[u8]) -> Router {
    let body: Arc<[u8]> = Arc::from(body);
    let answer = move || {
        let body = Arc::clone(&body);
        async move { tokio::task::spawn_blocking(move || body.to_vec()).await.unwrap() }
    };
    Router::new().route("/v1/wallets", axum::routing::get(answer))
}

async fn ask(router: &Router, path: &str, if_none_match: Option<&str>) -> (u16, Bytes, String) {
    let mut request = Request::get(path).header("host", "localhost");
    if let Some(tag) = if_none_match {
        request = request.header("if-none-match", tag);
    }
    let mut request = request.body(Body::empty()).unwrap();
    let peer: SocketAddr = "192.0.2.1:1000".parse().unwrap();
    request.extensions_mut().insert(ConnectInfo(peer));
    let response = router.clone().oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let etag = response.headers().get("etag").map_or("", |tag| tag.to_str().unwrap()).to_owned();
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, body, etag)
}

fn overhead(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    // As great a budget as there may be: it is counted all the same.
    let config = ApiConfig::from(HttpConfig { rate_limit: 1_000_000_000, ..ApiConfig::default().http });
    let router = router(ApiState::new(Arc::new(IndexSlot::new()), config));
    let (status, body, etag) = runtime.block_on(ask(&router, "/v1/wallets", None));
    assert_eq!(status, 200);
    let cases = [
        // Layers and an error's body; no thread that may block.
        ("unknown", "/v1/nothing", None, 404),
        // The whole way, with a body of about a kilobyte.
        ("operation", "/v1/wallets", None, 200),
        // The whole way, without a body.
        ("not_modified", "/v1/wallets", Some(etag.as_str()), 304),
    ];
    let mut group = criterion.benchmark_group("overhead");
    for (name, path, tag, expected) in cases {
        assert_eq!(runtime.block_on(ask(&router, path, tag)).0, expected, "{name}");
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(runtime.block_on(ask(&router, path, tag))));
        });
    }
    let bare = bare(&body);
    assert_eq!(runtime.block_on(ask(&bare, "/v1/wallets", None)).1, body);
    group.bench_function("bare", |bencher| {
        bencher.iter(|| black_box(runtime.block_on(ask(&bare, "/v1/wallets", None))));
    });
    group.finish();
}

criterion_group!(benches, overhead);
criterion_main!(benches);
