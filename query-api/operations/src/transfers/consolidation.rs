//! A transaction that gathers many coins in few, as answers show it.

use cairn_model::MempoolTx;
use cairn_tables::block_log::BlockLog;

use super::{
    owners::{Owners, SideOwner},
    parties::Parties,
};
use crate::{confirmation::Confirmation, operation::prelude::*, tx_sides::Side};

/// A transaction that gathers many coins.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Consolidation {
    txid: String,
    #[serde(flatten)]
    confirmation: Confirmation,
    input_count: u64,
    output_count: u64,
    /// Sum of the inputs.
    value_sats: u64,
    value_btc: Btc,
    fee_sats: u64,
    /// Owner of at least half of the inputs' value; null if labels do not identify one.
    from_owner: Option<SideOwner>,
    /// Owner of at least half of the outputs' value; null if labels do not identify one.
    to_owner: Option<SideOwner>,
    /// Scripts from which the transaction spends, the largest sum first; at most 5.
    from: Vec<Side>,
    /// Number of scripts left out of `from`.
    from_omitted: u64,
    /// Scripts that the transaction pays, the largest sum first; at most 5.
    to: Vec<Side>,
    /// Number of scripts left out of `to`.
    to_omitted: u64,
}

impl Consolidation {
    /// A confirmed transaction, with what it cost to read in rows.
    pub(super) fn confirmed(
        ctx: &Ctx<'_>,
        view: &View<'_>,
        owners: &mut Owners,
        tx_num: TxNum,
    ) -> Result<(Self, usize), ApiError> {
        let missing = || lacks::<BlockLog>(format!("transaction {}", tx_num.0));
        let tx = view.transactions().get(tx_num)?.ok_or_else(missing)?;
        let time = view.chain().get(tx.height).ok_or_else(missing)?.time;
        let parties = Parties::confirmed(view, &tx)?;
        let [from, to] = parties.whole(view, owners)?;
        let row = Consolidation {
            txid: tx.txid().to_string(),
            confirmation: Confirmation::confirmed(view, tx.height, time),
            input_count: tx.meta().inputs.len() as u64,
            output_count: tx.outputs().len() as u64,
            value_sats: tx.input_sats(),
            value_btc: Btc::of(tx.input_sats()),
            fee_sats: tx.fee_sats(),
            from_owner: from.1.owner,
            to_owner: to.1.owner,
            from_omitted: from.0.omitted,
            from: from.0.rows(ctx, view)?,
            to_omitted: to.0.omitted,
            to: to.0.rows(ctx, view)?,
        };
        Ok((row, parties.cost()))
    }

    pub(super) fn unconfirmed(
        ctx: &Ctx<'_>,
        view: &View<'_>,
        owners: &mut Owners,
        tx: &MempoolTx,
    ) -> Result<Self, ApiError> {
        let [from, to] = Parties::unconfirmed(view, tx)?.whole(view, owners)?;
        let value = tx.inputs.iter().map(|input| input.value).fold(0, Sats::saturating_add);
        Ok(Consolidation {
            txid: tx.txid.to_string(),
            confirmation: Confirmation::unconfirmed(tx.first_seen_ms),
            input_count: tx.inputs.len() as u64,
            output_count: tx.outputs.len() as u64,
            value_sats: value,
            value_btc: Btc::of(value),
            fee_sats: tx.fee_sats,
            from_owner: from.1.owner,
            to_owner: to.1.owner,
            from_omitted: from.0.omitted,
            from: from.0.rows(ctx, view)?,
            to_omitted: to.0.omitted,
            to: to.0.rows(ctx, view)?,
        })
    }

    pub(super) fn sats(&self) -> Sats {
        self.value_sats
    }

    pub(super) fn inputs(&self) -> u64 {
        self.input_count
    }
}
