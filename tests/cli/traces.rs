//! Traces of requests as a collector gets them: their tree, and nothing that a client wrote.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use cairn_support::{World, wait_until};

use crate::CAIRN;

/// Bodies that a collector got.
type Bodies = Arc<Mutex<Vec<u8>>>;

/// Starts a collector; returns its URL and the spans' bytes so far.
fn collector() -> (String, Bodies) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let bodies = Bodies::default();
    let noted = Arc::clone(&bodies);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let noted = Arc::clone(&noted);
            thread::spawn(move || receive(stream, &noted));
        }
    });
    (url, bodies)
}

fn receive(mut stream: TcpStream, bodies: &Bodies) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let (mut length, mut lines) = (0, Vec::new());
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if line.trim().is_empty() {
                break;
            }
            let line = line.trim().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            lines.push(line);
        }
        assert_eq!(lines[0], "post /v1/traces http/1.1");
        assert!(lines.contains(&"content-type: application/x-protobuf".to_owned()), "{lines:?}");
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        bodies.lock().unwrap().extend(body);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
    }
}

/// A field of a message: its number, and its bytes or number.
enum Field<'m> {
    Bytes(u64, &'m [u8]),
    Number(u64, u64),
}

fn fields(mut message: &[u8]) -> Vec<Field<'_>> {
    let varint = |message: &mut &[u8]| {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (byte, rest) = message.split_first().unwrap();
            *message = rest;
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return value;
            }
        }
    };
    let mut found = Vec::new();
    while !message.is_empty() {
        let tag = varint(&mut message);
        found.push(match tag & 7 {
            0 => Field::Number(tag >> 3, varint(&mut message)),
            1 => {
                let (value, rest) = message.split_at(8);
                message = rest;
                Field::Number(tag >> 3, u64::from_le_bytes(value.try_into().unwrap()))
            }
            2 => {
                let length = usize::try_from(varint(&mut message)).unwrap();
                let (value, rest) = message.split_at(length);
                message = rest;
                Field::Bytes(tag >> 3, value)
            }
            other => panic!("wire type {other}"),
        });
    }
    found
}

/// The bytes of each field with this number.
fn all_of(message: &[u8], number: u64) -> Vec<&[u8]> {
    let bytes = fields(message).into_iter().filter_map(|field| match field {
        Field::Bytes(is, bytes) if is == number => Some(bytes),
        _ => None,
    });
    bytes.collect()
}

#[derive(Debug)]
struct Span {
    trace: Vec<u8>,
    id: Vec<u8>,
    parent: Vec<u8>,
    name: String,
    start: u64,
    end: u64,
    attributes: BTreeMap<String, String>,
}

fn attribute(message: &[u8]) -> (String, String) {
    let name = String::from_utf8(all_of(message, 1)[0].to_vec()).unwrap();
    let value = match &fields(all_of(message, 2)[0])[0] {
        Field::Bytes(_, text) => String::from_utf8(text.to_vec()).unwrap(),
        Field::Number(_, number) => number.to_string(),
    };
    (name, value)
}

fn spans(bodies: &[u8]) -> Vec<Span> {
    // Messages of Protocol Buffers that follow each other are one message with all elements.
    let scopes = all_of(bodies, 1).into_iter().flat_map(|resource| all_of(resource, 2));
    let spans = scopes.flat_map(|scope| all_of(scope, 2)).map(|span| {
        let one = |number| all_of(span, number).first().map(|bytes| bytes.to_vec()).unwrap_or_default();
        let number = |wanted| {
            let numbers = fields(span).into_iter().filter_map(|field| match field {
                Field::Number(is, value) if is == wanted => Some(value),
                _ => None,
            });
            numbers.max().unwrap_or_default()
        };
        Span {
            trace: one(1),
            id: one(2),
            parent: one(4),
            name: String::from_utf8(one(5)).unwrap(),
            start: number(7),
            end: number(8),
            attributes: all_of(span, 9).into_iter().map(attribute).collect(),
        }
    });
    spans.collect()
}

/// Sends a request with a secret and the trace of the client; returns the answer.
fn ask(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: Bearer wr_secret_of_the_client\r\n\
         X-Secret: hidden_words\r\ntraceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_request_is_a_tree_of_spans_without_secrets() {
    let world = World::small(CAIRN, 30);
    let (url, bodies) = collector();
    let mut running = world.start(&format!(
        "run --network regtest --datadir data --blocks-dir blocks --listen 127.0.0.1:0 --otlp-endpoint {url}"
    ));
    let address = running.address();
    wait_until("a block", || ask(&address, "/v1/blocks/7").starts_with("HTTP/1.1 200 "));
    ask(&address, "/v1/blocks/7?view=full_of_words");
    let wallet = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";
    ask(&address, &format!("/v1/address/{wallet}/overview?note=query_of_the_client"));
    let is_root = |span: &Span| span.name.starts_with("GET");
    // Spans arrive in the order in which requests end.
    wait_until("the spans of the last request", || {
        spans(&bodies.lock().unwrap()).iter().any(|span| is_root(span) && span.name.contains("/overview"))
    });
    let raw = bodies.lock().unwrap().clone();
    let text = String::from_utf8_lossy(&raw).into_owned();
    for hidden in
        ["wr_secret", "hidden_words", wallet, "query_of_the_client", "full_of_words", "127.0.0.1", "/v1/blocks/7"]
    {
        assert!(!text.contains(hidden), "{hidden}");
    }
    let spans = spans(&raw);
    for span in &spans {
        assert!(span.start > 1_600_000_000_000_000_000 && span.start <= span.end, "{span:?}");
        assert_eq!((span.trace.len(), span.id.len()), (16, 8), "{span:?}");
        assert!(span.name.starts_with("GET") || spans.iter().any(|other| other.id == span.parent), "{span:?}");
    }
    let roots: Vec<&Span> = spans.iter().filter(|span| is_root(span)).collect();
    for root in &roots {
        assert_eq!(root.trace[..4], [0x0a, 0xf7, 0x65, 0x19], "{root:?}");
        assert_eq!(root.parent[..4], [0xb7, 0xad, 0x6b, 0x71], "{root:?}");
        assert!(root.attributes.contains_key("http.response.status_code"), "{root:?}");
        assert!(root.attributes.contains_key("cairn.client"), "{root:?}");
        let id = &root.attributes["cairn.request_id"];
        assert_eq!(id.len(), 36, "{root:?}");
    }
    assert!(roots.iter().any(|root| root.attributes.get("http.route").is_some_and(|route| route.contains('{'))));
    let work = spans.iter().find(|span| span.name == "work").unwrap();
    for name in ["cairn.operation", "cairn.rows", "cairn.bytes", "cairn.processor_micros", "cairn.answer_bytes"] {
        assert!(work.attributes.contains_key(name), "{name}: {work:?}");
    }
    for part in ["admission", "queue"] {
        assert!(spans.iter().any(|span| span.name == part), "{part}: {spans:?}");
    }
    let of_work = |work: &Span| -> u64 {
        let reads = spans.iter().filter(|span| span.parent == work.id);
        reads.map(|span| span.attributes["cairn.rows"].parse::<u64>().unwrap()).sum()
    };
    for work in spans.iter().filter(|span| span.name == "work") {
        assert_eq!(of_work(work), work.attributes["cairn.rows"].parse::<u64>().unwrap(), "{spans:?}");
    }
    assert!(spans.iter().any(|span| span.name.starts_with("read ")), "{spans:?}");
}

/// Requests are answered, and the server stops in time, if there is nothing at the endpoint.
#[test]
fn an_unreachable_collector_is_a_warning() {
    let world = World::small(CAIRN, 30);
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut running = world.start(&format!(
        "run --network regtest --datadir data --blocks-dir blocks --listen 127.0.0.1:0 --otlp-endpoint http://{free}"
    ));
    let address = running.address();
    assert!(ask(&address, "/v1/blocks/7").starts_with("HTTP/1.1 "));
    running.wait_for("the collector of traces (--otlp-endpoint) does not take spans");
    assert!(ask(&address, "/v1/blocks/7").starts_with("HTTP/1.1 "));
}
