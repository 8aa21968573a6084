//! Flows of exchanges: satoshis that came to the scripts that count as an exchange's, and that left them, by day; with
//! today's labels, and with those that were asserted at the time of each block.
//!
//! New labels and merges of clusters change the flows of the past. So a generation of flows is made of the whole index
//! as of one block, in a thread beside new blocks, once in a while; a pointer flips to it when all of its rows are
//! written. It reads the histories of the scripts that count, not the blocks. Blocks after it have rows of their own,
//! made with the labels that there were then, until the next generation.

mod assign;
mod buckets;
mod followed;
mod known;
mod make;
mod since;
mod sums;
mod timeline;

pub(crate) use self::{
    followed::FollowedFlows,
    known::Exchanges,
    make::{Made, can_make, make},
    since::flows_of_block,
    sums::{FlowRows, change, held, overflow},
};
