//! The URL of a daemon.

use std::net::IpAddr;

use ureq::http::Uri;

use crate::ConfigError;

const MAX_URL_BYTES: usize = 500;

/// Scheme, host, port and perhaps a path, without a slash at the end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BaseUrl {
    text: String,
    is_https: bool,
}

impl BaseUrl {
    /// Reads a URL. Plain http is taken for this machine only, unless `allows_http`: a credential that is read on the
    /// way gives the node's money away.
    pub(crate) fn new(text: &str, allows_http: bool) -> Result<Self, ConfigError> {
        let bad = |reason| Err(ConfigError::Url(reason));
        let text = text.trim().trim_end_matches('/');
        if text.len() > MAX_URL_BYTES {
            return bad("it is longer than 500 bytes");
        }
        let Ok(uri) = text.parse::<Uri>() else { return bad("it is not a URL") };
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return bad("it has no scheme or no host");
        };
        if authority.as_str().contains('@') {
            return bad("it has a user or a password, which belong into the credential");
        }
        let has_bad_port = authority.as_str().len() != authority.host().len() && authority.port_u16().is_none();
        if authority.host().is_empty() || has_bad_port {
            return bad("its host or its port is malformed");
        }
        if uri.query().is_some() || text.contains('#') {
            return bad("it has a query or a fragment");
        }
        let is_https = match scheme {
            "https" => true,
            "http" if allows_http || is_loopback(authority.host()) => false,
            "http" => return bad("http is allowed for this machine only"),
            _ => return bad("its scheme is neither https nor http"),
        };
        Ok(BaseUrl { text: text.to_owned(), is_https })
    }

    pub(crate) fn is_https(&self) -> bool {
        self.is_https
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn urls() {
        for text in
            ["https://node.example:8080", "http://127.0.0.1:9740/", "http://[::1]:3010", "http://localhost/lnd/"]
        {
            let url = BaseUrl::new(text, false).unwrap();
            assert_eq!((url.as_str(), url.is_https()), (text.trim_end_matches('/'), text.starts_with("https")));
        }
        for (text, reason) in [
            ("http://node.example:8080", "this machine only"),
            ("http://127.0.0.1.example", "this machine only"),
            ("https://ann:hunter2@node.example", "credential"),
            ("https://node.example:99999", "malformed"),
            ("https://node.example/?a=b", "query"),
            ("ftp://node.example", "scheme"),
            ("node.example", "no scheme"),
            ("", "not a URL"),
        ] {
            let error = BaseUrl::new(text, false).unwrap_err().to_string();
            assert!(error.contains(reason) && !error.contains("hunter2"), "{text}: {error}");
        }
        assert!(BaseUrl::new("http://node.example:8080", true).is_ok());
    }

    proptest! {
        #[test]
        fn plain_http_leads_to_this_machine_only(host in "[a-z0-9.:@\\[\\]/#?]{1,30}") {
            if let Ok(url) = BaseUrl::new(&format!("http://{host}"), false) {
                let rest = url.as_str().trim_start_matches("http://").to_owned();
                let authority = rest.split('/').next().unwrap();
                prop_assert!(["localhost", "127.", "[::1]", "[0"].iter().any(|own| authority.starts_with(own)), "{rest}");
            }
        }
    }
}
