//! Likely purpose of a dormancy flush: where its largest spends went.

use std::collections::{HashMap, HashSet};

use cairn_domain::dormancy::FLUSH_BLOCKS;
use cairn_events::{Category, EntityName};
use cairn_model::{ScriptId, ScriptPrefix, ScriptTemplate};
use cairn_reader::{AsOf, StoredTx};
use cairn_tables::flushes::{FlushRow, Holder};

use super::holder::tx;
use crate::{operation::prelude::*, transfers::Owners};

/// Blocks for which outputs stay unspent if a holder keeps them.
pub(super) const KEPT_BLOCKS: u32 = 1_008;
/// Outputs of a transaction that are followed: those with most value.
const MAX_OUTPUTS: usize = 16;
const MAX_TXS: usize = 48;

cairn_model::words! {
    /// Purpose of a flush by its transactions.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(super) enum Class {
        ExchangeBound = "exchange_bound",
        Consolidation = "consolidation",
        KeyMigration = "key_migration",
        HolderRotation = "holder_rotation",
        Unknown = "unknown",
    }
    pub(super) fn as_str;
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ClassMatch {
    Yes,
    No,
    /// It may yet, with later blocks.
    Waits,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    pub(super) class: Class,
    /// Later blocks may change it.
    pub(super) provisional: bool,
    /// Old value of the spends that were followed.
    pub(super) traced: Sats,
    /// Of that, what reached exchanges.
    pub(super) to_exchanges: Sats,
    /// Some outputs were not followed.
    pub(super) is_cut: bool,
    /// Transactions that were read.
    pub(super) txs: usize,
}

/// An output that somebody can spend.
struct Output {
    vout: u32,
    script: ScriptId,
    sats: Sats,
    template: ScriptTemplate,
}

fn outputs(view: &View<'_>, tx: &StoredTx) -> Vec<Output> {
    let length = view.facts().script_prefix;
    let of = |(vout, output): (u32, &cairn_model::OutputMeta)| {
        let bytes = tx.script(output);
        // The log leaves out what follows from the script.
        let script = ScriptId { prefix: ScriptPrefix::of(bytes, length), ordinal: output.id.ordinal };
        Output { vout, script, sats: output.value, template: ScriptTemplate::of(bytes) }
    };
    (0..).zip(tx.outputs()).filter(|(_, output)| output.spendable).map(of).collect()
}

/// The age of a type of script: P2PK, P2PKH, P2SH, version 0, version 1; `None` for others.
const fn rank(template: ScriptTemplate) -> Option<u8> {
    match template {
        ScriptTemplate::CompressedPubKey | ScriptTemplate::UncompressedPubKey => Some(0),
        ScriptTemplate::PubKeyHash => Some(1),
        ScriptTemplate::ScriptHash => Some(2),
        ScriptTemplate::WitnessV0KeyHash | ScriptTemplate::WitnessV0ScriptHash => Some(3),
        ScriptTemplate::WitnessV1Taproot => Some(4),
        _ => None,
    }
}

/// Evidence of one spend for each class except the first.
struct Spend {
    gathers: bool,
    migrates: ClassMatch,
    rotates: ClassMatch,
}

/// Follows the spends of a flush.
struct Trace<'t> {
    ctx: &'t Ctx<'t>,
    view: &'t View<'t>,
    owners: &'t mut Owners,
    exchanges: HashMap<EntityName, bool>,
    txs: usize,
    is_cut: bool,
    to_exchanges: Sats,
    /// Value that later blocks may bring to exchanges.
    waits: Sats,
}

impl Trace<'_> {
    /// Whether scripts count as exchanges' by today's labels, in their order.
    fn are_exchanges(&mut self, scripts: &[ScriptId]) -> Result<Vec<bool>, ApiError> {
        let mut are = Vec::with_capacity(scripts.len());
        for standing in self.view.labels().standings(scripts)? {
            let Some(owner) = standing.owner else {
                are.push(false);
                continue;
            };
            let is = match self.exchanges.get(&owner.entity) {
                Some(is) => *is,
                None => {
                    let is = self.owners.facts(self.view, &owner.entity)?.0 == Some(Category::Exchange);
                    self.exchanges.insert(owner.entity, is);
                    is
                }
            };
            are.push(is);
        }
        Ok(are)
    }

    /// The outputs of a transaction with most value.
    fn largest(&mut self, mut all: Vec<Output>) -> Vec<Output> {
        all.sort_by_key(|output| (std::cmp::Reverse(output.sats), output.vout));
        self.is_cut |= all.len() > MAX_OUTPUTS;
        all.truncate(MAX_OUTPUTS);
        all
    }

    /// Follows `sats` of the value of a transaction through its outputs, through `hops` more transactions.
    fn follow(&mut self, tx: &StoredTx, sats: Sats, from: Height, hops: u32) -> Result<(), ApiError> {
        self.ctx.work.poll()?;
        let outputs = self.largest(outputs(self.view, tx));
        let scripts: Vec<ScriptId> = outputs.iter().map(|output| output.script).collect();
        let exchanges = self.are_exchanges(&scripts)?;
        let inputs = u128::from(tx.input_sats().max(1));
        let spenders = if hops > 1 { self.view.transactions().spenders(tx.tx_num)? } else { Vec::new() };
        for (output, is_exchange) in outputs.iter().zip(exchanges) {
            let part = u128::from(sats) * u128::from(output.sats) / inputs;
            let part = Sats::try_from(part).unwrap_or(Sats::MAX);
            if is_exchange {
                self.to_exchanges = self.to_exchanges.saturating_add(part);
                continue;
            }
            if hops < 2 || part == 0 {
                continue;
            }
            let spender = spenders.iter().find(|(vout, ..)| *vout == output.vout).map(|(_, spender, _)| *spender);
            let to = from.saturating_add(FLUSH_BLOCKS);
            match spender {
                None if self.view.tip().height < to => self.waits = self.waits.saturating_add(part),
                None => {}
                Some(spender) if self.height_of(spender) <= to => {
                    if self.txs >= MAX_TXS {
                        self.is_cut = true;
                        continue;
                    }
                    self.txs += 1;
                    let next = self::tx(self.view, spender)?;
                    self.follow(&next, part, from, hops - 1)?;
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn height_of(&self, tx_num: TxNum) -> Height {
        self.view.chain().height_of(tx_num).unwrap_or(0)
    }

    /// Evidence of a spend for the classes that follow from its outputs.
    fn judge(&self, tx: &StoredTx) -> Result<Spend, ApiError> {
        let view = self.view;
        let coins = view.transactions().inputs(tx)?;
        let outputs = outputs(view, tx);
        let at = AsOf { height: tx.height, tx_end: TxNum(tx.tx_num.0.saturating_add(1)) };
        let inputs: Vec<ScriptId> = coins.iter().map(|coin| coin.script).collect();
        let own: HashSet<Holder> = view.clusters().holders(&inputs, at)?.into_iter().collect();
        let scripts: Vec<ScriptId> = outputs.iter().map(|output| output.script).collect();
        let holders = view.clusters().holders(&scripts, at)?;
        let firsts = view.scripts().first_txs(&scripts)?;
        let (mut back, mut all) = (0u128, 0u128);
        let mut others = Vec::new();
        for ((output, holder), first) in outputs.iter().zip(holders).zip(firsts) {
            all += u128::from(output.sats);
            if own.contains(&holder) {
                back += u128::from(output.sats);
            } else {
                others.push((output, first == Some(tx.tx_num)));
            }
        }
        let gathers = coins.len() >= 3 && outputs.len() == 1 || all > 0 && back * 100 >= all * 95;
        let newest = coins.iter().map(|coin| rank(coin.flags.template)).max().flatten();
        let is_newer = |output: &Output| rank(output.template).is_some_and(|rank| newest.is_some_and(|of| rank > of));
        let are_fresh = !others.is_empty() && others.iter().all(|(_, is_fresh)| *is_fresh);
        let kept = if are_fresh { self.stay(tx, &others)? } else { ClassMatch::No };
        let migrates = are_fresh && others.len() <= 2 && others.iter().all(|(output, _)| is_newer(output));
        let rotates = are_fresh && !others.iter().any(|(output, _)| is_newer(output));
        let of = |holds| if holds { kept } else { ClassMatch::No };
        Ok(Spend { gathers, migrates: of(migrates), rotates: of(rotates) })
    }

    /// Whether outputs stay unspent.
    fn stay(&self, tx: &StoredTx, of: &[(&Output, bool)]) -> Result<ClassMatch, ApiError> {
        let to = tx.height.saturating_add(KEPT_BLOCKS);
        let vouts: HashSet<u32> = of.iter().map(|(output, _)| output.vout).collect();
        for (vout, spender, _) in self.view.transactions().spenders(tx.tx_num)? {
            if vouts.contains(&vout) && self.height_of(spender) < to {
                return Ok(ClassMatch::No);
            }
        }
        Ok(if self.view.tip().height < to { ClassMatch::Waits } else { ClassMatch::Yes })
    }
}

/// All must hold.
fn all(of: impl Iterator<Item = ClassMatch>) -> ClassMatch {
    of.fold(ClassMatch::Yes, |all, next| match (all, next) {
        (ClassMatch::No, _) | (_, ClassMatch::No) => ClassMatch::No,
        (ClassMatch::Waits, _) | (_, ClassMatch::Waits) => ClassMatch::Waits,
        _ => ClassMatch::Yes,
    })
}

/// The first class that holds. While one before it waits, later blocks may make it that.
fn first(classes: [(Class, ClassMatch); 4]) -> (Class, bool) {
    let mut waiting = None;
    for (class, holds) in classes {
        match holds {
            ClassMatch::Yes => return (class, waiting.is_some()),
            ClassMatch::Waits => waiting = waiting.or(Some(class)),
            ClassMatch::No => {}
        }
    }
    waiting.map_or((Class::Unknown, false), |class| (class, true))
}

/// Follows the largest spends of a flush, by today's labels.
pub(super) fn classify(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    owners: &mut Owners,
    row: &FlushRow,
) -> Result<Verdict, ApiError> {
    let mut trace = Trace {
        ctx,
        view,
        owners,
        exchanges: HashMap::new(),
        txs: row.largest.len(),
        is_cut: row.largest.len() as u64 != row.spends,
        to_exchanges: 0,
        waits: 0,
    };
    let (mut traced, mut spends): (Sats, Vec<Spend>) = (0, Vec::new());
    for (tx_num, sats) in &row.largest {
        let tx = tx(view, *tx_num)?;
        traced = traced.saturating_add(*sats);
        trace.follow(&tx, *sats, tx.height, 2)?;
        spends.push(trace.judge(&tx)?);
    }
    let half = |sats: Sats| u128::from(sats) * 2 >= u128::from(traced.max(1));
    let bound = match () {
        () if half(trace.to_exchanges) => ClassMatch::Yes,
        () if half(trace.to_exchanges.saturating_add(trace.waits)) => ClassMatch::Waits,
        () => ClassMatch::No,
    };
    let gathers = if spends.iter().all(|spend| spend.gathers) { ClassMatch::Yes } else { ClassMatch::No };
    let (class, provisional) = first([
        (Class::ExchangeBound, bound),
        (Class::Consolidation, gathers),
        (Class::KeyMigration, all(spends.iter().map(|spend| spend.migrates))),
        (Class::HolderRotation, all(spends.iter().map(|spend| spend.rotates))),
    ]);
    let Trace { txs, is_cut, to_exchanges, .. } = trace;
    Ok(Verdict { class, provisional, traced, to_exchanges: to_exchanges.min(traced), is_cut, txs })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_class_that_holds_counts() {
        use Class::{Consolidation, ExchangeBound, HolderRotation, KeyMigration, Unknown};
        use ClassMatch::{No, Waits, Yes};
        let of = |holds: [ClassMatch; 4]| {
            let [a, b, c, d] = holds;
            first([(ExchangeBound, a), (Consolidation, b), (KeyMigration, c), (HolderRotation, d)])
        };
        assert_eq!(of([Yes, Yes, Waits, No]), (ExchangeBound, false));
        assert_eq!(of([No, Yes, Waits, No]), (Consolidation, false));
        // An exchange may still be reached.
        assert_eq!(of([Waits, Yes, No, No]), (Consolidation, true));
        assert_eq!(of([Waits, No, Waits, No]), (ExchangeBound, true));
        assert_eq!(of([No, No, Waits, Waits]), (KeyMigration, true));
        assert_eq!(of([No, No, No, No]), (Unknown, false));
        assert_eq!(all([Yes, Waits, Yes].into_iter()), Waits);
        assert_eq!(all([Waits, No].into_iter()), No);
    }

    #[test]
    fn types_of_scripts_have_their_order() {
        use ScriptTemplate::{CompressedPubKey, Multisig, PubKeyHash, ScriptHash, WitnessV0KeyHash, WitnessV1Taproot};
        let order = [CompressedPubKey, PubKeyHash, ScriptHash, WitnessV0KeyHash, WitnessV1Taproot].map(rank);
        assert!(order.is_sorted_by(|a, b| a < b) && order[0].is_some());
        assert_eq!(rank(Multisig), None);
    }
}
