//! JSON-RPC over HTTP: single calls and batches, with credentials, retries and clear errors.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use cairn_model::{CancelToken, ChainParams};
use cairn_sources::MAX_BLOCK_SIZE;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    auth::{Credentials, NodeAuth},
    error::NodeError,
    http::{Http, HttpAnswer, HttpLimits},
    reply::{self, Outcome, read},
    retry::{Backoff, RetryPolicy},
};

/// Maximum size of any answer in bytes: enough for `getrawmempool` with some millions of transactions.
pub(crate) const MAX_ANSWER: u64 = 256 << 20;
/// Maximum size of an answer with the bytes of a block or transaction, in hexadecimal digits.
const MAX_BYTES_ANSWER: u64 = 2 * MAX_BLOCK_SIZE as u64 + (1 << 10);
/// Maximum size of any other answer.
const MAX_SMALL_ANSWER: u64 = 1 << 20;
/// Maximum size of the answer to a batch in bytes. Answers that do not fit are requested again in smaller batches.
const MAX_BATCH_ANSWER: u64 = 64 << 20;
/// Interval between warnings that a request is repeated.
const WARN_EACH: Duration = Duration::from_secs(10);

/// Maximum size of a method's answer in bytes.
fn max_answer(method: &str) -> u64 {
    match method {
        "getblock" | "getrawtransaction" => MAX_BYTES_ANSWER,
        _ => MAX_SMALL_ANSWER,
    }
}

/// Maximum size of the answer to a batch of `count` calls of a method in bytes.
fn max_batch_answer(method: &str, count: usize) -> u64 {
    let each = match method {
        "getrawtransaction" => MAX_BYTES_ANSWER,
        // Its parents and children.
        "getmempoolentry" => 64 << 10,
        _ => 1 << 10,
    };
    (each * count as u64).clamp(MAX_SMALL_ANSWER, MAX_BATCH_ANSWER)
}
/// Requests in one batch. Bitcoin Core processes a batch on one thread.
pub(crate) const BATCH: usize = 500;
/// Interval of checks of the cancel token during a long call.
const GLANCE: Duration = Duration::from_millis(100);

/// Connection settings of a node.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// `http://host:port` of its RPC interface, without credentials.
    pub url: String,
    /// Credentials.
    pub auth: NodeAuth,
    /// Timeout of an ordinary call.
    pub timeout: Duration,
    /// Retries of transient errors.
    pub retry: RetryPolicy,
    /// Idle connections to keep; each thread that fetches blocks needs one.
    pub connections: usize,
    /// Bytes of a script's hash in its id when blocks are decoded: 8, except in tests of collisions.
    pub prefix_len: usize,
}

impl NodeConfig {
    /// Default settings for a node at `url`.
    #[must_use]
    pub fn new(url: impl Into<String>, auth: NodeAuth) -> Self {
        NodeConfig {
            url: url.into(),
            auth,
            timeout: Duration::from_secs(60),
            retry: RetryPolicy::default(),
            connections: 8,
            prefix_len: 8,
        }
    }
}

/// A connection pool to one node. Clones share it; a clone may have its own retry policy and cancel token.
#[derive(Clone)]
pub struct NodeClient {
    pub(crate) shared: Arc<Shared>,
    retry: RetryPolicy,
    timeout: Duration,
    cancel: CancelToken,
    /// Path of a wallet's interface; `None` for that of the node.
    wallet: Option<Arc<str>>,
}

pub(crate) struct Shared {
    pub(crate) http: Http,
    credentials: Credentials,
    next_id: AtomicU64,
    /// When the last warning of a repeated request was logged.
    warned: Mutex<Option<Instant>>,
    /// The network that the node was on at the last successful check.
    pub(crate) checked: Mutex<Option<ChainParams>>,
    /// State of REST for blocks: see `blocks`.
    pub(crate) rest: AtomicU8,
    pub(crate) prefix_len: usize,
}

impl fmt::Debug for NodeClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeClient")
            .field("url", &self.shared.http.url())
            .field("auth", self.shared.credentials.auth())
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}

impl NodeClient {
    /// Creates a client. Sends nothing yet.
    pub fn new(config: &NodeConfig, cancel: CancelToken) -> Result<Self, NodeError> {
        let shared = Shared {
            http: Http::new(&config.url, config.connections)?,
            credentials: Credentials::new(config.auth.clone()),
            next_id: AtomicU64::new(0),
            warned: Mutex::default(),
            checked: Mutex::default(),
            rest: AtomicU8::new(0),
            prefix_len: config.prefix_len,
        };
        Ok(NodeClient { shared: Arc::new(shared), retry: config.retry, timeout: config.timeout, cancel, wallet: None })
    }

    /// The same connections with another retry policy.
    #[must_use]
    pub fn with_retry(&self, retry: RetryPolicy) -> Self {
        NodeClient { retry, ..self.clone() }
    }

    /// The same connections with another timeout of ordinary calls.
    #[must_use]
    pub fn with_timeout(&self, timeout: Duration) -> Self {
        NodeClient { timeout, ..self.clone() }
    }

    /// The same connections with another cancel token.
    #[must_use]
    pub fn with_cancel(&self, cancel: CancelToken) -> Self {
        NodeClient { cancel, ..self.clone() }
    }

    /// The same connections to one of the node's wallets.
    #[must_use]
    pub fn with_wallet(&self, name: &str) -> Self {
        NodeClient { wallet: Some(wallet_path(name).into()), ..self.clone() }
    }

    /// The node's URL without credentials.
    #[must_use]
    pub fn url(&self) -> &str {
        self.shared.http.url()
    }

    /// The network that the node was on at the last successful [`NodeClient::check`].
    pub(crate) fn checked_chain(&self) -> Option<ChainParams> {
        *self.shared.checked.lock()
    }

    /// The token that ends retries.
    #[must_use]
    pub fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }

    /// Calls a method and parses its answer.
    ///
    /// # Errors
    /// Returns a transient error only after all retries.
    pub fn call<T: DeserializeOwned>(&self, method: &str, params: &Value) -> Result<T, NodeError> {
        self.call_within(method, params, max_answer(method))
    }

    /// As [`NodeClient::call`], with a maximum size of the answer in bytes.
    pub fn call_within<T: DeserializeOwned>(
        &self,
        method: &str,
        params: &Value,
        max_bytes: u64,
    ) -> Result<T, NodeError> {
        let limits = HttpLimits { time: self.timeout, body: max_bytes };
        read(method, &self.call_raw(method, params, limits)?)
    }

    /// Calls a method that may take minutes; after cancellation it does not wait for the answer.
    pub(crate) fn call_long<T: DeserializeOwned>(
        &self,
        method: &'static str,
        params: Value,
        timeout: Duration,
    ) -> Result<T, NodeError> {
        let (sender, receiver) = crossbeam_channel::bounded(1);
        let client = self.clone();
        thread::Builder::new()
            .name(format!("node {method}"))
            .spawn(move || {
                // Nobody listens any more once it is cancelled.
                let limits = HttpLimits { time: timeout, body: max_answer(method) };
                let _ = sender.send(client.call_raw(method, &params, limits));
            })
            .map_err(NodeError::Thread)?;
        loop {
            match receiver.recv_timeout(GLANCE) {
                Ok(outcome) => return read(method, &outcome?),
                Err(crossbeam_channel::RecvTimeoutError::Timeout) if !self.cancel.is_cancelled() => {}
                Err(_) => return Err(NodeError::Stopped),
            }
        }
    }

    fn call_raw(&self, method: &str, params: &Value, limits: HttpLimits) -> Outcome {
        self.retrying(|| {
            let id = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
            let body = json!({ "jsonrpc": "1.0", "id": id, "method": method, "params": params }).to_string();
            let answer = self.post(method, body.as_bytes(), limits)?;
            reply::single(self.url(), method, id, &answer)
        })
    }

    /// Calls one method with several parameters, in batches. Each has its own outcome; a transient or connection error
    /// fails all.
    pub(crate) fn batch(&self, method: &str, params: &[Value]) -> Result<Vec<Outcome>, NodeError> {
        let mut outcomes = Vec::with_capacity(params.len());
        for some in params.chunks(BATCH) {
            outcomes.extend(self.retrying(|| self.batch_once(method, some))?);
        }
        Ok(outcomes)
    }

    fn batch_once(&self, method: &str, params: &[Value]) -> Result<Vec<Outcome>, NodeError> {
        let limits = HttpLimits { time: self.timeout, body: max_batch_answer(method, params.len()) };
        let first = self.shared.next_id.fetch_add(params.len() as u64, Ordering::Relaxed);
        let requests = (first..)
            .zip(params)
            .map(|(id, params)| json!({ "jsonrpc": "1.0", "id": id, "method": method, "params": params }));
        let body = Value::Array(requests.collect()).to_string();
        let answer = self.post(method, body.as_bytes(), limits)?;
        reply::batch(self.url(), method, first, params.len(), &answer)
    }

    /// Retries a request until it succeeds, fails permanently, or the policy's time limit has passed.
    pub(crate) fn retrying<T>(&self, mut request: impl FnMut() -> Result<T, NodeError>) -> Result<T, NodeError> {
        let mut backoff = Backoff::new(self.retry);
        loop {
            if self.cancel.is_cancelled() {
                return Err(NodeError::Stopped);
            }
            match request() {
                Err(error) if error.is_transient() => {
                    let Some(pause) = backoff.next_pause() else { return Err(error) };
                    self.say_that_it_retries(&error, backoff.left());
                    if self.cancel.wait(pause) {
                        return Err(NodeError::Stopped);
                    }
                }
                done => return done,
            }
        }
    }

    /// Warns that a request is repeated, now and then, for as long as is `left`.
    fn say_that_it_retries(&self, error: &NodeError, left: Duration) {
        let mut warned = self.shared.warned.lock();
        if warned.is_none_or(|at| at.elapsed() >= WARN_EACH) {
            *warned = Some(Instant::now());
            let seconds = left.as_secs_f64().round();
            tracing::warn!(%error, "the node cannot be used yet: asking again for up to {seconds} s");
        }
    }

    /// The oldest request that has no answer yet, and for how long it has none.
    #[must_use]
    pub fn oldest_request(&self) -> Option<(String, Duration)> {
        self.shared.http.waiting.oldest()
    }

    /// Timeout and maximum answer size of an ordinary request.
    pub(crate) fn limits(&self, body: u64) -> HttpLimits {
        HttpLimits { time: self.timeout, body }
    }

    /// Posts with credentials; repeats once after a 401 if the cookie has changed.
    fn post(&self, method: &str, body: &[u8], limits: HttpLimits) -> Result<HttpAnswer, NodeError> {
        let Shared { http, credentials, .. } = &*self.shared;
        let wallet = self.wallet.as_deref();
        let header = credentials.header()?;
        let mut answer = http.post(method, wallet, header.clone(), body, limits)?;
        if answer.status == 401
            && let Some(header) = credentials.renewed(&header)?
        {
            tracing::info!(url = http.url(), "the node has a new cookie: it was restarted");
            // It may also have other settings than before.
            self.forget_rest();
            answer = http.post(method, wallet, header, body, limits)?;
        }
        let url = || http.url().to_owned();
        match answer.status {
            401 => Err(NodeError::WrongCredentials { url: url(), credentials: credentials.auth().to_string() }),
            403 => Err(NodeError::Forbidden { url: url(), method: method.to_owned() }),
            503 => Err(NodeError::Busy { url: url(), message: answer.words_or_status() }),
            _ => Ok(answer),
        }
    }
}

/// The path of a wallet's interface. Bytes that a path does not allow are percent-encoded.
fn wallet_path(name: &str) -> String {
    let mut path = "/wallet/".to_owned();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => path.push(char::from(byte)),
            _ => path.push_str(&format!("%{byte:02X}")),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::wallet_path;

    #[test]
    fn names_of_wallets_are_one_segment_of_a_path() {
        assert_eq!(wallet_path("stamps-1"), "/wallet/stamps-1");
        assert_eq!(wallet_path("a b/../c?é"), "/wallet/a%20b%2F..%2Fc%3F%C3%A9");
    }
}
