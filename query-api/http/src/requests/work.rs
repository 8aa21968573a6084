//! Work that is not an operation, for protocols besides the API: with the same rate limit, places, limits, time-out and
//! errors.

use std::{fmt, net::SocketAddr, rc::Rc, sync::Arc, time::Instant};

use axum::http::request::Parts;
use cairn_work::{Stopped, Work};
use tokio::{sync::oneshot, time::timeout};
use uuid::Uuid;

use super::{
    inside::{Api, client_of},
    running::{ExtraCharge, panicked},
};
use crate::{
    answers::{code::ErrorCode, error::ApiError},
    contract::cost::Cost,
    limits::{client::Client, memory::Share, size::units_of_body},
    server::Server,
    traces::request::{RequestTrace, WorkSpan, waited},
    transport::connections::{permits::ConnectionPermit, refused},
};

/// Who asks: the client that work is charged to.
#[derive(Clone, Copy, Debug)]
pub struct Asker {
    client: Option<Client>,
    /// Units that its request has paid already.
    paid: u32,
}

/// The permit of an open connection of another protocol. Dropping it gives it back.
pub struct OpenConnection(#[expect(dead_code, reason = "held until it is dropped")] ConnectionPermit);

impl fmt::Debug for OpenConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenConnection").finish_non_exhaustive()
    }
}

/// Memory for a message on its way, out of the memory that all clients share. Dropping it gives it back.
pub struct HeldMemory(Share);

impl fmt::Debug for HeldMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldMemory").finish_non_exhaustive()
    }
}

impl HeldMemory {
    /// Reserves at least this many bytes.
    ///
    /// # Errors
    /// Returns 503 `overloaded`.
    pub fn grow(&self, bytes: usize) -> Result<(), ApiError> {
        self.0.hold(bytes as u64)
    }
}

/// The place of a stream of another protocol, among those of event streams. Dropping it gives it back.
pub struct HeldStream {
    server: Arc<Server>,
    id: Uuid,
    /// Resolves when the place is needed for another client, or the server stops.
    held: oneshot::Receiver<()>,
}

impl fmt::Debug for HeldStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldStream").field("id", &self.id).finish_non_exhaustive()
    }
}

impl HeldStream {
    /// Waits until the stream must end: its place is needed for another client, or the server stops.
    pub async fn ended(&mut self) {
        // Nothing is ever sent: the sender is dropped.
        let _ = (&mut self.held).await;
    }
}

impl Drop for HeldStream {
    fn drop(&mut self) {
        self.server.streams.remove(&self.id);
    }
}

/// Seconds after which a client without a place for a stream may try again.
pub(crate) const STREAM_RETRY_SECS: u32 = 10;

impl Api {
    /// Takes a place for a stream that stays open: at most as many as there may be streams of events, in all and of a
    /// client.
    ///
    /// # Errors
    /// Returns 503 `too_many_streams`.
    pub fn stream(&self, asker: Asker) -> Result<HeldStream, ApiError> {
        let (holder, held) = oneshot::channel();
        let stream = HeldStream { server: Arc::clone(&self.server), id: self.server.new_id(), held };
        let config = &self.server.config;
        let max = [config.max_streams, config.max_streams_per_client];
        if self.server.streams.add(stream.id, holder, asker.client.map(Client::network), max) {
            return Ok(stream);
        }
        let detail = format!(
            "too many streams are open; a client may have {}, and the server {}; close one, or try again later",
            config.max_streams_per_client, config.max_streams
        );
        Err(ApiError::new(ErrorCode::TooManyStreams, detail).retryable(Some(STREAM_RETRY_SECS)))
    }

    /// Takes a permit for a connection of another protocol. The permits are those of the connections over HTTP.
    ///
    /// # Errors
    /// Returns 503 `overloaded` or 429 `too_many_connections`.
    pub fn connection(&self, peer: SocketAddr) -> Result<OpenConnection, ApiError> {
        let ip = peer.ip().to_canonical();
        let is_proxy = self.server.config.trusted_proxies.iter().any(|net| net.contains(&ip));
        let permit = self.server.permits.take((!is_proxy).then_some(Client::at(ip)));
        permit.map(OpenConnection).map_err(refused)
    }

    /// Memory of no bytes yet, for messages from and to a peer. Messages up to 64 KiB need none.
    #[must_use]
    pub fn memory(&self, asker: Asker) -> HeldMemory {
        HeldMemory(self.server.flight.share(asker.client.as_ref()))
    }

    /// Charges a peer for a message of this size that needs no work.
    ///
    /// # Errors
    /// Returns 429 `rate_limited`.
    pub fn charge_peer(&self, asker: Asker, bytes: usize) -> Result<(), ApiError> {
        let units = Cost::Light.units().saturating_add(units_of_body(bytes));
        asker.client.map_or(Ok(()), |client| self.server.charge(&client, units))
    }

    /// The client of a request over HTTP, which has paid as a light one.
    #[must_use]
    pub fn asker(&self, from: &Parts) -> Asker {
        Asker { client: client_of(from, &self.server), paid: Cost::Light.units() }
    }

    /// The peer of a connection of another protocol, which has paid nothing.
    #[must_use]
    pub fn peer(&self, peer: SocketAddr) -> Asker {
        Asker { client: Some(Client::at(peer.ip().to_canonical())), paid: 0 }
    }

    /// Runs work of a cost class on a thread that may block: charges its client, waits for a place, and stops it at the
    /// limits of its class, or if this future is dropped.
    ///
    /// # Errors
    /// Returns 429 `rate_limited`, 503 `overloaded` or `deadline_exceeded`, 413 or 422 beyond the limits, what the work
    /// returns, and 500 if it panicked.
    pub async fn work<T: Send + 'static>(
        &self,
        cost: Cost,
        asker: Asker,
        work: impl FnOnce(&Rc<Work>) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let (server, Asker { client, paid }) = (Arc::clone(&self.server), asker);
        if let Some(client) = &client {
            server.charge(client, cost.units().saturating_sub(paid))?;
        }
        let limit = server.config.request_timeout;
        let share = server.flight.share(client.as_ref());
        let trace = RequestTrace::current();
        let entering = server.admission.enter(cost, client.as_ref(), limit);
        let permit = waited(trace.as_deref(), "admission", entering).await?;
        let counted = Work::within(cost.limits(limit)).held_by(Box::new(share));
        let counted = counted.in_turns(Arc::clone(&server.turns), permit.beside()).traced(trace.is_some());
        // Dropped with this future: when it is done, late, or abandoned.
        let _waits = counted.guard();
        let (shared, span) = (Arc::clone(&server), tracing::Span::current());
        let queued = Instant::now();
        let working = server.queue.run(move || {
            span.in_scope(|| {
                // Its place is free again when the work ends, even if nobody waits for it any more.
                let _place = permit;
                counted.begin();
                let counted = Rc::new(counted);
                let _traced = WorkSpan::begin(trace, None, queued, &counted);
                let _rest = ExtraCharge { server: &shared, client: client.as_ref(), cost, work: &counted };
                work(&counted).map_err(|error| match &error.source {
                    Some(source) => shared.backend.explain(&**source),
                    None => error,
                })
            })
        });
        match timeout(limit, working).await {
            Ok(Ok(Ok(answer))) => answer,
            Ok(Ok(Err(panic))) => Err(panicked(&*panic)),
            // The runtime ends.
            Ok(Err(_)) => Err(ApiError::internal()),
            Err(_) => Err(Stopped::Late.into()),
        }
    }
}
