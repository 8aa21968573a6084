//! Several scripts as one wallet: their transactions, each once, and what it did to all of them together.

use std::collections::{BTreeSet, HashSet};

use cairn_domain::pnl::Movement;
use cairn_model::ScriptId;
use cairn_reader::{FoundScript, StoredTx};
use cairn_tables::{block_log::BlockLog, history::HistoryEntry};

use super::{Wallet, immature::immature_sats};
use crate::operation::prelude::*;

/// Histories up to this length need no session.
pub(crate) const FREE_TXS: u64 = 100;
/// Limit for all histories, except those of showcase addresses.
pub(crate) const MAX_TXS: u64 = 1_000;

/// Limit without gates: longer histories exceed the work budget and the memory of a
/// request.
const MAX_OPEN: u64 = 100_000;

/// Transactions that are read at a time: as many as a view keeps rows.
const READ_AT_ONCE: usize = 128;

/// The scripts of a request that the chain has.
pub(super) struct Union {
    scripts: Vec<(Vec<u8>, FoundScript)>,
    /// The whole history of each is public.
    is_showcase: bool,
}

impl Union {
    /// Of these wallets, each script once.
    pub(super) fn of(wallets: &[Wallet], ctx: &Ctx<'_>) -> Self {
        let found = wallets.iter().filter_map(|wallet| Some((wallet.script.clone()?, wallet.found?)));
        let mut scripts: Vec<(Vec<u8>, FoundScript)> = found.collect();
        scripts.sort_unstable_by_key(|(_, found)| found.id);
        scripts.dedup_by_key(|(_, found)| found.id);
        // Those that the chain does not have add nothing.
        let has_any = !scripts.is_empty();
        let is_open = |wallet: &Wallet| has_any && wallet.found.is_none() || wallet.is_showcase(ctx.chain);
        Union { scripts, is_showcase: !wallets.is_empty() && wallets.iter().all(is_open) }
    }

    pub(super) fn balance(&self) -> Sats {
        self.scripts.iter().map(|(_, found)| found.totals.balance()).fold(0, Sats::saturating_add)
    }

    /// Returns the part of it that cannot be spent yet: outputs of coinbases with fewer than 100 confirmations.
    pub(super) fn immature_sats(&self, ctx: &Ctx<'_>, view: &View<'_>) -> Result<Sats, ApiError> {
        immature_sats(ctx, view, self.scripts.iter().map(|(script, found)| (&script[..], found)))
    }

    /// Returns the effect of each transaction on all scripts together, ascending: at most `allowed` transactions. Reads
    /// one row for 128 transactions of a script.
    fn entries_within(&self, ctx: &Ctx<'_>, view: &View<'_>, allowed: u64) -> Result<Vec<HistoryEntry>, ApiError> {
        // No union has fewer than one of its parts.
        let counts = self.scripts.iter().map(|(_, found)| found.totals.tx_count);
        if let Some(most) = counts.max().filter(|most| *most > allowed) {
            return Err(too_many(most, allowed));
        }
        let mut entries: Vec<HistoryEntry> = Vec::new();
        for (_, found) in &self.scripts {
            for row in view.scripts().history_rows(found.id)? {
                ctx.work.poll()?;
                entries.extend(row?.entries);
                // Most are of one script only.
                if entries.len() as u64 > allowed.saturating_mul(4) {
                    merge(&mut entries);
                    if entries.len() as u64 > allowed {
                        return Err(too_many(entries.len() as u64, allowed));
                    }
                }
            }
        }
        merge(&mut entries);
        match entries.len() as u64 {
            count if count > allowed => Err(too_many(count, allowed)),
            _ => Ok(entries),
        }
    }

    /// Returns the effect of each transaction on all scripts together, ascending, without a gate.
    ///
    /// # Errors
    /// Returns 503 `history_limit_exceeded` beyond the computed histories.
    pub(super) fn entries(&self, ctx: &Ctx<'_>, view: &View<'_>) -> Result<Vec<HistoryEntry>, ApiError> {
        self.entries_within(ctx, view, MAX_OPEN)
    }

    /// The transactions of all scripts, each once, ascending.
    ///
    /// # Errors
    /// Returns 503 `history_limit_exceeded` beyond the computed histories; 402 beyond the free ones, without a session.
    pub(super) fn txs(&self, ctx: &Ctx<'_>, view: &View<'_>, name: &'static str) -> Result<Vec<TxNum>, ApiError> {
        let is_open = self.is_showcase || !ctx.config.gates_enabled;
        let entries = self.entries_within(ctx, view, if is_open { MAX_OPEN } else { MAX_TXS })?;
        let count = entries.len() as u64;
        if !is_open && count > FREE_TXS {
            let detail = format!(
                "the addresses have {count} transactions: above {FREE_TXS}, this needs a wallet session or a key, except for \
                 showcase addresses"
            );
            let gate = |error: ApiError| error.with("transaction_count", count).with("free_max_transactions", FREE_TXS);
            ctx.need_session(name, &detail).map_err(gate)?;
        }
        Ok(entries.into_iter().map(|entry| entry.tx_num).collect())
    }

    /// Accepts a request that only showcase addresses are free for.
    ///
    /// # Errors
    /// Returns 402 without a session.
    pub(super) fn need_session(&self, ctx: &Ctx<'_>, name: &'static str, detail: &str) -> Result<(), ApiError> {
        if self.is_showcase { Ok(()) } else { ctx.need_session(name, detail) }
    }

    pub(super) fn has(&self, id: ScriptId) -> bool {
        self.scripts.binary_search_by_key(&id, |(_, found)| found.id).is_ok()
    }

    /// Goes through transactions, in order, with what each did to the wallet.
    pub(super) fn visit(
        &self,
        ctx: &Ctx<'_>,
        view: &View<'_>,
        txs: &[TxNum],
        visit: &mut dyn FnMut(&StoredTx, Movement) -> Result<(), ApiError>,
    ) -> Result<(), ApiError> {
        let ids: BTreeSet<ScriptId> = self.scripts.iter().map(|(_, found)| found.id).collect();
        let scripts: HashSet<&[u8]> = self.scripts.iter().map(|(script, _)| &script[..]).collect();
        for some in txs.chunks(READ_AT_ONCE) {
            view.transactions().fetch(some)?;
            for tx_num in some {
                ctx.work.poll()?;
                let lacks = || lacks::<BlockLog>(format!("transaction {}", tx_num.0));
                let tx = view.transactions().get(*tx_num)?.ok_or_else(lacks)?;
                let time = view.chain().get(tx.height).map_or(0, |block| block.mono_time);
                let movement = movement(&tx, time, &ids, &scripts);
                visit(&tx, movement)?;
            }
        }
        Ok(())
    }
}

fn movement(tx: &StoredTx, time: u32, ids: &BTreeSet<ScriptId>, scripts: &HashSet<&[u8]>) -> Movement {
    let (mut sent, mut has_foreign_input) = (0, false);
    for input in tx.logged_inputs() {
        if ids.contains(&input.script) { sent += input.value } else { has_foreign_input = true }
    }
    let (mut received, mut pays_others) = (Vec::new(), false);
    for (vout, output) in (0u32..).zip(tx.outputs()) {
        if output.spendable && scripts.contains(tx.script(output)) {
            received.push((vout, output.value));
        } else {
            pays_others |= output.value > 0;
        }
    }
    Movement {
        tx_num: tx.tx_num,
        time,
        is_coinbase: tx.is_coinbase(),
        sent,
        received,
        all_inputs: tx.input_sats(),
        all_outputs: tx.output_sats(),
        has_foreign_input,
        pays_others,
    }
}

/// One entry for each transaction.
fn merge(entries: &mut Vec<HistoryEntry>) {
    entries.sort_unstable_by_key(|entry| entry.tx_num);
    entries.dedup_by(|entry, kept| {
        let is_same = entry.tx_num == kept.tx_num;
        if is_same {
            // Amounts of one transaction: no sum is near the limit.
            kept.received = kept.received.saturating_add(entry.received);
            kept.sent = kept.sent.saturating_add(entry.sent);
        }
        is_same
    });
}

/// 503, for good.
fn too_many(count: u64, allowed: u64) -> ApiError {
    let detail = format!("the addresses have {count} transactions; at most {allowed} are computed");
    ApiError::new(ErrorCode::HistoryLimitExceeded, detail)
        .with("transaction_count", count)
        .with("hard_max_transactions", allowed)
}
