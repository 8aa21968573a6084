//! Bodies over real sockets that one side does not read: answers to HEAD and without a body, and bodies of requests
//! that are refused.

use std::time::{Duration, Instant};

use cairn_http::HttpConfig;
use cairn_operations::ApiConfig;
use tokio::{
    io::AsyncWriteExt,
    time::{sleep, timeout},
};

use crate::connections::{HEALTH, PATIENCE, Server, limited, one, server};

/// Status and length of the answers to GET and HEAD, in one connection each.
async fn lengths(server: &Server, target: &str, headers: &str) -> [(String, Option<String>); 2] {
    let mut both = Vec::new();
    for method in ["GET", "HEAD"] {
        let request = format!("{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n");
        let answer = server.say(request.as_bytes()).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(method == "GET" || body.is_empty(), "{target}: {body:.40}");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).map(str::to_owned);
        let is_right = length.as_ref().is_none_or(|length| method == "HEAD" || *length == body.len().to_string());
        assert!(is_right, "{target}: {length:?} of {}", body.len());
        both.push((head.split(' ').nth(1).unwrap().to_owned(), length));
    }
    both.try_into().unwrap()
}

#[tokio::test]
async fn head_gives_the_length_of_get() {
    let server = server(limited(5000)).await;
    for target in ["/api/health", "/openapi.json", "/about", "/favicon.svg", "/v1/wallets", "/v1/tx/zz", "/nothing"] {
        let [get, head] = lengths(&server, target, "").await;
        assert_eq!(get, head, "{target}");
        assert!(get.1.is_some_and(|length| length != "0"), "{target}");
    }
    // A body that is compressed as it is sent has a length that nobody knows before.
    let [get, head] = lengths(&server, "/openapi.json", "Accept-Encoding: gzip\r\n").await;
    assert_eq!((get, head), (("200".to_owned(), None), ("200".to_owned(), None)));
    // 304 and 204 have none: their bodies are empty, and a 304 would say something else than 200.
    let [get, head] = lengths(&server, "/openapi.json", "If-None-Match: *\r\n").await;
    assert_eq!((get, head), (("304".to_owned(), None), ("304".to_owned(), None)));
    let options = server.say(b"OPTIONS /api/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    assert!(options.starts_with("HTTP/1.1 204") && !options.contains("content-length"), "{options}");
}

/// Clients that write on get the answer, whatever the reason why nobody reads what they write.
#[tokio::test]
async fn who_still_writes_gets_the_refusal() {
    let server = server(ApiConfig::from(HttpConfig { max_body_bytes: 1000, ..limited(5000).http })).await;
    let length = 8 << 20;
    let json = "Content-Type: application/json\r\n";
    for (head, status) in [
        (format!("POST /v1/tx/verify HTTP/1.1\r\n{json}Content-Length: {length}\r\n"), 413),
        (format!("POST /v1/tx/verify HTTP/1.1\r\n{json}Transfer-Encoding: chunked\r\n"), 413),
        (format!("POST /v1/tx/verify HTTP/1.1\r\nContent-Length: {length}\r\n"), 413),
        ("POST /v1/tx/verify HTTP/1.1\r\nTransfer-Encoding: chunked\r\n".to_owned(), 415),
        ("POST /v1/nothing HTTP/1.1\r\nTransfer-Encoding: chunked\r\n".to_owned(), 404),
        ("DELETE /api/health HTTP/1.1\r\nTransfer-Encoding: chunked\r\n".to_owned(), 405),
    ] {
        let mut stream = server.connect().await;
        let is_chunked = head.contains("chunked");
        stream.write_all(format!("{head}Host: cairn.test\r\n\r\n").as_bytes()).await.unwrap();
        // More than fits into the buffers of a connection, and nothing is read meanwhile.
        let piece = vec![b' '; 1 << 16];
        for _ in 0..length >> 16 {
            if is_chunked {
                stream.write_all(b"10000\r\n").await.expect("the server reads on");
            }
            stream.write_all(&piece).await.expect("the server reads on");
            if is_chunked {
                stream.write_all(b"\r\n").await.expect("the server reads on");
            }
        }
        if is_chunked {
            stream.write_all(b"0\r\n\r\n").await.expect("the server reads on");
        }
        let (answer, _) = one(&mut stream).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{head}: {answer}");
        // And the connection can be used again.
        stream.write_all(HEALTH).await.unwrap();
        assert!(one(&mut stream).await.0.starts_with("HTTP/1.1 200"), "{head}");
    }
}

/// But not for ever: who sends without an end is let go, and who waits for permission to send does not get it.
#[tokio::test]
async fn a_body_that_nobody_reads_is_read_for_a_moment() {
    let server = server(ApiConfig::from(HttpConfig { max_body_bytes: 1000, ..limited(60_000).http })).await;
    let head = "POST /v1/tx/verify HTTP/1.1\r\nHost: cairn.test\r\nContent-Type: application/json\r\n";
    let mut stream = server.connect().await;
    stream.write_all(format!("{head}Content-Length: 1000000000000\r\n\r\n").as_bytes()).await.unwrap();
    let began = Instant::now();
    let (piece, mut sent) = (vec![b' '; 1 << 20], 0u64);
    while began.elapsed() < PATIENCE && stream.write_all(&piece).await.is_ok() {
        sent += 1 << 20;
    }
    assert!(sent < 256 << 20 && began.elapsed() < PATIENCE, "{sent} bytes in {:?}", began.elapsed());
    // A drop now and then does not make the server wait longer.
    let mut stream = server.connect().await;
    stream.write_all(format!("{head}Content-Length: 1000000\r\n\r\n").as_bytes()).await.unwrap();
    let (began, mut writing) = (Instant::now(), true);
    while began.elapsed() < PATIENCE && writing {
        writing = stream.write_all(b" ").await.is_ok();
        sleep(Duration::from_millis(200)).await;
    }
    assert!((4..15).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    let request = format!("{head}Content-Length: 2000\r\nExpect: 100-continue\r\n\r\n");
    let waiting = server.say(request.as_bytes());
    let answer = timeout(Duration::from_secs(4), waiting).await.expect("it is closed at once");
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}
