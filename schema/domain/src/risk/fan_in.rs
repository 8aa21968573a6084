//! Many senders pay the script within a day.

use std::collections::{BTreeMap, VecDeque};

use cairn_model::{Height, ScriptId, TxNum};

use super::{DetectorInfo, Examined, Finding, Ledger, Measurement, Party, Unexamined, WINDOW_BLOCKS};
use crate::claims::Strength;

/// Fewest senders.
pub const MIN_SENDERS: usize = 10;
/// Level of evidence that rests on a pattern alone.
const LEVEL: u8 = 10;

/// The detector.
pub const INFO: DetectorInfo = DetectorInfo {
    id: "fan_in",
    definition: "signal-fan-in",
    parameters: &[("min_senders", MIN_SENDERS as u64), ("window_blocks", WINDOW_BLOCKS as u64)],
    is_structural: true,
    needs_history: true,
    measurement: Measurement::Generated,
    strength: Strength::Weak,
    benign: &[
        "Shops, donation pages and services with one address are paid by many.",
        "An owner who gathers coins from addresses that no transaction ties together looks like many senders.",
    ],
    decided_by: &[
        "Whether the address was published, and by whom.",
        "Whether the senders are customers of one service, or scripts of one owner.",
    ],
};

struct Payment {
    tx_num: TxNum,
    height: Height,
    sender: Party,
}

pub(super) fn detect<L: Ledger>(examined: &Examined<'_, L>) -> Result<Finding, L::Error> {
    let facts = examined.facts;
    let mut received = Vec::new();
    let mut scripts: Vec<ScriptId> = vec![facts.subject];
    for (of, tx) in facts.with_parts().filter(|(of, tx)| of.received > 0 && of.sent == 0 && !tx.has_no_sender()) {
        // The inputs of a payment are in one cluster.
        if let Some(first) = tx.inputs.first() {
            received.push((of.tx_num, of.height));
            scripts.push(first.script);
        }
    }
    if received.len() < MIN_SENDERS {
        return Ok(Finding::NotFired);
    }
    let Some(parties) = examined.ledger.parties(&scripts)? else {
        return Ok(Finding::NotExamined(Unexamined::Unfinished));
    };
    let (own, senders) = parties.split_first().map_or((None, &[][..]), |(own, senders)| (Some(*own), senders));
    let payments = received.iter().zip(senders).filter(|(_, sender)| Some(**sender) != own);
    let payments: Vec<Payment> = payments
        .map(|((tx_num, height), sender)| Payment { tx_num: *tx_num, height: *height, sender: *sender })
        .collect();
    let Some(best) = busiest(&payments).filter(|best| best.len() >= MIN_SENDERS) else { return Ok(Finding::NotFired) };
    let senders = best.len() as u64;
    let words =
        format!("{senders} senders that no transaction ties together paid the script within {WINDOW_BLOCKS} blocks.");
    let mut txs: Vec<TxNum> = best.into_values().collect();
    txs.sort_unstable_by(|a, b| b.cmp(a));
    Ok(Finding::fired(txs, LEVEL, words, vec![("senders", senders)]))
}

/// The senders of the window with the most of them, each with a payment.
fn busiest(payments: &[Payment]) -> Option<BTreeMap<Party, TxNum>> {
    let mut window: VecDeque<&Payment> = VecDeque::new();
    let mut counts: BTreeMap<Party, usize> = BTreeMap::new();
    let mut best: Option<(usize, Height)> = None;
    for payment in payments {
        while window.front().is_some_and(|first| payment.height.saturating_sub(first.height) >= WINDOW_BLOCKS) {
            let Some(first) = window.pop_front() else { break };
            if let Some(count) = counts.get_mut(&first.sender) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(&first.sender);
                }
            }
        }
        *counts.entry(payment.sender).or_default() += 1;
        window.push_back(payment);
        if best.is_none_or(|(most, _)| counts.len() > most) {
            best = Some((counts.len(), payment.height));
        }
    }
    let (_, last) = best?;
    let is_in = |payment: &&Payment| payment.height <= last && last - payment.height < WINDOW_BLOCKS;
    Some(payments.iter().filter(is_in).map(|payment| (payment.sender, payment.tx_num)).collect())
}
