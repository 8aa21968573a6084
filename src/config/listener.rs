//! Addresses to listen on.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Parses an address and a port. The only name is `localhost`, which stands for 127.0.0.1: a name that is looked up may
/// lead elsewhere at the next start.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let is_bare_v6 = text.parse::<std::net::Ipv6Addr>().is_ok();
    let (host, port) = match text.rsplit_once(':') {
        Some(parts) if !is_bare_v6 => parts,
        _ => return Err(format!("has no port; {ALLOWED}")),
    };
    let is_digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.parse::<u16>().ok().filter(|_| is_digits);
    let port = port.ok_or_else(|| format!("has a wrong port, which must be a number from 0 to 65535; {ALLOWED}"))?;
    if host.eq_ignore_ascii_case("localhost") {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    Err(format!("has no IP address before its port, and names are not looked up; {ALLOWED}"))
}

/// Allowed values, for errors.
const ALLOWED: &str = "give an IP address or localhost, a colon and a port: 127.0.0.1:8080, [::1]:8080, localhost:8080, or \
                       0.0.0.0:8080 to serve other machines";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, expected) in [
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("[::1]:0", "[::1]:0"),
            ("localhost:8080", "127.0.0.1:8080"),
            ("LocalHost:0", "127.0.0.1:0"),
        ] {
            assert_eq!(address(text).map(|address| address.to_string()), Ok(expected.to_owned()));
        }
        for (text, says) in [
            ("", "has no port"),
            ("localhost", "has no port"),
            ("127.0.0.1", "has no port"),
            ("::1", "has no port"),
            ("8080", "has no port"),
            ("127.0.0.1:99999", "0 to 65535"),
            ("localhost:http", "0 to 65535"),
            ("127.0.0.1:+80", "0 to 65535"),
            ("127.0.0.1:", "0 to 65535"),
            ("example.org:80", "names are not looked up"),
            (":80", "no IP address"),
            ("256.0.0.1:80", "no IP address"),
        ] {
            assert!(
                address(text).is_err_and(|error| error.contains(says) && error.contains("localhost:8080")),
                "{text}"
            );
        }
    }
}
