//! Why something cannot be fetched. Messages name the URL without its secrets.

use std::{net::IpAddr, time::Duration};

/// Why a URL is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// The scheme is neither http nor https.
    #[error("only http:// and https:// URLs can be fetched")]
    Scheme,
    /// The URL has a user or a password in it.
    #[error("the URL has credentials in it; they would end up in logs: fetch the file yourself and import it")]
    Credentials,
    /// The text is not a URL.
    #[error("not a URL: {0}")]
    Malformed(&'static str),
}

/// Why something cannot be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The URL is refused.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The host has no address in the public network.
    #[error(
        "{host} has the address {address}, which is not in the public network; if it is meant, allow private addresses \
         (--allow-private-addresses)"
    )]
    Private {
        /// The host.
        host: String,
        /// Its address.
        address: IpAddr,
    },
    /// A redirect leads into a private network.
    #[error(
        "{url} redirects to {host}, whose address {address} is not in the public network: refused; if it is meant, name that \
         URL itself"
    )]
    PrivateRedirect {
        /// The URL.
        url: String,
        /// The host and port that it leads to.
        host: String,
        /// Its address.
        address: IpAddr,
    },
    /// The name of the host is not known, or the name service does not answer.
    #[error("{host}: no such host, or the name service does not answer")]
    NoHost {
        /// The host.
        host: String,
    },
    /// There is no connection, or it broke.
    #[error("{url}: {reason}")]
    Unreachable {
        /// The URL.
        url: String,
        /// The cause.
        reason: String,
    },
    /// The answer was not complete within the limit.
    #[error("{url}: no complete answer within {} s", limit.as_secs_f32())]
    TimedOut {
        /// The URL.
        url: String,
        /// The limit.
        limit: Duration,
    },
    /// The answer has more bytes than the limit.
    #[error("{url}: the answer is longer than {limit} bytes")]
    TooLong {
        /// The URL.
        url: String,
        /// The limit.
        limit: u64,
    },
    /// There are more redirects than the limit, or a loop of them.
    #[error("{url}: more than {most} redirects, or a loop of them")]
    Redirects {
        /// The URL.
        url: String,
        /// The limit.
        most: u32,
    },
    /// A redirect leads from https to http.
    #[error("{url} redirects from https to http, where others could read and change the answer: refused")]
    Downgrade {
        /// The URL.
        url: String,
    },
    /// A redirect leads to a URL that is refused.
    #[error("{url} redirects to what cannot be fetched: {reason}")]
    BadRedirect {
        /// The URL.
        url: String,
        /// Why.
        reason: UrlError,
    },
    /// The status is not 200.
    #[error("{url}: HTTP status {status}{}", said(words))]
    Status {
        /// The URL.
        url: String,
        /// The status.
        status: u16,
        /// The beginning of the answer.
        words: String,
        /// How long the server wants us to wait.
        retry_after: Option<Duration>,
    },
    /// The TLS connection failed, for example because of the server's certificate.
    #[error("{url}: TLS: {reason}")]
    Tls {
        /// The URL.
        url: String,
        /// Why.
        reason: String,
    },
    /// This machine has no root certificates to check that of the server.
    #[error("this machine has no root certificates; install them (Debian: ca-certificates), or set SSL_CERT_FILE")]
    NoRoots,
    /// The content encoding of the answer is unknown.
    #[error("{url}: the content encoding {encoding:?} is unknown; gzip was asked for")]
    Encoding {
        /// The URL.
        url: String,
        /// Its name.
        encoding: String,
    },
    /// The answer is not HTTP.
    #[error("{url}: {reason}")]
    Protocol {
        /// The URL.
        url: String,
        /// Description of the error.
        reason: String,
    },
    /// The fetch was cancelled.
    #[error("cancelled")]
    Cancelled,
}

fn said(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(": {words}") }
}

/// The beginning of an answer as one line, for messages.
#[must_use]
pub(crate) fn words(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(400)]);
    let line: Vec<&str> = text.split_whitespace().collect();
    line.join(" ").chars().filter(|c| !c.is_control()).take(160).collect()
}
