//! Makes the signed transaction of a batch.

use cairn_model::Txid;
use cairn_node::{Funding, NodeError};
use cairn_state::Candidate;

use crate::{
    coins::{CoinsError, choose_coins},
    decide::Reason,
    error::{AnchorError, rpc},
    node::Node,
    transaction::{SignedAnchor, TransactionFlaw, UnsignedAnchor, fee_at, feerate_of, spent_coins},
    wallet::DayFees,
};

/// Least rise of the feerate from a transaction to its replacement: the 1,000 that nodes ask for, and the rounding.
const MIN_BUMP: u64 = 1_010;
/// Bitcoin Core: an error of the wallet, for example too few coins.
const WALLET_ERROR: i64 = -4;
/// Bitcoin Core: too few coins.
const INSUFFICIENT: i64 = -6;

/// Why no transaction was signed. The batch waits, and it is tried again.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum Unsigned {
    /// The wallet has too few confirmed coins.
    #[error("the wallet has too few confirmed coins")]
    NoCoins,
    /// Its coins are too small.
    #[error("{}", CoinsError::Fragmented)]
    Fragmented,
    /// The feerate would be above the allowed one.
    #[error("a feerate of {needed} sat/kvB is needed, and {allowed} sat/kvB are allowed")]
    TooDear { needed: u64, allowed: u64 },
    /// The fee would be above the limit of the day.
    #[error("a fee of {0} sat is above what is left of the spending limit of the day")]
    Limit(u64),
}

pub(crate) struct Order<'o> {
    pub(crate) root: &'o [u8; 32],
    pub(crate) reason: Reason,
    /// The transactions of the batch so far, the oldest first.
    pub(crate) before: &'o [Candidate],
    /// The feerate that is paid now, and the highest one, in satoshis per 1,000 virtual bytes.
    pub(crate) feerate: u64,
    pub(crate) max_feerate: u64,
    pub(crate) day: DayFees,
    /// Start of the day whose fees are added up.
    pub(crate) day_start: u64,
}

/// A signed transaction and its fee in satoshis.
pub(crate) type Funded = (SignedAnchor, u64);

impl Order<'_> {
    fn last(&self) -> Option<&Candidate> {
        self.before.last().filter(|_| self.reason.replaces())
    }

    /// The feerate to pay.
    pub(crate) fn target(&self) -> u64 {
        let Some(last) = self.last() else { return self.feerate };
        let before = feerate_of(last.transaction.fee_sats, last.transaction.vsize);
        self.feerate.max(before.saturating_mul(5) / 4).max(before.saturating_add(MIN_BUMP))
    }

    /// True if this fee is within the limit of the day. Of the transactions of a batch, the dearest counts.
    fn may_cost(&self, fee: u64) -> bool {
        let counted = self.before.iter().filter(|candidate| candidate.made_at >= self.day_start);
        let counted = counted.map(|candidate| candidate.transaction.fee_sats).max().unwrap_or_default();
        self.day.allow(fee.saturating_sub(counted))
    }
}

/// Lets the wallet make and sign a transaction. Nothing is sent.
///
/// # Errors
/// Fails if the node does, or if the wallet makes another transaction than was asked for.
pub(crate) fn fund(node: &dyn Node, order: &Order<'_>) -> Result<Result<Funded, Unsigned>, AnchorError> {
    let needed = order.target();
    if needed > order.max_feerate {
        return Ok(Err(Unsigned::TooDear { needed, allowed: order.max_feerate }));
    }
    let inputs = order.last().map(|last| spent_coins(&last.transaction.raw)).transpose()?.unwrap_or_default();
    let unsigned = match choose(node, order, inputs, needed)? {
        Ok(unsigned) => unsigned,
        Err(why) => return Ok(Err(why)),
    };
    if !order.may_cost(unsigned.fee_sats) {
        return Ok(Err(Unsigned::Limit(unsigned.fee_sats)));
    }
    let signed = node.sign(&unsigned.psbt)?;
    if !signed.complete {
        return Err(TransactionFlaw::Incomplete.into());
    }
    let raw = node.finalize(&signed.psbt)?.tx.ok_or(TransactionFlaw::Incomplete)?;
    let signed = unsigned.signed(raw)?;
    // Change that is too small to keep adds to the fee: up to 1,000 sat.
    if unsigned.fee_sats > fee_at(order.max_feerate, signed.vsize.into()).saturating_add(1_000) {
        let needed = feerate_of(unsigned.fee_sats, signed.vsize);
        return Ok(Err(Unsigned::TooDear { needed, allowed: order.max_feerate }));
    }
    Ok(Ok((signed, unsigned.fee_sats)))
}

/// The unsigned transaction with the wallet's choice of coins; with the fewest and largest ones if that is too large.
fn choose(
    node: &dyn Node,
    order: &Order<'_>,
    inputs: Vec<(Txid, u32)>,
    feerate: u64,
) -> Result<Result<UnsignedAnchor, Unsigned>, AnchorError> {
    match create(node, order, inputs.clone(), true, feerate)? {
        Err(TransactionFlaw::TooLarge(_)) if inputs.is_empty() => {}
        // A replacement must spend the coins of the one before. With no more coins, its fee cannot rise.
        Err(TransactionFlaw::TooLarge(_)) => return Ok(Err(Unsigned::Fragmented)),
        Err(flaw) => return Err(flaw.into()),
        Ok(made) => return Ok(made.ok_or(Unsigned::NoCoins)),
    }
    let coins = match choose_coins(&node.coins()?, feerate) {
        Ok(coins) => coins,
        Err(CoinsError::Empty) => return Ok(Err(Unsigned::NoCoins)),
        Err(CoinsError::Fragmented) => return Ok(Err(Unsigned::Fragmented)),
    };
    match create(node, order, coins, false, feerate)? {
        Ok(made) => Ok(made.ok_or(Unsigned::NoCoins)),
        Err(TransactionFlaw::TooLarge(_)) => Ok(Err(Unsigned::Fragmented)),
        Err(flaw) => Err(flaw.into()),
    }
}

/// `None` if the coins do not suffice.
fn create(
    node: &dyn Node,
    order: &Order<'_>,
    inputs: Vec<(Txid, u32)>,
    may_add_inputs: bool,
    feerate: u64,
) -> Result<Result<Option<UnsignedAnchor>, TransactionFlaw>, NodeError> {
    let funding = Funding { data: order.root.to_vec(), inputs, may_add_inputs, feerate };
    match node.fund(&funding) {
        Ok(funded) => Ok(UnsignedAnchor::check(funded.psbt, funded.fee, order.root).map(Some)),
        Err(error) if is_insufficient(&error) => Ok(Ok(None)),
        Err(error) => Err(error),
    }
}

fn is_insufficient(error: &NodeError) -> bool {
    match rpc(error) {
        Some((INSUFFICIENT, _)) => true,
        Some((WALLET_ERROR, words)) => {
            words.contains("Insufficient funds") || words.contains("preselected coins total amount")
        }
        _ => false,
    }
}
