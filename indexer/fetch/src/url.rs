//! A URL that can be fetched, and its form for logs and for the ledger.

use std::{fmt, str::FromStr};

use ureq::http::Uri;

use crate::UrlError;

/// Ports of the schemes.
const HTTP: u16 = 80;
const HTTPS: u16 = 443;
/// Longest URL.
const LONGEST: usize = 2_000;
/// Longest value of a query's parameter that is shown: keys and signatures are longer.
const LONGEST_SHOWN: usize = 24;
/// Words in the names of parameters whose values are secret.
const SECRET: [&str; 10] = ["key", "token", "secret", "pass", "pwd", "sig", "auth", "session", "credential", "nonce"];

/// A URL with http or https, without credentials and fragment. `Debug` and `Display` show it without secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Url(Uri);

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let text = text.trim();
        let text = text.split('#').next().unwrap_or_default();
        let scheme = text.split_once("://").ok_or(UrlError::Scheme)?.0;
        if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
            return Err(UrlError::Scheme);
        }
        if text.len() > LONGEST {
            return Err(UrlError::Malformed("it is longer than 2,000 bytes"));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(UrlError::Malformed("write blanks and letters beyond ASCII as %20, or the host as xn--…"));
        }
        let uri: Uri = text.parse().map_err(|_| UrlError::Malformed("expected https://host/path"))?;
        let authority = uri.authority().ok_or(UrlError::Malformed("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(UrlError::Credentials);
        }
        if authority.host().is_empty() {
            return Err(UrlError::Malformed("it has no host"));
        }
        if authority.as_str().len() != authority.host().len() && authority.port_u16().is_none() {
            return Err(UrlError::Malformed("its port is not a number below 65536"));
        }
        Ok(Url(uri))
    }
}

impl Url {
    /// True if it is encrypted.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.0.scheme_str().is_some_and(|scheme| scheme.eq_ignore_ascii_case("https"))
    }

    /// Its host.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.host().unwrap_or_default()
    }

    /// Its port: the one of its scheme if none is written.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.0.port_u16().unwrap_or(if self.is_https() { HTTPS } else { HTTP })
    }

    /// True if a redirect from this URL to another stays at the server that was named: the same host and port, or the
    /// same host with encryption, both on the ports of their schemes.
    pub(crate) fn is_same_server(&self, to: &Url) -> bool {
        let ports = (self.port(), to.port());
        self.host().eq_ignore_ascii_case(to.host()) && (ports.0 == ports.1 || ports == (HTTP, HTTPS) && to.is_https())
    }

    /// The whole text, with secrets.
    pub(crate) fn whole(&self) -> String {
        self.0.to_string()
    }

    fn origin(&self) -> String {
        let authority = self.0.authority().map(|authority| authority.as_str()).unwrap_or_default();
        format!("{}://{authority}", self.0.scheme_str().unwrap_or_default())
    }

    /// The URL without secrets: values of a query are left out if their name or their length says that they may be one.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut text = self.origin() + self.0.path();
        let Some(query) = self.0.query() else { return text };
        for (at, part) in query.split('&').enumerate() {
            text.push(if at == 0 { '?' } else { '&' });
            let Some((name, value)) = part.split_once('=') else {
                text += if part.len() > LONGEST_SHOWN { "***" } else { part };
                continue;
            };
            let lower = name.to_ascii_lowercase();
            let is_secret = value.len() > LONGEST_SHOWN || SECRET.iter().any(|word| lower.contains(word));
            text += &format!("{name}={}", if is_secret { "***" } else { value });
        }
        text
    }

    /// The URL of a path of this one's server, below this one's path.
    pub fn below(&self, path: &str) -> Result<Url, UrlError> {
        format!("{}{}{path}", self.origin(), self.0.path().trim_end_matches('/')).parse()
    }

    /// Where a redirect leads, with an absolute URL or one that is relative to this one.
    pub(crate) fn join(&self, location: &str) -> Result<Url, UrlError> {
        let location = location.trim();
        let before_query = location.split(['?', '#']).next().unwrap_or_default();
        if before_query.contains("://") {
            return location.parse();
        }
        if let Some((scheme, _)) = before_query.split_once(':')
            && !scheme.contains('/')
        {
            return Err(UrlError::Scheme);
        }
        if let Some(rest) = location.strip_prefix("//") {
            return format!("{}://{rest}", self.0.scheme_str().unwrap_or_default()).parse();
        }
        let folder = || self.0.path().rsplit_once('/').map(|(folder, _)| folder).unwrap_or_default();
        match location.bytes().next() {
            Some(b'/') => format!("{}{location}", self.origin()).parse(),
            Some(b'?') => format!("{}{}{location}", self.origin(), self.0.path()).parse(),
            _ => format!("{}{}/{location}", self.origin(), folder()).parse(),
        }
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_server_is_a_host_and_a_port() {
        for (from, to, expected) in [
            ("http://a/x", "http://A:80/y", true),
            ("https://a:443", "https://a", true),
            ("http://a", "https://a", true),
            ("http://a:8080/", "http://a:8080/", true),
            ("http://a:8080/", "http://a:8081/", false),
            ("http://a:8080/", "http://a/", false),
            ("http://a:8080/", "https://a/", false),
            ("http://a/", "https://a:8443/", false),
            ("http://a/", "http://a:443/", false),
            ("http://a/", "http://b/", false),
        ] {
            assert_eq!(url(from).is_same_server(&url(to)), expected, "{from} {to}");
        }
    }

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    #[test]
    fn urls_are_read() {
        assert_eq!(url(" https://example.org/a?b=c#d ").whole(), "https://example.org/a?b=c");
        assert_eq!(url("HTTP://[2001:db8::1]:80/").host(), "[2001:db8::1]");
        assert!(url("HTTPS://x").is_https() && !url("http://x").is_https());
        let refused = |text: &str| text.parse::<Url>().unwrap_err();
        for text in ["", "x", "/a", "ftp://x/", "file:///etc/passwd", "javascript:alert(1)", "gopher://x"] {
            assert_eq!(refused(text), UrlError::Scheme, "{text}");
        }
        for text in ["https://u:p@x/", "https://u@x/", "https://:p@x/"] {
            assert_eq!(refused(text), UrlError::Credentials, "{text}");
        }
        for text in [
            "https://",
            "https:///a",
            "https://x:99999/",
            "https://a b/",
            "https://ü/",
            "https://x/\r\nHost: y",
            "https://:80/",
        ] {
            assert!(matches!(refused(text), UrlError::Malformed(_)), "{text}");
        }
        assert!(matches!(refused(&format!("https://x/{}", "a".repeat(2_000))), UrlError::Malformed(_)));
    }

    #[test]
    fn secrets_are_not_shown() {
        let key = "0123456789abcdef0123456789abcdef";
        for (text, shown) in [
            ("https://x/a?pair=BTC/USD&api_key=abc", "https://x/a?pair=BTC/USD&api_key=***"),
            ("https://x/a?X-Amz-Signature=1&date=2024-01-01", "https://x/a?X-Amz-Signature=***&date=2024-01-01"),
            (&format!("https://x/a?u={key}&{key}&flag"), "https://x/a?u=***&***&flag"),
            ("https://x", "https://x/"),
        ] {
            let url = url(text);
            assert_eq!((url.shown(), format!("{url:?}")), (shown.to_owned(), shown.to_owned()));
            assert!(!url.shown().contains(key));
        }
    }

    #[test]
    fn redirects_are_resolved() {
        let base = url("https://x:8/a/b?c=d");
        for (location, to) in [
            ("https://y/z", "https://y/z"),
            ("//y/z", "https://y/z"),
            ("/z?q", "https://x:8/z?q"),
            ("z", "https://x:8/a/z"),
            ("?e=http://f", "https://x:8/a/b?e=http://f"),
        ] {
            assert_eq!(base.join(location).unwrap().whole(), to, "{location}");
        }
        assert_eq!(base.join("https://u:p@y/"), Err(UrlError::Credentials));
        assert_eq!(base.join("file:///etc/passwd"), Err(UrlError::Scheme));
        assert_eq!(base.join("data:text/plain,x"), Err(UrlError::Scheme));
        assert_eq!(url("http://x:1/mirror/").below("/api?a=b").unwrap().whole(), "http://x:1/mirror/api?a=b");
    }

    proptest! {
        #[test]
        fn no_text_panics_and_what_is_read_has_no_credentials(text in "https?://[ -~]{0,60}", location in "[ -~]{0,60}") {
            if let Ok(url) = text.parse::<Url>() {
                let authority = url.whole();
                let authority = authority.split("://").nth(1).unwrap().split(['/', '?']).next().unwrap();
                prop_assert!(!authority.contains('@') && !url.host().is_empty());
                prop_assert_eq!(&url.whole().parse::<Url>().unwrap(), &url);
                let _ = (url.join(&location), url.shown());
            }
        }
    }
}
