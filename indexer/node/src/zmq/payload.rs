//! Bytes of a message on their way to the owner.

use std::{
    fmt,
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Bytes of a block or a transaction. They count as queued until this is dropped.
pub struct Payload {
    bytes: Vec<u8>,
    queued: Arc<AtomicUsize>,
    counted: usize,
}

impl Payload {
    /// Bytes that are counted in `queued` already.
    pub(super) fn counted(bytes: Vec<u8>, queued: Arc<AtomicUsize>) -> Self {
        Payload { counted: bytes.len(), bytes, queued }
    }

    /// Takes the bytes out.
    #[must_use]
    pub fn into_bytes(mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}

impl Deref for Payload {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        self.queued.fetch_sub(self.counted, Ordering::AcqRel);
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.bytes.len())
    }
}
