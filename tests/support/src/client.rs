//! A very small HTTP client that keeps its connection.

use std::{
    io::{self, BufRead, BufReader, Error, ErrorKind, Read, Write},
    net::TcpStream,
    time::Duration,
};

use bitcoin::{Address, Network, ScriptBuf, hashes::Hash, hashes::sha256};
use serde_json::Value;

/// No answer takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client of one server.
pub struct Client {
    address: String,
    stream: Option<BufReader<TcpStream>>,
}

impl Client {
    /// Of the server at `address`; it connects when it has to.
    pub fn new(address: &str) -> Self {
        Client { address: address.to_owned(), stream: None }
    }

    /// Where the server is.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Status and body of a GET request. A connection that the server has closed meanwhile is replaced.
    pub fn get(&mut self, path: &str) -> io::Result<(u16, Value)> {
        let kept = self.stream.is_some();
        match self.attempt(path) {
            Err(_) if kept => self.attempt(path),
            other => other,
        }
    }

    /// The body of a GET request that is answered with 200; otherwise what was answered instead.
    pub fn ok(&mut self, path: &str) -> Result<Value, String> {
        match self.get(path) {
            Ok((200, body)) => Ok(body),
            Ok((status, body)) => Err(format!("{path}: {status} {body}")),
            Err(error) => Err(format!("{path}: {error}")),
        }
    }

    fn attempt(&mut self, path: &str) -> io::Result<(u16, Value)> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(&self.address)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                BufReader::new(stream)
            }
        };
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address);
        stream.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let status = line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).ok_or(ErrorKind::InvalidData)?;
        let mut length = 0;
        loop {
            line.clear();
            if stream.read_line(&mut line)? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            match line.trim_end().split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse().map_err(Error::other)?;
                }
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        self.stream = Some(stream);
        Ok((status, serde_json::from_slice(&body)?))
    }
}

/// Returns the name by which a server is asked for a script: its address, or the hash of a script without one.
pub fn name_of(script: &ScriptBuf) -> String {
    match Address::from_script(script, Network::Regtest) {
        Ok(address) => address.to_string(),
        Err(_) => format!("scripthash:{}", sha256::Hash::hash(script.as_bytes())),
    }
}
