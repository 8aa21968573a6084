//! The server: one thread per connection, on the bare socket.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::faults::{Call, HttpFault};
use super::message::{self, Request, Response};
use crate::Error;

/// Waits are cut into pieces of this length, so that a stop need not wait for them.
const SLICE: Duration = Duration::from_millis(10);
/// About this many bytes of an endless answer are sent at once.
const MAX_PIECE: usize = 1 << 16;
/// How long to try for a port that the former server may still hold.
const REBIND: Duration = Duration::from_secs(10);

/// Answers requests.
pub(crate) trait Handler: Send + Sync + 'static {
    /// The calls of a request.
    fn calls(&self, request: &Request) -> Vec<Call>;
    /// The fault that a request meets.
    fn fault(&self, calls: &[Call]) -> Option<HttpFault>;
    /// The answer.
    fn answer(&self, request: &Request) -> Response;
    /// The answer with this JSON as the result of each call.
    fn answer_with(&self, request: &Request, result: &str) -> Response;
    /// The answer while warming up.
    fn warming_up(&self, request: &Request, message: &str) -> Response;
    /// Called when half of the body was sent.
    fn in_body(&self, calls: &[Call]);
    /// Whether something waits for the middle of this answer.
    fn watches_body(&self, calls: &[Call]) -> bool;
}

#[derive(Default)]
struct Running {
    stop: AtomicBool,
    connections: Mutex<BTreeMap<u64, TcpStream>>,
}

impl Running {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn pause(&self, time: Duration) {
        let start = Instant::now();
        while !self.stopped() {
            let left = time.saturating_sub(start.elapsed());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(SLICE));
        }
    }
}

/// A running server. Dropping it closes the port and every connection.
pub(crate) struct Server {
    address: SocketAddr,
    running: Arc<Running>,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Server {
    /// Listens on a port of the loopback address; 0 is any.
    pub(crate) fn start(port: u16, handler: Arc<dyn Handler>) -> Result<Self, Error> {
        let until = Instant::now() + REBIND;
        let listener = loop {
            match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
                Ok(listener) => break listener,
                Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < until => {
                    std::thread::sleep(SLICE);
                }
                Err(error) => return Err(error.into()),
            }
        };
        let address = listener.local_addr()?;
        let running = Arc::new(Running::default());
        let shared = Arc::clone(&running);
        let thread = std::thread::Builder::new()
            .name("standin-http".to_owned())
            .spawn(move || accept(&listener, &handler, &shared))?;
        Ok(Self { address, running, thread: Some(thread) })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.running.stop.store(true, Ordering::SeqCst);
        // Wakes the listening thread.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn accept(listener: &TcpListener, handler: &Arc<dyn Handler>, running: &Arc<Running>) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    let mut number = 0;
    for stream in listener.incoming() {
        if running.stopped() {
            break;
        }
        let Ok(stream) = stream else { continue };
        threads.retain(|thread| !thread.is_finished());
        number += 1;
        let Ok(copy) = stream.try_clone() else { continue };
        running.connections.lock().insert(number, copy);
        let (handler, shared) = (Arc::clone(handler), Arc::clone(running));
        let spawned = std::thread::Builder::new().name("standin-connection".to_owned()).spawn(move || {
            // A broken connection concerns its client only. A reset takes place when the last handle is closed, and
            // a shutdown before it would be a farewell.
            let result = serve(&stream, handler.as_ref(), &shared);
            if !result.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionReset) {
                let _ = stream.shutdown(Shutdown::Both);
            }
            shared.connections.lock().remove(&number);
        });
        threads.extend(spawned.ok());
    }
    for stream in running.connections.lock().values() {
        let _ = stream.shutdown(Shutdown::Both);
    }
    for thread in threads {
        let _ = thread.join();
    }
}

/// Closes with a reset, not with a farewell.
fn reset(stream: &TcpStream) -> io::Result<()> {
    socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO))?;
    Err(io::ErrorKind::ConnectionReset.into())
}

fn serve(stream: &TcpStream, handler: &dyn Handler, running: &Running) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut input = BufReader::new(stream);
    while !running.stopped() {
        let request = match message::read(&mut input, || (&*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")) {
            Ok(Some(request)) => request,
            Ok(None) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                let response = Response::text(400, error.to_string());
                response.write_head(&mut &*stream, true)?;
                return (&*stream).write_all(&response.body);
            }
            Err(error) => return Err(error),
        };
        if !exchange(stream, &request, handler, running)? {
            return Ok(());
        }
    }
    Ok(())
}

/// Sends a text again and again until the client or the server goes.
fn endless(mut stream: &TcpStream, text: &str, running: &Running) -> io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")?;
    let piece = text.repeat(MAX_PIECE.div_ceil(text.len().max(1)));
    while !running.stopped() {
        stream.write_all(piece.as_bytes())?;
    }
    Ok(())
}

/// Answers one request; false if the connection is to be closed.
fn exchange(stream: &TcpStream, request: &Request, handler: &dyn Handler, running: &Running) -> io::Result<bool> {
    let calls = handler.calls(request);
    let fault = handler.fault(&calls);
    let response = match &fault {
        Some(HttpFault::Reset) => return reset(stream).map(|()| false),
        Some(HttpFault::Close) => return Ok(false),
        Some(HttpFault::Endless(text)) => return endless(stream, text, running).map(|()| false),
        Some(HttpFault::Result(text)) => handler.answer_with(request, text),
        Some(HttpFault::Status(status, body)) => Response::text(*status, *body),
        Some(HttpFault::QueueFull) => Response::text(503, "Work queue depth exceeded"),
        Some(HttpFault::WarmUp(message)) => handler.warming_up(request, message),
        Some(HttpFault::Delay(time)) => {
            running.pause(*time);
            handler.answer(request)
        }
        _ => handler.answer(request),
    };
    if running.stopped() {
        return Ok(false);
    }
    let mut output = stream;
    // Head and body go out in one write where nothing happens between them.
    let mut head = Vec::with_capacity(256 + response.body.len());
    response.write_head(&mut head, request.close)?;
    let half = response.body.len() / 2;
    let (first, second) = response.body.split_at(half);
    match fault {
        Some(HttpFault::ResetInBody) => {
            output.write_all(&head)?;
            output.write_all(first)?;
            return reset(stream).map(|()| false);
        }
        Some(HttpFault::Truncate) => {
            output.write_all(&head)?;
            output.write_all(first)?;
            return Ok(false);
        }
        Some(HttpFault::Trickle(size, pause)) => {
            output.write_all(&head)?;
            for piece in response.body.chunks(size.max(1)) {
                running.pause(pause);
                output.write_all(piece)?;
            }
        }
        _ if handler.watches_body(&calls) => {
            output.write_all(&head)?;
            output.write_all(first)?;
            handler.in_body(&calls);
            output.write_all(second)?;
        }
        _ => {
            head.extend_from_slice(&response.body);
            output.write_all(&head)?;
        }
    }
    Ok(!request.close && fault != Some(HttpFault::CloseAfter))
}
