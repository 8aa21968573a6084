//! One connection to a publisher, on a thread of its own.
//!
//! The messages are read with `bitcoincore-zmq`. Its own receiving loop cannot be ended and does not report lost
//! connections, so the socket is driven here: with a monitor, a timeout and heartbeats.

use std::{thread, thread::JoinHandle};

use bitcoincore_zmq::{MonitorMessage, SocketEvent};
use cairn_model::CancelToken;
use cairn_sources::MAX_BLOCK_SIZE;

use super::{
    event::{Gap, NodeEvent},
    message::{Content, Garbled, Message},
    queue::{Closed, Queue},
    sequence::Sequences,
    topic::{Topic, ZmqEndpoint},
};
use crate::error::NodeError;

/// Between two looks at the cancel token, in milliseconds.
const GLANCE: i64 = 200;
/// Silence after which the other side is asked whether it is there, and after which it is taken for gone: a connection
/// that a router forgot would stay silent for ever.
const HEARTBEAT: i32 = 5_000;
const HEARTBEAT_TIMEOUT: i32 = 15_000;
/// Pauses between attempts to connect, in milliseconds.
const RECONNECT: i32 = 100;
const RECONNECT_MAX: i32 = 3_000;
/// Messages that the library queues for us: small ones, and ones that hold transactions.
const SMALL_QUEUE: i32 = 100_000;
const QUEUE: i32 = 10_000;
const MONITOR: &str = "inproc://monitor";

/// Receives what happens on a connection, before the events are queued.
pub(crate) trait Observer: Send + Sync {
    /// The connection was made or lost.
    fn connection(&self, endpoint: &ZmqEndpoint, connected: bool);
    fn message(&self, topic: Topic, number: u32, content: &Content);
    fn gap(&self, gap: &Gap);
}

pub(crate) struct Subscriber {
    thread: Option<JoinHandle<()>>,
    cancel: CancelToken,
}

struct Sockets {
    data: zmq::Socket,
    monitor: zmq::Socket,
    // Dropped last: sockets belong to it.
    _context: zmq::Context,
}

impl Subscriber {
    /// Connects (in the background, again and again) and queues what comes.
    pub(crate) fn start(
        endpoint: ZmqEndpoint,
        queue: Queue,
        observer: std::sync::Arc<dyn Observer>,
        cancel: CancelToken,
    ) -> Result<Self, NodeError> {
        let failed =
            |error: zmq::Error| NodeError::Zmq { address: endpoint.address.clone(), reason: error.to_string() };
        let sockets = Sockets::open(&endpoint).map_err(failed)?;
        let sequences = Sequences::new(&endpoint.topics);
        let cancelled = cancel.clone();
        let thread = thread::Builder::new()
            .name("zmq".to_owned())
            .spawn(move || {
                let mut connection = Connection { endpoint, queue, observer, sequences };
                if let Err(Ended::Library(error)) = connection.run(&sockets, &cancelled) {
                    tracing::error!(address = connection.endpoint.address, %error, "the ZMQ subscription ended");
                    connection.observer.connection(&connection.endpoint, false);
                }
            })
            .map_err(NodeError::Thread)?;
        Ok(Subscriber { thread: Some(thread), cancel })
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        self.cancel.cancel();
        if let Some(thread) = self.thread.take() {
            // A panic in it has been reported by itself.
            let _ = thread.join();
        }
    }
}

impl Sockets {
    fn open(endpoint: &ZmqEndpoint) -> Result<Self, zmq::Error> {
        let context = zmq::Context::new();
        let data = context.socket(zmq::SUB)?;
        data.set_linger(0)?;
        data.set_ipv6(true)?;
        data.set_heartbeat_ivl(HEARTBEAT)?;
        data.set_heartbeat_timeout(HEARTBEAT_TIMEOUT)?;
        data.set_reconnect_ivl(RECONNECT)?;
        data.set_reconnect_ivl_max(RECONNECT_MAX)?;
        // Nothing longer than a block is ever published.
        data.set_maxmsgsize(i64::from(MAX_BLOCK_SIZE))?;
        let small = |topic: &Topic| matches!(topic, Topic::HashBlock | Topic::Sequence);
        data.set_rcvhwm(if endpoint.topics.iter().all(small) { SMALL_QUEUE } else { QUEUE })?;
        for topic in &endpoint.topics {
            data.set_subscribe(topic.name().as_bytes())?;
        }
        data.monitor(MONITOR, i32::from(zmq::SocketEvent::ALL.to_raw()))?;
        let monitor = context.socket(zmq::PAIR)?;
        monitor.set_linger(0)?;
        monitor.connect(MONITOR)?;
        // Last, so that the monitor sees it all.
        data.connect(&endpoint.address)?;
        Ok(Sockets { data, monitor, _context: context })
    }
}

struct Connection {
    endpoint: ZmqEndpoint,
    queue: Queue,
    observer: std::sync::Arc<dyn Observer>,
    sequences: Sequences,
}

/// Why a thread ends.
enum Ended {
    Asked,
    Library(zmq::Error),
}

impl From<Closed> for Ended {
    fn from(Closed: Closed) -> Self {
        Ended::Asked
    }
}

impl Connection {
    fn run(&mut self, sockets: &Sockets, cancel: &CancelToken) -> Result<(), Ended> {
        while !cancel.is_cancelled() {
            let mut items = [sockets.data.as_poll_item(zmq::POLLIN), sockets.monitor.as_poll_item(zmq::POLLIN)];
            match zmq::poll(&mut items, GLANCE) {
                Ok(0) | Err(zmq::Error::EINTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(Ended::Library(error)),
            }
            loop {
                // Events of the connection are queued before the messages that came over it afterwards.
                self.monitor(&sockets.monitor)?;
                match sockets.data.recv_multipart(zmq::DONTWAIT) {
                    Ok(parts) => self.message(parts)?,
                    Err(zmq::Error::EAGAIN | zmq::Error::EINTR) => break,
                    Err(error) => return Err(Ended::Library(error)),
                }
            }
        }
        Ok(())
    }

    fn monitor(&mut self, monitor: &zmq::Socket) -> Result<(), Ended> {
        loop {
            let parts = match monitor.recv_multipart(zmq::DONTWAIT) {
                Ok(parts) => parts,
                Err(zmq::Error::EAGAIN | zmq::Error::EINTR) => return Ok(()),
                Err(error) => return Err(Ended::Library(error)),
            };
            let parts: Vec<zmq::Message> = parts.into_iter().map(zmq::Message::from).collect();
            match MonitorMessage::parse_from(&parts).map(|message| message.event) {
                Ok(SocketEvent::HandshakeSucceeded) => {
                    tracing::debug!(address = self.endpoint.address, "ZMQ connected");
                    self.observer.connection(&self.endpoint, true);
                    let gaps = self.sequences.connected();
                    self.gaps(gaps)?;
                }
                Ok(SocketEvent::Disconnected { .. }) => {
                    tracing::warn!(address = self.endpoint.address, "ZMQ disconnected");
                    self.observer.connection(&self.endpoint, false);
                }
                Ok(
                    event @ (SocketEvent::HandshakeFailedNoDetail { .. }
                    | SocketEvent::HandshakeFailedProtocol { .. }
                    | SocketEvent::HandshakeFailedAuth { .. }),
                ) => {
                    tracing::warn!(address = self.endpoint.address, ?event, "the server does not speak ZMQ");
                }
                // Attempts, and events of later versions of the library.
                Ok(_) | Err(_) => {}
            }
        }
    }

    fn message(&mut self, parts: Vec<Vec<u8>>) -> Result<(), Ended> {
        let message = match Message::read(parts) {
            Ok(message) if self.endpoint.topics.contains(&message.topic) => message,
            // Subscriptions are prefixes: a longer topic name is not ours.
            Ok(_) => return Ok(()),
            Err(Garbled(topic)) => {
                tracing::warn!(address = self.endpoint.address, ?topic, "a ZMQ message cannot be read");
                let gaps = self.sequences.garbled(topic);
                return self.gaps(gaps);
            }
        };
        let gap = self.sequences.message(message.topic, message.number);
        self.observer.message(message.topic, message.number, &message.content);
        self.gaps(gap)?;
        let event = match message.content {
            Content::Tip(hash) => NodeEvent::Tip(hash),
            Content::Block { hash, raw } => NodeEvent::Block { hash, raw: self.queue.payload(raw)? },
            Content::Tx(raw) => NodeEvent::Tx(self.queue.payload(raw)?),
            Content::Connected(hash) => NodeEvent::Connected(hash),
            Content::Disconnected(hash) => NodeEvent::Disconnected(hash),
            Content::Accepted { txid, mempool_sequence } => NodeEvent::Accepted { txid, mempool_sequence },
            Content::Removed { txid, mempool_sequence } => NodeEvent::Removed { txid, mempool_sequence },
        };
        Ok(self.queue.send(event)?)
    }

    fn gaps(&self, gaps: impl IntoIterator<Item = Gap>) -> Result<(), Ended> {
        for gap in gaps {
            tracing::debug!(%gap, "messages may be missing");
            self.observer.gap(&gap);
            self.queue.send(NodeEvent::Gap(gap))?;
        }
        Ok(())
    }
}
