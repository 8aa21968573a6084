//! Requests and responses of HTTP/1.1, as far as clients of Bitcoin Core use it.

use std::io::{self, BufRead, Read, Write};

const MAX_HEAD: u64 = 16 << 10;
/// Core's limit for a body.
const MAX_BODY: u64 = 32 << 20;

/// A request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Path and query, as sent.
    pub(crate) target: String,
    pub(crate) authorization: Option<String>,
    pub(crate) body: Vec<u8>,
    /// Whether the connection is to be closed after the answer.
    pub(crate) close: bool,
}

impl Request {
    /// The path, without query.
    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// The value of a query parameter.
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        let (_, query) = self.target.split_once('?')?;
        query.split('&').find_map(|pair| match pair.split_once('=') {
            Some((key, value)) if key == name => Some(value),
            _ => None,
        })
    }
}

fn malformed(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Reads a request; `None` if the client closed the connection before one. `go_on` is called where the client waits for
/// leave to send its body.
pub(crate) fn read(input: &mut impl BufRead, mut go_on: impl FnMut() -> io::Result<()>) -> io::Result<Option<Request>> {
    let mut request = Request::default();
    let mut head = input.by_ref().take(MAX_HEAD);
    let mut line = String::new();
    if head.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    request.method = words.next().unwrap_or_default().to_owned();
    request.target = words.next().ok_or_else(|| malformed("request line"))?.to_owned();
    request.close = words.next() != Some("HTTP/1.1");
    let (mut length, mut waits) = (0u64, false);
    loop {
        line.clear();
        if head.read_line(&mut line)? == 0 {
            return Err(malformed("head ends early or is too long"));
        }
        let header = line.trim_end();
        if header.is_empty() {
            break;
        }
        let (name, value) = header.split_once(':').ok_or_else(|| malformed("header"))?;
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().map_err(|_| malformed("content length"))?,
            "transfer-encoding" => return Err(malformed("chunked requests are not supported")),
            "authorization" => request.authorization = Some(value.to_owned()),
            "connection" => request.close = value.eq_ignore_ascii_case("close"),
            "expect" => waits = value.eq_ignore_ascii_case("100-continue"),
            _ => {}
        }
    }
    if length > MAX_BODY {
        return Err(malformed("body is too long"));
    }
    if waits {
        go_on()?;
    }
    if input.by_ref().take(length).read_to_end(&mut request.body)? as u64 != length {
        return Err(malformed("body ends early"));
    }
    Ok(Some(request))
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn json(status: u16, body: Vec<u8>) -> Self {
        Self { status, kind: "application/json", body }
    }

    pub(crate) fn text(status: u16, text: impl Into<String>) -> Self {
        Self { status, kind: "text/plain", body: text.into().into_bytes() }
    }

    pub(crate) fn binary(body: Vec<u8>) -> Self {
        Self { status: 200, kind: "application/octet-stream", body }
    }

    /// Writes status line and headers.
    pub(crate) fn write_head(&self, output: &mut impl Write, close: bool) -> io::Result<()> {
        let phrase = match self.status {
            200 => "OK",
            204 => "No Content",
            400 => "Bad Request",
            401 => "Unauthorized",
            404 => "Not Found",
            405 => "Method Not Allowed",
            500 => "Internal Server Error",
            503 => "Service Unavailable",
            _ => "Status",
        };
        let mut head = format!("HTTP/1.1 {} {phrase}\r\nContent-Type: {}\r\n", self.status, self.kind);
        if self.status == 401 {
            head.push_str("WWW-Authenticate: Basic realm=\"jsonrpc\"\r\n");
        }
        if self.status != 204 {
            head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        if close {
            head.push_str("Connection: close\r\n");
        }
        head.push_str("\r\n");
        output.write_all(head.as_bytes())
    }
}
