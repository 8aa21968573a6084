//! Listeners of other protocols, each with what it serves.

use std::{
    io,
    net::{SocketAddr, TcpListener as Bound},
    sync::Arc,
};

use axum::Router;
use cairn_chain::Chain;
use cairn_electrum::{Listeners, Options, Tls};
use cairn_http::{Api, OtherInterface};
use cairn_model::CancelToken;
use signal_hook::consts::SIGUSR1;
use tokio::net::TcpListener;

use crate::{
    config::Protocols,
    exit::Failure,
    listening::{listen, reachable},
};

/// Makes the routes of Esplora's API.
type Routes = fn(&Api, Chain) -> Router;

/// Bound addresses, before there is a runtime.
pub(crate) struct OtherListeners {
    esplora: Vec<(Bound, Routes)>,
    electrum: Option<Bound>,
    electrum_tls: Option<(Bound, Tls)>,
    options: Options,
}

/// Listeners of the runtime that opened them.
pub(crate) struct Opened {
    esplora: Vec<(TcpListener, Routes)>,
    electrum: Option<(Listeners, Options)>,
}

impl OtherListeners {
    /// Binds the addresses.
    ///
    /// # Errors
    /// Fails if an address is in use or not permitted, and if certificate or key cannot be used.
    pub(crate) fn bind(of: &Protocols) -> Result<Self, Failure> {
        let bound = |address: Option<SocketAddr>, flag| address.map(|address| listen(address, flag)).transpose();
        let mut esplora: Vec<(Bound, Routes)> = Vec::new();
        esplora.extend(bound(of.esplora, "--esplora")?.map(|listener| (listener, cairn_esplora::routes as Routes)));
        let internal = bound(of.esplora_internal, "--esplora-internal")?;
        esplora.extend(internal.map(|listener| (listener, cairn_esplora::internal_routes as Routes)));
        let over_tls = |(address, tls)| listen(address, "--electrum-tls").map(|listener| (listener, tls));
        Ok(OtherListeners {
            esplora,
            electrum: bound(of.electrum, "--electrum")?,
            electrum_tls: of.electrum_tls()?.map(over_tls).transpose()?,
            options: of.electrum_options(),
        })
    }

    /// Hands the listeners to the runtime that calls this.
    pub(crate) fn open(self) -> io::Result<Opened> {
        let mut esplora = Vec::new();
        for (listener, routes) in self.esplora {
            let listener = TcpListener::from_std(listener)?;
            tracing::info!(url = format!("http://{}", reachable(listener.local_addr()?)), "serving Esplora's API");
            esplora.push((listener, routes));
        }
        let served = |listener: Bound, over: &str| {
            let listener = TcpListener::from_std(listener)?;
            tracing::info!(address = %listener.local_addr()?, over, "serving the Electrum protocol");
            Ok::<_, io::Error>(listener)
        };
        let plain = self.electrum.map(|listener| served(listener, "TCP")).transpose()?;
        let tls = self.electrum_tls.map(|(listener, tls)| Ok::<_, io::Error>((served(listener, "TLS")?, tls)));
        let listeners = Listeners { plain, tls: tls.transpose()? };
        let electrum = (listeners.plain.is_some() || listeners.tls.is_some()).then_some((listeners, self.options));
        if electrum.is_some() {
            // electrs looks for news at this signal, and tools send it. Without a handler it would end the process.
            signal_hook::flag::register(SIGUSR1, Arc::default())?;
        }
        Ok(Opened { esplora, electrum })
    }
}

impl Opened {
    /// Serves the Electrum protocol until cancelled, and returns the interfaces over HTTP.
    pub(crate) fn serve(self, api: &Api, chain: Chain, cancel: &CancelToken) -> Vec<OtherInterface> {
        if let Some((listeners, options)) = self.electrum {
            // It ends when it is cancelled, or with the runtime.
            tokio::spawn(cairn_electrum::serve(listeners, api.clone(), chain.clone(), options, cancel.clone()));
        }
        let of = |(listener, routes): (TcpListener, Routes)| {
            let routes = routes(api, chain.clone());
            OtherInterface { listener, routes, dialect: cairn_esplora::DIALECT }
        };
        self.esplora.into_iter().map(of).collect()
    }
}
