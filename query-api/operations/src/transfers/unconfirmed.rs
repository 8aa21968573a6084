//! Unconfirmed transactions that a scanner shows.

use std::collections::HashSet;

use cairn_domain::{coinjoin::is_coinjoin, transfers::gathers};
use cairn_model::{MempoolTx, is_unspendable};

use super::{consolidation::Consolidation, owners::Owners, transfer::WhaleAlert};
use crate::operation::prelude::*;

/// Inputs and outputs whose scripts are looked up for one answer: some 20 milliseconds.
const MAX_LOOKED_UP: usize = 4_000;

pub(super) struct Unconfirmed<T> {
    pub(super) rows: Vec<T>,
    /// Transactions that may fit and are left out.
    pub(super) omitted: u64,
}

/// Makes rows of candidates, the largest first, as far as may be looked up.
fn rows<'t, T>(
    ctx: &Ctx<'_>,
    mut candidates: Vec<(Sats, &'t MempoolTx)>,
    limit: usize,
    mut row: impl FnMut(&'t MempoolTx) -> Result<Option<T>, ApiError>,
) -> Result<Unconfirmed<T>, ApiError> {
    candidates.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.txid.cmp(&b.1.txid)));
    let mut found = Unconfirmed { rows: Vec::new(), omitted: 0 };
    let mut looked_up = 0;
    for (_, tx) in candidates {
        let cost = tx.inputs.len() + tx.outputs.len();
        if found.rows.len() == limit || (looked_up > 0 && looked_up + cost > MAX_LOOKED_UP) {
            found.omitted += 1;
            continue;
        }
        ctx.work.poll()?;
        looked_up += cost;
        found.rows.extend(row(tx)?);
    }
    Ok(found)
}

/// Returns the sum that a transaction pays to scripts that it does not spend from.
fn paid_outside(tx: &MempoolTx) -> Sats {
    let outputs = || tx.outputs.iter().filter(|output| !is_unspendable(&output.script));
    let own: HashSet<&[u8]> = tx.inputs.iter().map(|input| &input.script[..]).collect();
    let outside = outputs().filter(|output| !own.contains(&output.script[..]));
    outside.map(|output| output.value).fold(0, Sats::saturating_add)
}

/// Those that pay so much to others, by what they pay, the largest first.
pub(super) fn whales(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    least: Sats,
    limit: usize,
) -> Result<Unconfirmed<WhaleAlert>, ApiError> {
    let Some(pool) = ctx.unconfirmed() else { return Ok(Unconfirmed { rows: Vec::new(), omitted: 0 }) };
    let mut candidates = Vec::new();
    for tx in pool.mempool.iter().map(AsRef::as_ref) {
        ctx.work.poll()?;
        let all = tx.outputs.iter().map(|output| output.value).fold(0, Sats::saturating_add);
        if all >= least {
            let outside = paid_outside(tx);
            candidates.extend(Some((outside, tx)).filter(|_| outside >= least && !is_coinjoin(tx)));
        }
    }
    let mut owners = Owners::default();
    let mut found = rows(ctx, candidates, limit, |tx| WhaleAlert::unconfirmed(ctx, view, &mut owners, tx, least))?;
    found.rows.sort_by(|a, b| b.net_external().cmp(&a.net_external()).then_with(|| a.txid().cmp(b.txid())));
    Ok(found)
}

/// Transactions that gather at least as many coins, of at least as much value, as asked for; the largest first.
pub(super) fn consolidations(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    (inputs, least): (usize, Sats),
    limit: usize,
) -> Result<Unconfirmed<Consolidation>, ApiError> {
    let Some(pool) = ctx.unconfirmed() else { return Ok(Unconfirmed { rows: Vec::new(), omitted: 0 }) };
    let mut candidates = Vec::new();
    for tx in pool.mempool.iter().map(AsRef::as_ref) {
        ctx.work.poll()?;
        if tx.inputs.len() >= inputs && gathers(tx.inputs.len(), tx.outputs.len()) {
            let sats = tx.inputs.iter().map(|input| input.value).fold(0, Sats::saturating_add);
            candidates.extend(Some((sats, tx)).filter(|_| sats >= least && !is_coinjoin(tx)));
        }
    }
    let mut owners = Owners::default();
    rows(ctx, candidates, limit, |tx| Consolidation::unconfirmed(ctx, view, &mut owners, tx).map(Some))
}
