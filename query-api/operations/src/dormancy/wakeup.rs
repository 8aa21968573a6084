//! A wake-up of a large holder, as answers show it.

use cairn_model::day_of;
use cairn_tables::{flushes::InputKey, wakeups::WakeupRow};

use super::holder::{CoinHolder, block_of, txid};
use crate::{
    confirmation::Confirmation, operation::prelude::*, transfers::Owners, values::Decimal, vocabulary::columns::columns,
};

/// A large holder that spends after years.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WhaleWakeup {
    /// Id of the transaction that spends.
    txid: String,
    #[serde(flatten)]
    confirmation: Confirmation,
    /// The cluster before the spend.
    holder: CoinHolder,
    /// Number of scripts in the cluster.
    script_count: u64,
    /// Sum of the cluster's coins of two years and more.
    old_sats: u64,
    old_btc: Btc,
    /// Sum that the transaction spends from the cluster.
    spent_sats: u64,
    spent_btc: Btc,
    /// `spent_sats` in percent of `old_sats`; above 100 if the transaction also spends younger coins.
    spent_percent: Decimal<2>,
    /// True if `spent_percent` is below 1.
    test_spend: bool,
    /// Id of the transaction with which the cluster last spent before; if it never spent, of the first that paid it.
    quiet_since_txid: String,
    quiet_since_height: Height,
    /// Full days from that transaction to the spend, by monotone block time.
    quiet_days: u32,
    /// True if the cluster never spent before.
    first_spend: bool,
}

impl WhaleWakeup {
    pub(super) fn of(view: &View<'_>, owners: &mut Owners, key: InputKey, row: WakeupRow) -> Result<Self, ApiError> {
        let (height, spent_in) = block_of(view, key.tx_num)?;
        let (quiet_since_height, quiet_since) = block_of(view, row.since)?;
        let share = u128::from(row.spent) * 10_000 / u128::from(row.sats.max(1));
        Ok(WhaleWakeup {
            txid: txid(view, key.tx_num)?,
            confirmation: Confirmation::confirmed(view, height, spent_in.time),
            holder: CoinHolder::of(view, owners, (key, row.holder, row.sats))?,
            script_count: row.scripts,
            old_sats: row.sats,
            old_btc: Btc::of(row.sats),
            spent_sats: row.spent,
            spent_btc: Btc::of(row.spent),
            spent_percent: Decimal(share.cast_signed()),
            test_spend: u128::from(row.spent) * 100 < u128::from(row.sats),
            quiet_since_txid: txid(view, row.since)?,
            quiet_since_height,
            quiet_days: day_of(spent_in.mono_time.saturating_sub(quiet_since.mono_time)),
            first_spend: row.never,
        })
    }
}

columns! { WhaleWakeup {
    time: |of| of.confirmation.time(),
    height: |of| of.confirmation.height,
    txid, old_sats, spent_sats, spent_percent, test_spend, script_count, quiet_days, quiet_since_txid,
    address: |of| of.holder.address(),
    entity: |of| of.holder.entity(),
} }
