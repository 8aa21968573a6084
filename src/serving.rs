//! Serving the API until asked to stop.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use cairn_http::{ApiConfig, ApiState, Featured, IndexSource, NodeAccess};

use crate::{
    config::Http,
    exit::{Exit, Failure},
    stop::Stop,
};

/// Requests that run have this long to finish after the stop.
const DRAIN: Duration = Duration::from_secs(3);

/// A listener and what is known of it.
pub(crate) struct Server {
    listener: TcpListener,
    config: ApiConfig,
    node: Option<Arc<dyn NodeAccess>>,
}

/// Addresses to begin with.
#[derive(Clone, Default)]
pub(crate) struct Examples {
    /// Exempt from conditional limits, beside the configured ones.
    pub(crate) showcase: Vec<String>,
    /// Shown on the first page.
    pub(crate) featured: Vec<Featured>,
}

impl Server {
    /// Takes the address; nothing is answered yet.
    ///
    /// # Errors
    /// The address is taken or not allowed.
    pub(crate) fn bind(http: &Http, examples: Examples, node: Option<Arc<dyn NodeAccess>>) -> Result<Self, Failure> {
        let address = http.listen;
        let failed = |error: std::io::Error| {
            let failure = Failure::new(Exit::Listen, format!("cannot listen on {address}: {error}"));
            failure.hint("--listen takes another address; port 0 takes a free one")
        };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let local = listener.local_addr().map_err(failed)?;
        let base_url = match &http.base_url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => format!("http://{}", reachable(local)),
        };
        let showcase_addresses = [http.showcase_addresses.clone(), examples.showcase].concat();
        let config = ApiConfig {
            base_url,
            showcase_addresses,
            featured: examples.featured,
            gates_enabled: http.gates,
            max_lag_blocks: http.max_lag_blocks,
            request_timeout: Duration::from_secs(http.request_timeout),
            max_concurrent_reads: usize::from(http.max_concurrent_reads),
            ..ApiConfig::default()
        };
        if !local.ip().is_loopback() {
            tracing::warn!(address = %local, "listening beyond this machine");
        }
        Ok(Server { listener, config, node })
    }

    /// Where clients reach it.
    pub(crate) fn url(&self) -> &str {
        &self.config.base_url
    }

    /// Answers requests until asked to stop, or until `over` completes.
    ///
    /// # Errors
    /// The listener or the runtime fails.
    pub(crate) fn serve(
        self,
        index: Arc<dyn IndexSource>,
        stop: &Stop,
        over: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("http").build()?;
        let requested = stop.clone().requested();
        let result = runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            tracing::info!(url = self.config.base_url, "serving");
            let state = ApiState { node: self.node, ..ApiState::new(index, self.config) };
            let (ending, ended) = tokio::sync::oneshot::channel::<()>();
            let shutdown = async move {
                tokio::select! {
                    () = requested => {},
                    () = over => {},
                }
                // The other side is gone only if serving has ended by itself.
                let _ = ending.send(());
            };
            let drained = async {
                let _ = ended.await;
                tokio::time::sleep(DRAIN).await;
            };
            tokio::select! {
                result = cairn_http::serve(listener, state, shutdown) => result,
                () = drained => {
                    tracing::warn!("some requests did not finish in time");
                    Ok(())
                }
            }
        });
        // Reads that hang must not hold up the end.
        runtime.shutdown_background();
        result.map_err(Failure::from)
    }
}

/// The address to reach a listener by from this machine.
fn reachable(local: SocketAddr) -> SocketAddr {
    let mut address = local;
    if local.ip().is_unspecified() {
        address.set_ip(if local.is_ipv4() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { IpAddr::V6(Ipv6Addr::LOCALHOST) });
    }
    address
}

/// The API's description, as a server with the default settings gives it.
///
/// # Errors
/// None that is known; JSON is passed on.
pub(crate) fn openapi() -> Result<String, Failure> {
    let document = cairn_http::openapi_document(&ApiConfig::default());
    let text = serde_json::to_string_pretty(&document).map_err(|e| Failure::new(Exit::Other, e.to_string()))?;
    Ok(text + "\n")
}
