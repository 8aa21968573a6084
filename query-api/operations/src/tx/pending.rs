//! Mempool data of a transaction besides its content: what it replaced, its relatives, its estimated confirmation, or
//! why it left.

use cairn_domain::{
    FeeRate,
    mempool::{Departed, RelatedTxs},
};
use cairn_model::{MempoolTx, RemoveReason, Txid};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    context::MempoolView,
    mempool::tx::{EtaRow, eta},
    values::{SatVb, rfc3339_ms, sat_vb},
};

/// Maximum number of ancestors and of descendants to walk. Nodes allow a few dozen.
const MAX_RELATIVES: usize = 1_000;
const MAX_REPLACED: usize = 100;

/// Estimated confirmation; `None` before the first projection.
pub(super) fn eta_of(pool: &MempoolView<'_>, txid: &Txid) -> Option<EtaRow> {
    pool.projection.as_ref().map(|projection| eta(projection, txid))
}

/// Relatives in the mempool and the resulting feerates.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Cpfp {
    /// Unconfirmed transactions that must be mined before this one.
    ancestors: PackageTotals,
    /// Unconfirmed transactions that can be mined only after this one.
    descendants: PackageTotals,
    /// Total fee of the transaction and its ancestors divided by their adjusted vsize; null if there are too many
    /// ancestors.
    package_fee_rate_sat_vb: Option<SatVb>,
    /// Feerate of the package or chunk with which the transaction is selected; a child with a higher feerate raises it.
    /// Null if the transaction arrived after the projection.
    effective_fee_rate_sat_vb: Option<SatVb>,
}

/// Related transactions, without the transaction itself.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Kin")]
pub(super) struct PackageTotals {
    count: u64,
    /// Sum of the adjusted virtual sizes.
    vsize: u64,
    fees_sats: u64,
    /// True if there are more than the 1 000 that were read.
    truncated: bool,
}

impl PackageTotals {
    fn of(package: &RelatedTxs) -> Self {
        let RelatedTxs { txids, vsize, fees_sats, truncated } = package;
        PackageTotals { count: txids.len() as u64, vsize: *vsize, fees_sats: *fees_sats, truncated: *truncated }
    }
}

impl Cpfp {
    pub(super) fn of(pool: &MempoolView<'_>, tx: &MempoolTx) -> Self {
        let relatives = pool.mempool.relatives(&tx.txid, MAX_RELATIVES).unwrap_or_default();
        let ancestors = &relatives.ancestors;
        let fees = ancestors.fees_sats.saturating_add(tx.fee_sats);
        let package = sat_vb(fees, ancestors.vsize.saturating_add(tx.adjusted_vsize()));
        let position = pool.projection.as_ref().and_then(|projection| projection.position(&tx.txid));
        Cpfp {
            package_fee_rate_sat_vb: package.filter(|_| !ancestors.truncated),
            effective_fee_rate_sat_vb: position.map(|position| SatVb(position.rate)),
            ancestors: PackageTotals::of(ancestors),
            descendants: PackageTotals::of(&relatives.descendants),
        }
    }
}

/// Txids that it replaced, if still stored, oldest first; and true if there are more.
pub(super) fn replaced(pool: &MempoolView<'_>, txid: &Txid) -> (Vec<String>, bool) {
    let mut all = pool.mempool.replaced_by(txid);
    let listed = all.by_ref().take(MAX_REPLACED).map(Txid::to_string).collect();
    (listed, all.next().is_some())
}

/// Departure of a transaction from the mempool.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Departure {
    /// `confirmed`, `replaced`, `evicted`, `conflict`, `expired`, or `unknown` if the node gave no reason.
    reason: &'static str,
    /// Id of the transaction that replaced this one or one of its ancestors; otherwise null.
    replaced_by: Option<String>,
    /// Height of the block that contained the transaction; otherwise null.
    height: Option<u32>,
    /// Time at which the transaction was first seen.
    mempool_first_seen: String,
    /// Time at which the transaction left the mempool.
    left_at: String,
    fee_sats: u64,
    /// Virtual size as the node's mempool counts it.
    adjusted_vsize: u64,
    /// Feerate: fee divided by adjusted vsize.
    fee_rate_sat_vb: Option<SatVb>,
}

impl Departure {
    /// How it left; `None` if it was not there, or if that is no longer stored.
    pub(super) fn of(pool: &MempoolView<'_>, txid: &Txid) -> Option<Self> {
        let Departed { reason, first_seen_ms, left_ms, fee_sats, vsize } = *pool.mempool.departed(txid)?;
        let (mut replaced_by, mut height) = (None, None);
        let reason = match reason {
            RemoveReason::Confirmed { height: of_block } => {
                height = Some(of_block);
                "confirmed"
            }
            RemoveReason::Replaced { by } => {
                replaced_by = Some(by.to_string());
                "replaced"
            }
            RemoveReason::Evicted => "evicted",
            RemoveReason::Conflict => "conflict",
            RemoveReason::Expired => "expired",
            RemoveReason::Unknown => "unknown",
        };
        Some(Departure {
            reason,
            replaced_by,
            height,
            mempool_first_seen: rfc3339_ms(first_seen_ms),
            left_at: rfc3339_ms(left_ms),
            fee_sats,
            adjusted_vsize: vsize,
            fee_rate_sat_vb: FeeRate::of(fee_sats, vsize).map(SatVb),
        })
    }

    /// True if another transaction spends its coins, so that it cannot confirm at present.
    pub(super) fn is_conflicted(&self) -> bool {
        matches!(self.reason, "replaced" | "conflict")
    }

    /// The reason as a clause.
    pub(super) fn sentence(&self) -> &'static str {
        match self.reason {
            "confirmed" => "it left the mempool for a block that is no longer in the chain",
            "replaced" => "another transaction replaced it or one of its ancestors",
            "evicted" => "it was dropped from a full mempool",
            "conflict" => "a block spends one of its coins, or a reorg made it invalid",
            "expired" => "it expired and was dropped",
            _ => "it left the mempool, and the node gave no reason",
        }
    }

    pub(super) fn mempool_first_seen(&self) -> String {
        self.mempool_first_seen.clone()
    }
}
