//! Clients with addresses of their own in the loopback network, as many clients of one server have.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    ops::Range,
    sync::atomic::{AtomicU16, Ordering},
    time::Duration,
};

use serde_json::Value;
use socket2::{Domain, Socket, Type};

/// A connection that is used again.
pub struct Client {
    stream: TcpStream,
    read: Vec<u8>,
}

/// An answer.
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// The line of its status and its headers.
    pub head: String,
    /// Its body, without the coding of the transfer.
    pub body: Vec<u8>,
}

impl Answer {
    /// Returns the body as JSON; null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// Units that are left in the client's budget.
    pub fn units_left(&self) -> u32 {
        let limit = self.header("ratelimit").unwrap();
        limit.split("r=").nth(1).and_then(|rest| rest.split([';', ',']).next()).unwrap().trim().parse().unwrap()
    }
}

/// The port of the next connection. If the system chooses one, it walks over all sockets that were closed lately, under
/// a lock that delays everybody's packets.
static PORT: AtomicU16 = AtomicU16::new(0);
/// Below the system's own.
const PORTS: Range<u16> = 10_000..32_000;

/// A connection from this address of the loopback network.
pub fn connect(host: u8, server: SocketAddr) -> io::Result<TcpStream> {
    let mut tries = 0;
    loop {
        let port = PORTS.start + PORT.fetch_add(1, Ordering::Relaxed) % PORTS.len() as u16;
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        let bound = socket.bind(&SocketAddr::from((Ipv4Addr::new(127, 0, 0, host), port)).into());
        match bound.and_then(|()| socket.connect(&server.into())) {
            Ok(()) => {
                socket.set_tcp_nodelay(true)?;
                return Ok(TcpStream::from(socket));
            }
            Err(error) if matches!(error.kind(), ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable) && tries < 100 => {
                tries += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

impl Client {
    /// A connection from this address of the loopback network.
    pub fn from(host: u8, server: SocketAddr) -> Client {
        Client::connect(host, server).unwrap()
    }

    /// The same, where nobody may listen.
    pub fn connect(host: u8, server: SocketAddr) -> io::Result<Client> {
        let stream = connect(host, server)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(Client { stream, read: Vec::new() })
    }

    /// Sends a request without waiting for the answer.
    pub fn ask(&mut self, path: &str) {
        write!(self.stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").unwrap();
    }

    /// Returns the answer to a GET request.
    pub fn get(&mut self, path: &str) -> Answer {
        self.ask(path);
        self.answer().unwrap()
    }

    /// Sends a request with a JSON body, or a GET without; the answer.
    pub fn send(&mut self, path: &str, body: Option<&Value>) -> io::Result<Answer> {
        self.send_with(path, body, &[])
    }

    /// Like `send`, with more headers.
    pub fn send_with(&mut self, path: &str, body: Option<&Value>, headers: &[(String, String)]) -> io::Result<Answer> {
        let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let request = match body {
            None => format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{more}\r\n"),
            Some(body) => {
                let (body, head) = (body.to_string(), "Host: 127.0.0.1\r\nContent-Type: application/json");
                let accept = "Accept: application/json, text/event-stream";
                let length = body.len();
                format!("POST {path} HTTP/1.1\r\n{head}\r\n{accept}\r\n{more}Content-Length: {length}\r\n\r\n{body}")
            }
        };
        self.stream.write_all(request.as_bytes())?;
        self.answer()
    }

    /// Sends a form; the answer.
    pub fn submit(&mut self, path: &str, form: &str) -> io::Result<Answer> {
        let head = "Host: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded";
        let length = form.len();
        write!(self.stream, "POST {path} HTTP/1.1\r\n{head}\r\nContent-Length: {length}\r\n\r\n{form}")?;
        self.answer()
    }

    /// The answer to the request that was sent.
    fn answer(&mut self) -> io::Result<Answer> {
        let head = loop {
            if let Some(end) = self.read.windows(4).position(|four| four == b"\r\n\r\n") {
                let rest = self.read.split_off(end + 4);
                break String::from_utf8(std::mem::replace(&mut self.read, rest)).map_err(io::Error::other)?;
            }
            self.more()?;
        };
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
        let mut answer = Answer { status, head, body: Vec::new() };
        if answer.header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
            loop {
                let line = self.line()?;
                let size = usize::from_str_radix(line.split(';').next().unwrap_or_default().trim(), 16);
                let size = size.map_err(io::Error::other)?;
                answer.body.extend(self.take(size)?);
                self.line()?;
                if size == 0 {
                    return Ok(answer);
                }
            }
        }
        let length = answer.header("content-length").unwrap_or("0").parse().map_err(io::Error::other)?;
        answer.body = self.take(length)?;
        Ok(answer)
    }

    fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.read.windows(2).position(|two| two == b"\r\n") {
                let line = self.take(end + 2)?;
                return String::from_utf8(line[..end].to_vec()).map_err(io::Error::other);
            }
            self.more()?;
        }
    }

    fn take(&mut self, count: usize) -> io::Result<Vec<u8>> {
        while self.read.len() < count {
            self.more()?;
        }
        let rest = self.read.split_off(count);
        Ok(std::mem::replace(&mut self.read, rest))
    }

    fn more(&mut self) -> io::Result<()> {
        let mut buffer = [0; 64 << 10];
        let n = loop {
            match self.stream.read(&mut buffer) {
                // With a time limit, a process that was stopped and goes on gets this error.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        if n == 0 {
            return Err(io::Error::other("the server closed the connection"));
        }
        self.read.extend_from_slice(&buffer[..n]);
        Ok(())
    }
}
