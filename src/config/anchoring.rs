//! How timestamps are anchored.

use cairn_anchoring::AnchorSettings;
use cairn_model::ChainParams;
use clap::Args;

use super::whole;

/// The wallet that anchors timestamps.
#[derive(Args, Clone, Debug)]
pub(crate) struct Anchoring {
    /// Name of the node's wallet that pays for the transactions that anchor timestamps. It must be loaded and unlocked;
    /// keep only small amounts in it. Default: none, and no hashes are accepted.
    #[arg(long, env = "CAIRN_TIMESTAMPS_WALLET", value_name = "NAME")]
    timestamps_wallet: Option<String>,
    /// Seconds that a hash waits at most until its batch is anchored.
    #[arg(long, env = "CAIRN_TIMESTAMPS_INTERVAL", value_name = "SECONDS", default_value = "600",
        value_parser = whole::<u32>(1..=86_400))]
    timestamps_interval: u32,
    /// Fees of the transactions of 24 hours at most, in satoshis. When it is reached, no more hashes are accepted.
    #[arg(long, env = "CAIRN_TIMESTAMPS_MAX_SATS_PER_DAY", value_name = "SATS", default_value = "100000",
        value_parser = whole::<u64>(1_000..=1_000_000_000))]
    timestamps_max_sats_per_day: u64,
    /// Feerate of these transactions at most, in sat/vB.
    #[arg(long, env = "CAIRN_TIMESTAMPS_MAX_FEERATE", value_name = "SAT_VB", default_value = "50",
        value_parser = whole::<u32>(1..=10_000))]
    timestamps_max_feerate: u32,
    /// Blocks that a transaction waits before its fee is raised, if feerates have risen.
    #[arg(long, env = "CAIRN_TIMESTAMPS_BUMP_BLOCKS", value_name = "BLOCKS", default_value = "3",
        value_parser = whole::<u32>(1..=1_000))]
    timestamps_bump_blocks: u32,
}

impl Anchoring {
    /// Name of the wallet and settings of the anchorer; `None` if it is off.
    pub(crate) fn settings(&self, chain: ChainParams) -> Option<(&str, AnchorSettings)> {
        let settings = AnchorSettings {
            network: chain.key().to_owned(),
            interval_secs: self.timestamps_interval,
            max_sats_per_day: self.timestamps_max_sats_per_day,
            max_feerate: u64::from(self.timestamps_max_feerate) * 1_000,
            bump_after_blocks: self.timestamps_bump_blocks,
        };
        self.timestamps_wallet.as_deref().map(|wallet| (wallet, settings))
    }
}
