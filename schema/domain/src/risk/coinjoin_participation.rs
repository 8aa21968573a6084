//! The script takes part in a CoinJoin: a transaction that spends from it, or pays it, looks like one.

use std::collections::BTreeMap;

use super::{DetectorInfo, Examined, Finding, Ledger, Measurement};
use crate::{claims::Strength, coinjoin::CoinJoin};

/// The detector.
pub const INFO: DetectorInfo = DetectorInfo {
    id: "coinjoin_participation",
    definition: "signal-coinjoin-participation",
    parameters: &[("rules_version", crate::coinjoin::RULES as u64)],
    is_structural: false,
    needs_history: true,
    measurement: Measurement::Generated,
    strength: Strength::Strong,
    benign: &[
        "CoinJoins are ordinary use of wallets that protect the privacy of their owners.",
        "A participant may pay somebody in the same transaction: the payee took part in nothing.",
    ],
    decided_by: &[
        "Whether the script is spent from in the transaction, or only paid by it.",
        "The software of the wallet, which its owner can show.",
    ],
};

/// The level of the evidence that a transaction which looks like a kind of CoinJoin is one: the lower end of the 95 %
/// interval of the precision on documented real transactions, in percent.
#[must_use]
pub const fn level(kind: CoinJoin) -> u8 {
    match kind {
        CoinJoin::Whirlpool => 96,
        CoinJoin::Wasabi1 => 92,
        CoinJoin::Wasabi2 => 79,
        CoinJoin::JoinMarket => 85,
        CoinJoin::EqualOutput => 87,
    }
}

pub(super) fn detect<L: Ledger>(examined: &Examined<'_, L>) -> Result<Finding, L::Error> {
    let mut kinds: BTreeMap<CoinJoin, u64> = BTreeMap::new();
    let mut txs = Vec::new();
    for (of, tx) in examined.facts.with_parts().rev() {
        if let Some(kind) = tx.coinjoin {
            *kinds.entry(kind).or_default() += 1;
            txs.push(of.tx_num);
        }
    }
    let Some(best) = kinds.keys().map(|kind| level(*kind)).max() else { return Ok(Finding::NotFired) };
    let named: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} like {}", kind.code())).collect();
    let words = format!("Transactions of the script look like CoinJoins: {}.", named.join(", "));
    let observed = kinds.iter().map(|(kind, count)| (kind.code(), *count)).collect();
    Ok(Finding::fired(txs, best, words, observed))
}
