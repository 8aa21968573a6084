//! Addresses to listen on: free, served by a running Cairn, or taken by another program.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::Duration,
};

use serde::Deserialize;

use crate::finding::{Finding, Severity};

/// Time for a connection and for an answer.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Pause before a second look.
const PAUSE: Duration = Duration::from_millis(200);
/// Bytes that are read of an answer.
const MAX_ANSWER_BYTES: u64 = 256 << 10;

/// A part of a running Cairn that does not work, as `/api/health` reports it.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Trouble {
    part: String,
    reason: String,
    since: String,
    next: String,
}

#[derive(Deserialize)]
struct Health {
    service: String,
    troubles: Vec<Trouble>,
}

/// The state of an address.
#[derive(Debug)]
pub(crate) enum Port {
    /// A listener can be opened.
    Free,
    /// A Cairn answers there, with these troubles.
    Cairn(Vec<Trouble>),
    /// Another program listens there.
    Taken,
    /// Listening is not possible.
    Refused(io::Error),
}

/// Looks at an address. A free one is listened on for a moment.
pub(crate) fn look_at(address: SocketAddr) -> Port {
    match TcpListener::bind(address) {
        Ok(_) => Port::Free,
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            health(address).map_or_else(|| taken(address), Port::Cairn)
        }
        Err(error) => Port::Refused(error),
    }
}

/// Looks again at an address that is taken: another examination may have listened there for a moment.
fn taken(address: SocketAddr) -> Port {
    thread::sleep(PAUSE);
    if TcpListener::bind(address).is_ok() { Port::Free } else { Port::Taken }
}

/// The troubles of the Cairn at an address; `None` if it is another program.
fn health(address: SocketAddr) -> Option<Vec<Trouble>> {
    // A listener on all addresses is reached at the loopback address.
    let host = match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => SocketAddr::from(([127, 0, 0, 1], v4.port())),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, v6.port())),
        other => other,
    };
    let mut stream = TcpStream::connect_timeout(&host, TIMEOUT).ok()?;
    stream.set_read_timeout(Some(TIMEOUT)).ok()?;
    stream.set_write_timeout(Some(TIMEOUT)).ok()?;
    write!(stream, "GET /api/health HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = Vec::new();
    // An answer that breaks off is judged by what arrived.
    let _ = stream.take(MAX_ANSWER_BYTES).read_to_end(&mut answer);
    troubles_in(&answer)
}

fn troubles_in(answer: &[u8]) -> Option<Vec<Trouble>> {
    let body = answer.windows(4).position(|end| end == b"\r\n\r\n")? + 4;
    let json = answer.get(body..)?;
    let (from, to) = (json.iter().position(|byte| *byte == b'{')?, json.iter().rposition(|byte| *byte == b'}')?);
    let health: Health = serde_json::from_slice(json.get(from..=to)?).ok()?;
    (health.service == "cairn").then_some(health.troubles)
}

/// The findings of the address of a setting.
pub(crate) fn port_findings(setting: &str, address: SocketAddr, port: &Port) -> Vec<Finding> {
    match port {
        Port::Free => Vec::new(),
        Port::Cairn(troubles) => troubles.iter().map(trouble_finding).collect(),
        Port::Taken => {
            let text = format!("{setting}: another program listens on {address}");
            let remedy = "stop that program, or choose another port in cairn.toml:";
            let other = SocketAddr::new(address.ip(), address.port().checked_add(1).unwrap_or(8081));
            let line = format!("{setting} = \"{other}\"");
            vec![Finding::new(Severity::Fault, "port_in_use", text, remedy).with_lines([line])]
        }
        Port::Refused(error) => {
            let text = format!("{setting}: cannot listen on {address}: {error}");
            let remedy = "choose an address of this machine and a port above 1023, in cairn.toml:";
            let line = format!("{setting} = \"127.0.0.1:8080\"");
            vec![Finding::new(Severity::Fault, "cannot_listen", text, remedy).with_lines([line])]
        }
    }
}

fn trouble_finding(trouble: &Trouble) -> Finding {
    let text = format!(
        "the running Cairn reports that {} does not work since {}: {}",
        trouble.part, trouble.since, trouble.reason
    );
    Finding::new(Severity::Advice, "running_trouble", text, format!("mend the cause; Cairn meanwhile {}", trouble.next))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn free_taken_and_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                // The other side may be gone.
                let _ = stream.and_then(|mut stream| stream.write_all(b"220 mail.example ESMTP\r\n"));
            }
        });
        let port = look_at(taken);
        assert!(matches!(port, Port::Taken), "{port:?}");
        let said = port_findings("listen", taken, &port)[0].to_string();
        assert!(said.contains("another program listens on") && said.contains("listen = \"127.0.0.1:"), "{said}");
        assert!(matches!(look_at("127.0.0.1:0".parse().unwrap()), Port::Free));
        // An address of documentation, which no machine has.
        let foreign: SocketAddr = "192.0.2.1:8080".parse().unwrap();
        let port = look_at(foreign);
        assert!(matches!(port, Port::Refused(_)), "{port:?}");
        assert_eq!(port_findings("listen", foreign, &port)[0].kind, "cannot_listen");
    }

    #[test]
    fn the_health_of_a_running_cairn_is_read() {
        let answer = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5a\r\n{\"service\":\"cairn\",\"troubles\":[{\"part\":\"node\",\
            \"reason\":\"gone\",\"since\":\"2026-01-01T00:00:00Z\",\"next\":\"asks again every second\"}],\"x\":1}\r\n0\r\n\r\n";
        let troubles = troubles_in(answer).unwrap();
        let findings = port_findings("listen", "127.0.0.1:1".parse().unwrap(), &Port::Cairn(troubles));
        assert!(findings[0].to_string().contains("node does not work since 2026-01-01"), "{}", findings[0]);
        for other in
            [&b""[..], b"HTTP/1.1 200 OK\r\n\r\n{}", b"HTTP/1.1 200 OK\r\n\r\n{\"service\":\"x\",\"troubles\":[]}"]
        {
            assert_eq!(troubles_in(other), None);
        }
    }
}
