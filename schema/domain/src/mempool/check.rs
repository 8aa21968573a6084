//! What a delta can do, and which transactions are refused.

use cairn_model::{MAX_MONEY, MempoolTx, Sats};

/// Weight of the largest block, and so of any transaction.
const MAX_WEIGHT: u64 = 4_000_000;
/// Cost of the signature operations that a block may hold.
const MAX_SIGOPS: u32 = 80_000;

/// Why a transaction was not taken in. A sound sender gives no cause.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum Refusal {
    /// No inputs, no size, or above the limits of a block.
    #[error("size, weight or signature operations out of range")]
    Size,
    /// Amounts above 21 million bitcoin, or a fee that is not inputs less outputs.
    #[error("the amounts do not add up")]
    Amounts,
    /// It spends a coin twice, or its own output.
    #[error("it spends a coin twice, or its own")]
    Inputs,
    /// It would be its own ancestor.
    #[error("it would be its own ancestor")]
    Cycle,
    /// It has so many ancestors that a cycle cannot be ruled out.
    #[error("too many ancestors")]
    TooManyAncestors,
    /// As many transactions as can be numbered.
    #[error("no room")]
    NoRoom,
}

/// What a delta did.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Applied {
    /// The transaction is in.
    Added {
        /// How many left because it spends their coins, or those of their ancestors.
        replaced: usize,
        /// How many were dropped to stay within the limit of memory. It may be among them.
        dropped: usize,
    },
    /// The transaction is gone.
    Removed,
    /// The transaction to add was there already, or the one to remove was not.
    Unchanged,
    /// Memory is full, or was: the transaction pays no more than what was dropped, or lacks a parent that was. It
    /// counts as dropped.
    TurnedAway,
    /// The transaction to add makes no sense.
    Refused(Refusal),
    /// Something else than a transaction was noted.
    Noted,
}

/// A sum of amounts that is an amount itself.
fn sum(mut values: impl Iterator<Item = Sats>) -> Option<Sats> {
    values.try_fold(0, |sum: Sats, value| sum.checked_add(value).filter(|sum| *sum <= MAX_MONEY))
}

/// Whether a transaction is possible at all, so that later sums fit their types.
pub(super) fn check(tx: &MempoolTx) -> Result<(), Refusal> {
    let sized = tx.base_size > 0 && tx.size >= tx.base_size && tx.weight() <= MAX_WEIGHT;
    if !sized || tx.inputs.is_empty() || tx.sigop_cost > MAX_SIGOPS {
        return Err(Refusal::Size);
    }
    let spent = sum(tx.inputs.iter().map(|input| input.value)).ok_or(Refusal::Amounts)?;
    let made = sum(tx.outputs.iter().map(|output| output.value)).ok_or(Refusal::Amounts)?;
    if spent.checked_sub(made) != Some(tx.fee_sats) {
        return Err(Refusal::Amounts);
    }
    let mut coins: Vec<_> = tx.inputs.iter().map(|input| (input.prev_txid, input.prev_vout)).collect();
    coins.sort_unstable();
    if coins.windows(2).any(|pair| pair[0] == pair[1]) || coins.iter().any(|(txid, _)| *txid == tx.txid) {
        return Err(Refusal::Inputs);
    }
    Ok(())
}
