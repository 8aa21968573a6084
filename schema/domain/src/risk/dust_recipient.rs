//! A campaign sent dust to the script.

use super::{DetectorInfo, Examined, Finding, Ledger, Measurement};
use crate::{
    claims::Strength,
    dust::{CAMPAIGN_RECIPIENTS, DUST_SATS},
};

/// Level of evidence that rests on a pattern alone.
const LEVEL: u8 = 10;

/// The detector.
pub const INFO: DetectorInfo = DetectorInfo {
    id: "dust_recipient",
    definition: "signal-dust-recipient",
    parameters: &[("max_dust_sats", DUST_SATS), ("min_campaign_recipients", CAMPAIGN_RECIPIENTS)],
    is_structural: false,
    needs_history: true,
    measurement: Measurement::Generated,
    strength: Strength::Weak,
    benign: &[
        "The recipient did nothing: anybody can be sent dust.",
        "Advertisements, tokens and airdrops are sent this way, too.",
    ],
    decided_by: &["What the campaign's transactions have in common, and whether its dust was spent with other coins."],
};

pub(super) fn detect<L: Ledger>(examined: &Examined<'_, L>) -> Result<Finding, L::Error> {
    Ok(match &examined.facts.dust {
        Err(why) => Finding::NotExamined(*why),
        Ok(txs) if txs.is_empty() => Finding::NotFired,
        Ok(txs) => {
            let count = txs.len() as u64;
            let words = format!("{count} transactions of campaigns paid the script dust that it did not ask for.");
            Finding::fired(txs.iter().rev().copied().collect(), LEVEL, words, vec![("payments", count)])
        }
    })
}
