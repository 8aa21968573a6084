//! Bytes to a server and answers from it, with no library in between that would mend either.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpStream},
    time::Duration,
};

use serde_json::Value;

/// Status and headers.
type Head = (u16, Vec<(String, String)>);

/// No answer takes longer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request as bytes.
pub(super) struct Request {
    pub(super) bytes: Vec<u8>,
    /// Whether the answer comes without a body.
    pub(super) is_head: bool,
    /// Whether it is clear where it ends, so that another may follow on the connection, and an answer has to come.
    pub(super) is_framed: bool,
    /// Whether failures may have the form of the Model Context Protocol.
    pub(super) is_mcp: bool,
}

/// An answer.
pub(super) struct Answer {
    pub(super) status: u16,
    /// Names in small letters.
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A connection that is made again when it has to be.
pub(super) struct Client {
    address: String,
    stream: Option<TcpStream>,
    read: Vec<u8>,
}

impl Client {
    pub(super) fn new(address: &str) -> Self {
        Client { address: address.to_owned(), stream: None, read: Vec::new() }
    }

    /// Sends a request; the answer, or `None` if the connection was closed instead.
    pub(super) fn ask(&mut self, request: &Request) -> Result<Option<Answer>, String> {
        // The server may have closed an idle connection meanwhile, which says nothing.
        let was_open = self.stream.is_some();
        let mut answer = self.try_once(request);
        if was_open && matches!(answer, Ok(None)) {
            answer = self.try_once(request);
        }
        // The rest of an answer that broke off must not be taken for the start of the next.
        let answer = answer.inspect_err(|_| self.stream = None)?;
        let stays = answer.as_ref().is_some_and(|a| a.header("connection") != Some("close"));
        if !request.is_framed || !stays {
            self.stream = None;
        }
        Ok(answer)
    }

    fn try_once(&mut self, request: &Request) -> Result<Option<Answer>, String> {
        if self.stream.is_none() {
            let stream = TcpStream::connect(&self.address).map_err(|error| format!("cannot connect: {error}"))?;
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream.set_write_timeout(Some(PATIENCE)).unwrap();
            stream.set_nodelay(true).unwrap();
            self.read.clear();
            self.stream = Some(stream);
        }
        let Some(stream) = &mut self.stream else { return Ok(None) };
        // It may answer and close before it has read all.
        let _ = stream.write_all(&request.bytes);
        if !request.is_framed {
            let _ = stream.shutdown(Shutdown::Write);
        }
        let answer = self.answer(request.is_head)?;
        if answer.is_none() {
            self.stream = None;
        }
        Ok(answer)
    }

    /// Reads more; whether there was any.
    fn more(&mut self) -> Result<bool, String> {
        let Some(stream) = &mut self.stream else { return Ok(false) };
        let mut buffer = [0; 16_384];
        match stream.read(&mut buffer) {
            Ok(count) => {
                self.read.extend_from_slice(&buffer[..count]);
                Ok(count > 0)
            }
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {
                Err("no answer in time".to_owned())
            }
            Err(_) => Ok(false),
        }
    }

    fn answer(&mut self, is_head: bool) -> Result<Option<Answer>, String> {
        loop {
            let Some((status, headers)) = self.head()? else { return Ok(None) };
            if (100..200).contains(&status) {
                continue;
            }
            let mut answer = Answer { status, headers, body: Vec::new() };
            // A stream of events has no end.
            if answer.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
                self.stream = None;
                return Ok(Some(answer));
            }
            if !is_head && status != 204 && status != 304 {
                answer.body = self.body(&answer)?;
            }
            return Ok(Some(answer));
        }
    }

    fn head(&mut self) -> Result<Option<Head>, String> {
        let end = loop {
            if let Some(at) = self.read.windows(4).position(|window| window == b"\r\n\r\n") {
                break at;
            }
            if !self.more()? {
                let rest = String::from_utf8_lossy(&self.read).into_owned();
                return if rest.is_empty() { Ok(None) } else { Err(format!("half an answer: {rest}")) };
            }
        };
        let head: Vec<u8> = self.read.drain(..end + 4).collect();
        let head = String::from_utf8(head).map_err(|_| "a head that is no text".to_owned())?;
        let mut lines = head.trim_end().split("\r\n");
        let first = lines.next().unwrap_or_default();
        let status = first.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)).and_then(|text| text.parse().ok());
        let status = status.ok_or_else(|| format!("no status: {first}"))?;
        let headers = lines
            .map(|line| line.split_once(": ").or_else(|| line.split_once(':')).ok_or(format!("no header: {line}")))
            .map(|pair| pair.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())))
            .collect::<Result<_, _>>()?;
        Ok(Some((status, headers)))
    }

    fn exactly(&mut self, count: usize) -> Result<Vec<u8>, String> {
        while self.read.len() < count {
            if !self.more()? {
                return Err(format!("a body of {count} bytes ended after {}", self.read.len()));
            }
        }
        Ok(self.read.drain(..count).collect())
    }

    fn body(&mut self, answer: &Answer) -> Result<Vec<u8>, String> {
        if let Some(length) = answer.header("content-length") {
            return self.exactly(length.parse().map_err(|_| format!("a length of {length}"))?);
        }
        if answer.header("transfer-encoding") != Some("chunked") {
            while self.more()? {}
            return Ok(std::mem::take(&mut self.read));
        }
        let mut all = Vec::new();
        loop {
            let end = loop {
                if let Some(at) = self.read.windows(2).position(|window| window == b"\r\n") {
                    break at;
                }
                if !self.more()? {
                    return Err("half a chunk".to_owned());
                }
            };
            let line = self.exactly(end + 2)?;
            let size = std::str::from_utf8(&line[..end]).ok().and_then(|text| usize::from_str_radix(text, 16).ok());
            let size = size.ok_or("a chunk without a size")?;
            let mut chunk = self.exactly(size + 2)?;
            chunk.truncate(size);
            all.extend(chunk);
            if size == 0 {
                return Ok(all);
            }
        }
    }
}

/// The fault of an answer, if it has one.
pub(super) fn fault(request: &Request, answer: &Answer) -> Option<String> {
    let id = answer.header("x-request-id").unwrap_or_default();
    if id.is_empty() {
        return Some("no request id".to_owned());
    }
    if answer.header("access-control-allow-origin") != Some("*") {
        return Some("no page may read it".to_owned());
    }
    if answer.headers.iter().any(|(name, _)| name == "x-injected") {
        return Some("a header was injected".to_owned());
    }
    if answer.status < 400 || request.is_head {
        return matches!(answer.status, 500 | 502 | 504).then(|| "the server failed".to_owned());
    }
    let Ok(body) = serde_json::from_slice::<Value>(&answer.body) else { return Some("no JSON".to_owned()) };
    let kind = answer.header("content-type").unwrap_or_default();
    if request.is_mcp && kind == "application/json" && body["jsonrpc"] == "2.0" && answer.status < 500 {
        return None;
    }
    let code = body["error"].as_str().unwrap_or_default();
    let may_be = match answer.status {
        // The demo has no node, nobody anchors its hashes, and it sells nothing.
        503 => matches!(code, "node_unavailable" | "anchoring_unavailable" | "checkout_paused"),
        status => status < 500,
    };
    if !may_be {
        return Some("the server failed".to_owned());
    }
    if kind != "application/problem+json" || body["status"] != answer.status || body["request_id"] != id {
        return Some("no problem of the one form".to_owned());
    }
    let text = |name: &str| body[name].as_str().is_some_and(|text| name == "instance" || !text.is_empty());
    for name in ["type", "title", "detail", "instance", "error", "request_id", "docs_url"] {
        if !text(name) {
            return Some(format!("a problem without {name}"));
        }
    }
    if !body["errors"].is_array() || !body["retryable"].is_boolean() {
        return Some("a problem without errors or retryable".to_owned());
    }
    (answer.status == 405 && answer.header("allow").is_none()).then(|| "405 without Allow".to_owned())
}
