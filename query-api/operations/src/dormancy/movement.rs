//! A transaction that moves old coins, as answers show it.

use std::{collections::HashMap, hash::Hash};

use cairn_domain::dormancy::OldCoins;
use cairn_model::{MempoolTx, ScriptId, is_unspendable};
use cairn_tables::block_log::BlockLog;

use super::source::MinSpend;
use crate::{
    confirmation::Confirmation,
    operation::prelude::*,
    tx_sides::{Side, Sides, add, largest},
    values::Decimal,
    vocabulary::columns::columns,
};

/// A transaction that moves old coins.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DormantMovement {
    txid: String,
    #[serde(flatten)]
    confirmation: Confirmation,
    /// Sum of the old coins that the transaction spends.
    old_sats: u64,
    old_btc: Btc,
    /// Number of the old coins.
    old_inputs: u64,
    /// Number of all inputs.
    input_count: u64,
    input_sats: u64,
    output_count: u64,
    /// Sum of value × age in days of the old coins, in bitcoin-days.
    coin_days_destroyed: Decimal<8>,
    /// Average age of the old coins in days, weighted by value.
    average_age_days: Decimal<2>,
    /// Age of the oldest coin in full days.
    oldest_age_days: u32,
    /// Scripts of the old coins, the largest sum first; at most 5.
    from: Vec<Side>,
    /// Number of scripts left out of `from`.
    from_omitted: u64,
    /// Scripts of the outputs, the largest sum first; at most 5.
    to: Vec<Side>,
    /// Number of scripts left out of `to`.
    to_omitted: u64,
}

/// The age of a coin in seconds, by monotone block time, as of a time.
pub(super) fn age(view: &View<'_>, birth: Height, now: u32) -> u32 {
    view.chain().get(birth).map_or(0, |block| now.saturating_sub(block.mono_time))
}

/// The old coins of a transaction and the sums of its scripts, before anything is looked up.
struct Draft<K> {
    old: OldCoins,
    from: HashMap<K, u64>,
    input_count: u64,
    input_sats: u64,
}

impl<K: Copy + Ord + Hash> Draft<K> {
    /// Of coins: script, value and age. `None` if the old ones are not worth enough.
    fn of(coins: impl Iterator<Item = (K, u64, u32)>, least: MinSpend) -> Option<Self> {
        let mut draft = Draft { old: OldCoins::default(), from: HashMap::new(), input_count: 0, input_sats: 0 };
        for (script, sats, age) in coins {
            draft.input_count += 1;
            draft.input_sats = draft.input_sats.saturating_add(sats);
            if age >= least.age {
                draft.old.add(sats, age);
                add(&mut draft.from, script, sats);
            }
        }
        Some(draft).filter(|draft| draft.old.sats >= least.sats)
    }

    /// With what is looked up; `from` and `to` are the sums of the scripts on each side.
    fn finish(
        self,
        ctx: &Ctx<'_>,
        view: &View<'_>,
        (txid, outputs, confirmation): (String, u64, Confirmation),
        [from, to]: [Sides; 2],
    ) -> Result<DormantMovement, ApiError> {
        let Draft { old, input_count, input_sats, .. } = self;
        Ok(DormantMovement {
            txid,
            confirmation,
            old_sats: old.sats,
            old_btc: Btc::of(old.sats),
            old_inputs: old.coins,
            input_count,
            input_sats,
            output_count: outputs,
            coin_days_destroyed: Decimal(old.coin_days()),
            average_age_days: Decimal(old.average_age()),
            oldest_age_days: old.oldest_days(),
            from_omitted: from.omitted,
            from: from.rows(ctx, view)?,
            to_omitted: to.omitted,
            to: to.rows(ctx, view)?,
        })
    }
}

impl DormantMovement {
    /// A confirmed transaction, if it spends enough old coins. Three rows read, and one for each script that is shown.
    pub(super) fn confirmed(
        ctx: &Ctx<'_>,
        view: &View<'_>,
        tx_num: TxNum,
        least: MinSpend,
    ) -> Result<Option<Self>, ApiError> {
        let missing = || lacks::<BlockLog>(format!("transaction {}", tx_num.0));
        let tx = view.transactions().get(tx_num)?.ok_or_else(missing)?;
        let block = view.chain().get(tx.height).ok_or_else(missing)?;
        let inputs = view.transactions().inputs(&tx)?;
        let coins = inputs.iter().map(|coin| (coin.script, coin.value, age(view, coin.birth, block.mono_time)));
        let Some(mut draft) = Draft::of(coins, least) else { return Ok(None) };
        // Place of the script of a coin. A transaction has hardly more scripts that are shown than coins of one.
        let place = |script: ScriptId| inputs.iter().find(|coin| coin.script == script).map(|coin| coin.outpoint);
        let from = Sides::of(std::mem::take(&mut draft.from), |script| match place(script) {
            Some(outpoint) => Ok(view.transactions().script_at(outpoint)?),
            None => Ok(Vec::new()),
        })?;
        let mut to: HashMap<&[u8], u64> = HashMap::new();
        for output in tx.outputs().iter().filter(|output| output.spendable) {
            add(&mut to, tx.script(output), output.value);
        }
        let to = Sides::of(to, |script| Ok(script.to_vec()))?;
        let confirmation = Confirmation::confirmed(view, tx.height, block.time);
        let outputs = tx.outputs().len() as u64;
        draft.finish(ctx, view, (tx.txid().to_string(), outputs, confirmation), [from, to]).map(Some)
    }

    /// An unconfirmed transaction, if it spends enough coins that are old as of the newest block.
    pub(super) fn unconfirmed(
        ctx: &Ctx<'_>,
        view: &View<'_>,
        tx: &MempoolTx,
        least: MinSpend,
    ) -> Result<Option<Self>, ApiError> {
        let age = |birth: Option<Height>| birth.map_or(0, |birth| age(view, birth, view.tip().mono_time));
        let coins = tx.inputs.iter().map(|input| (&input.script[..], input.value, age(input.birth)));
        let Some(mut draft) = Draft::of(coins, least) else { return Ok(None) };
        let mut to: HashMap<&[u8], u64> = HashMap::new();
        for output in tx.outputs.iter().filter(|output| !is_unspendable(&output.script)) {
            add(&mut to, &output.script[..], output.value);
        }
        let from = Sides::of(std::mem::take(&mut draft.from), |script| Ok(script.to_vec()))?;
        let to = Sides::of(to, |script| Ok(script.to_vec()))?;
        let confirmation = Confirmation::unconfirmed(tx.first_seen_ms);
        draft.finish(ctx, view, (tx.txid.to_string(), tx.outputs.len() as u64, confirmation), [from, to]).map(Some)
    }

    /// The height of its block, and the largest scripts on both sides.
    pub(super) fn place(&self) -> (Option<Height>, [Option<&Side>; 2]) {
        (self.confirmation.height, [self.from.first(), self.to.first()])
    }

    /// Full days of the oldest coin.
    pub(super) fn oldest_days(&self) -> u32 {
        self.oldest_age_days
    }

    pub(super) fn txid(&self) -> &str {
        &self.txid
    }

    pub(super) fn old_sats(&self) -> u64 {
        self.old_sats
    }

    /// Coin-days destroyed, in units of 10^-8.
    pub(super) fn coin_days(&self) -> i128 {
        self.coin_days_destroyed.0
    }
}

columns! { DormantMovement {
    time: |of| of.confirmation.time(),
    height: |of| of.confirmation.height,
    txid, old_sats, old_inputs, coin_days_destroyed, average_age_days, oldest_age_days,
    largest_from: |of| largest(&of.from),
    largest_to: |of| largest(&of.to),
} }
