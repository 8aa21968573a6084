//! The operations as a service: router, server and OpenAPI document.

use std::{fmt, future::Future, io, sync::Arc};

use axum::Router;
use cairn_chain::NodeAccess;
use cairn_http::{Api, Dialect, Metrics, OtherInterface, Service, Till};
use cairn_link::IndexSource;
use cairn_reader::Damages;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::{
    about::about,
    backend::ChainBackend,
    base_rates::RateSlot,
    config::ApiConfig,
    feed::FeedMark,
    invoices::InvoiceAccess,
    ledger::LedgerAccess,
    ledger_cache::LedgerSlot,
    pages,
    parameters::FORMATS,
    register::RegisterSlot,
    registry::{AGREED, operations},
    series::SeriesSlot,
    service,
    service::VolumeSlot,
    timestamps::calendar::Calendar,
    troubles::TroubleSlot,
    young::YoungSlot,
};

/// The state of the API.
#[derive(Clone)]
pub struct ApiState {
    /// Source of the index for requests.
    pub index: Arc<dyn IndexSource>,
    /// Configuration.
    pub config: ApiConfig,
    /// A node for requests that neither index nor mempool can answer.
    pub node: Option<Arc<dyn NodeAccess>>,
    /// The ledger of the index; `None`: nothing can be handed in.
    pub ledger: Option<Arc<dyn LedgerAccess>>,
    /// The service state: sessions, keys and what users write. `None`: no client has a session or key.
    pub state: Option<cairn_state::State>,
    /// The Lightning node whose invoices pay passes; `None`: passes are not sold over Lightning.
    pub invoices: Option<Arc<dyn InvoiceAccess>>,
    /// Sell single calls, each by its protocol; empty: calls are not sold one by one.
    pub tills: Vec<Arc<dyn Till>>,
    /// Metrics of requests; keep a clone to read them.
    pub metrics: Arc<Metrics>,
    /// Damage that was found; a scrubber adds to it.
    pub damages: Arc<Damages>,
    /// Parts of this process that do not work.
    pub troubles: Arc<TroubleSlot>,
}

impl fmt::Debug for ApiState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiState").field("config", &self.config).finish_non_exhaustive()
    }
}

impl ApiState {
    /// With new metrics, without a node and without service state.
    #[must_use]
    pub fn new(index: Arc<dyn IndexSource>, config: ApiConfig) -> Self {
        ApiState {
            index,
            config,
            node: None,
            ledger: None,
            state: None,
            invoices: None,
            tills: Vec::new(),
            metrics: Arc::default(),
            damages: Arc::default(),
            troubles: Arc::default(),
        }
    }

    /// The service of these operations.
    #[must_use]
    pub fn into_service(self) -> Service {
        let ApiState { index, config, node, ledger, state, invoices, tills, metrics, damages, troubles } = self;
        let (registered, runners): (Vec<_>, Vec<_>) =
            operations().into_iter().map(|line| (line.registered, line.runner)).unzip();
        let chain = config.chain();
        Service {
            configured: format!("{chain:?}"),
            about: about(&config),
            pages: pages::all(&registered, &config),
            operations: registered,
            agreed: AGREED.clone(),
            precomputed: service::dashboard::PARTS.to_vec(),
            backend: Arc::new(ChainBackend {
                index,
                config: chain,
                node,
                ledger,
                invoices,
                damages,
                troubles,
                series: SeriesSlot::default(),
                register: RegisterSlot::default(),
                pool_tags: LedgerSlot::default(),
                profiles: LedgerSlot::default(),
                volume: VolumeSlot::default(),
                rates: RateSlot::default(),
                young: YoungSlot::default(),
                mark: FeedMark::default(),
                runners,
            }),
            formats: FORMATS,
            state,
            tills,
            clock: cairn_clock::now_ms,
            metrics,
            config: config.http,
        }
    }
}

/// The router of the API.
pub fn router(state: ApiState) -> Router {
    router_with(state, |_| Router::new())
}

/// The router of the API with further routes: see [`cairn_http::router_with`].
pub fn router_with(state: ApiState, more: impl FnOnce(&Api) -> Router) -> Router {
    let calendar = Calendar::new(&state.config.timestamps, state.state.as_ref(), &state.index);
    cairn_http::router_with(state.into_service(), |api| with_own_routes(calendar, api, more))
}

/// The router of another interface with the limits of the API: see [`cairn_http::other_router`].
pub fn other_router(state: ApiState, other: impl FnOnce(&Api) -> (Router, Dialect)) -> Router {
    cairn_http::other_router(state.into_service(), other)
}

/// `/metrics`, `/livez` and `/readyz` for the API of this state.
pub fn admin_router(state: &ApiState) -> Router {
    cairn_http::admin_router(&state.clone().into_service())
}

/// Serves the API with further routes (see [`router_with`]) until `shutdown` resolves.
pub async fn serve<F>(
    listener: TcpListener,
    state: ApiState,
    more: impl FnOnce(&Api) -> Router,
    shutdown: F,
) -> io::Result<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    serve_all(listener, state, more, |_| Vec::new(), shutdown).await
}

/// As [`serve`]; serves other interfaces, too.
pub async fn serve_all<F>(
    listener: TcpListener,
    state: ApiState,
    more: impl FnOnce(&Api) -> Router,
    others: impl FnOnce(&Api) -> Vec<OtherInterface>,
    shutdown: F,
) -> io::Result<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    let calendar = Calendar::new(&state.config.timestamps, state.state.as_ref(), &state.index);
    let more = |api: &Api| with_own_routes(calendar, api, more);
    cairn_http::serve_all(listener, state.into_service(), more, others, shutdown).await
}

/// Adds the routes of the calendar and of the checkout's forms to further ones.
fn with_own_routes(calendar: Option<Calendar>, api: &Api, more: impl FnOnce(&Api) -> Router) -> Router {
    let routes = calendar.map_or_else(Router::new, |calendar| calendar.routes(api));
    routes.merge(pages::checkout::routes(api)).merge(more(api))
}

/// The OpenAPI 3.1.0 document that `/openapi.json` serves under this configuration.
#[must_use]
pub fn openapi_document(config: &ApiConfig) -> Value {
    ApiState::new(Arc::new(cairn_link::IndexSlot::new()), config.clone()).into_service().openapi()
}
