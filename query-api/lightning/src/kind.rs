//! The kinds of backends.

use std::{fmt, str::FromStr};

use thiserror::Error;

/// The kinds of backends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BackendKind {
    /// LND, by REST.
    Lnd,
    /// Core Lightning, by clnrest.
    CoreLightning,
    /// phoenixd.
    Phoenixd,
    /// Simulated invoices on regtest.
    Simulated,
}

impl BackendKind {
    /// Its name in the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            BackendKind::Lnd => "lnd",
            BackendKind::CoreLightning => "core-lightning",
            BackendKind::Phoenixd => "phoenixd",
            BackendKind::Simulated => "simulated",
        }
    }
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for BackendKind {
    type Err = UnknownBackend;

    fn from_str(text: &str) -> Result<Self, UnknownBackend> {
        [BackendKind::Lnd, BackendKind::CoreLightning, BackendKind::Phoenixd, BackendKind::Simulated]
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or_else(|| UnknownBackend(text.chars().take(40).collect()))
    }
}

/// A text is not the name of a backend.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("there is no backend {0:?}; choose lnd, core-lightning, phoenixd or simulated")]
pub struct UnknownBackend(String);
