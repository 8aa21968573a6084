//! A client over a socket, from an address of its own.

use std::{
    io::{self, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpStream},
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
    pub status: u16,
    pub head: String,
    /// With the frames of its parts, if it came in parts.
    pub body: Vec<u8>,
}

impl Answer {
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

/// A connection from this address of the loopback network.
pub fn connect(host: u8, server: SocketAddr) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::new(127, 0, 0, host), 0)).into())?;
    socket.connect(&server.into())?;
    socket.set_tcp_nodelay(true)?;
    Ok(TcpStream::from(socket))
}

impl Client {
    /// A connection from this address of the loopback network.
    pub fn from(host: u8, server: SocketAddr) -> Client {
        let stream = connect(host, server).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Client { stream, read: Vec::new() }
    }

    /// Sends a request without waiting for the answer.
    pub fn ask(&mut self, path: &str) {
        write!(self.stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").unwrap();
    }

    pub fn get(&mut self, path: &str) -> Answer {
        self.ask(path);
        let head = loop {
            if let Some(end) = self.read.windows(4).position(|four| four == b"\r\n\r\n") {
                let rest = self.read.split_off(end + 4);
                break String::from_utf8(std::mem::replace(&mut self.read, rest)).unwrap();
            }
            self.more();
        };
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut answer = Answer { status, head, body: Vec::new() };
        if answer.header("transfer-encoding") == Some("chunked") {
            while !self.read.ends_with(b"\r\n0\r\n\r\n") {
                self.more();
            }
            answer.body = std::mem::take(&mut self.read);
            return answer;
        }
        let length = answer.header("content-length").unwrap_or("0").parse().unwrap();
        while self.read.len() < length {
            self.more();
        }
        let rest = self.read.split_off(length);
        answer.body = std::mem::replace(&mut self.read, rest);
        answer
    }

    fn more(&mut self) {
        let mut buffer = [0; 64 << 10];
        let n = self.stream.read(&mut buffer).unwrap();
        assert!(n > 0, "the server closed the connection");
        self.read.extend_from_slice(&buffer[..n]);
    }
}
