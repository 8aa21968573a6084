//! JoinMarket: a taker pays makers for taking part. Everybody gets one output of the amount that the taker chose, and
//! change; a taker who spends a whole wallet ("sweep") has none.
//!
//! Structure: JoinMarket's documentation; Schnoering and Vazirgiannis, "Heuristics for Detecting CoinJoin Transactions
//! on the Bitcoin Blockchain" (2023), section on JoinMarket.

use super::{Candidate, Shape};

/// Two makers and the taker: the least that its setting `minimum_makers` had by default.
const MIN_PARTICIPANTS: usize = 3;
/// Every maker is one more who may fail to sign. Rounds of the corpus have up to twelve participants.
const MAX_PARTICIPANTS: usize = 30;
/// Wallets have one type of scripts, and all in a round the same. Only the taker can send elsewhere: the amount to the
/// payee, and change to an address of choice.
const MAX_FOREIGN: usize = 1;

/// True if a transaction that the general rule accepts is one of JoinMarket.
pub(super) fn matches<S: Shape>(candidate: &Candidate<'_, S>) -> bool {
    let (equal, others) = (candidate.equal, candidate.others());
    if !(MIN_PARTICIPANTS..=MAX_PARTICIPANTS).contains(&equal) || others > equal || others + 1 < equal {
        return false;
    }
    let mut templates = candidate.input_templates();
    let Some(wallet) = templates.next() else { return false };
    if templates.any(|template| template != wallet) {
        return false;
    }
    let foreign = |amount: bool| {
        let outputs = candidate.output_templates().filter(|(value, _)| (*value == candidate.amount) == amount);
        outputs.filter(|(_, template)| *template != wallet).count()
    };
    foreign(true) <= MAX_FOREIGN && foreign(false) <= MAX_FOREIGN
}
