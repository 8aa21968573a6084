//! One transaction pays many from the script.

use std::collections::BTreeSet;

use cairn_model::ScriptId;

use super::{DetectorInfo, Examined, Finding, Ledger, Measurement};
use crate::claims::Strength;

/// Fewest recipients.
pub const MIN_RECIPIENTS: usize = 20;
/// Level of evidence that rests on a pattern alone.
const LEVEL: u8 = 10;

/// The detector.
pub const INFO: DetectorInfo = DetectorInfo {
    id: "fan_out",
    definition: "signal-fan-out",
    parameters: &[("min_recipients", MIN_RECIPIENTS as u64)],
    is_structural: true,
    needs_history: true,
    measurement: Measurement::Generated,
    strength: Strength::Weak,
    benign: &[
        "Employers, pools and exchanges pay many at once to save fees.",
        "An owner divides coins among addresses of their own.",
    ],
    decided_by: &["Who owns the recipients, and whether their amounts follow a payroll or the requests of customers."],
};

pub(super) fn detect<L: Ledger>(examined: &Examined<'_, L>) -> Result<Finding, L::Error> {
    let (mut txs, mut most) = (Vec::new(), 0);
    for (of, tx) in examined.facts.with_parts().rev().filter(|(of, tx)| of.sent > 0 && !tx.has_no_sender()) {
        let own: BTreeSet<ScriptId> = tx.inputs.iter().map(|coin| coin.script).collect();
        let paid = tx.outputs.iter().filter(|paid| paid.spendable && !own.contains(&paid.script));
        let recipients = paid.map(|paid| paid.script).collect::<BTreeSet<ScriptId>>().len();
        if recipients >= MIN_RECIPIENTS {
            txs.push(of.tx_num);
            most = most.max(recipients as u64);
        }
    }
    if txs.is_empty() {
        return Ok(Finding::NotFired);
    }
    let count = txs.len() as u64;
    let words = format!(
        "{count} transactions that spend from the script pay {MIN_RECIPIENTS} scripts or more, at most {most}."
    );
    Ok(Finding::fired(txs, LEVEL, words, vec![("transactions", count), ("most_recipients", most)]))
}
