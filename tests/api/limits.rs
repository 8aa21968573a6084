//! Budgets of clients, compression, headers of every answer, and what operators see.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::ConnectInfo,
    http::Request,
};
use cairn_http::HttpConfig;
use cairn_link::IndexSlot;
use cairn_operations::{ApiConfig, ApiState, admin_router, router};
use tower::ServiceExt;

use crate::support::{Reply, assert_problem, everything_world, get, open_config, post, script_hash, send};

fn from(peer: &str, path: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let mut request = Request::get(path).header("host", "cairn.test");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut request = request.body(Body::empty()).unwrap();
    request.extensions_mut().insert(ConnectInfo(peer.parse::<SocketAddr>().unwrap()));
    request
}

async fn ask(router: &Router, peer: &str, path: &str) -> Reply {
    send(router, from(peer, path, &[])).await
}

fn empty(config: ApiConfig) -> Router {
    router(ApiState::new(Arc::new(IndexSlot::new()), config))
}

/// `r` of `RateLimit`.
fn left(reply: &Reply) -> u32 {
    let text = reply.header("ratelimit");
    let rest = text.split(";r=").nth(1).unwrap_or_else(|| panic!("{text:?}"));
    rest.split(';').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn every_answer_says_what_is_left() {
    let router = empty(ApiConfig::from(HttpConfig { rate_limit: 100, ..open_config().http }));
    let peer = "192.0.2.1:1000";
    let mut expected = 100;
    // A light one, a standard one (refused: the index is empty), a heavy one, and one that is not an operation.
    for (path, units) in [
        ("/api/health", 1),
        ("/v1/chain/recent-blocks", 2),
        ("/v1/blocks/1", 10),
        ("/nothing", 1),
        ("/openapi.json", 1),
    ] {
        expected -= units;
        let reply = ask(&router, peer, path).await;
        assert_eq!(reply.header("ratelimit-policy"), "\"client\";q=100;w=60", "{path}");
        // Some may have come back meanwhile.
        assert!((expected..=expected + 3).contains(&left(&reply)), "{path}: {}", reply.header("ratelimit"));
        expected = left(&reply);
    }
    // Another port is the same client; another address is not.
    assert!(left(&ask(&router, "192.0.2.1:2000", "/about").await) < 90);
    assert_eq!(left(&ask(&router, "192.0.2.2:1000", "/about").await), 99);
}

#[tokio::test]
async fn a_spent_budget_is_429_until_some_comes_back() {
    let router = empty(ApiConfig::from(HttpConfig { rate_limit: 20, ..open_config().http }));
    let peer = "[2001:db8::1]:9";
    let mut refused = None;
    for _ in 0..25 {
        let reply = ask(&router, peer, "/api/health").await;
        if reply.status == 429 {
            refused = Some(reply);
            break;
        }
        assert_eq!(reply.status, 200);
    }
    let reply = refused.expect("the budget is spent");
    assert_problem(&reply, 429, "rate_limited");
    assert_eq!((&reply.body["retryable"], left(&reply)), (&true.into(), 0));
    let wait: u32 = reply.header("retry-after").parse().unwrap();
    assert!((1..=4).contains(&wait));
    // Every page of the same network of 64 bits counts, the landing page too.
    assert_eq!(ask(&router, "[2001:db8::ffff:2]:9", "/about").await.status, 429);
    assert_eq!(ask(&router, "[2001:db8:0:1::1]:9", "/about").await.status, 200);
    // A heavy request that there is not enough for is refused, and a light one still passes.
    let router = empty(ApiConfig::from(HttpConfig { rate_limit: 20, ..open_config().http }));
    assert_eq!(ask(&router, peer, "/v1/blocks/1").await.status, 503);
    assert_eq!(ask(&router, peer, "/v1/chain/recent-blocks").await.status, 503);
    assert_problem(&ask(&router, peer, "/v1/blocks/1").await, 429, "rate_limited");
    assert_eq!(ask(&router, peer, "/api/health").await.status, 200);
}

#[tokio::test]
async fn only_trusted_proxies_name_the_client() {
    let trusted_proxies = vec!["10.0.0.0/8".parse().unwrap()];
    let router = empty(ApiConfig::from(HttpConfig { rate_limit: 1000, trusted_proxies, ..open_config().http }));
    let ask = |peer: &'static str, client: &'static str| {
        send(&router, from(peer, "/api/health", &[("x-forwarded-for", client)]))
    };
    assert_eq!(left(&ask("10.0.0.1:1", "198.51.100.1").await), 999);
    assert_eq!(left(&ask("10.0.0.1:1", "198.51.100.2").await), 999);
    assert!(left(&ask("10.0.0.2:1", "198.51.100.1").await) < 999);
    // Who is not trusted cannot pass for many.
    assert_eq!(left(&ask("192.0.2.1:1", "198.51.100.3").await), 999);
    assert!(left(&ask("192.0.2.1:1", "198.51.100.4").await) < 999);
}

#[tokio::test]
async fn without_a_limit_nothing_is_said_of_one() {
    let router = empty(ApiConfig::from(HttpConfig { rate_limit: 0, ..open_config().http }));
    let reply = ask(&router, "192.0.2.1:1", "/api/health").await;
    assert_eq!((reply.status, reply.header("ratelimit")), (200, ""));
    assert_eq!(reply.body["beta_posture"]["rate_limits_active"], false);
}

#[tokio::test]
async fn large_answers_are_compressed_and_tagged_so() {
    let world = &everything_world();
    let router = world.open_router();
    let plain = get(&router, "/openapi.json").await;
    assert!(plain.header("etag").starts_with('"'));
    assert!(plain.header("vary").to_lowercase().contains("accept-encoding"));
    for encoding in ["gzip", "br"] {
        let request = from("192.0.2.1:1", "/openapi.json", &[("accept-encoding", encoding)]);
        let response = router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.headers()["content-encoding"], encoding);
        let etag = response.headers()["etag"].to_str().unwrap().to_owned();
        assert_eq!(etag, format!("W/{}", plain.header("etag")));
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        assert!(bytes.len() * 3 < plain.text.len(), "{encoding}: {} bytes", bytes.len());
        let again = from("192.0.2.1:1", "/openapi.json", &[("accept-encoding", encoding), ("if-none-match", &etag)]);
        assert_eq!(send(&router, again).await.status, 304);
    }
    // Who takes no coding that there is, and not even none, is answered all the same.
    for (taken, path) in
        [("identity;q=0", "/openapi.json"), ("gzip;q=0, *;q=0", "/nothing"), ("gzip, *;q=0", "/v1/qr?data=x")]
    {
        let request = from("192.0.2.1:1", path, &[("accept-encoding", taken)]);
        let response = router.clone().oneshot(request).await.unwrap();
        let expected = if path == "/nothing" { 404 } else { 200 };
        assert_eq!(response.status(), expected, "{taken}");
        assert!(response.headers().get("content-encoding").is_none(), "{taken}");
    }
    // Small answers and pictures go as they are.
    for path in ["/nothing", "/v1/qr?data=bitcoin"] {
        let request = from("192.0.2.1:1", path, &[("accept-encoding", "gzip, br")]);
        let response = router.clone().oneshot(request).await.unwrap();
        assert!(response.headers().get("content-encoding").is_none(), "{path}");
    }
}

/// Their last part is followed by the end of the coding, not by an end of the connection.
#[tokio::test]
async fn answers_in_parts_are_compressed_to_their_end() {
    let world = &everything_world();
    let router = world.open_router();
    let script = world.oracle.scripts().max_by_key(|script| world.oracle.daily(script).len()).unwrap();
    let path = format!("/v1/wallets/{}/balance-history?format=csv", script_hash(script));
    let ask = async |encoding: &'static str| {
        let response =
            router.clone().oneshot(from("192.0.2.1:1", &path, &[("accept-encoding", encoding)])).await.unwrap();
        assert_eq!(response.status(), 200);
        let coding = response.headers().get("content-encoding").map_or("identity", |coding| coding.to_str().unwrap());
        assert_eq!(coding, encoding);
        to_bytes(response.into_body(), usize::MAX).await.unwrap()
    };
    let plain = ask("identity").await;
    assert!(!ask("br").await.is_empty());
    let packed = ask("gzip").await;
    // RFC 1952: the last four bytes are the length of what was packed.
    assert_eq!(packed.last_chunk::<4>().map(|length| u32::from_le_bytes(*length) as usize), Some(plain.len()));
}

#[tokio::test]
async fn qr_codes_are_pictures_that_may_be_kept() {
    let router = empty(open_config());
    let response = router.clone().oneshot(Request::get("/v1/qr?data=x").body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "image/png");
    assert!(response.headers()["cache-control"].to_str().unwrap().contains("immutable"));
    let etag = response.headers()["etag"].clone();
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"));
    let again = Request::get("/v1/qr?data=x").header("if-none-match", etag).body(Body::empty()).unwrap();
    assert_eq!(send(&router, again).await.status, 304);
    let head = Request::head("/v1/qr?data=x").body(Body::empty()).unwrap();
    assert_eq!(send(&router, head).await.header("content-type"), "image/png");
    assert_problem(&get(&router, "/v1/qr").await, 422, "validation_error");
    // Bytes that are not a text would be read back as another one.
    for bytes in ["%ff", "a%C3%28", "%ed%a0%80", "%f0%9f%94"] {
        assert_problem(&get(&router, &format!("/v1/qr?data={bytes}")).await, 400, "invalid_query");
    }
    for text in ["%EF%BF%BD", "%C3%A4", "%", "%zz%f"] {
        let request = Request::get(format!("/v1/qr?data={text}")).body(Body::empty()).unwrap();
        assert_eq!(router.clone().oneshot(request).await.unwrap().status(), 200, "{text}");
    }
    assert_problem(&get(&router, "/v1/qr?data=").await, 422, "validation_error");
    assert_problem(&get(&router, &format!("/v1/qr?data={}", "a".repeat(4097))).await, 422, "validation_error");
    assert_problem(&get(&router, &format!("/v1/qr?data={}", "a".repeat(2954))).await, 422, "qr_capacity_exceeded");
    assert_problem(&post(&router, "/v1/qr", &serde_json::json!({})).await, 405, "method_not_allowed");
}

#[tokio::test]
async fn operators_see_counts_and_readiness() {
    let world = &everything_world();
    let state = ApiState::new(Arc::clone(&world.slot) as Arc<_>, open_config());
    let (api, admin) = (router(state.clone()), admin_router(&state));
    for path in ["/api/health", "/v1/blocks/5", "/v1/blocks/x", "/nothing"] {
        get(&api, path).await;
    }
    let text = get(&admin, "/metrics").await.text;
    for line in [
        "cairn_http_requests_total{class=\"light\",operation=\"health\",status=\"200\"} 1".to_owned(),
        "cairn_http_requests_total{class=\"heavy\",operation=\"block_detail\",status=\"200\"} 1".to_owned(),
        "cairn_http_requests_total{class=\"heavy\",operation=\"block_detail\",status=\"400\"} 1".to_owned(),
        "cairn_http_requests_total{class=\"light\",operation=\"other\",status=\"404\"} 1".to_owned(),
        "cairn_http_request_duration_seconds_count{operation=\"block_detail\"} 2".to_owned(),
        "cairn_http_requests_in_flight 0".to_owned(),
        format!("cairn_index_tip_height {}", world.oracle.tip().unwrap().0),
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
    for path in ["/livez", "/readyz"] {
        assert_eq!(get(&admin, path).await.status, 200);
    }
    let empty = admin_router(&ApiState::new(Arc::new(IndexSlot::new()), open_config()));
    assert_eq!(get(&empty, "/livez").await.status, 200);
    assert_eq!(get(&empty, "/readyz").await.status, 503);
    // They are not for the public.
    for path in ["/metrics", "/livez", "/readyz"] {
        assert_eq!(get(&api, path).await.status, 404);
    }
}
