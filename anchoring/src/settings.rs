//! Settings.

/// Settings of the anchorer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnchorSettings {
    /// The network in whose chain it anchors.
    pub network: String,
    /// Longest time that a hash waits for its batch, in seconds.
    pub interval_secs: u32,
    /// Maximum fees of the transactions of 24 hours, in satoshis.
    pub max_sats_per_day: u64,
    /// Maximum feerate in satoshis per 1,000 virtual bytes.
    pub max_feerate: u64,
    /// Blocks that a transaction waits before it is replaced by one with a higher fee.
    pub bump_after_blocks: u32,
}
