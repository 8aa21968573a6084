//! The blocks and the name of a scan.

use cairn_model::Height;
use serde_json::{Value, json};

/// The blocks that a client asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ScanRange {
    /// The first block.
    pub(crate) start: Height,
    /// The last block; `None`: tip and mempool are followed.
    pub(crate) end: Option<Height>,
}

/// The name of a subscription in answers and notifications.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ScanName {
    pub(crate) address: String,
    pub(crate) labels: Vec<u32>,
    pub(crate) start: Height,
}

impl ScanName {
    pub(crate) fn value(&self) -> Value {
        json!({"address": self.address, "labels": self.labels, "start_height": self.start})
    }
}
