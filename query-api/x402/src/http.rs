//! The client of a facilitator over HTTP.

use std::{fmt, net::IpAddr, sync::Arc, time::Duration};

use serde::Serialize;
use thiserror::Error;
use ureq::{
    Agent, Body, Error as HttpError,
    http::{HeaderName, HeaderValue, Response, Uri, header},
    tls::{Certificate, RootCerts, TlsConfig, TlsProvider},
    unversioned::{resolver::DefaultResolver, transport::DefaultConnector},
};

use crate::{
    connect::{BeforeSending, NotConnected},
    error::{FacilitatorError, MAX_ANSWER_BYTES},
    facilitator::Facilitator,
    outcome::{Answer, Attempt, SettleOutcome, Supported, VerifyOutcome},
    payload::Authorization,
    payment::Payment,
    requirements::{PaymentRequirements, ResourceInfo, VERSION},
    signature::Signature,
};

/// Shortest credential: a shorter one would be found in answers by chance.
const MIN_SECRET_BYTES: usize = 8;

/// Time limits of the calls, each from the first connection to the last byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// For `supported` and `verify`.
    pub verify: Duration,
    /// For `settle`, which waits for a block. A facilitator that is cut off reports the transaction to nobody.
    pub settle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let (connect, verify) = (Duration::from_secs(5), Duration::from_secs(10));
        // As the clients of the reference (90 s).
        Timeouts { connect, verify, settle: Duration::from_secs(90) }
    }
}

/// A facilitator that cannot be used as it is configured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ConfigError {
    /// The URL is wrong.
    #[error(
        "the URL of the facilitator is not usable; expected http:// or https://, a host, and a path if needed, without \
         credentials, query or fragment; give a credential separately"
    )]
    Url,
    /// The credential is wrong.
    #[error(
        "the facilitator's credential is not usable in a header; expected {MIN_SECRET_BYTES} or more printable ASCII characters"
    )]
    Credential,
    /// The credential would travel in clear text.
    #[error("the facilitator's credential would travel in clear text; use https://, or a facilitator on this machine")]
    ClearText,
}

/// A header that a facilitator asks for. Debug shows its name only.
#[derive(Clone)]
pub struct Credential {
    name: HeaderName,
    value: HeaderValue,
    /// The part of the value that is secret.
    secret: String,
}

impl Credential {
    /// Makes the header `Authorization: Bearer …`.
    pub fn bearer(token: &str) -> Result<Self, ConfigError> {
        let header = Credential::header(header::AUTHORIZATION.as_str(), &format!("Bearer {token}"))?;
        check_secret(token)?;
        Ok(Credential { secret: token.to_owned(), ..header })
    }

    /// Makes a header of any name.
    pub fn header(name: &str, value: &str) -> Result<Self, ConfigError> {
        check_secret(value)?;
        let name = name.parse().map_err(|_| ConfigError::Credential)?;
        let mut sensitive = HeaderValue::from_str(value).map_err(|_| ConfigError::Credential)?;
        sensitive.set_sensitive(true);
        Ok(Credential { name, value: sensitive, secret: value.to_owned() })
    }

    /// Overwrites the secret where a facilitator repeats it, before any part of its answer gets into an error.
    fn redact(&self, body: &mut [u8]) {
        let secret = self.secret.as_bytes();
        let mut at = 0;
        while let Some(rest) = body.get_mut(at..).filter(|rest| rest.len() >= secret.len()) {
            if rest.starts_with(secret) {
                rest.iter_mut().take(secret.len()).for_each(|byte| *byte = b'*');
            }
            at += 1;
        }
    }
}

fn check_secret(secret: &str) -> Result<(), ConfigError> {
    if secret.len() < MIN_SECRET_BYTES { Err(ConfigError::Credential) } else { Ok(()) }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credential({})", self.name)
    }
}

/// A facilitator behind a URL. Redirects and proxies are not followed, and connections are not kept: on a kept one, a
/// request can be lost without a trace.
#[derive(Clone)]
pub struct HttpFacilitator {
    agent: Agent,
    base: String,
    credential: Option<Credential>,
    timeouts: Timeouts,
    lacks_roots: bool,
}

impl fmt::Debug for HttpFacilitator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { base, credential, timeouts, .. } = self;
        write!(f, "HttpFacilitator({base}, {credential:?}, {timeouts:?})")
    }
}

/// The body of `verify` and `settle`: built from the verified payment, so that the facilitator reads what was verified.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Call<'p> {
    x402_version: u64,
    payment_payload: CallPayload<'p>,
    payment_requirements: &'p PaymentRequirements,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallPayload<'p> {
    x402_version: u64,
    resource: &'p ResourceInfo,
    accepted: &'p PaymentRequirements,
    payload: CallTransfer<'p>,
}

#[derive(Serialize)]
struct CallTransfer<'p> {
    signature: &'p Signature,
    authorization: &'p Authorization,
}

impl<'p> Call<'p> {
    fn new(payment: &'p Payment) -> Self {
        let (accepted, resource) = (payment.offer(), payment.resource());
        let payload = CallTransfer { signature: &payment.signature, authorization: payment.transfer() };
        let payment_payload = CallPayload { x402_version: VERSION, resource, accepted, payload };
        Call { x402_version: VERSION, payment_payload, payment_requirements: accepted }
    }
}

impl HttpFacilitator {
    /// Makes a client of the facilitator at `url`, for example `http://127.0.0.1:4022`.
    pub fn new(url: &str, credential: Option<Credential>, timeouts: Timeouts) -> Result<Self, ConfigError> {
        let (base, is_https, is_local) = split_url(url).ok_or(ConfigError::Url)?;
        if credential.is_some() && !is_https && !is_local {
            return Err(ConfigError::ClearText);
        }
        let roots = if is_https { rustls_native_certs::load_native_certs().certs } else { Vec::new() };
        let roots: Vec<_> = roots.iter().map(|root| Certificate::from_der(root.as_ref()).to_owned()).collect();
        let lacks_roots = is_https && roots.is_empty();
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .root_certs(RootCerts::new_with_certs(&roots))
            .build();
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .user_agent(concat!("cairn/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(timeouts.connect))
            .max_response_header_size(MAX_ANSWER_BYTES)
            .max_idle_connections(0)
            .max_idle_connections_per_host(0)
            .tls_config(tls)
            .build();
        let (connector, resolver) = (DefaultConnector::new(), DefaultResolver::default());
        let agent = Agent::with_parts(config, BeforeSending(connector), BeforeSending(resolver));
        Ok(HttpFacilitator { agent, base, credential, timeouts, lacks_roots })
    }

    /// Sends a call: a POST with this payment, or else a GET.
    fn send(&self, path: &str, payment: Option<&Payment>, limit: Duration) -> Result<Answer, FacilitatorError> {
        if self.lacks_roots {
            return Err(FacilitatorError::NoRoots);
        }
        let url = format!("{}/{path}", self.base);
        let sent = match payment {
            None => self.with_credential(self.agent.get(url)).config().timeout_global(Some(limit)).build().call(),
            Some(payment) => {
                let body = serde_json::to_vec(&Call::new(payment))
                    .map_err(|error| FacilitatorError::Unreachable(error.to_string()))?;
                let request = self.agent.post(url).header(header::CONTENT_TYPE, "application/json");
                self.with_credential(request).config().timeout_global(Some(limit)).build().send(&body)
            }
        };
        let mut answer = sent.and_then(read).map_err(|error| from_http(error, limit))?;
        if let Some(credential) = &self.credential {
            credential.redact(&mut answer.body);
        }
        Ok(answer)
    }

    fn with_credential<B>(&self, request: ureq::RequestBuilder<B>) -> ureq::RequestBuilder<B> {
        match &self.credential {
            Some(Credential { name, value, .. }) => request.header(name, value),
            None => request,
        }
    }
}

impl Facilitator for HttpFacilitator {
    fn supported(&self) -> Result<Supported, FacilitatorError> {
        self.send("supported", None, self.timeouts.verify)?.supported()
    }

    fn verify(&self, payment: &Payment) -> Result<VerifyOutcome, FacilitatorError> {
        self.send("verify", Some(payment), self.timeouts.verify)?.verified(payment)
    }

    fn settle(&self, payment: &Payment, attempt: Attempt) -> SettleOutcome {
        match self.send("settle", Some(payment), self.timeouts.settle) {
            Ok(answer) => answer.settled(payment, attempt).unwrap_or_else(|why| SettleOutcome::Indeterminate { why }),
            Err(why @ (FacilitatorError::Unreachable(_) | FacilitatorError::NoRoots)) => SettleOutcome::NotSent { why },
            Err(why) => SettleOutcome::Indeterminate { why: why.into() },
        }
    }
}

fn read(mut response: Response<Body>) -> Result<Answer, HttpError> {
    let status = response.status().as_u16();
    let body = response.body_mut().with_config().limit(MAX_ANSWER_BYTES as u64).read_to_vec()?;
    Ok(Answer { status, body })
}

/// Sorts errors. Only those of [`BeforeSending`] count as unreachable.
fn from_http(error: HttpError, limit: Duration) -> FacilitatorError {
    match error {
        HttpError::Other(inner) => match inner.downcast_ref::<NotConnected>() {
            Some(NotConnected(why)) => FacilitatorError::Unreachable(why.clone()),
            None => FacilitatorError::Lost("the exchange failed".to_owned()),
        },
        HttpError::Timeout(_) => FacilitatorError::TimedOut(limit),
        HttpError::BodyExceedsLimit(_) => FacilitatorError::TooLong,
        HttpError::Io(error) => FacilitatorError::Lost(error.kind().to_string()),
        HttpError::Protocol(_) => FacilitatorError::Unreadable("it is not an answer of HTTP".to_owned()),
        _ => FacilitatorError::Lost("the exchange failed".to_owned()),
    }
}

/// Returns the URL without a slash at its end, whether it is https, and whether its host is this machine.
fn split_url(url: &str) -> Option<(String, bool, bool)> {
    let parsed: Uri = url.parse().ok()?;
    let is_https = match parsed.scheme_str()? {
        "http" => false,
        "https" => true,
        _ => return None,
    };
    let authority = parsed.authority()?;
    if authority.as_str().contains('@') || authority.host().is_empty() || url.contains(['?', '#']) {
        return None;
    }
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    let is_local = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    Some((url.trim_end_matches('/').to_owned(), is_https, is_local))
}
