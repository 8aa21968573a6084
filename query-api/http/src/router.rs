//! The router: every operation's route, the discovery documents, and what surrounds them.

use std::{
    collections::BTreeMap,
    future::Future,
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderValue, Method, StatusCode, header},
    middleware::from_fn_with_state,
    response::{Html, IntoResponse, Response},
    routing::any,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::{net::TcpListener, sync::Semaphore};
use tower_http::{
    catch_panic::CatchPanicLayer,
    cors::{Any, CorsLayer},
};

use crate::{
    config::ApiConfig,
    dispatch::{ROWS_READ, dispatch, matches, set_validators},
    error::ApiError,
    index::IndexSource,
    inside::Api,
    landing, middleware, nearest,
    node::NodeAccess,
    openapi,
    operation::Registered,
    planned::{PLANNED, Planned, not_implemented},
    routes,
};

/// What the API works with.
#[derive(Clone)]
pub struct ApiState {
    /// Where requests get the index from.
    pub index: Arc<dyn IndexSource>,
    /// Configuration.
    pub config: ApiConfig,
    /// A node to ask what neither index nor mempool can answer.
    pub node: Option<Arc<dyn NodeAccess>>,
    /// Counts of answers; keep a clone to read them.
    pub counters: Arc<Counters>,
}

impl ApiState {
    /// State with fresh counters, without a node.
    #[must_use]
    pub fn new(index: Arc<dyn IndexSource>, config: ApiConfig) -> Self {
        ApiState { index, config, node: None, counters: Arc::default() }
    }
}

/// How many answers were given since the start.
#[derive(Debug, Default)]
pub struct Counters {
    all: AtomicU64,
    client_errors: AtomicU64,
    server_errors: AtomicU64,
}

impl Counters {
    /// All answers.
    #[must_use]
    pub fn answers(&self) -> u64 {
        self.all.load(Ordering::Relaxed)
    }

    /// Answers with a status of 400 to 499.
    #[must_use]
    pub fn client_errors(&self) -> u64 {
        self.client_errors.load(Ordering::Relaxed)
    }

    /// Answers with a status of 500 and more.
    #[must_use]
    pub fn server_errors(&self) -> u64 {
        self.server_errors.load(Ordering::Relaxed)
    }

    pub(crate) fn count(&self, status: StatusCode) {
        self.all.fetch_add(1, Ordering::Relaxed);
        if status.is_client_error() {
            self.client_errors.fetch_add(1, Ordering::Relaxed);
        } else if status.is_server_error() {
            self.server_errors.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// What all requests share.
pub(crate) struct Shared {
    pub(crate) index: Arc<dyn IndexSource>,
    pub(crate) config: ApiConfig,
    pub(crate) node: Option<Arc<dyn NodeAccess>>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) operations: Vec<Registered>,
    pub(crate) permits: Arc<Semaphore>,
    /// Version of the configuration, as far as answers show it.
    pub(crate) state_version: [u8; 16],
    openapi: (String, String),
}

impl Shared {
    fn new(state: ApiState, operations: Vec<Registered>) -> Self {
        let openapi = openapi::of(&operations, &state.config).to_string();
        let openapi_etag = tag(openapi.as_bytes());
        let mut state_version = [0u8; 16];
        let digest = Sha256::digest(format!("{:?}", state.config).as_bytes());
        state_version.copy_from_slice(&digest[..16]);
        Shared {
            index: state.index,
            permits: Arc::new(Semaphore::new(state.config.max_concurrent_reads.max(1))),
            config: state.config,
            node: state.node,
            counters: state.counters,
            operations,
            state_version,
            openapi: (openapi, openapi_etag),
        }
    }
}

fn tag(bytes: &[u8]) -> String {
    format!("\"{}\"", hex::encode(&Sha256::digest(bytes)[..16]))
}

/// The router of the API.
pub fn router(state: ApiState) -> Router {
    with_operations(state, routes::operations())
}

/// The router of the API with further routes, which are surrounded by the same layers (request ids, limits, CORS, bodies
/// of errors) and may call the API. They have no fallback, and no path of the API is among them.
pub fn router_with(state: ApiState, more: impl FnOnce(&Api) -> Router) -> Router {
    let shared = Arc::new(Shared::new(state, routes::operations()));
    let own = routes_of(&shared);
    let more = more(&Api { router: surround(own.clone(), &shared), shared: Arc::clone(&shared) });
    surround(own.merge(more.with_state(())), &shared)
}

/// A router of these operations.
pub(crate) fn with_operations(state: ApiState, operations: Vec<Registered>) -> Router {
    let shared = Arc::new(Shared::new(state, operations));
    surround(routes_of(&shared), &shared)
}

/// The routes of the API, without what surrounds them.
fn routes_of(shared: &Arc<Shared>) -> Router<Arc<Shared>> {
    let mut by_path: BTreeMap<&'static str, Vec<(&'static str, Target)>> = BTreeMap::new();
    for (at, op) in shared.operations.iter().enumerate() {
        by_path.entry(op.info.path).or_default().push((op.info.method.name(), Target::Operation(at)));
    }
    for planned in PLANNED {
        by_path.entry(planned.path).or_default().push((planned.method.name(), Target::Planned(planned)));
    }
    let mut router = Router::new();
    for (path, methods) in by_path {
        let route = move |State(shared): State<Arc<Shared>>, request: Request| {
            let methods = methods.clone();
            async move {
                match find(&methods, request.method()) {
                    Some(Target::Operation(at)) => dispatch(shared, at, request).await,
                    Some(Target::Planned(planned)) => not_implemented(planned).into_response(),
                    None => not_allowed(methods.iter().map(|(name, _)| *name), request.method()),
                }
            }
        };
        router = router.route(path, any(route));
    }
    router.route("/openapi.json", any(openapi_json)).route("/", any(landing_page)).fallback(unknown_route)
}

/// What surrounds every route.
fn surround(routes: Router<Arc<Shared>>, shared: &Arc<Shared>) -> Router {
    let cors = CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::GET, Method::HEAD, Method::POST, Method::OPTIONS])
        .allow_headers(Any)
        .expose_headers([middleware::REQUEST_ID, ROWS_READ, header::ETAG, header::RETRY_AFTER]);
    routes
        .layer(CatchPanicLayer::custom(middleware::panicked))
        .layer(cors)
        .layer(from_fn_with_state(Arc::clone(shared), middleware::outermost))
        .with_state(Arc::clone(shared))
}

/// What a route leads to.
#[derive(Clone, Copy)]
enum Target {
    /// An operation, by its place in the registry.
    Operation(usize),
    /// One that is not built yet.
    Planned(&'static Planned),
}

fn find(methods: &[(&'static str, Target)], wanted: &Method) -> Option<Target> {
    let wanted = if wanted == Method::HEAD { "GET" } else { wanted.as_str() };
    methods.iter().find(|(name, _)| *name == wanted).map(|(_, at)| *at)
}

fn not_allowed(known: impl Iterator<Item = &'static str>, method: &Method) -> Response {
    let mut known: Vec<&str> = known.collect();
    if known.contains(&"GET") {
        known.push("HEAD");
    }
    known.push("OPTIONS");
    ApiError::method_not_allowed(method, known.join(", ")).into_response()
}

fn is_read(method: &Method) -> bool {
    method == Method::GET || method == Method::HEAD
}

async fn openapi_json(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    if !is_read(request.method()) {
        return not_allowed(["GET"].into_iter(), request.method());
    }
    let (document, etag) = &shared.openapi;
    let asked = request.headers().get(header::IF_NONE_MATCH).and_then(|v| v.to_str().ok());
    let mut response = if asked.is_some_and(|tags| matches(tags, etag)) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let mut response = document.clone().into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    };
    set_validators(response.headers_mut(), etag);
    response
}

async fn landing_page(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    if !is_read(request.method()) {
        return not_allowed(["GET"].into_iter(), request.method());
    }
    let mut response = Html(landing::page(&shared.operations, &shared.config)).into_response();
    let policy = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'");
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}

/// How many routes a wrong path is pointed to.
const SUGGESTIONS: usize = 3;

async fn unknown_route(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let path = request.uri().path();
    let mut near: Vec<(usize, &Registered)> =
        shared.operations.iter().map(|op| (nearest::path_distance(path, op.info.path), op)).collect();
    near.sort_by_key(|(distance, op)| (*distance, op.info.path));
    let suggestions: Vec<Value> = near
        .iter()
        .take(SUGGESTIONS)
        .map(|(_, op)| json!({"method": op.info.method.name(), "path": op.info.path, "summary": op.info.summary}))
        .collect();
    let base = &shared.config.base_url;
    let links = json!({"openapi": format!("{base}/openapi.json"), "health": format!("{base}/api/health"),
        "start": format!("{base}/")});
    ApiError::not_found("route_not_found", "no operation has this path")
        .with("did_you_mean", suggestions)
        .with("links", links)
        .into_response()
}

/// Serves the API, with further routes as [`router_with`] takes them, until `shutdown` resolves; requests that run are
/// finished first.
///
/// # Errors
/// The listener fails.
pub async fn serve<F>(
    listener: TcpListener,
    state: ApiState,
    more: impl FnOnce(&Api) -> Router,
    shutdown: F,
) -> io::Result<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    let service = router_with(state, more).into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, service).with_graceful_shutdown(shutdown).await
}

#[cfg(test)]
mod tests;
