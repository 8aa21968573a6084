//! Serves the API until cancelled.

use std::{net::TcpListener, path::Path, sync::Arc, time::Duration};

use cairn_chain::Chain;
use cairn_http::{Api, CheckoutPause, HttpConfig, Metrics, Till};
use cairn_link::IndexSource;
use cairn_model::{CancelToken, Network};
use cairn_operations::{ApiConfig, ApiState, Featured, LedgerAccess, NodeAccess, TimestampConfig, TroubleSlot};
use cairn_payments::PaymentDescriptor;
use cairn_reader::Damages;
use cairn_state::StateUrl;
use cairn_web::Story;
use prometheus::Registry;
use tokio::runtime::Handle;

use crate::{
    checkouts::CheckoutWatch,
    config::{Access, Http, Traces, payment_mark},
    counted::{count_passes, count_reports, count_sales},
    exit::{Exit, Failure},
    inbox::Inbox,
    lightning,
    listening::{listen, reachable},
    old_sales::remove_old_sales,
    other_listeners::OtherListeners,
    service,
    traces::Exporter,
    x402,
};

/// Time for running requests to finish after a stop.
const DRAIN: Duration = Duration::from_secs(3);

/// Time for their threads to finish after that. Both times, and that for the last traces, are together shorter than the
/// time that a signal allows.
const LAST: Duration = Duration::from_millis(500);

/// A listener and the configuration of its API.
pub(crate) struct Server {
    listener: TcpListener,
    admin: Option<TcpListener>,
    others: OtherListeners,
    config: ApiConfig,
    pages: cairn_web::Options,
    access: Access,
    node: Option<Arc<dyn NodeAccess>>,
    ledger: Option<Arc<dyn LedgerAccess>>,
    state: Option<StateUrl>,
    registry: Registry,
    traces: Traces,
    damages: Arc<Damages>,
    troubles: Arc<TroubleSlot>,
}

/// Bitcoin addresses for examples.
#[derive(Clone, Default)]
pub(crate) struct Examples {
    /// Exempt from conditional limits, in addition to the configured addresses.
    pub(crate) showcase: Vec<String>,
    /// Shown on the start page.
    pub(crate) featured: Vec<Featured>,
}

impl Server {
    /// Binds the address. Does not answer requests yet.
    ///
    /// # Errors
    /// Fails if the address is in use or not permitted.
    pub(crate) fn bind(http: &Http, examples: Examples, node: Option<Arc<dyn NodeAccess>>) -> Result<Self, Failure> {
        let listener = listen(http.listen, "--listen")?;
        let admin = http.admin.admin_listen.map(|address| listen(address, "--admin-listen")).transpose()?;
        let others = OtherListeners::bind(&http.protocols)?;
        let local = listener.local_addr()?;
        let base_url = match &http.base_url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => format!("http://{}", reachable(local)),
        };
        if http.browser_origins.iter().any(|origin| origin == "*")
            && http.base_url.is_none()
            && local.ip().is_loopback()
        {
            return Err(Failure::usage("--browser-origins * lets every web page use this server, which is not public")
                .hint("name the origins, for example --browser-origins https://app.example, or set --base-url to its public URL"));
        }
        let showcase_addresses = [http.showcase_addresses.clone(), examples.showcase].concat();
        let http_config = HttpConfig {
            base_url,
            access_mode: http.access.mode(),
            lightning: http.access.sold_over(),
            x402: http.access.x402.gate(),
            gates_enabled: http.gates,
            private_tools: http.private_tools,
            browser_origins: http.browser_origins.clone(),
            request_timeout: Duration::from_secs(http.request_timeout),
            max_concurrent_reads: usize::from(http.max_concurrent_reads),
            max_queued_requests: usize::from(http.max_queued_requests),
            max_connections: usize::try_from(http.limits.max_connections).unwrap_or(usize::MAX),
            max_connections_per_client: usize::try_from(http.limits.max_connections_per_client).unwrap_or(usize::MAX),
            max_streams: usize::try_from(http.limits.max_streams).unwrap_or(usize::MAX),
            max_streams_per_client: usize::try_from(http.limits.max_streams_per_client).unwrap_or(usize::MAX),
            rate_limit: http.limits.rate_limit,
            trusted_proxies: http.limits.trusted_proxies.clone(),
            forwarded_header: http.limits.forwarded_header.into(),
            slow_request: (http.slow_request_ms > 0).then(|| Duration::from_millis(http.slow_request_ms.into())),
            mcp_versions: cairn_mcp::protocol_versions(),
            ..HttpConfig::default()
        };
        http.access.check(None)?;
        let config = ApiConfig {
            http: http_config,
            showcase_addresses,
            featured: examples.featured,
            max_lag_blocks: http.max_lag_blocks,
            sanctions: http.sanctions.config(),
            evidence: http.evidence.config()?,
            payments: http.payments.config(None)?,
            timestamps: http.timestamps.config(),
            network: None,
        };
        if !local.ip().is_loopback() {
            tracing::warn!(address = %local, "listening on an address that other machines can reach");
        }
        let (registry, damages, troubles) = (Registry::new(), Arc::default(), Arc::default());
        let access = http.access.clone();
        let stories = config.featured.iter().cloned();
        let stories = stories.map(|Featured { title, description, address, account_key }| Story {
            title,
            description,
            address,
            account_key,
        });
        let pages = cairn_web::Options { stories: stories.collect(), for_search_engines: http.search_engines };
        Ok(Server {
            listener,
            admin,
            others,
            config,
            pages,
            access,
            node,
            ledger: None,
            state: None,
            registry,
            traces: http.traces.clone(),
            damages,
            troubles,
        })
    }

    /// Sets the network of the index, for examples.
    pub(crate) fn with_network(self, network: Option<Network>) -> Self {
        Server { config: ApiConfig { network, ..self.config }, ..self }
    }

    /// Sets the service state. Without one, no client has a session.
    pub(crate) fn with_state(self, url: StateUrl) -> Self {
        Server { state: Some(url), ..self }
    }

    /// Remembers the next payment address in this data folder.
    pub(crate) fn with_payment_mark(mut self, datadir: &Path) -> Self {
        self.config.payments.mark = Some(payment_mark(datadir));
        self
    }

    /// Takes payments to the addresses of this descriptor, unless another one is configured.
    pub(crate) fn with_payments(mut self, descriptor: PaymentDescriptor) -> Self {
        self.config.payments.descriptor.get_or_insert_with(|| Arc::new(descriptor));
        self
    }

    /// Names this server in pending proofs, unless another calendar is configured.
    pub(crate) fn with_own_calendar(mut self) -> Self {
        let url = Some(self.config.http.base_url.clone()).filter(|url| TimestampConfig::is_calendar_url(url));
        let timestamps = &mut self.config.timestamps;
        timestamps.calendar_url = timestamps.calendar_url.take().or(url);
        self
    }

    /// Lets requests add to the ledger through this inbox. Without one, they cannot.
    pub(crate) fn with_ledger(self, inbox: Inbox) -> Self {
        Server { ledger: Some(Arc::new(inbox)), ..self }
    }

    /// Registers the server's metrics in this registry.
    pub(crate) fn with_registry(self, registry: &Registry) -> Self {
        Server { registry: registry.clone(), ..self }
    }

    /// Returns the damages that the server finds.
    pub(crate) fn damages(&self) -> Arc<Damages> {
        Arc::clone(&self.damages)
    }

    /// Returns the URL for clients.
    pub(crate) fn url(&self) -> &str {
        &self.config.http.base_url
    }

    /// Answers requests until cancelled.
    pub(crate) fn serve(mut self, index: Arc<dyn IndexSource>, cancel: &CancelToken) -> Result<(), Failure> {
        self.config.http.pass = self.access.pass(self.config.payments.descriptor.is_some());
        if self.config.http.pass_for_sale() == Err(CheckoutPause::NoMethod) {
            tracing::warn!(
                "passes are not sold: --pass-price-sats is set, and neither --lightning nor --payments-descriptor is"
            );
        }
        let metrics = Arc::new(Metrics::of(self.registry.clone()));
        let exporter = match &self.traces.otlp_endpoint {
            None => None,
            Some(endpoint) => {
                let dropped = Arc::clone(&metrics.dropped_spans);
                let (traces, exporter) = Exporter::start(endpoint, self.traces.otlp_sample, dropped)?;
                self.config.http.traces = Some(traces);
                Some(exporter)
            }
        };
        let runtime = cairn_http::runtime()?;
        let service = self.state.as_ref().map(|url| runtime.block_on(service::open(url))).transpose()?;
        let sales = lightning::sales(&self.access, service.as_ref(), self.config.network, &index);
        let (till, invoices) = runtime.block_on(sales)?.map(|sales| (sales.till, sales.invoices)).unzip();
        let mut tills: Vec<Arc<dyn Till>> = till.into_iter().collect();
        let x402_till = x402::till(&self.access)?;
        tills.extend(x402_till.iter().map(|till| Arc::clone(till) as Arc<dyn Till>));
        let result = runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            tracing::info!(url = self.config.http.base_url, "serving");
            let (node, ledger, damages, troubles) = (self.node, self.ledger, self.damages, self.troubles);
            if let Some(state) = service.clone() {
                // All end with the runtime.
                if self.config.payments.descriptor.is_some() {
                    count_reports(&self.registry, state.clone());
                }
                if self.config.http.pass.is_some() {
                    count_passes(&self.registry, state.clone());
                }
                tokio::spawn(remove_old_sales(state.clone()));
                if !tills.is_empty() {
                    count_sales(&self.registry, state.clone());
                }
                if let Some(till) = x402_till {
                    x402::introduce(Arc::clone(&till), self.access.x402.gate(), &Handle::current());
                    tokio::spawn(x402::reconcile(till, state.clone()));
                }
                tokio::spawn(CheckoutWatch::new(state.clone(), Arc::clone(&index), invoices.clone()).follow());
                tokio::spawn(service::watch(state, Arc::clone(&troubles)));
            }
            let api = ApiState::new(index, self.config);
            let state = ApiState { node, ledger, state: service, invoices, tills, metrics, damages, troubles, ..api };
            if let Some(admin) = self.admin {
                let admin = tokio::net::TcpListener::from_std(admin)?;
                tracing::info!(address = %admin.local_addr()?, "serving operators");
                // It ends with the runtime, so that operators can watch requests drain.
                tokio::spawn(cairn_http::serve_admin(
                    admin,
                    cairn_operations::admin_router(&state),
                    std::future::pending(),
                ));
            }
            // Streams do not end by themselves.
            let options = cairn_mcp::Options { stop: cancel.clone(), ..cairn_mcp::Options::default() };
            let pages = self.pages;
            let more =
                |api: &Api| cairn_mcp::routes(api, options).merge(cairn_web::routes(Arc::new(api.clone()), pages));
            let others = self.others.open()?;
            let chain = Chain::new(Arc::clone(&state.index), state.node.clone());
            let others = |api: &Api| others.serve(api, chain, cancel);
            let shutdown = cancel.cancelled();
            let drained = async {
                cancel.cancelled().await;
                tokio::time::sleep(DRAIN).await;
            };
            tokio::select! {
                result = cairn_operations::serve_all(listener, state, more, others, shutdown) => result,
                () = drained => {
                    tracing::warn!("some requests did not finish in time");
                    Ok(())
                }
            }
        });
        // Threads that read the index end before the index is closed, but reads that hang must not delay the exit.
        runtime.shutdown_timeout(LAST);
        if let Some(exporter) = exporter {
            exporter.finish();
        }
        result.map_err(Failure::from)
    }
}

/// Returns the OpenAPI document of a server with default settings.
pub(crate) fn openapi() -> Result<String, Failure> {
    let document = cairn_operations::openapi_document(&ApiConfig::default());
    let text = serde_json::to_string_pretty(&document).map_err(|e| Failure::new(Exit::Other, e.to_string()))?;
    Ok(text + "\n")
}
