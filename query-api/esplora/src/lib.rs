//! The HTTP API of Esplora: the routes of Blockstream's electrs and of mempool.space's `/api`, at the root of a
//! listener of their own and below `/api`. Where both differ, `docs/esplora.md` states which form is served.
//!
//! A route is a function of the pinned chain ([`cairn_chain::Pinned`]) that is registered in [`routes`]. All take part
//! in the limits, places and time-outs of the API ([`cairn_http::Api::work`]).

mod additions;
mod answer;
mod block_extras;
mod block_json;
mod blocks;
mod caches;
mod fees;
mod internal;
mod mempool;
mod named;
mod outspends;
mod overview;
mod params;
mod proofs;
mod script_text;
mod scripts;
mod send;
mod state;
mod status;
mod summary;
mod tx_json;
mod txs;
mod utxos;
mod watch;
mod watch_changes;
mod watch_data;
mod watch_message;
mod watch_news;
mod watchers;
mod websocket;

use axum::{
    Router,
    extract::{OriginalUri, Request},
    http::{HeaderValue, Method, StatusCode, header},
    middleware::{Next, from_fn},
    response::{IntoResponse, Response},
};
use cairn_chain::Chain;
use cairn_http::{Api, Dialect};

use answer::Refusal;
use state::Esplora;

/// How Esplora's API writes errors: as a line of text.
pub const DIALECT: Dialect = Dialect { error: answer::of_api };

/// The routes, at the root and below `/api`.
pub fn routes(api: &Api, chain: Chain) -> Router {
    at_both(public(), Esplora::new(api.clone(), chain))
}

/// The same routes, and those that mempool.space's backend asks of its electrs (`/internal/…`): for a listener that
/// only the operator reaches.
pub fn internal_routes(api: &Api, chain: Chain) -> Router {
    at_both(public().merge(internal::routes()), Esplora::new(api.clone(), chain))
}

fn public() -> Router<Esplora> {
    let routes = blocks::routes().merge(txs::routes()).merge(scripts::routes()).merge(mempool::routes());
    let routes = routes.merge(fees::routes()).merge(send::routes()).merge(summary::routes());
    routes.merge(block_extras::routes()).merge(additions::routes()).merge(websocket::routes())
}

fn at_both(routes: Router<Esplora>, state: Esplora) -> Router {
    let routes = Router::new().merge(routes.clone()).nest("/api", routes).fallback(unknown).with_state(state);
    routes.layer(from_fn(preflight))
}

/// Answers a browser that asks beforehand if a page of another site may send a request: it may.
async fn preflight(request: Request, next: Next) -> Response {
    if request.method() != Method::OPTIONS {
        return next.run(request).await;
    }
    let methods = HeaderValue::from_static("GET, HEAD, POST, OPTIONS");
    let asked = request.headers().get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.extend([(header::ALLOW, methods.clone()), (header::ACCESS_CONTROL_ALLOW_METHODS, methods)]);
    headers.extend(asked.map(|asked| (header::ACCESS_CONTROL_ALLOW_HEADERS, asked)));
    headers.insert(header::VARY, HeaderValue::from_static("access-control-request-headers"));
    response
}

async fn unknown(OriginalUri(uri): OriginalUri) -> Refusal {
    Refusal::not_found(format!("endpoint does not exist {:?}", uri.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A router panics as it is made if two routes have the same path.
    #[test]
    fn routes_do_not_overlap() {
        let routes = public().merge(internal::routes());
        let both = Router::<Esplora>::new().merge(routes.clone()).nest("/api", routes);
        assert!(both.has_routes());
    }
}
