//! A dormancy flush, as answers show it.

use cairn_domain::dormancy::{FLUSH_BLOCKS, OldCoins};
use cairn_http::{ApiError, Column, TableRow};
use cairn_model::Height;
use cairn_reader::View;
use cairn_tables::flushes::{FlushRow, InputKey};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    classify::{Verdict, classify},
    holder::{CoinHolder, block_of, txid},
};
use crate::{
    confirmation::Confirmation,
    context::Ctx,
    transfers::Owners,
    values::{Btc, Decimal, optional},
};

/// Spends that are shown.
const MAX_SHOWN: usize = 5;

/// Old coins that one cluster spends within 144 blocks.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DormancyFlush {
    /// The first spend of an old coin.
    txid: String,
    #[serde(flatten)]
    confirmation: Confirmation,
    /// The last block that counts.
    last_height: Height,
    /// True while more may come.
    is_open: bool,
    holder: CoinHolder,
    /// Value of the coins of two years and more that it spends.
    old_sats: u64,
    old_btc: Btc,
    coin_count: u64,
    /// Σ value × age in days of these coins, in bitcoin-days.
    coin_days_destroyed: Decimal<8>,
    /// Their average age in days, weighted by value.
    average_age_days: Decimal<2>,
    /// Transactions that spend some.
    spend_count: u64,
    /// The newest of them.
    last_txid: String,
    /// `exchange_bound`, `consolidation`, `key_migration`, `holder_rotation` or `unknown`: the first that holds, by
    /// today's labels.
    classification: &'static str,
    /// True if later blocks may change it.
    classification_provisional: bool,
    /// Old value of the spends with most of it, 16 at most, that the classification follows.
    traced_sats: u64,
    /// Of that, in percent, what reached exchanges in two transactions and 144 blocks at most.
    exchange_percent: Decimal<1>,
    /// True if spends or outputs were left out of that.
    trace_truncated: bool,
    /// The spends with most old value, in the order of the chain; 5 at most.
    spends: Vec<FlushSpend>,
    /// Spends that are left out.
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

impl TableRow for DormancyFlush {
    const COLUMNS: &'static [Column<Self>] = &[
        ("time", |of| of.confirmation.time().to_owned()),
        ("height", |of| optional(of.confirmation.height)),
        ("txid", |of| of.txid.clone()),
        ("old_sats", |of| of.old_sats.to_string()),
        ("coin_count", |of| of.coin_count.to_string()),
        ("spend_count", |of| of.spend_count.to_string()),
        ("coin_days_destroyed", |of| of.coin_days_destroyed.to_string()),
        ("average_age_days", |of| of.average_age_days.to_string()),
        ("classification", |of| of.classification.to_owned()),
        ("classification_provisional", |of| of.classification_provisional.to_string()),
        ("exchange_percent", |of| of.exchange_percent.to_string()),
        ("address", |of| of.holder.address().to_owned()),
        ("entity", |of| of.holder.entity()),
    ];
}
