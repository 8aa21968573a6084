//! The router: every operation's route, the discovery documents, and what surrounds them.

use std::{collections::BTreeMap, future::Future, io, sync::Arc};

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderValue, Method, header},
    middleware::from_fn_with_state,
    response::{Html, IntoResponse, Response},
    routing::any,
};
use cairn_link::IndexSource;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tower_http::{
    CompressionLevel,
    catch_panic::CatchPanicLayer,
    compression::{
        CompressionLayer, Predicate,
        predicate::{NotForContentType, SizeAbove},
    },
    cors::{AllowHeaders, Any, CorsLayer},
};

use crate::{
    admission::Admission,
    budget::Budgets,
    config::ApiConfig,
    connections,
    dispatch::{ROWS_READ, dispatch},
    document::read_only,
    documents,
    error::{ApiError, not_allowed},
    gate,
    inside::Api,
    landing,
    metrics::Metrics,
    middleware, nearest,
    node::NodeAccess,
    operation::Registered,
    pages,
    planned::{PLANNED, Planned, not_implemented},
    routes,
    session::Sessions,
    shared::Shared,
    shell,
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
    /// The service state: who has a session or a key. `None`: nobody.
    pub state: Option<cairn_state::State>,
    /// Counts of answers; keep a clone to read them.
    pub metrics: Arc<Metrics>,
}

impl ApiState {
    /// With fresh counters, without a node and without service state.
    #[must_use]
    pub fn new(index: Arc<dyn IndexSource>, config: ApiConfig) -> Self {
        ApiState { index, config, node: None, state: None, metrics: Arc::default() }
    }
}

impl Shared {
    fn new(state: ApiState, operations: Vec<Registered>) -> Self {
        state.metrics.prepare(&operations);
        let documents = documents::documents(&operations, &state.config);
        let mut state_version = [0u8; 16];
        let digest = Sha256::digest(format!("{:?}", state.config).as_bytes());
        state_version.copy_from_slice(&digest[..16]);
        Shared {
            index: state.index,
            sessions: Sessions::of(state.state, state.config.session_cache),
            admission: Admission::new(
                state.config.max_concurrent_reads,
                state.config.max_queued_requests,
                Arc::clone(&state.metrics.queued),
            ),
            budgets: Budgets::new(state.config.rate_limit),
            config: state.config,
            node: state.node,
            metrics: state.metrics,
            operations,
            state_version,
            documents,
        }
    }
}

/// The router of the API.
pub fn router(state: ApiState) -> Router {
    with_operations(state, routes::operations())
}

/// The router of the API with further routes, which are surrounded by the same layers (request ids, limits, CORS, bodies
/// of errors) and may call the API. They have no fallback, and no path of the API is among them.
pub fn router_with(state: ApiState, more: impl FnOnce(&Api) -> Router) -> Router {
    with_more(&Arc::new(Shared::new(state, routes::operations())), more)
}

fn with_more(shared: &Arc<Shared>, more: impl FnOnce(&Api) -> Router) -> Router {
    let own = routes_of(shared);
    let more = more(&Api { router: surround(own.clone(), shared), shared: Arc::clone(shared) });
    surround(own.merge(more.with_state(())), shared)
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
    router
        .merge(documents::routes(&shared.documents))
        .route("/", any(landing_page))
        .merge(pages::routes())
        .fallback(unknown_route)
}

/// Bodies of fewer bytes travel in a packet or two anyway.
const COMPRESS_ABOVE: u64 = 1024;

/// What surrounds every route.
fn surround(routes: Router<Arc<Shared>>, shared: &Arc<Shared>) -> Router {
    let cors = CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::GET, Method::HEAD, Method::POST, Method::OPTIONS])
        // A star would not cover Authorization.
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([
            middleware::REQUEST_ID,
            middleware::RATE_LIMIT,
            middleware::RATE_LIMIT_POLICY,
            ROWS_READ,
            header::ETAG,
            header::RETRY_AFTER,
            header::ALLOW,
            header::LINK,
            gate::PAYMENT_REQUIRED,
        ]);
    // Pictures are compressed already, and a stream of events must not wait for more of them.
    let worth_it = SizeAbove::new(COMPRESS_ABOVE)
        .and(NotForContentType::IMAGES)
        .and(NotForContentType::SSE)
        .and(NotForContentType::const_new("application/octet-stream"));
    let compression = CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(worth_it);
    routes
        .layer(CatchPanicLayer::custom(middleware::panicked))
        .layer(compression)
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

async fn landing_page(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    read_only(&request, || {
        let policy = [(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(shell::POLICY))];
        (policy, Html(landing::page(&shared.operations, &shared.config))).into_response()
    })
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
        "reference": format!("{base}/api/reference/"), "capabilities": format!("{base}/v1/capabilities"),
        "llms": format!("{base}/llms.txt"), "start": format!("{base}/")});
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
    let shared = Arc::new(Shared::new(state, routes::operations()));
    let refusing = |limit| {
        let refuse = move || async move { connections::refused(limit) };
        surround(Router::new().fallback(refuse), &shared)
    };
    connections::serve(listener, with_more(&shared, more), refusing, Arc::clone(&shared), shutdown).await
}

#[cfg(test)]
mod tests;
