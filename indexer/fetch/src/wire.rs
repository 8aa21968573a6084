//! Connections that end when the work is cancelled, and that lead only to addresses that are allowed.

use std::{
    fmt, io,
    io::{Read, Write},
    net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use cairn_model::CancelToken;
use socket2::{Domain, Protocol, Socket, Type};
use ureq::{
    Error, Timeout,
    config::Config,
    http::Uri,
    unversioned::{
        resolver::{ResolvedSocketAddrs, Resolver},
        transport::{Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport},
    },
};

use crate::is_global;

/// How often a thread that waits looks whether it is cancelled.
const LOOK: Duration = Duration::from_millis(50);
/// How often a connection attempt is looked at.
const KNOCK: Duration = Duration::from_millis(5);
/// Longest attempt to connect to one address.
const CONNECT: Duration = Duration::from_secs(5);
/// Most addresses of a name that are tried.
const MAX_ADDRESSES: usize = 4;

/// Why a connection was not made or given up, besides what ureq knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    Cancelled,
    /// The address is not in the public network.
    Private(IpAddr),
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stopped::Cancelled => f.write_str("cancelled"),
            Stopped::Private(address) => write!(f, "the address {address} is not in the public network"),
        }
    }
}

impl std::error::Error for Stopped {}

impl From<Stopped> for Error {
    fn from(stopped: Stopped) -> Self {
        Error::Other(Box::new(stopped))
    }
}

/// Finds the addresses of a name. The system's resolver cannot be cancelled, so it runs in a thread that is left
/// behind.
#[derive(Debug, Clone)]
pub(crate) struct Names(pub(crate) CancelToken);

impl Resolver for Names {
    fn resolve(&self, uri: &Uri, _: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let host = uri.host().ok_or(Error::HostNotFound)?;
        let default =
            if uri.scheme_str().is_some_and(|scheme| scheme.eq_ignore_ascii_case("https")) { 443 } else { 80 };
        let port = uri.port_u16().unwrap_or(default);
        let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let (tell, told) = mpsc::sync_channel(1);
        thread::Builder::new().name("resolver".to_owned()).spawn(move || {
            // Nobody may listen any more.
            let _ = tell.send((bare.as_str(), port).to_socket_addrs().map(Iterator::collect::<Vec<SocketAddr>>));
        })?;
        let started = Instant::now();
        loop {
            match told.recv_timeout(LOOK) {
                Ok(Ok(found)) => {
                    let mut addresses = self.empty();
                    found.into_iter().take(MAX_ADDRESSES).for_each(|address| addresses.push(address));
                    return if addresses.is_empty() { Err(Error::HostNotFound) } else { Ok(addresses) };
                }
                Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => return Err(Error::HostNotFound),
                Err(RecvTimeoutError::Timeout) if self.0.is_cancelled() => return Err(Stopped::Cancelled.into()),
                Err(RecvTimeoutError::Timeout) if started.elapsed() >= *timeout.after => {
                    return Err(Error::Timeout(timeout.reason));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Dialer {
    pub(crate) cancel: CancelToken,
    /// Addresses outside the public network are allowed.
    pub(crate) allows_private: bool,
}

impl Connector<()> for Dialer {
    type Out = Wire;

    fn connect(&self, details: &ConnectionDetails<'_>, _: Option<()>) -> Result<Option<Wire>, Error> {
        let mut refused = None;
        let mut failed = None;
        for address in &details.addrs {
            // This is the address that is connected to: what a name server says later does not matter.
            if !self.allows_private && !is_global(address.ip()) {
                refused = Some(address.ip());
                continue;
            }
            let left = details.timeout.after.saturating_sub(elapsed_since(details));
            match self.dial(*address, left.min(CONNECT)) {
                Ok(stream) => {
                    let buffers =
                        LazyBuffers::new(details.config.input_buffer_size(), details.config.output_buffer_size());
                    return Ok(Some(Wire { stream, buffers, cancel: self.cancel.clone() }));
                }
                Err(Error::Io(error)) => failed = Some(Error::Io(error)),
                Err(error @ Error::Timeout(_)) => failed = Some(error),
                Err(other) => return Err(other),
            }
        }
        match (failed, refused) {
            (Some(error), _) => Err(error),
            (None, Some(address)) => Err(Stopped::Private(address).into()),
            (None, None) => Err(Error::HostNotFound),
        }
    }
}

/// Time since the connection was asked for.
fn elapsed_since(details: &ConnectionDetails<'_>) -> Duration {
    match details.now {
        ureq::unversioned::transport::time::Instant::Exact(then) => then.elapsed(),
        _ => Duration::ZERO,
    }
}

impl Dialer {
    /// Connects without blocking, so that it can be cancelled.
    fn dial(&self, address: SocketAddr, at_most: Duration) -> Result<TcpStream, Error> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        let started = Instant::now();
        match socket.connect(&address.into()) {
            Ok(()) => {}
            Err(error) if is_pending(&error) => loop {
                if let Some(error) = socket.take_error()? {
                    return Err(error.into());
                }
                if socket.peer_addr().is_ok() {
                    break;
                }
                if started.elapsed() >= at_most {
                    return Err(Error::Timeout(Timeout::Connect));
                }
                if self.cancel.wait(KNOCK) {
                    return Err(Stopped::Cancelled.into());
                }
            },
            Err(error) => return Err(error.into()),
        }
        socket.set_nonblocking(false)?;
        socket.set_tcp_nodelay(true)?;
        Ok(socket.into())
    }
}

fn is_pending(error: &io::Error) -> bool {
    // EINPROGRESS has no kind of its own in the standard library.
    matches!(error.kind(), io::ErrorKind::WouldBlock) || matches!(error.raw_os_error(), Some(115 | 36))
}

fn is_time(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

pub(crate) struct Wire {
    stream: TcpStream,
    buffers: LazyBuffers,
    cancel: CancelToken,
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").field("peer", &self.stream.peer_addr().ok()).finish()
    }
}

impl Wire {
    /// Repeats what may block, in short steps, until it succeeds, fails, takes too long or is cancelled.
    fn steps<T>(
        cancel: &CancelToken,
        timeout: NextTimeout,
        mut step: impl FnMut(Duration) -> io::Result<T>,
    ) -> Result<T, Error> {
        let started = Instant::now();
        loop {
            if cancel.is_cancelled() {
                return Err(Stopped::Cancelled.into());
            }
            let left = timeout.after.saturating_sub(started.elapsed());
            if left.is_zero() {
                return Err(Error::Timeout(timeout.reason));
            }
            match step(left.min(LOOK)) {
                Err(error) if is_time(&error) => {}
                other => return Ok(other?),
            }
        }
    }
}

impl Transport for Wire {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let mut rest = self.buffers.output().get(..amount).unwrap_or_default();
        let mut stream = &self.stream;
        while !rest.is_empty() {
            let written = Self::steps(&self.cancel, timeout.for_write(), |at_most| {
                stream.set_write_timeout(Some(at_most))?;
                stream.write(rest)
            })?;
            if written == 0 {
                return Err(io::Error::from(io::ErrorKind::WriteZero).into());
            }
            rest = rest.get(written..).unwrap_or_default();
        }
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let input = self.buffers.input_append_buf();
        let mut stream = &self.stream;
        let read = Self::steps(&self.cancel, timeout.for_read(), |at_most| {
            stream.set_read_timeout(Some(at_most))?;
            stream.read(input)
        })?;
        self.buffers.input_appended(read);
        Ok(read > 0)
    }

    fn is_open(&mut self) -> bool {
        // Connections are not kept.
        false
    }
}
