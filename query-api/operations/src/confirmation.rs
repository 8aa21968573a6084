//! Whether a transaction is confirmed, and how firmly: the fields that all rows about transactions share.

use crate::{
    context::{SETTLED_AT, confirmations},
    operation::prelude::*,
    values::rfc3339_ms,
};

/// Confirmation status: in a block, or in the mempool.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Confirmation {
    /// `confirmed` or `mempool`.
    state: &'static str,
    /// Height of the block; null while unconfirmed.
    pub(crate) height: Option<Height>,
    /// Time of the block's header; null while unconfirmed.
    time: Option<String>,
    time_unix: Option<u32>,
    /// Time at which the transaction was first seen; null once confirmed.
    first_seen: Option<String>,
    confirmations: u32,
    /// True with fewer than 6 confirmations: a reorg may still undo the transaction.
    provisional: bool,
}

impl Confirmation {
    /// In the block at a height, with the time of its header.
    pub(crate) fn confirmed(view: &View<'_>, height: Height, time: u32) -> Self {
        let confirmations = confirmations(view.tip(), height);
        Confirmation {
            state: "confirmed",
            height: Some(height),
            time: Some(rfc3339(time)),
            time_unix: Some(time),
            first_seen: None,
            confirmations,
            provisional: confirmations < SETTLED_AT,
        }
    }

    /// In the mempool, since a time in milliseconds.
    pub(crate) fn unconfirmed(first_seen_ms: u64) -> Self {
        Confirmation {
            state: "mempool",
            height: None,
            time: None,
            time_unix: None,
            first_seen: Some(rfc3339_ms(first_seen_ms)),
            confirmations: 0,
            provisional: true,
        }
    }

    /// The time of its block, or when it was first seen.
    pub(crate) fn time(&self) -> &str {
        self.time.as_deref().or(self.first_seen.as_deref()).unwrap_or_default()
    }
}
