//! Reports of the process that anchors about its wallet: servers accept hashes only while it can anchor them.

use crate::named::named;

named! {
    /// State of the wallet that pays for anchors.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum WalletState {
        /// It can pay for the next anchor.
        Ready = "ready",
        /// The node has no wallet of the configured name, or does not answer.
        WalletMissing = "wallet_missing",
        /// It is encrypted and locked.
        Locked = "locked",
        /// It cannot pay for the next anchor.
        Empty = "empty",
        /// The spending limit of the day is reached.
        Limit = "limit",
    }
}

/// A report. All times are in seconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnchorerReport {
    /// State of the wallet.
    pub wallet: WalletState,
    /// Number of anchors that the wallet can pay for at the present feerate; `None` if unknown.
    pub anchors_left: Option<u32>,
    /// Expected virtual size of an anchor.
    pub anchor_vsize: u32,
    /// Interval between anchors, in seconds.
    pub interval_secs: u32,
    /// When the hashes that wait are to be anchored; `None` if nothing waits.
    pub next_anchor_at: Option<u64>,
    /// When it was made.
    pub reported_at: u64,
}

impl AnchorerReport {
    /// Age in seconds up to which a report counts. The process that anchors reports more often.
    pub const FRESH_SECS: u64 = 120;

    /// True if the process that anchors still ran a moment before `now`.
    #[must_use]
    pub fn is_fresh(&self, now: u64) -> bool {
        now.saturating_sub(self.reported_at) <= Self::FRESH_SECS
    }
}
