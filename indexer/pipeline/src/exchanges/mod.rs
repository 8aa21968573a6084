//! Flows of exchanges: satoshis that came to the scripts that count as an exchange's, and that left them, by day; with
//! today's labels, and with those that were asserted at the time of each block.
//!
//! New labels and merges of clusters change the flows of the past. So a generation of flows is made of the whole index
//! as of one block, in a thread beside new blocks, once in a while; a pointer flips to it when all of its rows are
//! written. It reads the histories of the scripts that count, not the blocks. Blocks after it have rows of their own,
//! made with the labels that there were then, until the next generation.
//!
//! `follow` writes both and decides when: a generation after a day's blocks, or after an hour's if documents changed
//! the members of exchanges. [`Engine::follow_up`](crate::Engine::follow_up) calls it last.

mod assign;
mod buckets;
pub(crate) mod follow;
mod known;
mod make;
mod since;
mod sums;
mod timeline;

use cairn_model::BlockHash;
use parking_lot::Mutex;

pub(crate) use self::{
    known::Exchanges,
    make::{FlowGeneration, can_make, make},
    since::flows_of_block,
    sums::{FlowRows, change, held, overflow},
};
use crate::background::Background;

/// Flows that are being made, and the state up to which they were last followed. An engine keeps them in memory.
#[derive(Default)]
pub(crate) struct FollowedFlows {
    making: Background<FlowGeneration>,
    /// The tip, and the newest event.
    seen: Mutex<Option<(BlockHash, u64)>>,
}
