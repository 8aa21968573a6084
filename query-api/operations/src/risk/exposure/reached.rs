//! The claims that a script's coins came from or went to, without the rest of an answer.

use std::{collections::BTreeMap, rc::Rc};

use cairn_http::ApiError;
use cairn_model::{Sats, Txid};
use cairn_reader::FoundScript;
use cairn_tables::block_log::BlockLog;

use super::{
    claimed::{ClaimedScript, DirectClaim, Kind},
    reader::ExposureReader,
    traced::{Choice, History, Traced, Way, traced},
};
use crate::context::lacks;

/// Transactions that a row names.
const MAX_TXIDS: usize = 10;

/// A script with claims that coins came from or went to.
pub(crate) struct Reached {
    /// The script, with all of its claims.
    pub(crate) script: Rc<ClaimedScript>,
    /// Place of the claim in `script.claims` that made it a source.
    pub(crate) claim_at: usize,
    pub(crate) way: Way,
    /// The least number of transactions between them.
    pub(crate) hops: u8,
    /// Transactions of the way with the largest amount, in the order of the chain.
    pub(crate) txids: Vec<Txid>,
    pub(crate) haircut_sats: Sats,
    pub(crate) fifo_sats: Sats,
}

impl Reached {
    /// The claim that made the script a source.
    pub(crate) fn claim(&self) -> Option<&DirectClaim> {
        self.script.claims.get(self.claim_at)
    }
}

/// The scripts with claims around a script.
pub(crate) struct ReachedRows {
    /// The nearest first, then the largest amount.
    pub(crate) rows: Vec<Reached>,
    /// Transactions of the script that were traced, and all of them.
    pub(crate) transactions: (u64, u64),
    /// True if a limit other than the depth left something out.
    pub(crate) is_truncated: bool,
}

/// The scripts with claims of a kind within a number of transactions of a script, in both directions.
pub(crate) fn reached(
    reader: &mut ExposureReader<'_>,
    found: &FoundScript,
    kind: Kind,
    depth: u8,
) -> Result<ReachedRows, ApiError> {
    reader.tidy_up();
    let history = History::find(reader, found)?;
    let choice = Choice { kind, groups: None };
    let mut rows = Vec::new();
    let mut is_truncated = history.traced() < history.sums.tx_count;
    for way in [Way::Sources, Way::Destinations] {
        let traced = traced(reader, &history, choice, way, depth)?;
        is_truncated |= traced.trace.is_truncated();
        rows.extend(rows_of(reader, &traced, choice)?);
    }
    rows.sort_by_key(|row| (row.hops, std::cmp::Reverse(row.haircut_sats), row.way));
    let transactions = (history.traced(), history.sums.tx_count);
    Ok(ReachedRows { rows, transactions, is_truncated: is_truncated || reader.is_cut })
}

fn rows_of(reader: &ExposureReader<'_>, traced: &Traced, choice: Choice<'_>) -> Result<Vec<Reached>, ApiError> {
    let mut by_source: BTreeMap<u32, (u128, Sats, cairn_domain::exposure::Reached)> = BTreeMap::new();
    for reached in &traced.trace.reached {
        let entry = by_source.entry(reached.source.id).or_insert((0, 0, *reached));
        entry.0 += reached.haircut;
        entry.1 = entry.1.saturating_add(reached.fifo);
        let best = &mut entry.2;
        let key = |of: &cairn_domain::exposure::Reached| (std::cmp::Reverse(of.part.hop), of.haircut);
        if key(reached) > key(best) {
            *best = *reached;
        }
    }
    let mut rows = Vec::with_capacity(by_source.len());
    for (id, (haircut, fifo_sats, best)) in by_source {
        let Some(script) = traced.sources.get(id as usize) else { continue };
        let claim_at = script.claims.iter().position(|claim| choice.group(claim).is_some()).unwrap_or_default();
        let mut txids = Vec::new();
        for tx in traced.trace.transactions_of(&best).into_iter().take(MAX_TXIDS) {
            let found = reader.view.transactions().txid(tx)?;
            txids.push(found.ok_or_else(|| lacks::<BlockLog>(format!("transaction {}", tx.0)))?.0);
        }
        rows.push(Reached {
            script: Rc::clone(script),
            claim_at,
            way: traced.way,
            hops: best.part.hop,
            txids,
            haircut_sats: Sats::try_from(haircut / cairn_domain::exposure::MILLIONTHS).unwrap_or(Sats::MAX),
            fifo_sats,
        });
    }
    Ok(rows)
}
