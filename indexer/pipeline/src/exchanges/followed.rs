//! What an engine has in memory of flows.

use cairn_model::BlockHash;
use parking_lot::Mutex;

use super::Made;
use crate::beside::Beside;

/// Flows that are being made, and what they were last followed up to.
#[derive(Default)]
pub(crate) struct FollowedFlows {
    pub(crate) making: Beside<Made>,
    /// The tip, and the newest event.
    pub(crate) seen: Mutex<Option<(BlockHash, u64)>>,
}
