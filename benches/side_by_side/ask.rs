//! Small clients: one question, one connection. `None` if there is no answer yet.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    time::Duration,
};

use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(30);

/// A port that nobody listens on.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

fn connect(port: u16) -> Option<TcpStream> {
    let stream = TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), PATIENCE).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    Some(stream)
}

fn exchange(port: u16, request: &str) -> Option<Value> {
    let mut stream = connect(port)?;
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n")?;
    if head.split_whitespace().nth(1)? != "200" {
        return None;
    }
    // Version 1.0 of HTTP knows no chunks: the body is all that follows.
    serde_json::from_str(body.trim()).ok()
}

/// The JSON at a path.
pub(crate) fn get(port: u16, path: &str) -> Option<Value> {
    exchange(port, &format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n"))
}

/// A call of Core's RPC interface; `auth` is `user:password`, in base64.
pub(crate) fn rpc(port: u16, auth: &str, method: &str) -> Option<Value> {
    let body = json!({ "id": 1, "method": method, "params": [] }).to_string();
    let head = format!(
        "POST / HTTP/1.0\r\nHost: localhost\r\nAuthorization: Basic {auth}\r\nContent-Type: application/json\r\nContent-Length: {}",
        body.len()
    );
    exchange(port, &format!("{head}\r\n\r\n{body}"))?.get("result").cloned()
}

/// A call of the Electrum protocol.
pub(crate) fn electrum(port: u16, method: &str, params: Value) -> Option<Value> {
    let mut stream = connect(port)?;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    writeln!(stream, "{call}").ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    serde_json::from_str::<Value>(&line).ok()?.get("result").cloned()
}

/// The first member of this name, however deep.
pub(crate) fn member<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    match value {
        Value::Object(members) => {
            members.get(name).or_else(|| members.values().find_map(|deeper| member(deeper, name)))
        }
        Value::Array(elements) => elements.iter().find_map(|element| member(element, name)),
        _ => None,
    }
}
