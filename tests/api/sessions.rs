//! Wallet sessions and bridge keys: what they open, and that a useless one counts as absent.

use std::{
    net::TcpListener,
    str::FromStr,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use axum::{Router, body::Body, http::Request};
use cairn_http::HttpConfig;
use cairn_operations::{ApiConfig, ApiState, router};
use cairn_state::{KeyKind, NewKey, Revocation, Secret, State, StateUrl};
use cairn_testkit::temp_dir;
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    description::OF_THE_PAGES,
    support::{Reply, World, assert_problem, everything_world, get, open_config, script_hash, send},
};

/// A gated API with service state.
struct Gated {
    router: Router,
    state: State,
    /// Of an address with more than one transaction.
    path: String,
    _folder: TempDir,
}

fn gated_config(session_cache: Duration) -> ApiConfig {
    ApiConfig::from(HttpConfig { gates_enabled: true, session_cache, ..open_config().http })
}

fn router_with(world: &World, state: State, session_cache: Duration) -> Router {
    let api = ApiState::new(Arc::clone(&world.slot) as Arc<_>, gated_config(session_cache));
    router(ApiState { state: Some(state), ..api })
}

impl Gated {
    async fn over(world: &World, session_cache: Duration) -> Self {
        let folder = temp_dir();
        let state = State::open(&StateUrl::in_folder(folder.path())).await.unwrap();
        let busiest = world.oracle.scripts().max_by_key(|s| world.oracle.history(s).len()).unwrap();
        Gated {
            router: router_with(world, state.clone(), session_cache),
            state,
            path: format!("/v1/wallets/{}/transactions?limit=1", script_hash(busiest)),
            _folder: folder,
        }
    }

    async fn issue(&self, kind: KeyKind, expires_at: Option<u64>) -> Secret {
        let new = NewKey { kind, label: String::new(), expires_at };
        self.state.issue(new, now()).await.unwrap().1
    }

    /// A page after the first.
    fn later(&self) -> String {
        format!("{}&offset=1", self.path)
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn request(path: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::empty()).unwrap()
}

/// The header that presents a secret.
fn shown(secret: &Secret) -> (&'static str, String) {
    match secret.kind() {
        KeyKind::Bridge => ("x-wr-api-key", secret.expose().to_owned()),
        KeyKind::Session => ("authorization", format!("Bearer {}", secret.expose())),
    }
}

async fn with(router: &Router, path: &str, name: &str, value: &str) -> Reply {
    send(router, request(path, &[(name, value)])).await
}

/// Codes and messages of the warnings about what was presented.
fn ignored(reply: &Reply) -> Vec<(String, String)> {
    let warnings = reply.body["_meta"]["warnings"].as_array().unwrap().iter();
    let text = |warning: &Value, key: &str| warning[key].as_str().unwrap().to_owned();
    warnings.map(|w| (text(w, "code"), text(w, "message"))).filter(|(code, _)| code.ends_with("_ignored")).collect()
}

#[tokio::test]
async fn sessions_and_keys_open_the_gate() {
    let world = &everything_world();
    let gated = Gated::over(world, Duration::from_secs(30)).await;
    let first = get(&gated.router, &gated.path).await;
    let cursor = first.body["next_cursor"].as_str().unwrap();
    let pages = [gated.later(), format!("{}&cursor={cursor}", gated.path)];
    for kind in KeyKind::ALL {
        let secret = gated.issue(kind, Some(now() + 600)).await;
        let (name, value) = shown(&secret);
        for page in &pages {
            assert_problem(&get(&gated.router, page).await, 402, "wallet_session_required");
            let reply = with(&gated.router, page, name, &value).await;
            assert_eq!((reply.status, ignored(&reply)), (200, vec![]), "{}", reply.text);
            // The same answer as without gates.
            let open = get(&world.open_router(), page).await;
            assert_eq!(reply.body["transactions"], open.body["transactions"]);
            let told = format!("{:?}{}", reply.headers, reply.text);
            assert!(!told.contains(secret.expose()) && !told.contains(secret.id()));
        }
        // Nobody else is given it, and it is not confirmed to who has none.
        let reply = with(&gated.router, &pages[0], name, &value).await;
        assert_eq!(reply.header("cache-control"), "private, no-cache");
        let tag = reply.header("etag").to_owned();
        let again = send(&gated.router, request(&pages[0], &[(name, &value), ("if-none-match", &tag)])).await;
        assert_eq!(again.status, 304);
        let without = send(&gated.router, request(&pages[0], &[("if-none-match", &tag)])).await;
        assert_problem(&without, 402, "wallet_session_required");
    }
    // The scheme is known in any case of letters.
    let session = gated.issue(KeyKind::Session, None).await;
    let value = format!("bEARER  {}", session.expose());
    assert_eq!(with(&gated.router, &pages[0], "authorization", &value).await.status, 200);
    gated.state.uses_settled().await;
    let used = gated.state.keys().await.unwrap();
    assert!(used.iter().all(|key| key.last_used_at.is_some()), "{used:?}");
}

#[tokio::test]
async fn what_is_no_good_counts_as_absent_with_a_warning_that_says_why() {
    let world = &everything_world();
    let gated = Gated::over(world, Duration::from_secs(30)).await;
    for kind in KeyKind::ALL {
        let (expired, revoked) = (gated.issue(kind, Some(now())).await, gated.issue(kind, None).await);
        assert_eq!(gated.state.revoke(revoked.id(), now()).await.unwrap(), Revocation::Done);
        let elsewhere = temp_dir();
        let other = State::open(&StateUrl::in_folder(elsewhere.path())).await.unwrap();
        let new = NewKey { kind, label: String::new(), expires_at: None };
        let (_, unknown) = other.issue(new, now()).await.unwrap();
        let other_kind = if kind == KeyKind::Bridge { KeyKind::Session } else { KeyKind::Bridge };
        let wrong_header = gated.issue(other_kind, None).await;
        for (secret, says) in [
            (&expired, "has an expired"),
            (&revoked, "has a revoked"),
            (&unknown, "that this server issued"),
            (&wrong_header, "; send it "),
        ] {
            let name = shown(&expired).0;
            let value = shown(&expired).1.replace(expired.expose(), secret.expose());
            assert_problem(&with(&gated.router, &gated.later(), name, &value).await, 402, "wallet_session_required");
            let reply = with(&gated.router, &gated.path, name, &value).await;
            assert_eq!(reply.status, 200);
            let [(code, message)] = &ignored(&reply)[..] else { panic!("{}", reply.text) };
            let expected = if kind == KeyKind::Bridge { "api_key_ignored" } else { "authorization_ignored" };
            assert!(code == expected && message.contains(says), "{code} {message}");
            assert!(!reply.text.contains(secret.expose()));
        }
        // A good one beside a bad one is good.
        let good = gated.issue(other_kind, None).await;
        let (bad, good) = (shown(&expired), shown(&good));
        let both = request(&gated.later(), &[(bad.0, &bad.1), (good.0, &good.1)]);
        let reply = send(&gated.router, both).await;
        assert_eq!((reply.status, ignored(&reply).len()), (200, 1));
    }
}

#[tokio::test]
async fn a_revocation_works_once_what_is_remembered_has_run_out() {
    let world = &everything_world();
    let gated = Gated::over(world, Duration::from_secs(30)).await;
    let forgetful = router_with(world, gated.state.clone(), Duration::ZERO);
    let session = gated.issue(KeyKind::Session, None).await;
    let (name, value) = shown(&session);
    for router in [&gated.router, &forgetful] {
        assert_eq!(with(router, &gated.later(), name, &value).await.status, 200);
    }
    gated.state.revoke(session.id(), now()).await.unwrap();
    assert_eq!(with(&gated.router, &gated.later(), name, &value).await.status, 200, "remembered");
    assert_problem(&with(&forgetful, &gated.later(), name, &value).await, 402, "wallet_session_required");
    assert!(ignored(&with(&forgetful, &gated.path, name, &value).await)[0].1.contains("has a revoked"));
    assert_eq!(HttpConfig::default().session_cache, Duration::from_secs(30), "what the pages and documents say");
}

#[tokio::test]
async fn a_database_that_is_away_fails_no_request() {
    let world = &everything_world();
    let gated = Gated::over(world, Duration::from_secs(30)).await;
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let away = State::of(&StateUrl::from_str(&format!("postgres://x:y@127.0.0.1:{port}/z")).unwrap());
    let router = router_with(world, away, Duration::from_secs(30));
    let session = gated.issue(KeyKind::Session, None).await;
    let (name, value) = shown(&session);
    let first = with(&router, &gated.path, name, &value).await;
    assert_eq!(first.status, 200);
    assert!(ignored(&first)[0].1.contains("cannot be checked at present"));
    // Those that follow do not wait for it.
    let started = Instant::now();
    assert_problem(&with(&router, &gated.later(), name, &value).await, 402, "wallet_session_required");
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn the_gate_names_pages_that_exist() {
    let world = &everything_world();
    let gated = Gated::over(world, Duration::ZERO).await;
    let refused = get(&gated.router, &gated.later()).await;
    assert_problem(&refused, 402, "wallet_session_required");
    let requirements: Value = serde_json::from_str(refused.header("payment-required")).unwrap();
    assert_eq!(requirements["plan_id"], "wallet-monthly");
    let health = get(&gated.router, "/api/health").await;
    for url in [
        &refused.body["checkout_page_url"],
        &refused.body["getting_started_url"],
        &refused.body["payment_required"]["checkout_url"],
        &health.body["checkout_page_url"],
    ] {
        let path = url.as_str().unwrap().strip_prefix("http://cairn.test").unwrap();
        let page = get(&gated.router, path).await;
        assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"), "{url}");
        assert!(page.text.starts_with("<!doctype html>") && page.text.contains("paused"));
        let head = send(&gated.router, Request::head(path).body(Body::empty()).unwrap()).await;
        assert_eq!((head.status, head.text.as_str()), (200, ""));
        let post = send(&gated.router, Request::post(path).body(Body::empty()).unwrap()).await;
        assert_problem(&post, 405, "method_not_allowed");
        // Every page that it links to on this server exists.
        for link in page.text.split("href=\"").skip(1) {
            let link = link.split('"').next().unwrap();
            if link == "#content" || OF_THE_PAGES.contains(&link) {
                continue;
            }
            assert_eq!(get(&gated.router, link).await.status, 200, "{link}");
        }
    }
}

#[tokio::test]
async fn browsers_may_present_sessions_from_other_places() {
    let world = &everything_world();
    let gated = Gated::over(world, Duration::ZERO).await;
    let preflight = Request::options(gated.later())
        .header("origin", "https://elsewhere.example")
        .header("access-control-request-method", "GET")
        .header("access-control-request-headers", "authorization, x-wr-api-key");
    let reply = send(&gated.router, preflight.body(Body::empty()).unwrap()).await;
    assert_eq!(reply.status, 204);
    // A star would not cover Authorization.
    assert_eq!(reply.header("access-control-allow-headers"), "authorization, x-wr-api-key");
    assert_eq!(reply.header("access-control-allow-credentials"), "", "no cookies");
}
