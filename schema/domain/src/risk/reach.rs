//! Claims near a script: those about scripts that its coins came from, or that they went to, within two transactions.
//! The amounts are not followed; exposure does that.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use cairn_model::{ScriptId, TxNum};

use super::{ClaimRef, Facts, Finding, Ledger, Mark, Tx, Unexamined};

/// Transactions each way.
pub const MAX_HOPS: u32 = 2;
/// Neighbouring transactions that are read.
pub const MAX_REACHED_TXS: usize = 1_000;
/// Scripts whose claims are looked up.
pub const MAX_REACHED_SCRIPTS: usize = 5_000;
/// Scripts that are looked up at a time.
const AT_A_TIME: usize = 256;

/// Direction of a walk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Way {
    /// Towards the scripts that paid.
    Sources,
    /// Towards the scripts that were paid.
    Destinations,
}

/// A script with a mark, and the way to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reached {
    /// The script.
    pub script: ScriptId,
    /// Its mark.
    pub mark: Mark,
    /// Direction.
    pub way: Way,
    /// The transactions between, from the subject's on: one or two.
    pub txs: Vec<TxNum>,
}

/// The marks near a script.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Reach {
    /// Scripts with a mark, the nearest first.
    pub found: Vec<Reached>,
    /// True if not everything within the hops was looked at.
    pub is_cut: bool,
}

/// A script at the edge of the walk: where a coin came from or went to, and the transaction beyond it.
struct Edge {
    script: ScriptId,
    way: Way,
    txs: Vec<TxNum>,
    /// The transaction that made the coin, or that spends it; `None` at the end of the walk.
    beyond: Option<TxNum>,
}

/// Looks at the claims within [`MAX_HOPS`] transactions each way. Coins are not followed through CoinJoins, coinbases
/// and known services.
///
/// # Errors
/// Fails if the ledger fails.
pub fn reach<L: Ledger>(facts: &Facts, ledger: &L) -> Result<Reach, L::Error> {
    let mut walk = Walk { ledger, subject: facts.subject, marks: BTreeMap::new(), found: Vec::new(), is_cut: false };
    if !facts.has_labels {
        return Ok(Reach::default());
    }
    let mut edges = Vec::new();
    for (of, tx) in facts.with_parts().rev() {
        if of.received > 0 {
            walk.edges(tx, Way::Sources, &[], &mut edges)?;
        }
        if of.sent > 0 {
            walk.edges(tx, Way::Destinations, &[], &mut edges)?;
        }
    }
    let (mut left, mut seen) = (MAX_REACHED_TXS, BTreeSet::new());
    for hop in 1..=MAX_HOPS {
        walk.mark(&edges)?;
        if hop == MAX_HOPS {
            break;
        }
        let mut next = Vec::new();
        for Edge { script, way, txs, beyond } in &edges {
            let Some(beyond) = beyond.filter(|_| !walk.is_stop(*script)) else { continue };
            if !seen.insert((beyond, *way)) {
                continue;
            }
            if left == 0 {
                walk.is_cut = true;
                break;
            }
            left -= 1;
            match ledger.tx(beyond)? {
                Some(tx) => walk.edges(&tx, *way, txs, &mut next)?,
                None => walk.is_cut = true,
            }
        }
        edges = next;
    }
    Ok(Reach { found: walk.found, is_cut: walk.is_cut })
}

struct Walk<'w, L> {
    ledger: &'w L,
    subject: ScriptId,
    marks: BTreeMap<ScriptId, Mark>,
    found: Vec<Reached>,
    is_cut: bool,
}

impl<L: Ledger> Walk<'_, L> {
    /// Adds the scripts on the far side of a transaction.
    fn edges(&self, tx: &Rc<Tx>, way: Way, before: &[TxNum], into: &mut Vec<Edge>) -> Result<(), L::Error> {
        if tx.has_no_sender() {
            return Ok(());
        }
        let txs: Vec<TxNum> = before.iter().copied().chain([tx.tx_num]).collect();
        let goes_on = txs.len() < MAX_HOPS as usize;
        let edge = |script, beyond| Edge { script, way, txs: txs.clone(), beyond };
        match way {
            Way::Sources => {
                let made = if goes_on { self.ledger.outpoints(tx.tx_num)? } else { Vec::new() };
                let others = tx.inputs.iter().enumerate().filter(|(_, coin)| coin.script != self.subject);
                into.extend(others.map(|(at, coin)| edge(coin.script, made.get(at).map(|made| made.tx_num))));
            }
            Way::Destinations => {
                let spent = if goes_on { self.ledger.spenders(tx.tx_num)? } else { Vec::new() };
                let spender = |vout: u32| {
                    let at = spent.binary_search_by_key(&vout, |(of, _)| *of).ok()?;
                    spent.get(at).map(|(_, spender)| *spender)
                };
                let others =
                    (0u32..).zip(&tx.outputs).filter(|(_, paid)| paid.spendable && paid.script != self.subject);
                into.extend(others.map(|(vout, paid)| edge(paid.script, spender(vout))));
            }
        }
        Ok(())
    }

    /// Looks up the marks of scripts that are new, and notes those that have one.
    fn mark(&mut self, edges: &[Edge]) -> Result<(), L::Error> {
        let mut new: Vec<ScriptId> = Vec::new();
        let mut is_new = BTreeSet::new();
        for edge in edges.iter().filter(|edge| !self.marks.contains_key(&edge.script)) {
            if is_new.insert(edge.script) {
                new.push(edge.script);
            }
        }
        let room = MAX_REACHED_SCRIPTS.saturating_sub(self.marks.len());
        self.is_cut |= new.len() > room;
        new.truncate(room);
        for some in new.chunks(AT_A_TIME) {
            for (script, mark) in some.iter().zip(self.ledger.marks(some)?) {
                self.is_cut |= mark.is_none();
                self.marks.insert(*script, mark.unwrap_or_default());
            }
        }
        let mut noted: BTreeSet<(ScriptId, Way)> = self.found.iter().map(|of| (of.script, of.way)).collect();
        for Edge { script, way, txs, .. } in edges {
            let mark = self.marks.get(script).filter(|mark| mark.mixer.is_some() || mark.sanctioned.is_some());
            if let Some(mark) = mark.filter(|_| noted.insert((*script, *way))) {
                self.found.push(Reached { script: *script, mark: mark.clone(), way: *way, txs: txs.clone() });
            }
        }
        Ok(())
    }

    /// True if coins are not followed through a script.
    fn is_stop(&self, script: ScriptId) -> bool {
        self.marks.get(&script).is_none_or(|mark| mark.is_service)
    }
}

/// A kind of mark that a detector looks for.
pub(super) struct Marked {
    /// The mark in words, after "of scripts that".
    pub(super) words: &'static str,
    /// The claim behind it.
    pub(super) claim: fn(&Mark) -> Option<&ClaimRef>,
}

/// The finding of a detector of marks near the script.
pub(super) fn finding(facts: &Facts, reach: &Reach, marked: &Marked) -> Finding {
    if !facts.has_labels {
        return Finding::NotExamined(Unexamined::NoLabels);
    }
    let found: Vec<(&Reached, &ClaimRef)> =
        reach.found.iter().filter_map(|of| Some((of, (marked.claim)(&of.mark)?))).collect();
    let Some((_, best)) = found.iter().max_by_key(|(_, claim)| claim.level) else {
        return if reach.is_cut { Finding::NotExamined(Unexamined::LookUpCap) } else { Finding::NotFired };
    };
    let mut claim_ids: Vec<String> = Vec::new();
    let mut txs: Vec<TxNum> = Vec::new();
    let mut known = BTreeSet::new();
    for (of, claim) in &found {
        txs.extend(of.txs.iter().filter(|tx| known.insert(**tx)));
        if !claim_ids.contains(&claim.claim_id) {
            claim_ids.push(claim.claim_id.clone());
        }
    }
    let count = |of: fn(&Reached) -> bool| found.iter().filter(|(reached, _)| of(reached)).count() as u64;
    let near = count(|of| of.txs.len() == 1);
    let observed = vec![
        ("sources", count(|of| of.way == Way::Sources)),
        ("destinations", count(|of| of.way == Way::Destinations)),
        ("at_one_transaction", near),
        ("at_two_transactions", found.len() as u64 - near),
    ];
    Finding::Fired {
        total: txs.len() as u64,
        txs,
        level: best.level,
        strength: Some(best.strength),
        claim_ids,
        words: format!(
            "Standing claims say of {} scripts within {MAX_HOPS} transactions that {}.",
            found.len(),
            marked.words
        ),
        observed,
    }
}
