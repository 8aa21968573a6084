//! The open streams of the old transport.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
};

use tokio::sync::mpsc::Sender;
use uuid::Uuid;

/// The open streams. No cache: a full one refuses the next stream, and never ends one that somebody reads.
#[derive(Default)]
pub(crate) struct Streams {
    open: Mutex<HashMap<Uuid, StreamEntry>>,
}

/// An open stream.
pub(crate) struct StreamEntry {
    pub(crate) sender: Sender<String>,
    pub(crate) client: Option<IpAddr>,
}

impl Streams {
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut HashMap<Uuid, StreamEntry>) -> T) -> T {
        work(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn sender(&self, id: &Uuid) -> Option<Sender<String>> {
        self.with(|open| open.get(id).map(|entry| entry.sender.clone()))
    }
}
