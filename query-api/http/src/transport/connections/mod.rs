//! Connections of clients: how many there may be, and how long each may keep others waiting.
//!
//! A client that says nothing, says it a byte at a time, or does not read its answer is let go after the time limit of
//! a request. Beyond the limits a connection gets one answer, the reason, and is closed.

mod deadline;
mod linger;
pub(crate) mod permits;
mod socket;

use std::{
    convert::Infallible,
    future::{Future, poll_fn},
    io,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::{ConnectInfo, Request},
    http::{StatusCode, header},
};
use futures_util::future::join_all;
use hyper::{body::Incoming, server::conn::http1::Builder, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    time::sleep,
};
use tower::Service;

use crate::{
    answers::{code::ErrorCode, error::ApiError},
    limits::client::Client,
    server::Server,
    transport::{head, middleware},
};
use deadline::Deadline;
use linger::Lingering;
use permits::{ConnectionPermit, ConnectionPermits, ReachedLimit};
use socket::Socket;

/// Most connections that get a 429 at once; further ones are closed without an answer.
const MAX_REFUSING: usize = 64;
/// A connection that is one too many has this long to ask and to read the answer.
const REFUSING: Duration = Duration::from_secs(2);
/// After a failure to accept: there are no file descriptors left, most likely.
const PAUSE: Duration = Duration::from_millis(200);

/// A listener, with what it serves.
pub(crate) struct Door {
    pub(crate) listener: TcpListener,
    pub(crate) router: Router,
    /// Answers to a connection beyond the limit of the server, and beyond that of the client.
    pub(crate) refusing: [Router; 2],
}

/// Data that all doors share.
struct House {
    refusals: Arc<ConnectionPermits>,
    server: Arc<Server>,
    stopped: watch::Receiver<()>,
}

/// Accepts connections at all doors and answers their requests until `shutdown` resolves; then finishes those under
/// way.
///
/// # Errors
/// Fails only if the clock is so wrong that HTTP cannot write the time. Connections that cannot be accepted are logged.
pub(crate) async fn serve<F>(doors: Vec<Door>, server: Arc<Server>, shutdown: F) -> io::Result<()>
where
    F: Future<Output = ()>,
{
    if !is_printable((server.clock)()) {
        return Err(io::Error::other(BAD_CLOCK));
    }
    let (stopping, stopped) = watch::channel(());
    let refusals = ConnectionPermits::new(MAX_REFUSING, MAX_REFUSING);
    let house = House { refusals, server, stopped };
    tokio::select! {
        _ = join_all(doors.into_iter().map(|door| door.accept(&house))) => {}
        () = shutdown => {}
    }
    stopping.send_replace(());
    drop(house);
    stopping.closed().await;
    Ok(())
}

impl Door {
    /// Accepts connections for as long as this is polled.
    async fn accept(self, house: &House) {
        let House { refusals, server, stopped } = house;
        let limit = server.config.request_timeout;
        loop {
            let (stream, peer) = match self.listener.accept().await {
                Ok(accepted) => accepted,
                // It was given up before it was taken.
                Err(error) if is_of_connection(&error) => continue,
                Err(error) => {
                    tracing::warn!(%error, "a connection cannot be accepted");
                    sleep(PAUSE).await;
                    continue;
                }
            };
            let client = Client::at(peer.ip().to_canonical());
            let is_proxy = server.config.trusted_proxies.iter().any(|net| net.contains(&peer.ip().to_canonical()));
            let one = Connection { stream, peer, server: Arc::clone(server), stopped: stopped.clone() };
            match server.permits.take((!is_proxy).then_some(client)) {
                Ok(permit) => {
                    let router = self.router.clone();
                    tokio::spawn(one.serve(router, limit, Some(permit)));
                }
                Err(full) => {
                    let [of_server, of_client] = &self.refusing;
                    let router = if full == ReachedLimit::Server { of_server } else { of_client }.clone();
                    let Ok(permit) = refusals.take(None) else { continue };
                    tokio::spawn(async move {
                        // Whatever comes of it.
                        let _ = tokio::time::timeout(REFUSING, one.serve(router, REFUSING, None)).await;
                        drop(permit);
                    });
                }
            }
        }
    }
}

/// Whether only the connection failed, and not the listener.
fn is_of_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionRefused | ConnectionAborted | ConnectionReset)
}

/// Why nothing can be served.
const BAD_CLOCK: &str = "the system clock is before 1970 or after 9999, which no date of HTTP can say; set the clock";
/// The end of the year 9999, in milliseconds since 1970.
const LAST_MS: u64 = 253_402_300_800_000;

/// True if HTTP can write the time. The clock gives 0 for times before 1970.
fn is_printable(ms: u64) -> bool {
    (1..LAST_MS).contains(&ms)
}

/// Polls a connection. `None`: HTTP cannot write the time, and the HTTP library would panic over it.
fn while_printable<F: Future>(
    clock: fn() -> u64,
    connection: Pin<&mut F>,
    cx: &mut Context<'_>,
) -> Poll<Option<F::Output>> {
    if is_printable(clock()) { connection.poll(cx).map(Some) } else { Poll::Ready(None) }
}

struct Connection {
    stream: TcpStream,
    peer: SocketAddr,
    server: Arc<Server>,
    stopped: watch::Receiver<()>,
}

impl Connection {
    /// Answers the requests of the connection, one after the other if it has a permit, otherwise one. A request may
    /// upgrade the connection: its socket goes on elsewhere then, with the permit, and [`serve`] waits for its end.
    async fn serve(self, router: Router, limit: Duration, permit: Option<ConnectionPermit>) {
        let Connection { stream, peer, server, mut stopped } = self;
        // Answers are written whole; waiting for more would only delay them.
        let _ = stream.set_nodelay(true);
        let client = Client::at(peer.ip().to_canonical());
        let is_proxy = server.config.trusted_proxies.iter().any(|net| net.contains(&peer.ip().to_canonical()));
        let completed = Arc::new(AtomicU16::new(0));
        let complete = {
            let (server, completed) = (Arc::clone(&server), Arc::clone(&completed));
            move |status: StatusCode| {
                completed.store(status.as_u16(), Ordering::Relaxed);
                middleware::unreadable(&server, &client, !is_proxy, status)
            }
        };
        let may_stay = permit.is_some();
        let socket = Socket::new(stream, limit, Box::new(complete), Box::new((permit, stopped.clone())));
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let waits = request.headers().contains_key(header::EXPECT);
            let mut request: Request = request.map(|body| Body::new(Lingering::new(Deadline::new(body, limit), waits)));
            request.extensions_mut().insert(ConnectInfo(peer));
            let mut router = router.clone();
            async move {
                // A router is always ready.
                let _ = poll_fn(|cx| Service::<Request>::poll_ready(&mut router, cx)).await;
                Ok::<_, Infallible>(router.call(request).await.unwrap_or_else(|never| match never {}))
            }
        });
        let mut http = Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(limit).keep_alive(may_stay);
        http.max_buf_size(head::READ_BYTES).max_headers(head::READ_HEADERS);
        // A client that closes one direction has left: nothing distinguishes that from a client that has gone (ADR
        // 0017).
        http.half_close(false);
        let mut connection = pin!(http.serve_connection(TokioIo::new(socket), service).with_upgrades());
        let clock = server.clock;
        let result = tokio::select! {
            result = poll_fn(|cx| while_printable(clock, connection.as_mut(), cx)) => result,
            _ = stopped.changed() => {
                connection.as_mut().graceful_shutdown();
                poll_fn(|cx| while_printable(clock, connection.as_mut(), cx)).await
            }
        };
        let Some(result) = result else {
            tracing::error!("a connection was closed: {BAD_CLOCK}");
            return;
        };
        if let Err(error) = result {
            // Bytes that are not an HTTP request never reach the router: the socket answered them.
            if error.is_parse() {
                let status = StatusCode::from_u16(completed.load(Ordering::Relaxed)).unwrap_or(StatusCode::BAD_REQUEST);
                server.metrics.count(None, status, Duration::ZERO, 0);
            }
            tracing::debug!(%error, "a connection ended early");
        }
    }
}

/// Answer to a connection beyond the limits.
pub(crate) fn refused(full: ReachedLimit) -> ApiError {
    match full {
        ReachedLimit::Server => {
            ApiError::unavailable(ErrorCode::Overloaded, "too many connections are open; try again in a moment", 1)
        }
        ReachedLimit::Client => {
            let detail = "this client has too many open connections; send requests one after the other on the same one";
            ApiError::new(ErrorCode::TooManyConnections, detail).retryable(Some(1))
        }
    }
}
