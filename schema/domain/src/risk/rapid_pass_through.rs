//! Nearly all that others pay to the script leaves it within a day.

use std::collections::{BTreeMap, BTreeSet};

use cairn_model::{Sats, TxNum};

use super::{DetectorInfo, Examined, Finding, Ledger, Measurement, SubjectTx, Tx, WINDOW_BLOCKS};
use crate::claims::Strength;

/// Least sum that is received: 0.1 bitcoin.
pub const MIN_RECEIVED_SATS: Sats = 10_000_000;
/// Share of it that leaves in time, in percent.
pub const MIN_LEAVING_PERCENT: u64 = 90;
/// Level of evidence that rests on a pattern alone.
const LEVEL: u8 = 10;

/// The detector.
pub const INFO: DetectorInfo = DetectorInfo {
    id: "rapid_pass_through",
    definition: "signal-rapid-pass-through",
    parameters: &[
        ("min_received_sats", MIN_RECEIVED_SATS),
        ("min_leaving_percent", MIN_LEAVING_PERCENT),
        ("window_blocks", WINDOW_BLOCKS as u64),
    ],
    is_structural: true,
    needs_history: true,
    measurement: Measurement::Generated,
    strength: Strength::Weak,
    benign: &[
        "Exchanges and payment processors sweep each deposit address within minutes.",
        "An owner who pays with coins that came the same day, or who moves them to another wallet, does the same.",
    ],
    decided_by: &[
        "Who owns the script: deposit addresses of one service are swept together into the same place.",
        "Whether the same person controls the place where the coins go.",
    ],
};

/// The part of a sum that leaves the script with a spend which pays some of it back.
fn leaving(sats: Sats, spend: &SubjectTx) -> Sats {
    let away = u128::from(spend.sent.saturating_sub(spend.received));
    Sats::try_from(u128::from(sats) * away / u128::from(spend.sent.max(1))).unwrap_or(0)
}

pub(super) fn detect<L: Ledger>(examined: &Examined<'_, L>) -> Result<Finding, L::Error> {
    let facts = examined.facts;
    let spends: BTreeMap<TxNum, &SubjectTx> =
        facts.txs.iter().filter(|tx| tx.sent > 0).map(|tx| (tx.tx_num, tx)).collect();
    let (mut received, mut left): (u128, u128) = (0, 0);
    let mut txs = BTreeSet::new();
    // Its own change is not received. A mined coin has no sender, and waits for 100 blocks before it can leave.
    let is_payment = |of: &SubjectTx, tx: &Tx| of.received > 0 && of.sent == 0 && !tx.is_coinbase();
    for (of, tx) in facts.with_parts().filter(|(of, tx)| is_payment(of, tx)) {
        received += u128::from(of.received);
        for (vout, spender) in examined.ledger.spenders(of.tx_num)? {
            let paid = tx.outputs.get(vout as usize).filter(|paid| paid.script == facts.subject);
            let spend = spends.get(&spender).filter(|by| by.height.saturating_sub(of.height) <= WINDOW_BLOCKS);
            if let (Some(paid), Some(spend)) = (paid, spend) {
                left += u128::from(leaving(paid.value, spend));
                txs.extend([of.tx_num, spender]);
            }
        }
    }
    let is_rapid =
        received >= u128::from(MIN_RECEIVED_SATS) && left * 100 >= received * u128::from(MIN_LEAVING_PERCENT);
    if !is_rapid {
        return Ok(Finding::NotFired);
    }
    let words = format!("{left} of {received} satoshis received left the script within {WINDOW_BLOCKS} blocks.");
    let number = |sats: u128| u64::try_from(sats).unwrap_or(u64::MAX);
    let observed = vec![("received_sats", number(received)), ("left_in_time_sats", number(left))];
    Ok(Finding::fired(txs.into_iter().rev().collect(), LEVEL, words, observed))
}
