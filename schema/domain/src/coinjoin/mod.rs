//! CoinJoins, detected by the amounts and scripts of one transaction. A detector describes the transactions of a
//! program; it proves nothing about the participants. `docs/coinjoin.md` has the rules, their sources, and how well
//! they do.

mod candidate;
mod equal_output;
mod joinmarket;
mod shape;
mod shares;
mod wasabi1;
mod wasabi2;
mod whirlpool;

use candidate::Candidate;
pub use shape::{Resolved, Shape};

/// Version of the rules: it grows with every change that can change an answer.
pub const RULES: u32 = 1;

cairn_model::words! {
    /// The kind of a CoinJoin.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub enum CoinJoin {
        /// Wasabi 1.x.
        Wasabi1 = "wasabi1",
        /// Wasabi 2 and other clients of WabiSabi coordinators.
        Wasabi2 = "wasabi2",
        /// Whirlpool, by Samourai or Ashigaru.
        Whirlpool = "whirlpool",
        /// JoinMarket.
        JoinMarket = "joinmarket",
        /// Equal outputs to several payers, as none of the others makes them.
        EqualOutput = "equal_output",
    }
    /// Its code in answers and rows. Codes never change.
    pub fn code;
}

/// The kind of CoinJoin that a transaction looks like; the narrowest rule decides. The order of inputs and outputs
/// does not matter.
#[must_use]
pub fn detect<S: Shape>(tx: &S) -> Option<CoinJoin> {
    let candidate = Candidate::of(tx)?;
    if whirlpool::matches(&candidate) {
        return Some(CoinJoin::Whirlpool);
    }
    if wasabi2::matches(&candidate) {
        return Some(CoinJoin::Wasabi2);
    }
    // Every JoinMarket transaction has equal outputs, as the general rule wants them.
    let equal = equal_output::matches(&candidate);
    if equal && joinmarket::matches(&candidate) {
        return Some(CoinJoin::JoinMarket);
    }
    if wasabi1::matches(&candidate) {
        return Some(CoinJoin::Wasabi1);
    }
    equal.then_some(CoinJoin::EqualOutput)
}

/// True if some detector holds: such a transaction says nothing about common ownership of its inputs.
#[must_use]
pub fn is_coinjoin<S: Shape>(tx: &S) -> bool {
    detect(tx).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_fixed() {
        let codes = CoinJoin::ALL.map(CoinJoin::code);
        assert_eq!(codes, ["wasabi1", "wasabi2", "whirlpool", "joinmarket", "equal_output"]);
    }
}
