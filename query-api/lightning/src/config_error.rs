//! Why a configuration gives no backend.

use std::{path::PathBuf, time::Duration};

use cairn_model::Network;
use thiserror::Error;

use crate::BackendKind;

/// Why a configuration gives no backend. Texts do not repeat credentials.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ConfigError {
    /// The URL is missing or not allowed.
    #[error("the URL of the Lightning backend is not allowed: {0}; give https://host:port, or http for 127.0.0.1")]
    Url(&'static str),
    /// There is no credential.
    #[error("{0} needs a credential; give its value or a file")]
    NoCredential(BackendKind),
    /// The credential is malformed.
    #[error("the credential of the Lightning backend is malformed: {0}; copy it again from the daemon")]
    BadCredential(&'static str),
    /// A file cannot be read.
    #[error("cannot read {}: {reason}; check the path and the rights", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// TLS cannot be set up.
    #[error("cannot set up TLS for the Lightning backend: {0}; check the file with the certificate")]
    Tls(String),
    /// The time-out is too short or too long.
    #[error("the time-out of {0:?} is not allowed; it must be from 100 ms to 30 s")]
    Timeout(Duration),
    /// Simulated invoices are for regtest.
    #[error("simulated invoices are allowed on regtest only, not on {0}: anyone can pay them; choose another backend")]
    SimulatedNetwork(Network),
    /// Simulated invoices have no store.
    #[error("simulated invoices need a store; give one that survives a restart")]
    NoStore,
}
