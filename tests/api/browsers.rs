//! Rules for browsers: pages of other sites read public answers only, and do not send the rest; every answer has the
//! headers for this, from whatever layer it comes.

use std::{net::SocketAddr, sync::Arc};

use axum::{Router, body::Body, extract::ConnectInfo, http::Request};
use cairn_http::HttpConfig;
use cairn_link::IndexSlot;
use cairn_operations::{ApiConfig, ApiState, router};

use crate::support::{Reply, assert_problem, open_config, send};

fn limited(rate_limit: u32) -> Router {
    let http = HttpConfig { rate_limit, max_body_bytes: 1000, ..open_config().http };
    router(ApiState::new(Arc::new(IndexSlot::new()), ApiConfig::from(http)))
}

/// Names and values.
type Headers<'h> = &'h [(&'h str, &'h str)];

/// Sends a request that comes over a connection, with these headers.
async fn ask(router: &Router, method: &str, path: &str, headers: Headers<'_>, body: &str) -> Reply {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut request = request.body(Body::from(body.to_owned())).unwrap();
    request.extensions_mut().insert(ConnectInfo("192.0.2.1:1000".parse::<SocketAddr>().unwrap()));
    send(router, request).await
}

const HOST: (&str, &str) = ("host", "cairn.test");
const PAGE: (&str, &str) = ("origin", "https://elsewhere.example");

fn assert_open(reply: &Reply) {
    assert_eq!(reply.header("access-control-allow-origin"), "*", "{}", reply.text);
    let exposed = reply.header("access-control-expose-headers");
    for name in ["x-request-id", "ratelimit", "ratelimit-policy", "retry-after", "etag", "x-warning"] {
        assert!(exposed.split(',').any(|one| one == name), "{name}: {exposed}");
    }
    for name in ["ratelimit", "ratelimit-policy", "x-request-id"] {
        assert!(!reply.header(name).is_empty(), "{name}: {}", reply.text);
    }
}

#[tokio::test]
async fn every_answer_may_be_read_and_tells_the_budget() {
    let long = format!("/{}", "a".repeat(62_000));
    let large = "x".repeat(2000);
    let json = ("content-type", "application/json");
    let cases: [(&str, &str, Headers<'_>, &str, u16); 13] = [
        ("GET", "/api/health", &[HOST, PAGE], "", 200),
        ("GET", "/api/health", &[HOST], "", 200),
        ("GET", "/v1/chain/recent-blocks", &[HOST, PAGE], "", 503),
        ("GET", "/v1/tx/zz", &[HOST, PAGE], "", 400),
        ("GET", "/nothing", &[HOST, PAGE], "", 404),
        ("DELETE", "/api/health", &[HOST, PAGE], "", 405),
        ("POST", "/v1/tx/verify", &[HOST, PAGE, json, ("content-length", "2000")], &large, 413),
        ("GET", &long, &[HOST, PAGE], "", 414),
        ("POST", "/v1/tx/verify", &[HOST, PAGE], "{}", 415),
        ("GET", "/v1/qr", &[HOST, PAGE], "", 422),
        ("GET", "/api/health", &[PAGE], "", 400),
        ("GET", "/api/health", &[HOST, HOST, PAGE], "", 400),
        ("POST", "/v1/tx/verify", &[("host", "evil.example"), PAGE, json], "{}", 403),
    ];
    let router = limited(1000);
    for (method, path, headers, body, status) in cases {
        let reply = ask(&router, method, path, headers, body).await;
        let path = path.split_at(path.len().min(100)).0;
        assert_eq!(reply.status, status, "{method} {path}: {}", reply.text);
        assert_open(&reply);
        if status >= 400 {
            // The wrong part of a path is not repeated.
            let instance = reply.body["instance"].as_str().unwrap();
            assert!(instance.starts_with(path) || instance.contains('{'), "{}", reply.text);
        }
    }
    let router = limited(1);
    ask(&router, "GET", "/api/health", &[HOST], "").await;
    let reply = ask(&router, "GET", "/api/health", &[HOST, PAGE], "").await;
    assert_problem(&reply, 429, "rate_limited");
    assert_open(&reply);
}

#[tokio::test]
async fn a_preflight_tells_the_methods_of_its_path_and_costs_nothing() {
    // One unit: whoever paid for a preflight could not ask after it.
    let router = limited(1);
    let asked = ("access-control-request-headers", "authorization, x-y");
    let wanted = ("access-control-request-method", "POST");
    for (path, methods) in [
        ("/api/health", "GET, HEAD, OPTIONS"),
        ("/v1/tx/verify", "POST, OPTIONS"),
        ("/v1/tx/zz", "GET, HEAD, OPTIONS"),
        ("/v1/address/x/overview", "GET, HEAD, OPTIONS"),
        ("/openapi.json", "GET, HEAD, OPTIONS"),
        ("/favicon.svg", "GET, HEAD, OPTIONS"),
        ("/about", "GET, HEAD, OPTIONS"),
        ("*", "GET, HEAD, POST, OPTIONS"),
    ] {
        for _ in 0..3 {
            let reply = ask(&router, "OPTIONS", path, &[HOST, PAGE, wanted, asked], "").await;
            assert_eq!((reply.status, reply.text.as_str()), (204, ""), "{path}");
            assert_open(&reply);
            assert_eq!((reply.header("allow"), reply.header("access-control-allow-methods")), (methods, methods));
            assert_eq!(reply.header("access-control-max-age"), "86400");
            let allowed = if path == "*" { "" } else { asked.1 };
            assert_eq!(reply.header("access-control-allow-headers"), allowed);
            assert!(reply.header("ratelimit").contains(";r=1;"), "{}", reply.header("ratelimit"));
        }
    }
    for path in ["/nothing", "/v1/tx/a/b/c", "/v1/wallets/"] {
        let reply = ask(&router, "OPTIONS", path, &[HOST, PAGE], "").await;
        assert_problem(&reply, 404, "route_not_found");
        assert_open(&reply);
    }
    // With a spent budget a page still learns why its request fails.
    assert_eq!(ask(&router, "GET", "/api/health", &[HOST], "").await.status, 200);
    assert_eq!(ask(&router, "GET", "/api/health", &[HOST], "").await.status, 429);
    assert_eq!(ask(&router, "OPTIONS", "/api/health", &[HOST, PAGE], "").await.status, 204);
}

#[tokio::test]
async fn pages_of_other_sites_may_ask_but_not_change_anything() {
    let router = limited(1000);
    let (text, json) = (("content-type", "text/plain"), ("content-type", "application/json"));
    let senders = [
        // Not a page.
        (vec![HOST], None),
        (vec![("host", "127.0.0.1:8080")], None),
        (vec![("host", "localhost")], None),
        // A page of this service, or of this machine.
        (vec![HOST, ("origin", "https://cairn.test")], None),
        (vec![("host", "localhost:8080"), ("origin", "http://localhost:3000")], None),
        (vec![("host", "10.0.0.7"), ("origin", "http://10.0.0.7")], None),
        // A page of another site, under the service's name.
        (vec![HOST, PAGE], Some("origin_not_allowed")),
        (vec![("host", "127.0.0.1:8080"), PAGE], Some("origin_not_allowed")),
        (vec![HOST, ("origin", "null")], Some("origin_not_allowed")),
        (vec![HOST, ("origin", "https://cairn.test"), PAGE], Some("origin_not_allowed")),
        // A page of another site, under its own name.
        (vec![("host", "evil.example")], Some("host_not_allowed")),
        (vec![("host", "evil.example"), ("origin", "http://evil.example")], Some("host_not_allowed")),
    ];
    for (headers, refused) in senders {
        for (path, kind) in [("/v1/tx/broadcast", text), ("/v1/tx/broadcast", json), ("/v1/feedback", json)] {
            let reply = ask(&router, "POST", path, &[&headers[..], &[kind]].concat(), "{}").await;
            match refused {
                Some(code) => assert_problem(&reply, 403, code),
                None => assert_ne!(reply.status, 403, "{headers:?} {path}: {}", reply.text),
            }
        }
        // Questions with a body change nothing: only the name counts.
        let reply = ask(&router, "POST", "/v1/tx/verify", &[&headers[..], &[json]].concat(), "{}").await;
        let is_refused = refused == Some("host_not_allowed");
        assert_eq!(reply.status == 403, is_refused, "{headers:?}: {}", reply.text);
        // Public answers may be read under any name.
        assert_eq!(ask(&router, "GET", "/api/health", &headers, "").await.status, 200, "{headers:?}");
    }
}
