//! Requests from a seed: those that the description of the interface allows, and what becomes of them in bad hands.

use rand::{Rng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::wire::Request;

/// A parameter of an operation.
struct Parameter {
    name: String,
    in_path: bool,
    example: String,
}

/// An operation, as the description has it.
struct Operation {
    method: String,
    path: String,
    parameters: Vec<Parameter>,
    body: Option<Value>,
}

/// All that requests are made from.
pub(super) struct Material {
    operations: Vec<Operation>,
    /// Values that are right somewhere.
    values: Vec<String>,
    tools: &'static [&'static str],
}

/// Paths without an operation.
const PATHS: [&str; 24] = [
    "/",
    "//",
    "/.",
    "/..",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/v1",
    "/v1/",
    "/v1//blocks//1",
    "/openapi.json",
    "/openapi.json/",
    "/llms.txt",
    "/llms-full.txt",
    "/agents.json",
    "/.well-known/mcp.json",
    "/.well-known/api-catalog",
    "/.well-known/agent-card.json",
    "/api/reference/",
    "/api/reference/errors/",
    "/api/reference/definitions/x",
    "/api/reference/try.js",
    "/checkout",
    "/getting-started",
    "/mcp/",
    "/mcp/v1/messages",
];

/// Values that programs trip over.
const TRAPS: [&str; 46] = [
    "",
    "0",
    "-0",
    "-1",
    "1",
    "+1",
    "01",
    "1.5",
    "1e3",
    "1e309",
    "NaN",
    "Infinity",
    "null",
    "true",
    "undefined",
    "0x10",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "٣",
    "१२",
    "\0",
    "a\0b",
    "\r\nX-Injected: 1",
    "\u{feff}",
    "\u{202e}",
    "\u{1f511}",
    "../../../etc/passwd",
    "' OR '1'='1",
    "<script>alert(1)</script>",
    "${jndi:ldap://x/y}",
    "{{7*7}}",
    "%s%n%x",
    "[]",
    "{}",
    "2011-02-30",
    "-009999-01-01T00:00:00Z",
    "9999-12-31T23:59:60Z",
    "99999999999d",
    "scripthash:",
    "scripthash:zz",
    "bitcoin:?amount=1",
];

const METHODS: [&str; 12] =
    ["GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "get", "X", "QUERY"];

const HEADERS: [(&str, &[&str]); 24] = [
    ("Accept", &["*/*", "text/html", "application/json", "text/event-stream", "a/b;q=x", ";;;,", "*/*;q=0"]),
    ("Accept-Encoding", &["gzip", "br", "gzip;q=0, br;q=0, *;q=0", "identity;q=0", "gzip;q=9999999999", "\u{80}"]),
    (
        "Authorization",
        &["Bearer", "Bearer cairn_ses_0123456789ab_x", "Bearer a b", "Basic Og==", "L402 a:b", "bearer "],
    ),
    ("X-WR-API-Key", &["", "cairn_key_", "cairn_key_0123456789ab_00000000", "x"]),
    ("If-None-Match", &["*", "\"\"", "W/\"x\"", "\"a\", \"b\"", ",,,", "\"", "W/"]),
    ("If-Modified-Since", &["Thu, 01 Jan 1970 00:00:00 GMT", "x"]),
    ("Range", &["bytes=0-1", "bytes=99999999999999999999-", "x"]),
    ("Origin", &["https://example.org", "null", "x"]),
    ("Access-Control-Request-Method", &["GET", "x", ""]),
    ("Access-Control-Request-Headers", &["authorization", "a,b,,c", "\u{e9}"]),
    ("X-Forwarded-For", &["127.0.0.1", "::1, x, 1.2.3.4", ",,,,"]),
    ("Forwarded", &["for=1.2.3.4", "for=\"[::1]:1\";proto=x", "for"]),
    ("X-Forwarded-Host", &["evil.example"]),
    ("X-HTTP-Method-Override", &["DELETE"]),
    ("X-Request-Id", &["x", "00000000-0000-0000-0000-000000000000"]),
    (
        "Content-Type",
        &["application/json", "text/plain", "application/json; charset=utf-16", "x", "/", "multipart/form-data"],
    ),
    ("Content-Encoding", &["gzip", "x"]),
    ("Cookie", &["a=b", "=;=;"]),
    ("Upgrade", &["h2c", "websocket"]),
    ("Connection", &["upgrade", "keep-alive", "x-request-id"]),
    ("Mcp-Session-Id", &["x", ""]),
    ("MCP-Protocol-Version", &["2025-06-18", "1999-01-01", "x"]),
    ("Last-Event-ID", &["1"]),
    ("TE", &["trailers", "x"]),
];

impl Material {
    /// From the description of the interface, and names of tools.
    pub(super) fn of(openapi: &Value, tools: &'static [&'static str]) -> Self {
        let mut operations = Vec::new();
        let mut values: Vec<String> = Vec::new();
        for (path, methods) in openapi["paths"].as_object().unwrap() {
            for (method, described) in methods.as_object().unwrap() {
                let parameters: Vec<Parameter> = described["parameters"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|parameter| Parameter {
                        name: parameter["name"].as_str().unwrap().to_owned(),
                        in_path: parameter["in"] == "path",
                        example: match &parameter["example"] {
                            Value::String(text) => text.clone(),
                            other => other.to_string(),
                        },
                    })
                    .collect();
                values.extend(parameters.iter().map(|parameter| parameter.example.clone()));
                let body = described["requestBody"]["content"]["application/json"].get("example").cloned();
                operations.push(Operation { method: method.to_uppercase(), path: path.clone(), parameters, body });
            }
        }
        assert!(operations.len() > 15 && values.len() > 15, "too little to work with");
        Material { operations, values, tools }
    }

    /// A request.
    pub(super) fn request(&self, rng: &mut ChaCha8Rng) -> Request {
        match rng.random_range(0..20) {
            0 => self.broken(rng),
            1 | 2 => self.message(rng),
            _ => self.call(rng),
        }
    }

    fn value(&self, rng: &mut ChaCha8Rng) -> Vec<u8> {
        let mut value: Vec<u8> = match rng.random_range(0..12) {
            0..4 => self.values.choose(rng).unwrap().clone().into_bytes(),
            4..9 => TRAPS.choose(rng).unwrap().as_bytes().to_vec(),
            9 => rng.random::<i64>().to_string().into_bytes(),
            10 => (0..rng.random_range(0..40)).map(|_| rng.random()).collect(),
            _ => "a0%ä"
                .chars()
                .collect::<Vec<_>>()
                .choose(rng)
                .unwrap()
                .to_string()
                .repeat(rng.random_range(1..5000))
                .into_bytes(),
        };
        if rng.random_ratio(1, 4) {
            change(rng, &mut value);
        }
        value
    }

    /// A call of an operation, mostly.
    fn call(&self, rng: &mut ChaCha8Rng) -> Request {
        let operation = self.operations.choose(rng).unwrap();
        let (mut path, mut query) = (Vec::new(), Vec::new());
        if rng.random_ratio(1, 8) {
            path.extend_from_slice(PATHS.choose(rng).unwrap().as_bytes());
        } else {
            for segment in operation.path.split('/').skip(1) {
                path.push(b'/');
                let name = segment.strip_prefix('{').and_then(|s| s.strip_suffix('}'));
                match operation.parameters.iter().find(|p| p.in_path && Some(p.name.as_str()) == name) {
                    Some(known) if rng.random_ratio(1, 3) => escape(rng, known.example.as_bytes(), &mut path),
                    Some(_) => {
                        let value = self.value(rng);
                        escape(rng, &value, &mut path);
                    }
                    None => path.extend_from_slice(segment.as_bytes()),
                }
            }
            if rng.random_ratio(1, 30) {
                change(rng, &mut path);
            }
        }
        for parameter in operation.parameters.iter().filter(|p| !p.in_path) {
            for _ in 0..[0, 1, 1, 1, 1, 2].choose(rng).copied().unwrap() {
                query.push(b'&');
                query.extend_from_slice(parameter.name.as_bytes());
                query.push(b'=');
                let value = if rng.random() { parameter.example.clone().into_bytes() } else { self.value(rng) };
                escape(rng, &value, &mut query);
            }
        }
        if rng.random_ratio(1, 5) {
            let junk = [
                "&",
                "&&=",
                "&=&",
                "&view=compact",
                "&view=x",
                "&limit=1&limit=2",
                "&a[]=1",
                "&%",
                "&%zz=%",
                "&;a=b",
                "&+",
            ];
            query.extend_from_slice(junk.choose(rng).unwrap().as_bytes());
        }
        if let Some(first) = query.first_mut() {
            *first = b'?';
            path.extend(query);
        }
        let method = if rng.random_ratio(5, 6) { operation.method.as_str() } else { METHODS.choose(rng).unwrap() };
        let body = (method == "POST" || rng.random_ratio(1, 20)).then(|| {
            let mut body = operation.body.clone().unwrap_or_else(|| json!({"a": 1}));
            if rng.random_ratio(2, 3) {
                self.spoil(rng, &mut body);
            }
            let mut bytes = body.to_string().into_bytes();
            if rng.random_ratio(1, 6) {
                change(rng, &mut bytes);
            }
            bytes
        });
        framed(rng, method, &path, body)
    }

    /// Another value somewhere in a JSON text.
    fn spoil(&self, rng: &mut ChaCha8Rng, body: &mut Value) {
        let text = String::from_utf8_lossy(&self.value(rng)).into_owned();
        let bad = match rng.random_range(0..8) {
            0 => Value::Null,
            1 => json!(rng.random::<i64>()),
            2 => json!(rng.random::<f64>() * 1e300),
            3 => json!([text]),
            4 => json!({text: 1}),
            5 => (0..rng.random_range(1..300)).fold(json!(1), |inner, _| json!([inner])),
            _ => json!(text),
        };
        match body {
            Value::Object(members) if !members.is_empty() => {
                let name = members.keys().nth(rng.random_range(0..members.len())).unwrap().clone();
                let member = &mut members[&name];
                if member.is_object() && rng.random() { self.spoil(rng, member) } else { *member = bad }
            }
            other => *other = bad,
        }
    }

    /// A message of the Model Context Protocol.
    fn message(&self, rng: &mut ChaCha8Rng) -> Request {
        let example = self.values.choose(rng).unwrap();
        let tool = self.tools.choose(rng).unwrap();
        let params = match rng.random_range(0..4) {
            0 => {
                json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}})
            }
            1 => json!({"name": "call_endpoint", "arguments": {"endpoint": self.operations.choose(rng).unwrap().path,
                "params": {"address": example, "txid": example}}}),
            _ => {
                json!({"name": tool, "arguments": {"address": example, "txid": example, "query": example, "limit": 1}})
            }
        };
        let method = ["initialize", "ping", "tools/list", "tools/call", "tools/call", "x", "notifications/initialized"];
        let mut body =
            json!({"jsonrpc": "2.0", "id": rng.random_range(0..9), "method": method.choose(rng), "params": params});
        if rng.random() {
            self.spoil(rng, &mut body);
        }
        if rng.random_ratio(1, 6) {
            body = json!([body, body, 1]);
        }
        let mut bytes = body.to_string().into_bytes();
        if rng.random_ratio(1, 10) {
            change(rng, &mut bytes);
        }
        let path = ["/mcp/", "/mcp/v1/", "/mcp"].choose(rng).unwrap();
        framed(rng, "POST", path.as_bytes(), Some(bytes))
    }

    /// Bytes that are not a request, or end where they should not.
    fn broken(&self, rng: &mut ChaCha8Rng) -> Request {
        let mut request = if rng.random() { self.call(rng) } else { self.message(rng) };
        match rng.random_range(0..6) {
            0 => request.bytes = (0..rng.random_range(1..200)).map(|_| rng.random()).collect(),
            1 => request.bytes.truncate(rng.random_range(0..=request.bytes.len())),
            2 => {
                let at = rng.random_range(0..=request.bytes.len());
                let lines: [&[u8]; 6] =
                    [b"\r\n", b"\n", b"\0", b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"\r\n\r\n"];
                request.bytes.splice(at..at, lines.choose(rng).unwrap().iter().copied());
            }
            3 => request.bytes.extend(b"x".repeat(rng.random_range(1..100_000))),
            4 => {
                let header = format!("X-Long: {}\r\n", "y".repeat(rng.random_range(1..80_000)));
                let at = request.bytes.windows(2).position(|w| w == b"\r\n").map_or(0, |at| at + 2);
                request.bytes.splice(at..at, header.into_bytes());
            }
            _ => change(rng, &mut request.bytes),
        }
        Request { is_framed: false, is_head: request.bytes.starts_with(b"HEAD "), ..request }
    }
}

/// Bytes as part of a path or query: escaped where they have to be, and at random elsewhere.
fn escape(rng: &mut ChaCha8Rng, bytes: &[u8], out: &mut Vec<u8>) {
    let all = rng.random_ratio(1, 10);
    for byte in bytes {
        if !all && (byte.is_ascii_alphanumeric() || b"-._~:!$'()*,;@".contains(byte)) {
            out.push(*byte);
        } else {
            out.extend(format!("%{byte:02X}").into_bytes());
        }
    }
}

/// Changes bytes a few times.
fn change(rng: &mut ChaCha8Rng, bytes: &mut Vec<u8>) {
    for _ in 0..rng.random_range(1..4) {
        let at = rng.random_range(0..=bytes.len());
        let end = (at + rng.random_range(1..20)).min(bytes.len());
        match rng.random_range(0..5) {
            0 if at < bytes.len() => bytes[at] ^= 1 << rng.random_range(0..8),
            1 => bytes.insert(at, rng.random()),
            2 => drop(bytes.drain(at..end)),
            3 => bytes.truncate(at),
            _ => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
        }
    }
}

/// A request whose end is clear, however odd it is.
fn framed(rng: &mut ChaCha8Rng, method: &str, target: &[u8], body: Option<Vec<u8>>) -> Request {
    let mut bytes = method.as_bytes().to_vec();
    bytes.push(b' ');
    // Bytes that an address cannot have would end the request elsewhere.
    bytes.extend(target.iter().map(|byte| if byte.is_ascii_control() || *byte == b' ' { b'_' } else { *byte }));
    bytes.extend(b" HTTP/1.1\r\nHost: 127.0.0.1\r\n");
    if body.is_some() && rng.random_ratio(9, 10) {
        bytes.extend(b"Content-Type: application/json\r\n");
    }
    for _ in 0..[0, 0, 1, 2, 5].choose(rng).copied().unwrap() {
        let (name, values) = HEADERS.choose(rng).unwrap();
        bytes.extend(format!("{name}: {}\r\n", values.choose(rng).unwrap()).into_bytes());
    }
    match body {
        Some(body) if rng.random_ratio(1, 5) => {
            bytes.extend(b"Transfer-Encoding: chunked\r\n\r\n");
            for chunk in body.chunks(rng.random_range(1..100)) {
                bytes.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
                bytes.extend(chunk);
                bytes.extend(b"\r\n");
            }
            bytes.extend(b"0\r\n\r\n");
        }
        Some(body) => {
            bytes.extend(format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes());
            bytes.extend(body);
        }
        None => bytes.extend(b"\r\n"),
    }
    Request { bytes, is_head: method == "HEAD", is_framed: true, is_mcp: target.starts_with(b"/mcp") }
}
