//! State of flows that an engine keeps in memory.

use cairn_model::BlockHash;
use parking_lot::Mutex;

use super::Made;
use crate::background::Background;

/// Flows that are being made, and the state up to which they were last followed.
#[derive(Default)]
pub(crate) struct FollowedFlows {
    pub(crate) making: Background<Made>,
    /// The tip, and the newest event.
    pub(crate) seen: Mutex<Option<(BlockHash, u64)>>,
}
