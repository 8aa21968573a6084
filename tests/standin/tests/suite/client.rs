//! A plain HTTP client over a socket, so that nothing is hidden by a library's retries.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use cairn_standin::StandIn;
use serde_json::{Value, json};

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<String>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// One connection, kept alive.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn new(node: &StandIn) -> Self {
        let stream = TcpStream::connect(node.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    pub(crate) fn send(&mut self, method: &str, path: &str, authorization: &str, body: &[u8]) -> io::Result<()> {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: node\r\nAuthorization: {authorization}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body);
        self.stream.get_mut().write_all(&bytes)
    }

    pub(crate) fn receive(&mut self) -> io::Result<Answer> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let (mut headers, mut length) = (Vec::new(), 0);
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            if line.trim().is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("Content-Length: ") {
                length = value.trim().parse().unwrap();
            }
            headers.push(line.trim().to_owned());
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok(Answer { status, headers, body })
    }

    pub(crate) fn request(&mut self, method: &str, path: &str, authorization: &str, body: &[u8]) -> io::Result<Answer> {
        self.send(method, path, authorization, body)?;
        self.receive()
    }
}

pub(crate) fn get(node: &StandIn, path: &str) -> Answer {
    Client::new(node).request("GET", path, "", b"").unwrap()
}

pub(crate) fn post(node: &StandIn, body: &Value) -> Answer {
    Client::new(node).request("POST", "/", &node.authorization(), body.to_string().as_bytes()).unwrap()
}

/// The result of a call, or its error code and message.
pub(crate) fn try_rpc(node: &StandIn, method: &str, params: Value) -> Result<Value, (i64, String)> {
    let answer = post(node, &json!({ "jsonrpc": "1.0", "id": "t", "method": method, "params": params })).json();
    assert_eq!(answer["id"], "t");
    match &answer["error"] {
        Value::Null => Ok(answer["result"].clone()),
        error => Err((error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())),
    }
}

pub(crate) fn rpc(node: &StandIn, method: &str, params: Value) -> Value {
    try_rpc(node, method, params).unwrap_or_else(|error| panic!("{method}: {error:?}"))
}
