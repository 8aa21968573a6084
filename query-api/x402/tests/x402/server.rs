//! A server of HTTP that answers as a test says, once for each connection.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

/// How long the server waits for a client.
const PATIENCE: Duration = Duration::from_secs(30);

/// How the server answers a request.
#[derive(Clone)]
pub(crate) enum Answer {
    /// Status and body.
    Body(u16, String),
    /// These bytes, and the end of the connection.
    Bytes(Vec<u8>),
    /// The connection stays open without an answer.
    Silence(Duration),
}

/// A request as it arrived.
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Serves the answers, one connection each, and then closes. The thread returns the requests.
pub(crate) fn serve(answers: Vec<Answer>) -> (String, thread::JoinHandle<Vec<Request>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = thread::spawn(move || {
        let mut requests = Vec::new();
        for answer in answers {
            let mut stream = accept(&listener);
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() > 0 {}
            let length =
                head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            reader.read_exact(&mut body).unwrap();
            requests.push(Request { head, body: String::from_utf8(body).unwrap() });
            match answer {
                Answer::Body(status, body) => {
                    let head =
                        format!("HTTP/1.1 {status} x\r\ncontent-length: {}\r\nlocation: /settle\r\n\r\n", body.len());
                    let _ = stream.write_all(&[head.as_bytes(), body.as_bytes()].concat());
                }
                Answer::Bytes(bytes) => {
                    let _ = stream.write_all(&bytes);
                }
                Answer::Silence(time) => thread::sleep(time),
            }
        }
        requests
    });
    (url, serving)
}

/// Waits for a connection, but not for ever: a client that does not come fails the test.
fn accept(listener: &TcpListener) -> TcpStream {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Ok((stream, _)) = listener.accept() {
            stream.set_nonblocking(false).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            return stream;
        }
        assert!(Instant::now() < until, "no connection within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(1));
    }
}
