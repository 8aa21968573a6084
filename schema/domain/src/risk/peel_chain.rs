//! The script is on a peel chain: a large amount that goes from transaction to transaction, each of which takes a small
//! part off.

use std::{collections::BTreeSet, rc::Rc};

use cairn_model::TxNum;

use super::{DetectorInfo, Examined, Finding, Ledger, MAX_TXIDS, Measurement, Tx, Unexamined, WINDOW_BLOCKS};
use crate::claims::Strength;

/// Fewest links of a chain.
pub const MIN_LINKS: usize = 5;
/// Share of the larger output in both, in percent.
pub const MIN_REMAINDER_PERCENT: u64 = 80;
/// Links that are followed each way from a transaction of the script.
pub const MAX_LINKS: usize = 50;
/// Transactions of others that are read.
const MAX_STEPS: usize = 500;
/// Level of evidence that rests on a pattern alone.
const LEVEL: u8 = 10;

/// The detector.
pub const INFO: DetectorInfo = DetectorInfo {
    id: "peel_chain",
    definition: "signal-peel-chain",
    parameters: &[
        ("min_links", MIN_LINKS as u64),
        ("min_remainder_percent", MIN_REMAINDER_PERCENT),
        ("window_blocks", WINDOW_BLOCKS as u64),
    ],
    is_structural: true,
    needs_history: true,
    measurement: Measurement::Generated,
    strength: Strength::Weak,
    benign: &[
        "Everybody who pays several times a day out of one large coin makes such a chain: the remainder is change.",
        "Services pay withdrawals this way.",
        "A wallet that mints tokens pays small amounts to one-time scripts, and the rest returns to the same script.",
    ],
    decided_by: &[
        "Whether the small outputs go to shops and payees, or to accounts of one person at several services.",
        "The origin of the first coin.",
    ],
};

/// A transaction that can be a link: the output that goes on. One input, two outputs, and the larger has its share.
fn remainder(tx: &Tx) -> Option<u32> {
    let [first, second] = &tx.outputs[..] else { return None };
    let (larger, vout) = if first.value >= second.value { (first, 0) } else { (second, 1) };
    let all = u128::from(first.value) + u128::from(second.value);
    let has_share = u128::from(larger.value) * 100 >= all * u128::from(MIN_REMAINDER_PERCENT);
    let is_link = tx.inputs.len() == 1 && first.spendable && second.spendable && has_share;
    is_link.then_some(vout)
}

pub(super) fn detect<L: Ledger>(examined: &Examined<'_, L>) -> Result<Finding, L::Error> {
    let facts = examined.facts;
    let mut chains = Chains { ledger: examined.ledger, steps: MAX_STEPS, is_cut: false };
    let mut known: BTreeSet<TxNum> = BTreeSet::new();
    let mut longest: Vec<TxNum> = Vec::new();
    for (of, tx) in facts.with_parts().rev() {
        let Some(vout) = remainder(tx).filter(|_| !known.contains(&of.tx_num)) else { continue };
        let goes_on = tx.outputs.get(vout as usize).is_some_and(|paid| paid.script == facts.subject);
        // Who is paid the small part is not on the chain.
        if of.sent == 0 && !goes_on {
            continue;
        }
        let links = chains.through(tx, vout)?;
        known.extend(&links);
        if links.len() > longest.len() {
            longest = links;
        }
    }
    if longest.len() < MIN_LINKS {
        return Ok(if chains.is_cut { Finding::NotExamined(Unexamined::LookUpCap) } else { Finding::NotFired });
    }
    let total = longest.len() as u64;
    let words = format!("The script is on a chain of {total} linked spends with one input and two outputs.");
    // The part of the chain that the script is on.
    let own: BTreeSet<TxNum> = facts.txs.iter().map(|tx| tx.tx_num).collect();
    let last = longest.iter().rposition(|tx| own.contains(tx)).unwrap_or(0);
    let from = (last + 1).saturating_sub(MAX_TXIDS);
    let txs = longest.iter().skip(from).take(MAX_TXIDS).copied().collect();
    Ok(Finding::part(txs, total, LEVEL, words, vec![("links", total)]))
}

/// Follows chains through other transactions.
struct Chains<'c, L> {
    ledger: &'c L,
    steps: usize,
    is_cut: bool,
}

impl<L: Ledger> Chains<'_, L> {
    /// The chain that a link is of, in the order of the chain.
    fn through(&mut self, tx: &Rc<Tx>, vout: u32) -> Result<Vec<TxNum>, L::Error> {
        let mut before = Vec::new();
        let mut at = Rc::clone(tx);
        while before.len() < MAX_LINKS {
            let made = self.ledger.outpoints(at.tx_num)?.first().copied();
            let Some(made) = made else { break };
            let Some(previous) = self.read(made.tx_num)? else { break };
            let is_linked =
                remainder(&previous) == Some(made.vout) && at.height.saturating_sub(previous.height) <= WINDOW_BLOCKS;
            if !is_linked {
                break;
            }
            before.push(previous.tx_num);
            at = previous;
        }
        let mut links: Vec<TxNum> = before.into_iter().rev().chain([tx.tx_num]).collect();
        let (mut at, mut vout, mut after) = (Rc::clone(tx), vout, 0);
        while after < MAX_LINKS {
            let spenders = self.ledger.spenders(at.tx_num)?;
            let Some((_, spender)) = spenders.into_iter().find(|(of, _)| *of == vout) else { break };
            let Some(next) = self.read(spender)? else { break };
            let Some(on) = remainder(&next) else { break };
            if next.height.saturating_sub(at.height) > WINDOW_BLOCKS {
                break;
            }
            links.push(next.tx_num);
            (at, vout, after) = (next, on, after + 1);
        }
        Ok(links)
    }

    /// Reads a transaction, while steps are left.
    fn read(&mut self, tx_num: TxNum) -> Result<Option<Rc<Tx>>, L::Error> {
        match self.steps.checked_sub(1) {
            Some(left) => {
                self.steps = left;
                self.ledger.tx(tx_num)
            }
            None => {
                self.is_cut = true;
                Ok(None)
            }
        }
    }
}
