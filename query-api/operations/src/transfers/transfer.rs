//! A transaction that moves much, as answers show it.

use cairn_domain::{flows::FlowDirection, transfers::LARGE_SATS};
use cairn_model::MempoolTx;
use cairn_tables::block_log::BlockLog;

use super::{
    owners::{Owners, SideOwner},
    parties::{AttributedSides, Parties},
};
use crate::{
    confirmation::Confirmation,
    operation::prelude::*,
    tx_sides::{Side, largest},
    vocabulary::{caveat::Caveat, columns::columns},
};

/// Least bitcoin of the bands, ascending.
const BANDS: [u32; 3] = [100, 1_000, 10_000];

/// A transaction that pays 100 BTC or more to others.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WhaleAlert {
    txid: String,
    #[serde(flatten)]
    confirmation: Confirmation,
    /// Band of the sum: 100, 1 000 or 10 000 bitcoin, the largest that it reaches.
    band_btc: u32,
    /// Sum paid to others: to scripts from which the transaction does not spend, outside the clusters from which it
    /// spends.
    net_external_sats: u64,
    net_external_btc: Btc,
    /// `net_external_sats` without the largest output that may be change: one to a script that no earlier block has, if
    /// several outputs go to others.
    net_external_min_sats: u64,
    net_external_min_btc: Btc,
    /// `change_guess` if `net_external_sats` and `net_external_min_sats` differ.
    caveat_codes: Vec<Caveat>,
    input_count: u64,
    input_sats: u64,
    output_count: u64,
    /// Number of outputs to others.
    external_output_count: u64,
    fee_sats: u64,
    /// `internal`, `cross_exchange`, `from_exchange`, `to_exchange`, `miner_out` or `unknown`, by today's labels.
    flow_direction: &'static str,
    /// Owner of at least half of the inputs' value; null if labels do not identify one.
    from_owner: Option<SideOwner>,
    /// Owner of at least half of the value that goes to others; null if labels do not identify one.
    to_owner: Option<SideOwner>,
    /// Scripts from which the transaction spends, the largest sum first; at most 5.
    from: Vec<Side>,
    /// Number of scripts left out of `from`.
    from_omitted: u64,
    /// Scripts of others that the transaction pays, the largest sum first; at most 5.
    to: Vec<Side>,
    /// Number of scripts left out of `to`.
    to_omitted: u64,
    #[serde(skip)]
    direction: Option<FlowDirection>,
    #[serde(skip)]
    is_labelled: bool,
}

/// Facts that confirmed and unconfirmed transactions have in common.
struct Facts {
    txid: String,
    confirmation: Confirmation,
    input_count: usize,
    input_sats: Sats,
    output_count: usize,
    fee_sats: Sats,
}

impl WhaleAlert {
    /// A confirmed transaction, which pays so much to others; with what it cost to read in rows.
    pub(super) fn confirmed(
        ctx: &Ctx<'_>,
        view: &View<'_>,
        owners: &mut Owners,
        (tx_num, net): (TxNum, Sats),
    ) -> Result<(Self, usize), ApiError> {
        let missing = || lacks::<BlockLog>(format!("transaction {}", tx_num.0));
        let tx = view.transactions().get(tx_num)?.ok_or_else(missing)?;
        let time = view.chain().get(tx.height).ok_or_else(missing)?.time;
        let parties = Parties::confirmed(view, &tx)?;
        let facts = Facts {
            txid: tx.txid().to_string(),
            confirmation: Confirmation::confirmed(view, tx.height, time),
            input_count: tx.meta().inputs.len(),
            input_sats: tx.input_sats(),
            output_count: tx.outputs().len(),
            fee_sats: tx.fee_sats(),
        };
        let judged = parties.judge(view, owners)?;
        if judged.net_external != net {
            // The tables were written by the same rule, so one of them is damaged.
            return Err(lacks::<cairn_tables::transfers::LargeChange>(format!("what {} pays", tx.txid())).into());
        }
        Ok((WhaleAlert::of(ctx, view, facts, judged)?, parties.cost()))
    }

    /// An unconfirmed transaction, if it pays so much to others.
    pub(super) fn unconfirmed(
        ctx: &Ctx<'_>,
        view: &View<'_>,
        owners: &mut Owners,
        tx: &MempoolTx,
        least: Sats,
    ) -> Result<Option<Self>, ApiError> {
        let judged = Parties::unconfirmed(view, tx)?.judge(view, owners)?;
        if judged.net_external < least {
            return Ok(None);
        }
        let facts = Facts {
            txid: tx.txid.to_string(),
            confirmation: Confirmation::unconfirmed(tx.first_seen_ms),
            input_count: tx.inputs.len(),
            input_sats: tx.inputs.iter().map(|input| input.value).fold(0, Sats::saturating_add),
            output_count: tx.outputs.len(),
            fee_sats: tx.fee_sats,
        };
        WhaleAlert::of(ctx, view, facts, judged).map(Some)
    }

    fn of(ctx: &Ctx<'_>, view: &View<'_>, facts: Facts, judged: AttributedSides) -> Result<Self, ApiError> {
        let [from, to] = judged.verdicts;
        let owner = |owner: &'_ Option<SideOwner>| owner.clone();
        let direction = FlowDirection::between(
            from.owner.as_ref().map(SideOwner::as_owner),
            to.owner.as_ref().map(SideOwner::as_owner),
        );
        let net = judged.net_external;
        let least = net.saturating_sub(judged.may_be_change.unwrap_or(0));
        Ok(WhaleAlert {
            txid: facts.txid,
            confirmation: facts.confirmation,
            band_btc: band(net),
            net_external_sats: net,
            net_external_btc: Btc::of(net),
            net_external_min_sats: least,
            net_external_min_btc: Btc::of(least),
            caveat_codes: judged.may_be_change.map(|sats| Caveat::ChangeGuess { sats }).into_iter().collect(),
            input_count: facts.input_count as u64,
            input_sats: facts.input_sats,
            output_count: facts.output_count as u64,
            external_output_count: judged.external_outputs,
            fee_sats: facts.fee_sats,
            flow_direction: direction.as_str(),
            from_owner: owner(&from.owner),
            to_owner: owner(&to.owner),
            from_omitted: judged.from.omitted,
            from: judged.from.rows(ctx, view)?,
            to_omitted: judged.to.omitted,
            to: judged.to.rows(ctx, view)?,
            direction: Some(direction),
            is_labelled: from.is_labelled || to.is_labelled,
        })
    }

    /// Sum that it pays to others.
    pub(super) fn net_external(&self) -> Sats {
        self.net_external_sats
    }

    pub(super) fn txid(&self) -> &str {
        &self.txid
    }

    pub(super) fn direction(&self) -> Option<FlowDirection> {
        self.direction
    }

    /// True if at least half of the value of one side is labelled.
    pub(super) fn is_labelled(&self) -> bool {
        self.is_labelled
    }
}

/// The largest band that an amount reaches.
fn band(sats: Sats) -> u32 {
    let reached = |btc: &&u32| sats / 100_000_000 >= u64::from(**btc);
    BANDS.iter().rev().find(reached).copied().unwrap_or((LARGE_SATS / 100_000_000) as u32)
}

/// The cell of an owner's name.
fn entity(owner: Option<&SideOwner>) -> String {
    owner.map_or_else(String::new, |owner| owner.as_owner().0.to_owned())
}

columns! { WhaleAlert {
    time: |of| of.confirmation.time(),
    height: |of| of.confirmation.height,
    txid, net_external_sats, net_external_min_sats, band_btc, flow_direction,
    from_entity: |of| entity(of.from_owner.as_ref()),
    to_entity: |of| entity(of.to_owner.as_ref()),
    largest_from: |of| largest(&of.from),
    largest_to: |of| largest(&of.to),
} }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_begin_at_their_bitcoin() {
        let btc = 100_000_000;
        for (sats, expected) in [
            (100 * btc, 100),
            (1_000 * btc - 1, 100),
            (1_000 * btc, 1_000),
            (9_999 * btc, 1_000),
            (10_000 * btc, 10_000),
        ] {
            assert_eq!(band(sats), expected, "{sats}");
        }
    }
}
