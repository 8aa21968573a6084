//! Connections over real sockets: clients that are slow, too many, or that do not speak HTTP.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use cairn_http::{HttpConfig, Metrics};
use cairn_link::IndexSlot;
use cairn_operations::{ApiConfig, ApiState, serve};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::oneshot,
    task::JoinHandle,
    time::{sleep, timeout},
};

use crate::support::open_config;

/// Whatever is waited for comes in this time.
pub const PATIENCE: Duration = Duration::from_secs(20);
pub const HEALTH: &[u8] = b"GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n";

pub struct Server {
    address: SocketAddr,
    metrics: Arc<Metrics>,
    stop: oneshot::Sender<()>,
    over: JoinHandle<std::io::Result<()>>,
}

pub async fn server(config: ApiConfig) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let state = ApiState::new(Arc::new(IndexSlot::new()), config);
    let metrics = Arc::clone(&state.metrics);
    let (stop, stopped) = oneshot::channel();
    let shutdown = async move { drop(stopped.await) };
    let over = tokio::spawn(serve(listener, state, |_| axum::Router::new(), shutdown));
    Server { address, metrics, stop, over }
}

pub fn limited(millis: u64) -> ApiConfig {
    ApiConfig::from(HttpConfig { request_timeout: Duration::from_millis(millis), ..open_config().http })
}

impl Server {
    /// Answers that were counted.
    fn answers(&self) -> u64 {
        let text = self.metrics.text();
        let lines = text.lines().filter(|line| line.starts_with("cairn_http_requests_total{"));
        lines.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
    }

    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends bytes, and gives what comes until the connection is closed.
    pub async fn say(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect().await;
        // It may be closed before all has been said.
        let _ = stream.write_all(bytes).await;
        rest(&mut stream).await
    }
}

/// All that comes until the other side closes the connection.
async fn rest(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    // A connection that is reset has been closed.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut all)).await.expect("the connection stays open");
    String::from_utf8_lossy(&all).into_owned()
}

/// Reads one answer of a connection that stays open; its head and body.
pub async fn one(stream: &mut TcpStream) -> (String, String) {
    let mut all = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&all).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            if body.len() == length.parse::<usize>().unwrap() {
                return (head.to_owned(), body.to_owned());
            }
        }
        let count = timeout(PATIENCE, stream.read_buf(&mut all)).await.unwrap().unwrap();
        assert!(count > 0, "the connection was closed: {text}");
    }
}

/// Checks that an answer is a failure of the one shape, and that the connection ends with it.
fn assert_problem(answer: &str, status: u16, code: &str) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    assert!(head.contains("\r\ncontent-type: application/problem+json"), "{answer}");
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!((&body["error"], &body["status"]), (&code.into(), &status.into()), "{answer}");
    let id = body["request_id"].as_str().unwrap();
    assert!(head.contains(&format!("x-request-id: {id}")), "{answer}");
    for member in ["type", "title", "detail", "instance", "errors", "retryable", "docs_url"] {
        assert!(body.get(member).is_some(), "{member}: {answer}");
    }
}

#[tokio::test]
async fn slow_headers_and_idle_connections_are_let_go() {
    let server = server(limited(400)).await;
    let began = Instant::now();
    let slow: Vec<_> = (0..40)
        .map(|_| {
            let address = server.address;
            tokio::spawn(async move {
                let (mut read, mut write) = TcpStream::connect(address).await.unwrap().into_split();
                let trickle = tokio::spawn(async move {
                    for byte in b"GET /api/health HTTP/1.1\r\nX-Slow: ".iter().chain(&[b'a'; 1000]) {
                        if write.write_all(&[*byte]).await.is_err() {
                            break;
                        }
                        sleep(Duration::from_millis(20)).await;
                    }
                });
                let mut all = Vec::new();
                let _ = read.read_to_end(&mut all).await;
                trickle.abort();
                all.len()
            })
        })
        .collect();
    let mut idle = server.connect().await;
    let mut kept = server.connect().await;
    kept.write_all(HEALTH).await.unwrap();
    assert!(one(&mut kept).await.0.starts_with("HTTP/1.1 200"));
    for slow in slow {
        assert_eq!(timeout(PATIENCE, slow).await.expect("it is let go").unwrap(), 0);
    }
    assert_eq!(rest(&mut idle).await, "");
    assert_eq!(rest(&mut kept).await, "");
    assert!(began.elapsed() >= Duration::from_millis(400));
    assert!(server.say(b"GET /api/health HTTP/1.0\r\n\r\n").await.contains("200 OK"));
}

#[tokio::test]
async fn slow_bodies_are_let_go() {
    let server = server(limited(300)).await;
    // An operation has its own word for it; what reads no body answers at once.
    for (path, status, code) in [("/v1/tx/broadcast", 408, "request_timeout"), ("/nothing", 404, "route_not_found")] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: cairn.test\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{{"
        );
        assert_problem(&server.say(head.as_bytes()).await, status, code);
    }
}

#[tokio::test]
async fn who_does_not_read_is_let_go() {
    let server = server(limited(300)).await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(server.address).await.unwrap();
    // More than the buffers of both sides hold.
    let request = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n".repeat(200);
    stream.write_all(&request).await.unwrap();
    let mut before = 0;
    let began = Instant::now();
    // It answers, then waits, then gives up: from then on nothing more is answered.
    loop {
        sleep(Duration::from_millis(1000)).await;
        let answers = server.answers();
        if answers == before {
            break;
        }
        before = answers;
        assert!(began.elapsed() < PATIENCE);
    }
    assert!((1..200).contains(&before), "{before} answers");
    let mut all = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut all)).await.expect("the connection is closed");
    assert!(read.is_err() || all.len() < 200 * 100_000, "{} bytes", all.len());
}

#[tokio::test]
async fn connections_are_bounded() {
    let server =
        server(ApiConfig::from(HttpConfig { max_connections: 5, max_connections_per_client: 3, ..limited(5000).http }))
            .await;
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut stream = server.connect().await;
        stream.write_all(HEALTH).await.unwrap();
        assert!(one(&mut stream).await.0.starts_with("HTTP/1.1 200"));
        held.push(stream);
    }
    let answer = server.say(HEALTH).await;
    assert_problem(&answer, 429, "too_many_connections");
    assert!(answer.contains("\r\nretry-after: 1"), "{answer}");
    assert!(answer.contains("\r\naccess-control-allow-origin: *") && answer.contains("\r\nratelimit: "), "{answer}");
    // Those that are open go on, and a place that is given back is taken.
    for stream in &mut held {
        stream.write_all(HEALTH).await.unwrap();
        assert!(one(stream).await.0.starts_with("HTTP/1.1 200"));
    }
    drop(held.pop());
    let began = Instant::now();
    loop {
        let mut stream = server.connect().await;
        stream.write_all(HEALTH).await.unwrap();
        let (head, _) = one(&mut stream).await;
        if head.starts_with("HTTP/1.1 200") {
            break;
        }
        assert!(began.elapsed() < PATIENCE);
    }
}

#[tokio::test]
async fn all_clients_together_are_bounded() {
    let trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    let config = ApiConfig::from(HttpConfig {
        max_connections: 4,
        max_connections_per_client: 1,
        trusted_proxies,
        ..limited(5000).http
    });
    let server = server(config).await;
    let mut held = Vec::new();
    // A proxy stands for many.
    for _ in 0..4 {
        let mut stream = server.connect().await;
        stream.write_all(HEALTH).await.unwrap();
        assert!(one(&mut stream).await.0.starts_with("HTTP/1.1 200"));
        held.push(stream);
    }
    let answer = server.say(HEALTH).await;
    assert_problem(&answer, 503, "overloaded");
    assert!(answer.contains("\r\naccess-control-allow-origin: *") && answer.contains("\r\nratelimit: "), "{answer}");
    assert!(answer.contains("\r\nretry-after: 1") && answer.contains("\r\nconnection: close"), "{answer}");
    // One that says nothing is not kept.
    assert_eq!(server.say(b"").await, "");
}

#[tokio::test]
async fn long_heads_are_problems() {
    let server = server(limited(5000)).await;
    let many = "x: y\r\n".repeat(200);
    for (bytes, status, code) in [
        (format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "a".repeat(62_000)), 414, "uri_too_long"),
        (format!("GET / HTTP/1.1\r\n{many}\r\n"), 431, "headers_too_large"),
        (format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "a".repeat(80_000)), 431, "headers_too_large"),
    ] {
        // The connection may stay open: the request was read to its end.
        let mut stream = server.connect().await;
        stream.write_all(bytes.as_bytes()).await.unwrap();
        let (head, body) = one(&mut stream).await;
        assert_problem(&format!("{head}\r\n\r\n{body}"), status, code);
        stream.write_all(HEALTH).await.unwrap();
        assert!(one(&mut stream).await.0.starts_with("HTTP/1.1 200"));
    }
}

/// A request that the HTTP library refuses is a problem like any other, and the connection ends.
#[tokio::test]
async fn what_is_no_request_is_refused() {
    let server = server(limited(5000)).await;
    let assert_refused = |answer: &str, status: u16| {
        let code = match status {
            400 => "malformed_request",
            414 => "uri_too_long",
            _ => "headers_too_large",
        };
        assert_problem(answer, status, code);
        for header in ["connection: close", "access-control-allow-origin: *", "ratelimit: ", "ratelimit-policy: "] {
            assert!(answer.contains(&format!("\r\n{header}")), "{header}: {answer}");
        }
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(answer.contains(&format!("\r\ncontent-length: {}\r\n", body.len())), "{answer}");
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["instance"], format!("urn:uuid:{}", body["request_id"].as_str().unwrap()));
    };
    for (bytes, status) in [
        ("\x16\x03\x01\x02\x00\x01".to_owned(), 400),
        ("GET\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/9.9\r\n\r\n".to_owned(), 400),
        ("GET /a b HTTP/1.1\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/1.1\r\nbad header\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n".to_owned(), 400),
        ("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab".to_owned(), 400),
        ("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n".to_owned(), 400),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n".to_owned(), 400),
        (format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(70_000)), 414),
        (format!("GET / HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(1_000)), 431),
        (format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "a".repeat(300_000)), 431),
    ] {
        assert_refused(&server.say(bytes.as_bytes()).await, status);
    }
    // After an answer, too.
    let both = server.say(&[HEALTH, b"NONSENSE\r\n\r\n"].concat()).await;
    assert!(both.starts_with("HTTP/1.1 200"), "{both}");
    assert_refused(&both[both.rfind("HTTP/1.1 4").unwrap()..], 400);
    let counted = server.metrics.text();
    for (status, times) in [(400, 10), (414, 1), (431, 2)] {
        let line =
            format!("cairn_http_requests_total{{class=\"light\",operation=\"other\",status=\"{status}\"}} {times}");
        assert!(counted.contains(&line), "{line}: {counted}");
    }
    // The other protocol's greeting is not answered in this one.
    assert_eq!(server.say(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await, "");
}

#[tokio::test]
async fn who_closes_the_sending_side_has_left() {
    let server = server(limited(5000)).await;
    let broken = b"POST /v1/tx/broadcast HTTP/1.1\r\nHost: cairn.test\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n{";
    for (asked, status) in [(HEALTH, "200"), (b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n", "404"), (broken, "400")] {
        // Often, since the end may be seen before the answer is ready or after it: it is whole or not there.
        for _ in 0..20 {
            let mut stream = server.connect().await;
            stream.write_all(asked).await.unwrap();
            stream.shutdown().await.unwrap();
            let answer = rest(&mut stream).await;
            let whole = answer.starts_with(&format!("HTTP/1.1 {status}")) && answer.contains("\r\n\r\n{");
            assert!(answer.is_empty() || whole, "{answer:?}");
        }
    }
}

#[tokio::test]
async fn broken_bodies_are_told_from_large_ones() {
    let server = server(ApiConfig::from(HttpConfig { max_body_bytes: 100, ..limited(5000).http })).await;
    let head = "POST /v1/tx/broadcast HTTP/1.1\r\nHost: cairn.test\r\nContent-Type: application/json\r\n";
    for (rest, status, code) in [
        ("Transfer-Encoding: chunked\r\n\r\nzz\r\n".to_owned(), 400, "incomplete_body"),
        ("Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n".to_owned(), 400, "incomplete_body"),
        (format!("Transfer-Encoding: chunked\r\n\r\nc8\r\n{}\r\n0\r\n\r\n", "x".repeat(200)), 413, "payload_too_large"),
        ("Content-Length: 200\r\n\r\n{".to_owned(), 413, "payload_too_large"),
        ("Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\nGET /nothing".to_owned(), 422, "validation_error"),
    ] {
        let mut stream = server.connect().await;
        stream.write_all(format!("{head}{rest}").as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let answer = self::rest(&mut stream).await;
        let end = answer.rfind("}HTTP/1.1").map_or(answer.len(), |at| at + 1);
        assert_problem(&answer[..end], status, code);
    }
}

#[tokio::test]
async fn requests_that_run_are_finished_and_connections_closed() {
    let server = server(limited(2000)).await;
    let mut idle = server.connect().await;
    let mut kept = server.connect().await;
    kept.write_all(HEALTH).await.unwrap();
    one(&mut kept).await;
    server.stop.send(()).unwrap();
    assert_eq!(rest(&mut kept).await, "");
    // A connection on which nothing was asked ends at once or within the limit.
    assert_eq!(rest(&mut idle).await, "");
    timeout(PATIENCE, server.over).await.expect("it ends").unwrap().unwrap();
    assert!(TcpStream::connect(server.address).await.is_err());
}
