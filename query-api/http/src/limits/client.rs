//! The client that a request is counted for: an IPv4 address or an IPv6 /64.

use std::{
    net::{IpAddr, SocketAddr},
    str::FromStr,
    sync::atomic::{AtomicBool, Ordering},
};

use axum::http::{HeaderMap, HeaderName, header};

use crate::config::{ForwardedHeader, HttpConfig};

/// The address that a request is counted for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Client(IpAddr);

/// A client and the networks that it is in, the largest first: /32, /48, /64. The owner of a network has all addresses
/// in it. IPv4 addresses are scarce, so each stands for itself. `None` is a request without a client.
pub(crate) type Lineage = [Option<IpAddr>; 3];

/// Lengths of the prefixes of a client's networks (IPv6), in segments of 16 bits.
const SEGMENTS: [usize; 3] = [2, 3, 4];

impl Client {
    /// The peer of a connection, or the client behind trusted proxies.
    pub(crate) fn of(peer: SocketAddr, headers: &HeaderMap, config: &HttpConfig) -> Self {
        let trusted = |ip: &IpAddr| config.trusted_proxies.iter().any(|net| net.contains(ip));
        let mut ip = peer.ip().to_canonical();
        if trusted(&ip) {
            // From the nearest to the farthest: each trusted proxy names the hop before it.
            for hop in hops(headers, config.forwarded_header).into_iter().rev() {
                // A hop without an address is unknown: count the proxy that wrote it.
                let Some(named) = hop else {
                    if !TOLD.swap(true, Ordering::Relaxed) {
                        tracing::warn!(
                            proxy = %ip,
                            "a trusted proxy sent a forwarded header with an entry that is not an address: its \
                             requests count for the proxy; further ones are not logged"
                        );
                    }
                    break;
                };
                ip = named;
                if !trusted(&ip) {
                    break;
                }
            }
        }
        Client::at(ip)
    }

    /// The address, or the first one of the network.
    pub(crate) fn network(self) -> IpAddr {
        self.0
    }

    /// The networks that it is in, and itself.
    pub(crate) fn lineage(&self) -> Lineage {
        match self.0 {
            IpAddr::V4(ip) => [Some(ip.into()); 3],
            IpAddr::V6(ip) => SEGMENTS.map(|kept| {
                let mut segments = ip.segments();
                segments[kept..].fill(0);
                Some(segments.into())
            }),
        }
    }

    /// An IPv4 address, or the /64 of an IPv6 address, since one household has a /64.
    pub(crate) fn at(ip: IpAddr) -> Self {
        Client(match ip {
            IpAddr::V4(ip) => ip.into(),
            IpAddr::V6(ip) => {
                let [a, b, c, d, ..] = ip.segments();
                IpAddr::from([a, b, c, d, 0, 0, 0, 0])
            }
        })
    }
}

/// True once the log has a warning about a forwarded header.
static TOLD: AtomicBool = AtomicBool::new(false);

/// Maximum length of a chain of proxies.
const MAX_HOPS: usize = 32;

/// The addresses in a header, the client's first; `None` for an entry that is not an address.
fn hops(headers: &HeaderMap, which: ForwardedHeader) -> Vec<Option<IpAddr>> {
    let name = match which {
        ForwardedHeader::XForwardedFor => HeaderName::from_static("x-forwarded-for"),
        ForwardedHeader::Forwarded => header::FORWARDED,
    };
    let mut found = Vec::new();
    for value in headers.get_all(name) {
        // An entry with other bytes than ASCII is not an address; the other entries are as good as ever.
        for element in String::from_utf8_lossy(value.as_bytes()).split(',') {
            found.push(match which {
                ForwardedHeader::XForwardedFor => address(element),
                ForwardedHeader::Forwarded => element.split(';').find_map(|pair| {
                    let (key, value) = pair.trim().split_once('=')?;
                    key.eq_ignore_ascii_case("for").then(|| address(value)).flatten()
                }),
            });
        }
    }
    // The nearest ones count.
    found.split_off(found.len().saturating_sub(MAX_HOPS))
}

/// Parses an address, with optional port, brackets or quotes.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim().trim_matches('"');
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let ip = IpAddr::from_str(bare).ok().or_else(|| SocketAddr::from_str(text).ok().map(|at| at.ip()))?;
    Some(ip.to_canonical())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn client(peer: &str, which: ForwardedHeader, lines: &[&str]) -> Client {
        let trusted_proxies = vec!["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()];
        let config = HttpConfig { trusted_proxies, forwarded_header: which, ..HttpConfig::default() };
        let mut headers = HeaderMap::new();
        for line in lines {
            let name = if which == ForwardedHeader::Forwarded { "forwarded" } else { "x-forwarded-for" };
            headers.append(name, HeaderValue::from_str(line).unwrap());
        }
        Client::of(peer.parse().unwrap(), &headers, &config)
    }

    fn at(ip: &str) -> Client {
        Client::at(ip.parse().unwrap())
    }

    #[test]
    fn whoever_is_not_trusted_speaks_for_himself() {
        let x = ForwardedHeader::XForwardedFor;
        assert_eq!(client("192.0.2.1:5", x, &["198.51.100.7"]), at("192.0.2.1"));
        assert_eq!(client("10.0.0.1:5", x, &["198.51.100.7"]), at("198.51.100.7"));
        // The client made up the first; the proxy added the second.
        assert_eq!(client("10.0.0.1:5", x, &["1.2.3.4, 198.51.100.7"]), at("198.51.100.7"));
        assert_eq!(client("10.0.0.1:5", x, &["1.2.3.4", "198.51.100.7, 10.9.9.9"]), at("198.51.100.7"));
        assert_eq!(client("10.0.0.1:5", x, &["unknown"]), at("10.0.0.1"));
        assert_eq!(client("10.0.0.1:5", x, &["1.2.3.4, unknown, 10.0.0.2"]), at("10.0.0.2"));
        assert_eq!(client("10.0.0.1:5", x, &[]), at("10.0.0.1"));
        assert_eq!(client("[::ffff:10.0.0.1]:5", x, &["198.51.100.7:1234"]), at("198.51.100.7"));
    }

    #[test]
    fn an_entry_of_other_bytes_spoils_only_itself() {
        let trusted_proxies = vec!["10.0.0.0/8".parse().unwrap()];
        let of = |which, name: &'static str, value: &[u8]| {
            let config = HttpConfig {
                trusted_proxies: Vec::clone(&trusted_proxies),
                forwarded_header: which,
                ..HttpConfig::default()
            };
            let mut headers = HeaderMap::new();
            headers.append(name, HeaderValue::from_bytes(value).unwrap());
            Client::of("10.0.0.1:5".parse().unwrap(), &headers, &config)
        };
        let x = |value: &[u8]| of(ForwardedHeader::XForwardedFor, "x-forwarded-for", value);
        // The client sent the first entry, so its bytes must not make the proxy pay.
        assert_eq!(x(b"\xff\xfe, 198.51.100.7"), at("198.51.100.7"));
        assert_eq!(x("m\u{fc}ller, 198.51.100.7, 10.0.0.2".as_bytes()), at("198.51.100.7"));
        assert_eq!(x(b"198.51.100.7, \xff"), at("10.0.0.1"));
        let f = of(ForwardedHeader::Forwarded, "forwarded", b"for=\xe9;proto=http, for=198.51.100.7;host=\xe9");
        assert_eq!(f, at("198.51.100.7"));
    }

    #[test]
    fn the_standard_header_is_read_where_it_is_chosen() {
        let f = ForwardedHeader::Forwarded;
        let lines = ["for=1.1.1.1, for=\"[2001:db8:cafe::17]:4711\";proto=https;by=10.0.0.1"];
        assert_eq!(client("10.0.0.1:5", f, &lines), at("2001:db8:cafe::"));
        assert_eq!(client("[fd00::1]:5", f, &["For=198.51.100.7"]), at("198.51.100.7"));
        assert_eq!(client("10.0.0.1:5", f, &["for=_hidden"]), at("10.0.0.1"));
        assert_eq!(client("10.0.0.1:5", f, &["proto=https"]), at("10.0.0.1"));
    }

    #[test]
    fn a_network_of_64_bits_is_one_client() {
        assert_eq!(at("2001:db8:1:2:3:4:5:6"), at("2001:db8:1:2:ffff::1"));
        assert_ne!(at("2001:db8:1:2::1"), at("2001:db8:1:3::1"));
        assert_ne!(at("192.0.2.1"), at("192.0.2.2"));
    }
}
