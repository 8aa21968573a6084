//! A server that tests control: one thread for each connection, and an answer for each request.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its path with the query.
    pub path: String,
    /// Names in small letters, and values.
    headers: Vec<(String, String)>,
}

impl Request {
    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(is, _)| is == name).map(|(_, value)| value.as_str())
    }

    /// A parameter of the query.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let query = self.path.split_once('?')?.1;
        query.split('&').find_map(|part| part.split_once('=').filter(|(is, _)| *is == name)).map(|(_, value)| value)
    }
}

/// An answer.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// Its status.
    pub status: u16,
    /// Its headers, besides `Connection` and `Content-Length`.
    pub headers: Vec<(&'static str, String)>,
    /// Its body.
    pub body: Vec<u8>,
    /// Sends the body byte by byte, with this pause before each.
    pub pause: Option<Duration>,
    /// Bytes that it announces in addition to those that it sends.
    pub cut: usize,
}

impl Reply {
    /// Status 200.
    pub fn ok(body: impl Into<Vec<u8>>) -> Self {
        Reply { status: 200, body: body.into(), ..Reply::default() }
    }

    /// Another status.
    pub fn status(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Reply { status, body: body.into(), ..Reply::default() }
    }

    /// With a header.
    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.headers.push((name, value.to_string()));
        self
    }

    fn send(&self, to: &mut TcpStream) -> std::io::Result<()> {
        let length = self.body.len() + self.cut;
        let mut head = format!("HTTP/1.1 {} x\r\nConnection: close\r\n", self.status);
        if !matches!(self.status, 304) {
            head += &format!("Content-Length: {length}\r\n");
        }
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        to.write_all((head + "\r\n").as_bytes())?;
        match self.pause {
            None => to.write_all(&self.body),
            Some(pause) => self.body.iter().try_for_each(|byte| {
                thread::sleep(pause);
                to.write_all(&[*byte])
            }),
        }
    }
}

/// A running server. Its thread ends with the process.
pub struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Starts it.
    pub fn start(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, answer) = (Arc::new(Mutex::new(Vec::new())), Arc::new(answer));
        let noted = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (noted, answer) = (Arc::clone(&noted), Arc::clone(&answer));
                thread::spawn(move || {
                    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                    let Some(Ok(first)) = lines.next() else { return };
                    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
                    let headers = lines.map_while(Result::ok).take_while(|line| !line.is_empty());
                    let headers = headers.filter_map(|line| {
                        line.split_once(':').map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
                    });
                    let request = Request { path, headers: headers.collect() };
                    noted.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
                    let mut stream = stream;
                    // The client may have gone.
                    let _ = answer(&request).send(&mut stream);
                });
            }
        });
        Server { address, seen }
    }

    /// A URL at it.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests so far.
    pub fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
