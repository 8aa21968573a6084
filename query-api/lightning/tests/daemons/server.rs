//! A local HTTP server on real sockets, in the clear or with TLS.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener},
    sync::Arc,
    thread,
    time::Duration,
};

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A request, as it came.
pub(crate) struct Request {
    /// Method and path, for example `GET /v1/getinfo`.
    pub(crate) line: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// An answer, or another way to behave.
#[derive(Clone)]
pub(crate) enum Reply {
    /// Status and body.
    Whole(u16, String),
    /// These bytes, and the end.
    Raw(Vec<u8>),
    /// A body without an end.
    Endless,
    /// A header without an end.
    EndlessHeaders,
    /// One byte of a body each 50 ms, for ten seconds.
    Dripping,
    /// Nothing, for ten seconds.
    Silent,
}

pub(crate) fn ok(json: &serde_json::Value) -> Reply {
    Reply::Whole(200, json.to_string())
}

/// Serves requests until the test ends.
pub(crate) fn serve(
    tls: Option<Arc<ServerConfig>>,
    handle: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let handle = Arc::new(handle);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (tls, handle) = (tls.clone(), Arc::clone(&handle));
            thread::spawn(move || match tls {
                Some(config) => {
                    let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
                    answer(&mut stream, &*handle);
                    stream.conn.send_close_notify();
                    let _ = stream.flush();
                }
                None => answer(&mut { stream }, &*handle),
            });
        }
    });
    address
}

/// Reads one request and answers it. The client may go away at any time.
fn answer(stream: &mut (impl Read + Write), handle: &(impl Fn(&Request) -> Reply + ?Sized)) {
    let Some(request) = read(stream) else { return };
    let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n";
    let drip = |stream: &mut dyn Write, bytes: &[u8], pause: Duration, times: u32| {
        for _ in 0..times {
            if stream.write_all(bytes).and_then(|()| stream.flush()).is_err() {
                return;
            }
            thread::sleep(pause);
        }
    };
    match handle(&request) {
        Reply::Whole(status, body) => {
            let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
        Reply::Raw(bytes) => drop(stream.write_all(&bytes)),
        Reply::Endless => {
            let _ = stream.write_all(format!("{head}\r\n").as_bytes());
            drip(stream, &[b' '; 8 << 10], Duration::ZERO, u32::MAX);
        }
        Reply::EndlessHeaders => {
            let _ = stream.write_all(format!("{head}X-More: ").as_bytes());
            drip(stream, &[b'a'; 8 << 10], Duration::ZERO, u32::MAX);
        }
        Reply::Dripping => {
            let _ = stream.write_all(format!("{head}Content-Length: 1000\r\n\r\n").as_bytes());
            drip(stream, b" ", Duration::from_millis(50), 200);
        }
        Reply::Silent => thread::sleep(Duration::from_secs(10)),
    }
}

fn read(stream: &mut impl Read) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let line = lines.first()?.trim_end_matches(" HTTP/1.1").to_owned();
    let headers: Vec<(String, String)> = lines[1..]
        .iter()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let length =
        headers.iter().find(|(name, _)| name == "content-length").map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { line, headers, body: String::from_utf8(body).ok()? })
}
