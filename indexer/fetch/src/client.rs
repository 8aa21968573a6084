//! The client: one GET request, with limits.

use std::{
    io::Read,
    sync::Arc,
    time::{Duration, Instant},
};

use cairn_model::CancelToken;
use ureq::{
    Agent, Error,
    http::{HeaderMap, Response, header},
    tls::{Certificate, RootCerts, TlsConfig, TlsProvider},
    unversioned::transport::{Connector, RustlsConnector},
};

use crate::{
    FetchError, Url, Validators,
    body::{Body, decoding},
    error::words,
    times::{http_date, retry_after},
    wire::{Dialer, Names, Stopped},
};

/// Most redirects that are followed.
pub const MAX_REDIRECTS: u32 = 5;
/// Most bytes of an answer that is not a document, for the message.
const MAX_OF_AN_ERROR: u64 = 64 << 10;
/// Bytes of each read.
const CHUNK: usize = 64 << 10;

/// Limits of a fetch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Most bytes that are received.
    pub received: u64,
    /// Most bytes that they unpack to.
    pub unpacked: u64,
    /// From the first connection to the last byte, redirects included.
    pub time: Duration,
}

/// Fetches documents. Clones share their settings.
#[derive(Clone, Debug)]
pub struct Client {
    /// For the server that the operator names.
    named: Agent,
    /// For servers that a redirect names.
    others: Agent,
    cancel: CancelToken,
    has_roots: bool,
}

/// An answer with any status but a redirect.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Where it came from, after redirects.
    pub url: Url,
    /// Its media type, with parameters.
    pub media_type: Option<String>,
    /// Its content.
    pub body: Body,
    /// Validators for a later request.
    pub validators: Validators,
    /// The server's time, in seconds since 1970; `None` if the answer has no date.
    pub date: Option<u32>,
    /// How long the server wants us to wait.
    pub retry_after: Option<Duration>,
}

/// A document, or word that it is the same as before.
#[derive(Debug)]
pub enum Fetched {
    /// It has not changed since the request with these validators.
    Unchanged,
    /// It is this.
    Document(Box<Answer>),
}

impl Client {
    /// A client that ends its work when the token is cancelled. With `allows_private`, the host of a URL may have an
    /// address that is not in the public network; a redirect to another host or port still leads to the public network
    /// only.
    #[must_use]
    pub fn new(cancel: &CancelToken, allows_private: bool) -> Self {
        let roots = rustls_native_certs::load_native_certs();
        let roots: Vec<_> = roots.certs.iter().map(|root| Certificate::from_der(root.as_ref()).to_owned()).collect();
        let has_roots = !roots.is_empty();
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .root_certs(RootCerts::new_with_certs(&roots))
            .build();
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // Each redirect is looked at here.
            .max_redirects(0)
            .max_redirects_will_error(false)
            // A proxy would connect to addresses that nobody has looked at.
            .proxy(None)
            .user_agent(concat!("cairn/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("gzip")
            .max_response_header_size(64 << 10)
            .max_idle_connections(0)
            .max_idle_connections_per_host(0)
            .tls_config(tls)
            .build();
        let agent = |allows_private| {
            let dialer = Dialer { cancel: cancel.clone(), allows_private };
            Agent::with_parts(config.clone(), dialer.chain(RustlsConnector::default()), Names(cancel.clone()))
        };
        Client { named: agent(allows_private), others: agent(false), cancel: cancel.clone(), has_roots }
    }

    /// Fetches a document. With validators, the server may say that it has not changed.
    ///
    /// # Errors
    /// Returns [`FetchError::Status`] for any status but 200 (with validators, also 304).
    pub fn fetch(&self, url: &Url, limits: Limits, validators: &Validators) -> Result<Fetched, FetchError> {
        let answer = self.get(url, limits, validators)?;
        match answer.status {
            200 => Ok(Fetched::Document(Box::new(answer))),
            304 if !validators.is_empty() => Ok(Fetched::Unchanged),
            status => Err(FetchError::Status {
                url: answer.url.shown(),
                status,
                words: words(&answer.body.start()),
                retry_after: answer.retry_after,
            }),
        }
    }

    /// The answer to a GET request, whatever its status; redirects are followed.
    pub fn get(&self, url: &Url, limits: Limits, validators: &Validators) -> Result<Answer, FetchError> {
        self.get_with(url, &[], limits, validators)
    }

    /// As [`Client::get`], with headers that only the named server gets, not one that it redirects to.
    pub fn get_with(
        &self,
        url: &Url,
        headers: &[(&str, &str)],
        limits: Limits,
        validators: &Validators,
    ) -> Result<Answer, FetchError> {
        let until = Instant::now() + limits.time;
        let mut at = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            if at.is_https() && !self.has_roots {
                return Err(FetchError::NoRoots);
            }
            let left = until.saturating_duration_since(Instant::now());
            let is_named = url.is_same_server(&at);
            let fail = |error| match self.error(&at, limits, error) {
                FetchError::Private { host, address } if !is_named => {
                    FetchError::PrivateRedirect { url: url.shown(), host: format!("{host}:{}", at.port()), address }
                }
                other => other,
            };
            let agent = if is_named { &self.named } else { &self.others };
            let mut request = agent.get(at.whole()).header(header::ACCEPT, "*/*");
            for (name, value) in headers.iter().filter(|_| is_named) {
                request = request.header(*name, *value);
            }
            if let Some(etag) = &validators.etag {
                request = request.header(header::IF_NONE_MATCH, etag);
            }
            if let Some(modified) = &validators.last_modified {
                request = request.header(header::IF_MODIFIED_SINCE, modified);
            }
            let request = request.config().timeout_global(Some(left.max(Duration::from_millis(1)))).build();
            let response = request.call().map_err(fail)?;
            let (status, headers) = (response.status().as_u16(), response.headers());
            let location = text(headers, header::LOCATION.as_str());
            if let (301 | 302 | 303 | 307 | 308, Some(location)) = (status, location) {
                let to = at.join(location).map_err(|reason| FetchError::BadRedirect { url: at.shown(), reason })?;
                if at.is_https() && !to.is_https() {
                    return Err(FetchError::Downgrade { url: at.shown() });
                }
                at = to;
                continue;
            }
            return self.read(at, limits, response);
        }
        Err(FetchError::Redirects { url: url.shown(), most: MAX_REDIRECTS })
    }

    /// The answer to a POST request with a JSON body, whatever its status; no redirect is followed.
    pub fn post(&self, url: &Url, headers: &[(&str, &str)], body: &[u8], limits: Limits) -> Result<Answer, FetchError> {
        if url.is_https() && !self.has_roots {
            return Err(FetchError::NoRoots);
        }
        let mut request = self.named.post(url.whole()).header(header::CONTENT_TYPE, "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.config().timeout_global(Some(limits.time)).build();
        let response = request.send(body).map_err(|error| self.error(url, limits, error))?;
        self.read(url.clone(), limits, response)
    }

    fn read(&self, url: Url, limits: Limits, response: Response<ureq::Body>) -> Result<Answer, FetchError> {
        let status = response.status().as_u16();
        let headers = response.headers();
        let encoding = text(headers, header::CONTENT_ENCODING.as_str()).unwrap_or_default();
        let decoding = decoding(encoding)
            .ok_or_else(|| FetchError::Encoding { url: url.shown(), encoding: encoding.chars().take(40).collect() })?;
        let validators = Validators {
            etag: text(headers, header::ETAG.as_str()).map(str::to_owned),
            last_modified: text(headers, header::LAST_MODIFIED.as_str()).map(str::to_owned),
        };
        let date = text(headers, header::DATE.as_str()).and_then(http_date);
        let media_type = text(headers, header::CONTENT_TYPE.as_str()).map(str::to_owned);
        let retry_after = text(headers, header::RETRY_AFTER.as_str()).and_then(|text| retry_after(text, date));
        let most = if status == 200 { limits.received } else { limits.received.min(MAX_OF_AN_ERROR) };
        let too_long = || FetchError::TooLong { url: url.shown(), limit: most };
        let announced = text(headers, header::CONTENT_LENGTH.as_str()).and_then(|text| text.parse::<u64>().ok());
        if status == 200 && announced.is_some_and(|length| length > most) {
            return Err(too_long());
        }
        let mut received = Vec::new();
        // One byte more than allowed shows that there is more.
        let mut reader = response.into_body().into_with_config().limit(u64::MAX).reader().take(most.saturating_add(1));
        let mut chunk = vec![0; CHUNK];
        loop {
            if self.cancel.is_cancelled() {
                return Err(FetchError::Cancelled);
            }
            match reader.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => received.extend_from_slice(chunk.get(..read).unwrap_or_default()),
                Err(error) => return Err(self.error(&url, limits, Error::from(error))),
            }
        }
        if received.len() as u64 > most {
            if status == 200 {
                return Err(too_long());
            }
            received.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        }
        let body = Body::new(received, decoding, limits.unpacked);
        Ok(Answer { status, url, media_type, body, validators, date, retry_after })
    }

    fn error(&self, url: &Url, limits: Limits, error: Error) -> FetchError {
        let (shown, host) = (url.shown(), url.host().to_owned());
        match error {
            Error::Other(inner) => match inner.downcast_ref::<Stopped>() {
                Some(Stopped::Cancelled) => FetchError::Cancelled,
                Some(Stopped::Private(address)) => FetchError::Private { host, address: *address },
                None => FetchError::Protocol { url: shown, reason: inner.to_string() },
            },
            Error::Timeout(ureq::Timeout::Connect) => {
                FetchError::Unreachable { url: shown, reason: "no connection within 5 s".to_owned() }
            }
            Error::Timeout(_) => FetchError::TimedOut { url: shown, limit: limits.time },
            Error::HostNotFound => FetchError::NoHost { host },
            Error::Io(io) => match io.downcast::<Error>() {
                Ok(inner) => self.error(url, limits, inner),
                Err(io) => io_error(url, limits, self.cancel.is_cancelled(), io),
            },
            Error::Rustls(error) => FetchError::Tls { url: shown, reason: error.to_string() },
            Error::Tls(reason) => FetchError::Tls { url: shown, reason: reason.to_owned() },
            Error::ConnectionFailed | Error::BodyStalled => {
                FetchError::Unreachable { url: shown, reason: "the connection broke".to_owned() }
            }
            other => FetchError::Protocol { url: shown, reason: format!("not a proper HTTP answer: {other}") },
        }
    }
}

/// An error of the system, or of TLS, which travels as one.
fn io_error(url: &Url, limits: Limits, is_cancelled: bool, error: std::io::Error) -> FetchError {
    let shown = url.shown();
    if let Some(stopped) = error.get_ref().and_then(|inner| inner.downcast_ref::<Stopped>()) {
        return match stopped {
            Stopped::Cancelled => FetchError::Cancelled,
            Stopped::Private(address) => FetchError::Private { host: url.host().to_owned(), address: *address },
        };
    }
    if let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return FetchError::Tls { url: shown, reason: tls.to_string() };
    }
    match error.kind() {
        _ if is_cancelled => FetchError::Cancelled,
        std::io::ErrorKind::TimedOut => FetchError::TimedOut { url: shown, limit: limits.time },
        std::io::ErrorKind::ConnectionRefused => {
            FetchError::Unreachable { url: shown, reason: "connection refused".to_owned() }
        }
        std::io::ErrorKind::UnexpectedEof => FetchError::Unreachable {
            url: shown,
            reason: "the connection closed before the answer was complete".to_owned(),
        },
        _ => FetchError::Unreachable { url: shown, reason: error.to_string() },
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok().map(str::trim).filter(|text| !text.is_empty())
}
