//! One request to a daemon: bounded in time and size, without redirects and proxies.

use std::{fmt, io, time::Duration};

use serde::de::DeserializeOwned;
use ureq::{
    Agent, Body, Error,
    http::{HeaderName, HeaderValue, Response, header},
    unversioned::{
        resolver::DefaultResolver,
        transport::{Connector, TcpConnector},
    },
};

use crate::{
    BackendError, ConfigError,
    base_url::BaseUrl,
    secret::{Secret, harmless},
    tls::{TlsConnector, Trust, client_config},
};

/// Most bytes of an answer.
pub const MAX_ANSWER_BYTES: u64 = 64 << 10;
const MAX_HEADER_BYTES: usize = 16 << 10;

/// A whole answer, with any status.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

pub(crate) struct Authorization {
    name: HeaderName,
    value: HeaderValue,
    /// Its forms, which no error may repeat.
    secrets: Vec<Secret>,
}

impl Authorization {
    pub(crate) fn new(name: &'static str, value: String, secret: Secret) -> Result<Self, ConfigError> {
        let mut header = HeaderValue::try_from(&value).map_err(|_| ConfigError::BadCredential("it has line breaks"))?;
        header.set_sensitive(true);
        // A daemon may repeat the header, or the part after `Basic`.
        let last_word = value.rsplit(' ').next().unwrap_or_default().to_owned();
        let secrets = vec![Secret::new(last_word), secret];
        Ok(Authorization { name: HeaderName::from_static(name), value: header, secrets })
    }
}

pub(crate) struct Http {
    agent: Agent,
    base: BaseUrl,
    backend: &'static str,
    authorization: Authorization,
    timeout: Duration,
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("backend", &self.backend).field("url", &self.base.as_str()).finish_non_exhaustive()
    }
}

impl Http {
    pub(crate) fn new(
        backend: &'static str,
        base: BaseUrl,
        authorization: Authorization,
        trust: Trust,
        timeout: Duration,
    ) -> Result<Self, ConfigError> {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // The daemon is named by the operator: nobody may lead elsewhere or stand between.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .user_agent("cairn")
            .max_response_header_size(MAX_HEADER_BYTES)
            .max_idle_connections(0)
            .max_idle_connections_per_host(0)
            .timeout_global(Some(timeout))
            .build();
        let agent = if base.is_https() {
            let tls = client_config(trust).map_err(ConfigError::Tls)?;
            Agent::with_parts(config, TcpConnector::default().chain(TlsConnector(tls)), DefaultResolver::default())
        } else {
            Agent::with_parts(config, TcpConnector::default(), DefaultResolver::default())
        };
        Ok(Http { agent, base, backend, authorization, timeout })
    }

    pub(crate) fn backend(&self) -> &'static str {
        self.backend
    }

    pub(crate) fn get(&self, request: &'static str, path: &str) -> Result<Answer, BackendError> {
        let sent = self.agent.get(format!("{}{path}", self.base.as_str()));
        let sent = sent.header(&self.authorization.name, &self.authorization.value).call();
        self.receive(request, sent)
    }

    pub(crate) fn post(
        &self,
        request: &'static str,
        path: &str,
        media_type: &'static str,
        body: &str,
    ) -> Result<Answer, BackendError> {
        let sent = self.agent.post(format!("{}{path}", self.base.as_str()));
        let sent = sent.header(&self.authorization.name, &self.authorization.value);
        self.receive(request, sent.header(header::CONTENT_TYPE, media_type).send(body))
    }

    /// Reads the answer. One that says that the credential is wrong is an error.
    fn receive(&self, request: &'static str, sent: Result<Response<Body>, Error>) -> Result<Answer, BackendError> {
        let mut response = sent.map_err(|error| self.error(request, error))?;
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_vec();
        let answer = Answer { status, body: body.map_err(|error| self.error(request, error))? };
        match status {
            401 | 403 => Err(self.refused(&answer.text())),
            300..=399 => Err(self.wrong(request, "it leads to another URL, which is not followed")),
            _ => Ok(answer),
        }
    }

    pub(crate) fn json<T: DeserializeOwned>(&self, request: &'static str, answer: &Answer) -> Result<T, BackendError> {
        if !answer.is_success() {
            return Err(self.failed(request, answer.status, &answer.text()));
        }
        serde_json::from_slice(&answer.body).map_err(|error| self.wrong(request, &error.to_string()))
    }

    pub(crate) fn wrong(&self, request: &'static str, reason: &str) -> BackendError {
        BackendError::WrongAnswer { backend: self.backend, request, reason: self.harmless(reason) }
    }

    pub(crate) fn failed(&self, request: &'static str, status: u16, words: &str) -> BackendError {
        BackendError::Failed { backend: self.backend, request, status, reason: self.harmless(words) }
    }

    pub(crate) fn refused(&self, words: &str) -> BackendError {
        BackendError::Refused { backend: self.backend, reason: self.harmless(words) }
    }

    fn harmless(&self, words: &str) -> String {
        harmless(words, &self.authorization.secrets)
    }

    fn error(&self, request: &'static str, error: Error) -> BackendError {
        let unreachable = |reason: &str| BackendError::Unreachable {
            backend: self.backend,
            url: self.base.as_str().to_owned(),
            reason: self.harmless(reason),
        };
        match error {
            Error::Timeout(_) => BackendError::TimedOut { backend: self.backend, limit: self.timeout },
            Error::Io(error) => match error.downcast::<Error>() {
                Ok(inner) => self.error(request, inner),
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    BackendError::TimedOut { backend: self.backend, limit: self.timeout }
                }
                Err(error) if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) => {
                    unreachable(&format!("TLS: {error}"))
                }
                Err(error) => unreachable(&error.to_string()),
            },
            Error::HostNotFound => unreachable("no such host"),
            Error::ConnectionFailed | Error::BodyStalled => unreachable("the connection broke"),
            Error::Tls(reason) => unreachable(&format!("TLS: {reason}")),
            Error::BodyExceedsLimit(_) => {
                self.wrong(request, &format!("the answer is longer than {MAX_ANSWER_BYTES} bytes"))
            }
            other => self.wrong(request, &format!("not a proper HTTP answer: {other}")),
        }
    }
}
