//! The script is funded after its first spend, which has shown its key or its rules.

use super::{DetectorInfo, Examined, Finding, Ledger, Measurement};
use crate::claims::Strength;

/// Level of a fact that anybody can recompute from the chain.
const LEVEL: u8 = 100;

/// The detector.
pub const INFO: DetectorInfo = DetectorInfo {
    id: "address_reuse",
    definition: "signal-address-reuse",
    parameters: &[],
    is_structural: true,
    needs_history: true,
    measurement: Measurement::Generated,
    strength: Strength::Weak,
    benign: &[
        "Donation pages, shops and employers pay or publish one address for years.",
        "Anybody can pay an address again: its owner has no say in it.",
    ],
    decided_by: &["Whether the owner published the address or gave it to several payers."],
};

pub(super) fn detect<L: Ledger>(examined: &Examined<'_, L>) -> Result<Finding, L::Error> {
    let mut has_spent = examined.facts.sent_before > 0;
    let mut txs = Vec::new();
    for tx in &examined.facts.txs {
        has_spent |= tx.sent > 0;
        if has_spent && tx.received > 0 {
            txs.push(tx.tx_num);
        }
    }
    if txs.is_empty() {
        return Ok(Finding::NotFired);
    }
    txs.reverse();
    let count = txs.len() as u64;
    let words = format!("{count} of the examined transactions pay the script after it was first spent from.");
    Ok(Finding::fired(txs, LEVEL, words, vec![("payments_after_first_spend", count)]))
}
