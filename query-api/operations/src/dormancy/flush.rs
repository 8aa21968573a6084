//! A dormancy flush, as answers show it.

use cairn_domain::dormancy::{FLUSH_BLOCKS, OldCoins};
use cairn_tables::flushes::{FlushRow, InputKey};

use super::{
    classify::{Verdict, classify},
    holder::{CoinHolder, block_of, txid},
};
use crate::{
    confirmation::Confirmation, operation::prelude::*, transfers::Owners, values::Decimal, vocabulary::columns::columns,
};

const MAX_SHOWN: usize = 5;

/// Old coins that one cluster spends within 144 blocks.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DormancyFlush {
    /// Id of the first transaction that spends an old coin.
    txid: String,
    #[serde(flatten)]
    confirmation: Confirmation,
    /// Height of the last block that belongs to the flush.
    last_height: Height,
    /// True while later blocks may add spends.
    is_open: bool,
    holder: CoinHolder,
    /// Sum of the spent coins of two years and more.
    old_sats: u64,
    old_btc: Btc,
    coin_count: u64,
    /// Sum of value × age in days of these coins, in bitcoin-days.
    coin_days_destroyed: Decimal<8>,
    /// Average age of these coins in days, weighted by value.
    average_age_days: Decimal<2>,
    /// Number of transactions that spend such coins.
    spend_count: u64,
    /// Id of the newest of these transactions.
    last_txid: String,
    /// `exchange_bound`, `consolidation`, `key_migration`, `holder_rotation` or `unknown`: the first class that
    /// applies, by today's labels.
    classification: &'static str,
    /// True if later blocks may change the classification.
    classification_provisional: bool,
    /// Sum of the old coins of the spends that decide the classification: those with the most old value, at most 16.
    traced_sats: u64,
    /// Percentage of `traced_sats` that reached exchanges within two transactions and 144 blocks.
    exchange_percent: Decimal<1>,
    /// True if the trace to exchanges left out spends or outputs.
    trace_truncated: bool,
    /// Spends with the most old value, in the order of the chain; at most 5.
    spends: Vec<FlushSpend>,
    /// Number of spends that are not listed.
    spends_omitted: u64,
}

/// A transaction that spends old coins.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FlushSpend {
    txid: String,
    height: Height,
    old_sats: u64,
}

impl DormancyFlush {
    /// With what is looked up; and what that cost in transactions.
    pub(super) fn of(
        ctx: &Ctx<'_>,
        view: &View<'_>,
        owners: &mut Owners,
        key: InputKey,
        row: &FlushRow,
    ) -> Result<(Self, usize), ApiError> {
        let (height, block) = block_of(view, key.tx_num)?;
        let last_height = height.saturating_add(FLUSH_BLOCKS - 1);
        let is_open = view.tip().height < last_height;
        let Verdict { class, provisional, traced, to_exchanges, is_cut, txs } = classify(ctx, view, owners, row)?;
        let old = OldCoins { coins: row.coins, sats: row.sats, destroyed: row.destroyed, oldest: 0 };
        let mut shown = row.largest.clone();
        shown.sort_by_key(|(tx_num, sats)| (std::cmp::Reverse(*sats), *tx_num));
        shown.truncate(MAX_SHOWN);
        shown.sort_unstable();
        let spend = |(tx_num, old_sats): (cairn_model::TxNum, u64)| -> Result<FlushSpend, ApiError> {
            let height = view.chain().height_of(tx_num).unwrap_or_default();
            Ok(FlushSpend { txid: txid(view, tx_num)?, height, old_sats })
        };
        let spends = shown.into_iter().map(spend).collect::<Result<Vec<_>, _>>()?;
        let permille = u128::from(to_exchanges) * 1_000 / u128::from(traced.max(1));
        let flush = DormancyFlush {
            txid: txid(view, key.tx_num)?,
            confirmation: Confirmation::confirmed(view, height, block.time),
            last_height,
            is_open,
            holder: CoinHolder::of(view, owners, (key, row.holder, row.sats))?,
            old_sats: row.sats,
            old_btc: Btc::of(row.sats),
            coin_count: row.coins,
            coin_days_destroyed: Decimal(old.coin_days()),
            average_age_days: Decimal(old.average_age()),
            spend_count: row.spends,
            last_txid: txid(view, row.last)?,
            classification: class.as_str(),
            classification_provisional: provisional || is_open,
            traced_sats: traced,
            exchange_percent: Decimal(permille.cast_signed()),
            trace_truncated: is_cut,
            spends_omitted: row.spends.saturating_sub(spends.len() as u64),
            spends,
        };
        Ok((flush, txs))
    }
}

columns! { DormancyFlush {
    time: |of| of.confirmation.time(),
    height: |of| of.confirmation.height,
    txid, old_sats, coin_count, spend_count, coin_days_destroyed, average_age_days, classification,
    classification_provisional, exchange_percent,
    address: |of| of.holder.address(),
    entity: |of| of.holder.entity(),
} }
