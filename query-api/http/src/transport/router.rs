//! The router: routes of operations and documents, with their layers.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    future::Future,
    io, iter,
    sync::Arc,
};

use axum::{
    Router,
    extract::{Request, State},
    http::{Extensions, HeaderMap, Method, StatusCode, Version},
    middleware::from_fn_with_state,
    response::{IntoResponse, Response},
    routing::any,
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch};
use tower_http::{
    CompressionLevel,
    catch_panic::CatchPanicLayer,
    compression::{
        CompressionLayer, Predicate,
        predicate::{NotForContentType, SizeAbove},
    },
};

use super::{
    connections::{self, Door, permits::ReachedLimit},
    held,
    middleware::{self, Dialect, Surrounded},
    stream,
};
use crate::{
    answers::{
        code::ErrorCode,
        error::{ApiError, not_allowed},
    },
    contract::{nearest, offer::AgreedOperation, operation::RegisteredOperation},
    pages::site,
    requests::{aside, http::dispatch, inside::Api, precompute},
    server::{Server, Service},
};

/// The router of a service.
pub fn router(service: Service) -> Router {
    router_with(service, |_| Router::new())
}

/// The router of a service with further routes. They get the same layers (request ids, limits, CORS, error bodies) and
/// may call the operations. They must not have a fallback or a path of the service.
pub fn router_with(service: Service, more: impl FnOnce(&Api) -> Router) -> Router {
    with_more(&Arc::new(Server::new(service)), more)
}

fn with_more(server: &Arc<Server>, more: impl FnOnce(&Api) -> Router) -> Router {
    let own = routes_of(server);
    let more = more(&api_of(server));
    surround(own.merge(more.with_state(())), server, None)
}

fn api_of(server: &Arc<Server>) -> Api {
    Api { router: surround(routes_of(server), server, None), server: Arc::clone(server) }
}

/// Another interface over HTTP on a listener of its own, which shares limits and connections with the API. Its routes
/// have the same layers, and its errors their own form.
pub struct OtherInterface {
    /// Accepts its connections.
    pub listener: TcpListener,
    /// Its routes, with a fallback.
    pub routes: Router,
    /// Its form of errors.
    pub dialect: Dialect,
}

impl fmt::Debug for OtherInterface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtherInterface").field("listener", &self.listener).finish_non_exhaustive()
    }
}

/// The router of another interface over a service, with its layers and limits: for tests, which need no listener.
pub fn other_router(service: Service, other: impl FnOnce(&Api) -> (Router, Dialect)) -> Router {
    let server = Arc::new(Server::new(service));
    let (routes, dialect) = other(&api_of(&server));
    surround(routes.with_state(()), &server, Some(dialect))
}

/// Target of a route.
#[derive(Clone, Copy)]
enum Target {
    /// An operation, by its index in the list; with this path if the route is an alias.
    Operation(usize, Option<&'static str>),
    /// An operation that is not implemented yet.
    Planned(AgreedOperation),
}

/// The routes of the service, without layers.
fn routes_of(server: &Arc<Server>) -> Router<Arc<Server>> {
    let mut by_path: BTreeMap<&'static str, Vec<(&'static str, Target)>> = BTreeMap::new();
    for (at, op) in server.operations.iter().enumerate() {
        for path in op.paths() {
            let alias = (path != op.info.path).then_some(path);
            by_path.entry(path).or_default().push((op.info.method.name(), Target::Operation(at, alias)));
        }
    }
    for planned in &server.planned {
        by_path.entry(planned.path).or_default().push((planned.method, Target::Planned(*planned)));
    }
    let taken: BTreeSet<String> = server.documents.iter().map(|document| document.path.clone()).collect();
    let mut router = Router::new();
    for (path, methods) in by_path {
        let route = move |State(server): State<Arc<Server>>, request: Request| {
            let methods = methods.clone();
            async move {
                match find(&methods, request.method()) {
                    // Boxed: the layers around it move what they wait for several times.
                    Some(Target::Operation(at, alias)) => {
                        let streamed = server.operations.get(at).and_then(|op| op.info.streamed);
                        let streamed = streamed.filter(|_| stream::is_wanted(request.method(), request.headers()));
                        match streamed {
                            Some(streamed) => Box::pin(stream::open(server, at, streamed, request)).await,
                            None => Box::pin(dispatch(server, at, alias, request)).await,
                        }
                    }
                    Some(Target::Planned(planned)) => not_implemented(&planned).into_response(),
                    None => not_allowed(methods.iter().map(|(name, _)| *name), request.method()),
                }
            }
        };
        router = router.route(path, any(route));
    }
    for (at, document) in server.documents.iter().enumerate() {
        let answer = move |State(server): State<Arc<Server>>, request: Request| async move {
            match server.documents.get(at) {
                Some(document) => document.answer(&request),
                None => ApiError::internal().into_response(),
            }
        };
        router = router.route(&document.path, any(answer));
        let Some(other) = document.other_path().filter(|other| !taken.contains(other)) else { continue };
        let redirect = move |State(server): State<Arc<Server>>, request: Request| async move {
            match server.documents.get(at) {
                Some(document) => document.redirect(&request),
                None => ApiError::internal().into_response(),
            }
        };
        router = router.route(&other, any(redirect));
    }
    for document in site::documents() {
        let (path, document) = (document.path.clone(), Arc::new(document));
        let answer = move |request: Request| {
            let document = Arc::clone(&document);
            async move { document.answer(&request) }
        };
        router = router.route(&path, any(answer));
    }
    router.fallback(unknown_route)
}

/// Smaller bodies are not compressed: they need only a packet or two.
const COMPRESS_ABOVE: u64 = 1024;

/// Adds the layers to all routes.
fn surround(routes: Router<Arc<Server>>, server: &Arc<Server>, dialect: Option<Dialect>) -> Router {
    // Images are already compressed, and an event stream must not be buffered.
    let worth_it = SizeAbove::new(COMPRESS_ABOVE)
        .and(NotForContentType::IMAGES)
        .and(NotForContentType::SSE)
        .and(NotForContentType::const_new("application/octet-stream"))
        .and(|_: StatusCode, _: Version, _: &HeaderMap, of: &Extensions| of.get::<held::Uncompressed>().is_none());
    let compression = CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(worth_it);
    routes
        .layer(CatchPanicLayer::custom(middleware::panicked))
        .layer(from_fn_with_state(Arc::clone(server), held::hold))
        .layer(compression)
        .layer(from_fn_with_state(Surrounded { server: Arc::clone(server), dialect }, middleware::outermost))
        .with_state(Arc::clone(server))
}

fn find(methods: &[(&'static str, Target)], wanted: &Method) -> Option<Target> {
    let wanted = if wanted == Method::HEAD { "GET" } else { wanted.as_str() };
    methods.iter().find(|(name, _)| *name == wanted).map(|(_, at)| *at)
}

/// The answer of operations that are not implemented yet.
fn not_implemented(planned: &AgreedOperation) -> ApiError {
    let detail = format!(
        "{} {} is part of the interface, but this version of the server does not implement it yet",
        planned.method, planned.path
    );
    ApiError::new(ErrorCode::NotImplemented, detail)
}

/// Number of routes suggested for an unknown path.
const SUGGESTIONS: usize = 3;
/// Only the beginning of a path is compared with the routes, which are shorter: the work stays the same for any path.
const COMPARED: usize = 128;

async fn unknown_route(State(server): State<Arc<Server>>, request: Request) -> Response {
    let refused = ApiError::new(ErrorCode::RouteNotFound, "no operation has this path");
    // Nobody reads the body, and the request is free.
    if request.method() == Method::OPTIONS {
        return refused.into_response();
    }
    let path = request.uri().path();
    // Paths are ASCII.
    let path = path.get(..COMPARED).unwrap_or(path);
    let mut near: Vec<(usize, &RegisteredOperation)> =
        server.operations.iter().map(|op| (nearest::path_distance(path, op.info.path), op)).collect();
    near.sort_by_key(|(distance, op)| (*distance, op.info.path));
    let suggestions: Vec<Value> = near
        .iter()
        .take(SUGGESTIONS)
        .map(|(_, op)| json!({"method": op.info.method.name(), "path": op.info.path, "summary": op.info.summary}))
        .collect();
    let base = &server.config.base_url;
    let links: Value =
        server.about.ways.iter().map(|(name, path)| ((*name).to_owned(), json!(format!("{base}{path}")))).collect();
    refused.with("did_you_mean", suggestions).with("links", links).into_response()
}

/// Serves a service with further routes (see [`router_with`]) until `shutdown` resolves. Running requests are finished
/// first.
pub async fn serve<F>(
    listener: TcpListener,
    service: Service,
    more: impl FnOnce(&Api) -> Router,
    shutdown: F,
) -> io::Result<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    serve_all(listener, service, more, |_| Vec::new(), shutdown).await
}

/// As [`serve`]; serves other interfaces, too.
pub async fn serve_all<F>(
    listener: TcpListener,
    service: Service,
    more: impl FnOnce(&Api) -> Router,
    others: impl FnOnce(&Api) -> Vec<OtherInterface>,
    shutdown: F,
) -> io::Result<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    let server = Arc::new(Server::new(service));
    let door = |listener, routes, dialect| {
        let refusing = [ReachedLimit::Server, ReachedLimit::Client].map(|limit| {
            let refuse = move || async move { connections::refused(limit) };
            surround(Router::new().fallback(refuse), &server, dialect)
        });
        Door { listener, router: routes, refusing }
    };
    let others = others(&api_of(&server)).into_iter().map(|OtherInterface { listener, routes, dialect }| {
        door(listener, surround(routes.with_state(()), &server, Some(dialect)), Some(dialect))
    });
    let doors = iter::once(door(listener, with_more(&server, more), None)).chain(others).collect();
    let (go_on, stop) = watch::channel(());
    let finding_out = tokio::spawn(aside::keep(Arc::clone(&server), stop.clone()));
    let precomputing = tokio::spawn(precompute::keep(Arc::clone(&server), stop));
    // Streams would go on for as long as their clients want.
    let ending = Arc::clone(&server);
    let shutdown = async move {
        shutdown.await;
        ending.streams.close();
    };
    let served = connections::serve(doors, Arc::clone(&server), shutdown).await;
    drop(go_on);
    for (task, what) in [(precomputing, "precomputes answers"), (finding_out, "works beside requests")] {
        if let Err(error) = task.await {
            tracing::error!(%error, "what {what} has ended early");
        }
    }
    served
}

#[cfg(test)]
pub(crate) mod tests;
