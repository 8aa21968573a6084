//! The listeners: they accept connections within the limits of all protocols. And the watch over the index.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use cairn_chain::Chain;
use cairn_http::Api;
use cairn_model::CancelToken;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{electrum::Electrum, options::Options, session, tls::Tls, watch::watch};

/// After a failure to accept: there are no file descriptors left, most likely.
const PAUSE: Duration = Duration::from_millis(200);
/// Time for the handshake of TLS.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Where the protocol is served.
#[derive(Debug, Default)]
pub struct Listeners {
    /// Over TCP.
    pub plain: Option<TcpListener>,
    /// Over TLS.
    pub tls: Option<(TcpListener, Tls)>,
}

/// Serves the protocol until `stop` is cancelled. Then connections end, and with them their requests.
pub async fn serve(listeners: Listeners, api: Api, chain: Chain, options: Options, stop: CancelToken) {
    let electrum = Electrum::new(api, chain, options);
    let watching = {
        let (electrum, stop) = (Arc::clone(&electrum), stop.clone());
        tokio::task::spawn_blocking(move || watch(&electrum, &stop))
    };
    let Listeners { plain, tls } = listeners;
    let (tls_listener, tls) = tls.unzip();
    let doors = [(plain, None), (tls_listener, tls)];
    let mut accepting = JoinSet::new();
    for (listener, tls) in doors {
        let Some(listener) = listener else { continue };
        let door = Door { listener, tls, electrum: Arc::clone(&electrum), stop: stop.clone() };
        accepting.spawn(door.accept());
    }
    while accepting.join_next().await.is_some() {}
    if let Err(error) = watching.await {
        tracing::error!(%error, "the task that notifies subscribers has ended early");
    }
}

/// A listener, with what it serves.
struct Door {
    listener: TcpListener,
    tls: Option<Tls>,
    electrum: Arc<Electrum>,
    stop: CancelToken,
}

impl Door {
    /// Accepts connections until it is stopped.
    async fn accept(self) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                () = self.stop.cancelled() => break,
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, peer)) => self.begin(stream, peer, &mut connections),
                    Err(error) if is_of_connection(&error) => {}
                    Err(error) => {
                        tracing::warn!(%error, "a connection cannot be accepted");
                        sleep(PAUSE).await;
                    }
                },
                Some(_) = connections.join_next() => {}
            }
        }
        connections.shutdown().await;
    }

    fn begin(&self, stream: TcpStream, peer: SocketAddr, connections: &mut JoinSet<()>) {
        // Beyond the limits it is closed without an answer: it has not asked anything yet.
        let Ok(permit) = self.electrum.api.connection(peer) else { return };
        let (electrum, stop, tls) = (Arc::clone(&self.electrum), self.stop.clone(), self.tls.clone());
        let asker = electrum.api.peer(peer);
        connections.spawn(async move {
            // Answers are written whole; waiting for more would only delay them.
            let _ = stream.set_nodelay(true);
            match tls {
                None => session::run(stream, electrum, asker, stop).await,
                Some(Tls(acceptor)) => {
                    if let Ok(Ok(stream)) = timeout(HANDSHAKE, acceptor.accept(stream)).await {
                        session::run(stream, electrum, asker, stop).await;
                    }
                }
            }
            drop(permit);
        });
    }
}

/// True if only the connection failed, and not the listener.
fn is_of_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionRefused | ConnectionAborted | ConnectionReset)
}
