//! Outflow of the scripts of a holder, transaction by transaction.

use std::collections::{BTreeMap, HashMap, HashSet};

use cairn_domain::exchange_flows::Part;
use cairn_events::{Category, EntityName};
use cairn_model::{ScriptId, ScriptPrefix, day_of};
use cairn_reader::FoundScript;
use cairn_tables::block_log::BlockLog;

use crate::{operation::prelude::*, transfers::Owners};

/// Entries of histories that are read for one answer.
const MAX_ENTRIES: usize = 20_000;
/// Inputs and outputs that are looked at for one answer.
const MAX_PARTS: usize = 60_000;
/// Entries of a history that are read at a time.
const ENTRIES: usize = 512;

#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Outflow {
    /// In satoshis, without fees.
    pub(super) sats: Sats,
    /// Of that, what goes to exchanges directly.
    pub(super) to_exchange: Sats,
}

/// How much may still be read, and what is known of entities.
pub(super) struct OutflowReader {
    entries: usize,
    parts: usize,
    owners: Owners,
}

impl Default for OutflowReader {
    fn default() -> Self {
        OutflowReader { entries: MAX_ENTRIES, parts: MAX_PARTS, owners: Owners::default() }
    }
}

/// Sums that a holder's scripts send and receive, by transaction.
type SumsByTx = BTreeMap<TxNum, (Sats, Sats)>;

impl OutflowReader {
    /// Returns the outflow of some scripts from a transaction on, by day; `None` if there is too much to read.
    pub(super) fn outflow(
        &mut self,
        ctx: &Ctx<'_>,
        view: &View<'_>,
        scripts: &[FoundScript],
        first: TxNum,
    ) -> Result<Option<BTreeMap<u32, Outflow>>, ApiError> {
        let Some(moves) = self.moves(ctx, view, scripts, first)? else { return Ok(None) };
        let own: HashSet<ScriptId> = scripts.iter().map(|script| script.id).collect();
        let mut days: BTreeMap<u32, Outflow> = BTreeMap::new();
        for (tx_num, (sent, received)) in moves {
            if sent <= received {
                continue;
            }
            ctx.work.poll()?;
            let missing = || lacks::<BlockLog>(format!("transaction {}", tx_num.0));
            let tx = view.transactions().get(tx_num)?.ok_or_else(missing)?;
            let time = view.chain().get(tx.height).ok_or_else(missing)?.mono_time;
            let outputs = tx.outputs().iter().filter(|output| output.spendable);
            let length = view.facts().script_prefix;
            let outputs: Vec<(ScriptId, Sats)> = outputs
                .map(|output| {
                    let prefix = ScriptPrefix::of(tx.script(output), length);
                    (ScriptId { prefix, ordinal: output.id.ordinal }, output.value)
                })
                .filter(|(id, _)| !own.contains(id))
                .collect();
            self.parts = self.parts.saturating_sub(tx.meta().inputs.len() + outputs.len() + 1);
            if self.parts == 0 {
                return Ok(None);
            }
            let left = Part { sent, received }.flow(tx.fee_sats(), tx.input_sats()).outflow;
            let day = days.entry(day_of(time)).or_default();
            day.sats = day.sats.saturating_add(left);
            day.to_exchange = day.to_exchange.saturating_add(self.paid_to_exchanges(view, &outputs)?.min(left));
        }
        Ok(Some(days))
    }

    /// Returns the moves of scripts from a transaction on, without coinbases: mined coins do not flow in.
    fn moves(
        &mut self,
        ctx: &Ctx<'_>,
        view: &View<'_>,
        scripts: &[FoundScript],
        first: TxNum,
    ) -> Result<Option<SumsByTx>, ApiError> {
        let mut moves = SumsByTx::new();
        for script in scripts {
            let mut read = 0;
            'script: loop {
                ctx.work.poll()?;
                let entries = view.scripts().history(script, read, ENTRIES)?;
                read += entries.len() as u64;
                for entry in &entries {
                    if entry.tx_num < first {
                        break 'script;
                    }
                    self.entries = self.entries.saturating_sub(1);
                    if self.entries == 0 {
                        return Ok(None);
                    }
                    if !is_coinbase(view, entry.tx_num) {
                        let sums = moves.entry(entry.tx_num).or_default();
                        *sums = (sums.0.saturating_add(entry.sent), sums.1.saturating_add(entry.received));
                    }
                }
                if entries.len() < ENTRIES {
                    break;
                }
            }
        }
        Ok(Some(moves))
    }

    /// Returns the sum that outputs pay to scripts of exchanges, by today's labels.
    fn paid_to_exchanges(&mut self, view: &View<'_>, outputs: &[(ScriptId, Sats)]) -> Result<Sats, ApiError> {
        let ids: Vec<ScriptId> = outputs.iter().map(|(id, _)| *id).collect();
        let mut sum: Sats = 0;
        let mut known: HashMap<EntityName, bool> = HashMap::new();
        for (standing, (_, sats)) in view.labels().standings(&ids)?.into_iter().zip(outputs) {
            let Some(owner) = standing.owner else { continue };
            let is_exchange = match known.get(&owner.entity) {
                Some(is_exchange) => *is_exchange,
                None => {
                    let is_exchange = self.owners.facts(view, &owner.entity)?.0 == Some(Category::Exchange);
                    known.insert(owner.entity, is_exchange);
                    is_exchange
                }
            };
            sum = sum.saturating_add(if is_exchange { *sats } else { 0 });
        }
        Ok(sum)
    }
}

fn is_coinbase(view: &View<'_>, tx_num: TxNum) -> bool {
    let height = view.chain().height_of(tx_num);
    height.and_then(|height| view.chain().get(height)).is_some_and(|block| block.first_tx == tx_num)
}
