//! A tiny HTTP server whose answers each test makes itself, and a toy chain behind it.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used)]

pub mod toy;

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use cairn_model::CancelToken;
use cairn_node::{NodeAuth, NodeClient, NodeConfig, RetryPolicy};
use serde_json::{Value, json};

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub authorization: Option<String>,
    pub body: Vec<u8>,
}

impl Request {
    /// The single RPC request in it, or null.
    pub fn rpc(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// The answer.
#[derive(Clone, Debug)]
pub enum Response {
    /// A status and a body.
    Whole(u16, Vec<u8>),
    /// The head promises more bytes than follow.
    Truncated(Vec<u8>),
    /// The connection ends without an answer.
    Hangup,
    /// Nothing, for this long.
    Silence(Duration),
}

impl Response {
    pub fn text(status: u16, text: &str) -> Self {
        Response::Whole(status, text.as_bytes().to_vec())
    }

    /// An answer of the RPC interface to one request, as Bitcoin Core writes it.
    pub fn rpc(request: &Request, outcome: Result<Value, (i64, &str)>) -> Self {
        let status = match &outcome {
            Ok(_) => 200,
            Err((-32601, _)) => 404,
            Err(_) => 500,
        };
        Response::text(status, &reply(&request.rpc()["id"], outcome).to_string())
    }
}

/// One reply of the RPC interface.
pub fn reply(id: &Value, outcome: Result<Value, (i64, &str)>) -> Value {
    match outcome {
        Ok(result) => json!({ "result": result, "error": null, "id": id }),
        Err((code, message)) => {
            json!({ "result": null, "error": { "code": code, "message": message }, "id": id })
        }
    }
}

type Handler = dyn Fn(&Request) -> Response + Send + Sync;

/// The server. It ends when dropped.
pub struct Server {
    pub address: SocketAddr,
    pub requests: Arc<Mutex<Vec<Request>>>,
    pub connections: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
}

impl Server {
    pub fn start(handler: impl Fn(&Request) -> Response + Send + Sync + 'static) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), handler)
    }

    pub fn start_at(at: SocketAddr, handler: impl Fn(&Request) -> Response + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(at).unwrap();
        let server = Server {
            address: listener.local_addr().unwrap(),
            requests: Arc::default(),
            connections: Arc::default(),
            over: Arc::default(),
        };
        let handler: Arc<Handler> = Arc::new(handler);
        let (over, connections, requests) =
            (Arc::clone(&server.over), Arc::clone(&server.connections), Arc::clone(&server.requests));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                connections.fetch_add(1, Ordering::SeqCst);
                let (handler, requests, over) = (Arc::clone(&handler), Arc::clone(&requests), Arc::clone(&over));
                thread::spawn(move || serve(stream.unwrap(), &*handler, &requests, &over));
            }
        });
        server
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn config(&self) -> NodeConfig {
        let auth = NodeAuth::UserPassword { user: "ann".to_owned(), password: "secret".to_owned() };
        NodeConfig { retry: quick(), timeout: Duration::from_secs(10), ..NodeConfig::new(self.url(), auth) }
    }

    pub fn client(&self) -> NodeClient {
        NodeClient::new(&self.config(), CancelToken::new()).unwrap()
    }

    pub fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Wakes the listener.
        let _ = TcpStream::connect(self.address);
    }
}

/// Retries for tests: soon, and not for long.
pub fn quick() -> RetryPolicy {
    RetryPolicy {
        first: Duration::from_millis(5),
        longest: Duration::from_millis(20),
        total: Duration::from_millis(400),
    }
}

fn serve(stream: TcpStream, handler: &Handler, requests: &Mutex<Vec<Request>>, over: &AtomicBool) {
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader) {
        if over.load(Ordering::SeqCst) {
            return;
        }
        requests.lock().unwrap().push(request.clone());
        let (status, length, body) = match handler(&request) {
            Response::Whole(status, body) => (status, body.len(), body),
            Response::Truncated(body) => (200, body.len() + 10, body),
            Response::Hangup => return,
            Response::Silence(time) => return thread::sleep(time),
        };
        // Head and body in one piece: two would wait for each other's acknowledgement.
        let mut bytes = format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n\r\n").into_bytes();
        bytes.extend_from_slice(&body);
        if reader.get_mut().write_all(&bytes).is_err() || length != body.len() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (mut authorization, mut length) = (None, 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "authorization" => authorization = Some(value.trim().to_owned()),
            "content-length" => length = value.trim().parse().ok()?,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { method, path, authorization, body })
}
