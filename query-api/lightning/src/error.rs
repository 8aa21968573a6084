//! Why a backend has no answer.

use std::time::Duration;

use cairn_model::Network;
use thiserror::Error;

/// Why a backend has no answer. Texts of the daemon are cut to one line of 200 characters and have no secrets.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BackendError {
    /// No connection, no TLS, or the connection broke.
    #[error("cannot reach {backend} at {url}: {reason}; check that it runs, and the URL and certificate given")]
    Unreachable {
        /// Name of the daemon.
        backend: &'static str,
        /// Its URL.
        url: String,
        /// The failure.
        reason: String,
    },
    /// The whole answer did not come in time.
    #[error("{backend} did not answer within {} ms; check its load, or allow more time", limit.as_millis())]
    TimedOut {
        /// Name of the daemon.
        backend: &'static str,
        /// The time-out.
        limit: Duration,
    },
    /// The credential is wrong or lacks rights.
    #[error("{backend} refused the credential: {reason}; give it one that may make and read invoices and node info")]
    Refused {
        /// Name of the daemon.
        backend: &'static str,
        /// Words of the daemon.
        reason: String,
    },
    /// The daemon answered with an error, for example because it is starting.
    #[error("{backend} failed at {request} (HTTP status {status}): {reason}; see the daemon's log")]
    Failed {
        /// Name of the daemon.
        backend: &'static str,
        /// The request.
        request: &'static str,
        /// The HTTP status.
        status: u16,
        /// Words of the daemon.
        reason: String,
    },
    /// The answer is malformed, or does not match the request.
    #[error("{backend} answered wrongly to {request}: {reason}; check that the URL is that of {backend}")]
    WrongAnswer {
        /// Name of the daemon.
        backend: &'static str,
        /// The request.
        request: &'static str,
        /// The flaw.
        reason: String,
    },
    /// The node is on another network.
    #[error("{backend} is on the network {found}, but this service needs {expected}; give it a node of {expected}")]
    WrongNetwork {
        /// Name of the daemon.
        backend: &'static str,
        /// The network, as the daemon names it.
        found: String,
        /// The network of the configuration.
        expected: Network,
    },
    /// An invoice with this label exists. LND and phoenixd take a label again.
    #[error("an invoice with this label exists; give each invoice a label of its own")]
    DuplicateLabel,
    /// The store of simulated invoices failed.
    #[error("simulated: {0}")]
    Store(StoreError),
}

impl BackendError {
    /// The kind of error, in a word that clients may see.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            BackendError::Unreachable { .. } => "unreachable",
            BackendError::TimedOut { .. } => "timed_out",
            BackendError::Refused { .. } => "refused",
            BackendError::Failed { .. } => "failed",
            BackendError::WrongAnswer { .. } => "wrong_answer",
            BackendError::WrongNetwork { .. } => "wrong_network",
            BackendError::DuplicateLabel => "duplicate_label",
            BackendError::Store(_) => "store",
        }
    }
}

impl From<StoreError> for BackendError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Duplicate => BackendError::DuplicateLabel,
            other => BackendError::Store(other),
        }
    }
}

/// Why a store of simulated invoices did not do its work.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum StoreError {
    /// The label or the payment hash exists.
    #[error("an invoice with this label exists; give each invoice a label of its own")]
    Duplicate,
    /// The store is full.
    #[error("the store holds {0} invoices, which is its limit; use a store without this limit")]
    Full(usize),
    /// The store failed.
    #[error("the store of invoices failed: {0}; see the log of the service")]
    Failed(String),
}
