//! Allowed `Host` and `Origin` headers. They keep a page of another site from using a server on the machine of its
//! reader: under the page's own name (DNS rebinding), or by a request that needs no permission of the server.

use std::net::IpAddr;

use axum::{
    http::{HeaderMap, Uri, header, uri::Authority},
    response::{IntoResponse, Response},
};

use crate::answers::{code::ErrorCode, error::ApiError};

/// The allowed hosts.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// The service's own name, in lower case.
    own: Option<String>,
    /// Further origins whose pages may send requests, in lower case; `*` stands for all.
    origins: Vec<String>,
}

impl Hosts {
    /// The host of the base URL, and this machine; with pages of these further origins (`*`: of all).
    #[must_use]
    pub fn new(base_url: &str, origins: &[String]) -> Self {
        let origins = origins.iter().map(|origin| origin.to_ascii_lowercase()).collect();
        Hosts { origins, own: base_url.parse::<Uri>().ok().and_then(|uri| uri.host().map(str::to_ascii_lowercase)) }
    }

    /// Checks both headers of a request. The `Host` header must be there.
    ///
    /// # Errors
    /// Returns the answer to give, with status 403.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Box<Response>> {
        let named = named(uri, headers).ok_or_else(wrong_host);
        let checked = named.and_then(|_| self.host(uri, headers)).and_then(|()| self.origin(uri, headers));
        checked.map_err(|refused| Box::new(refused.into_response()))
    }

    /// Checks the name under which the server was called. A request without one is not from a browser.
    ///
    /// # Errors
    /// Returns 403 `host_not_allowed`.
    pub(crate) fn host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
        if uri.authority().is_none() && !headers.contains_key(header::HOST) {
            return Ok(());
        }
        named(uri, headers).filter(|named| self.is_host(named.host())).map(drop).ok_or_else(wrong_host)
    }

    /// Checks the page that sends the request. A request without `Origin` is not from a page.
    ///
    /// # Errors
    /// Returns 403 `origin_not_allowed`.
    pub(crate) fn origin(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
        let named = named(uri, headers);
        let called = |host: &str| named.as_ref().is_some_and(|named| host.eq_ignore_ascii_case(named.host()));
        let allowed = headers.get_all(header::ORIGIN).iter().all(|origin| {
            let text = origin.to_str().unwrap_or_default();
            if self.origins.iter().any(|allowed| allowed == "*" || allowed.eq_ignore_ascii_case(text)) {
                return true;
            }
            let origin = text.parse::<Uri>().ok();
            origin.is_some_and(|origin| {
                let web = matches!(origin.scheme_str(), Some("http" | "https"));
                let host = origin.host().unwrap_or_default();
                web && (called(host) || self.is_own(host) || is_loopback(host))
            })
        });
        let detail = "a page of another site must not send this request; pages of this machine and of the host of the \
            base URL may, and those of origins that the operator allows (--browser-origins)";
        if allowed { Ok(()) } else { Err(ApiError::new(ErrorCode::OriginNotAllowed, detail)) }
    }

    /// True for our own name, or for an IP address: a request by address cannot be DNS rebinding.
    fn is_host(&self, host: &str) -> bool {
        self.is_own(host) || is_loopback(host) || address(host).is_some()
    }

    fn is_own(&self, host: &str) -> bool {
        self.own.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(host))
    }
}

/// The name under which the server was called.
fn named(uri: &Uri, headers: &HeaderMap) -> Option<Authority> {
    uri.authority().cloned().or_else(|| headers.get(header::HOST)?.to_str().ok()?.parse().ok())
}

fn wrong_host() -> ApiError {
    let detail = "the Host header must name this machine or the host of the base URL, which the operator sets";
    ApiError::new(ErrorCode::HostNotAllowed, detail)
}

fn address(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || address(host).is_some_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(host: Option<&str>, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in [(header::HOST, host), (header::ORIGIN, origin)] {
            if let Some(value) = value {
                headers.insert(name, value.parse().unwrap());
            }
        }
        with_origins(&[], &headers)
    }

    fn with_origins(origins: &[&str], headers: &HeaderMap) -> bool {
        let origins: Vec<String> = origins.iter().map(ToString::to_string).collect();
        Hosts::new("https://api.cairn.test/base", &origins).check(&Uri::from_static("/mcp/"), headers).is_ok()
    }

    #[test]
    fn further_origins_are_allowed_by_name() {
        let headers = |origin: &str| {
            let pairs = [(header::HOST, "api.cairn.test"), (header::ORIGIN, origin)];
            HeaderMap::from_iter(pairs.map(|(name, value)| (name, value.parse().unwrap())))
        };
        let some = ["https://App.example", "http://dev.example:5173"];
        for origin in ["https://app.example", "http://dev.example:5173"] {
            assert!(with_origins(&some, &headers(origin)), "{origin}");
        }
        for origin in ["http://app.example", "https://app.example:444", "https://x.app.example", "https://evil.test"] {
            assert!(!with_origins(&some, &headers(origin)), "{origin}");
            assert!(with_origins(&["*"], &headers(origin)), "{origin}");
        }
        // Whatever the origin, the name under which the server was called must be its own.
        let mut rebound = headers("https://app.example");
        rebound.insert(header::HOST, "evil.test".parse().unwrap());
        assert!(!with_origins(&["*"], &rebound));
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
