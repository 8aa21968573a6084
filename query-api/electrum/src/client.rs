//! The state of a connection.

use std::sync::Arc;

use cairn_http::Asker;

use crate::{electrum::Electrum, negotiate::Version, scans::Scans, subscriptions::Subscriptions};

/// The client of a connection.
pub(crate) struct Client {
    pub(crate) electrum: Arc<Electrum>,
    pub(crate) asker: Asker,
    /// The negotiated version; `None` before `server.version`.
    pub(crate) version: Option<Version>,
    /// True if it has sent requests before `server.version`.
    pub(crate) has_asked: bool,
    /// True if the connection must end, because no version is in common.
    pub(crate) is_refused: bool,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) scans: Scans,
}

impl Client {
    pub(crate) fn new(electrum: Arc<Electrum>, asker: Asker) -> Self {
        let subscriptions = electrum.hub.connect();
        Client {
            electrum,
            asker,
            version: None,
            has_asked: false,
            is_refused: false,
            subscriptions,
            scans: Scans::new(),
        }
    }

    /// True if answers have the form of version 1.6.
    pub(crate) fn is_1_6(&self) -> bool {
        self.version.is_some_and(|version| version >= Version::V1_6)
    }
}
