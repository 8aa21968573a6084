//! Answers that were made before anyone asked.

use std::{collections::HashMap, sync::Arc};

use axum::body::Bytes;
use parking_lot::RwLock;

/// Answers of some operations, made at about the same time.
#[derive(Clone, Default, Debug)]
pub struct Snapshot {
    /// When the answers were made or found unchanged, in milliseconds since 1970.
    pub made_at_ms: u64,
    /// By name of the operation: the JSON body, or why there is none.
    pub answers: HashMap<&'static str, Result<Bytes, String>>,
}

/// The snapshot of a server, which is replaced as a whole.
#[derive(Default)]
pub(crate) struct SnapshotSlot(RwLock<Option<Arc<Snapshot>>>);

impl SnapshotSlot {
    /// The snapshot; `None` before the first.
    pub(crate) fn get(&self) -> Option<Arc<Snapshot>> {
        self.0.read().clone()
    }

    /// Replaces it.
    pub(super) fn set(&self, snapshot: Snapshot) {
        *self.0.write() = Some(Arc::new(snapshot));
    }
}
