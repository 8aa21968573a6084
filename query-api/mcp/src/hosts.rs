//! Allowed `Host` and `Origin` headers. They prevent DNS rebinding: a page of another site must not reach a server on
//! the user's machine through its own name.

use std::net::IpAddr;

use axum::{
    http::{HeaderMap, Uri, header, uri::Authority},
    response::Response,
};
use cairn_http::{Api, ErrorCode};

/// The allowed hosts.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    /// The service's own name, in lower case.
    own: Option<String>,
}

impl Hosts {
    /// The host of the base URL, and this machine.
    pub(crate) fn of(base_url: &str) -> Self {
        Hosts { own: base_url.parse::<Uri>().ok().and_then(|uri| uri.host().map(str::to_ascii_lowercase)) }
    }

    /// Checks a request.
    ///
    /// # Errors
    /// The answer to give: 403.
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Box<Response>> {
        let refused = |code, detail| Err(Box::new(Api::problem(code, detail, None)));
        let named = uri.authority().cloned().or_else(|| authority(headers.get(header::HOST)?.to_str().ok()?));
        let Some(named) = named.filter(|named| self.is_host(named.host())) else {
            return refused(
                ErrorCode::HostNotAllowed,
                "the Host header must name this machine or the host of the base URL, which the operator sets",
            );
        };
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let allowed = origins.all(|origin| {
            let origin = origin.to_str().ok().and_then(|text| text.parse::<Uri>().ok());
            origin.is_some_and(|origin| {
                let web = matches!(origin.scheme_str(), Some("http" | "https"));
                let host = origin.host().unwrap_or_default();
                web && (host.eq_ignore_ascii_case(named.host()) || self.is_own(host) || is_loopback(host))
            })
        });
        if allowed {
            Ok(())
        } else {
            refused(ErrorCode::OriginNotAllowed, "pages of other sites must not call this endpoint")
        }
    }

    /// True for our own name, or for an IP address: a request by address cannot be DNS rebinding.
    fn is_host(&self, host: &str) -> bool {
        self.is_own(host) || is_loopback(host) || address(host).is_some()
    }

    fn is_own(&self, host: &str) -> bool {
        self.own.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(host))
    }
}

fn authority(text: &str) -> Option<Authority> {
    text.parse().ok()
}

fn address(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || address(host).is_some_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn allowed(host: Option<&str>, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in [(header::HOST, host), (header::ORIGIN, origin)] {
            if let Some(value) = value {
                headers.insert(name, value.parse().unwrap());
            }
        }
        Hosts::of("https://api.cairn.test/base").check(&Uri::from_static("/mcp/"), &headers).is_ok()
    }

    #[test]
    fn hosts_are_ours_or_addresses() {
        for host in ["api.cairn.test", "API.cairn.test:8443", "localhost:8080", "127.0.0.1:1", "[::1]:8080", "10.0.0.7"]
        {
            assert!(allowed(Some(host), None), "{host}");
        }
        for host in ["evil.test", "api.cairn.test.evil.test", "localhost.evil.test", "", "a b", "127.0.0.1.evil.test"] {
            assert!(!allowed(Some(host), None), "{host}");
        }
        assert!(!allowed(None, None));
    }

    #[test]
    fn origins_are_ours_or_of_this_machine() {
        let host = Some("api.cairn.test");
        for origin in ["https://api.cairn.test", "http://localhost:6274", "http://127.0.0.1:5173", "http://[::1]"] {
            assert!(allowed(host, Some(origin)), "{origin}");
        }
        for origin in ["https://evil.test", "null", "file://x", "chrome-extension://abc", "https://10.0.0.7", "x y"] {
            assert!(!allowed(host, Some(origin)), "{origin}");
        }
        assert!(allowed(Some("10.0.0.7:80"), Some("http://10.0.0.7")));
    }
}
