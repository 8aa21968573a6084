//! Tables that are made only if the operator asks for them.

use clap::{ArgAction, Args};

/// Settings of optional tables.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Optional {
    /// If true, the tweaks of silent payments (BIP 352) of all blocks are made, from which wallets find what they were
    /// paid. On mainnet they take some 8 GB, and hours of processor time in the background. They need the block files,
    /// or a node that is not pruned. If false, those that there are stay, but no more are made.
    #[arg(long, env = "CAIRN_SILENT_PAYMENTS", value_name = "BOOL", default_value = "false",
        action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) silent_payments: bool,
}
