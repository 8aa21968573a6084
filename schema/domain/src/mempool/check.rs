//! Results of a delta, and checks that refuse transactions.

use cairn_model::{MAX_MONEY, MempoolTx, Sats};

/// Weight of the largest block, and so of any transaction.
const MAX_WEIGHT: u64 = 4_000_000;
/// Maximum cost of the signature operations of a block.
const MAX_SIGOPS: u32 = 80_000;

/// Why a transaction was refused. This does not happen with a correct sender.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum Refusal {
    /// No inputs, no size, or larger than a block.
    #[error("size, weight or signature operations out of range")]
    Size,
    /// Amounts above 21 million bitcoin, or a fee that is not inputs minus outputs.
    #[error("the amounts do not add up")]
    Amounts,
    /// It spends a coin twice, or its own output.
    #[error("it spends a coin twice, or its own")]
    Inputs,
    /// It would be its own ancestor.
    #[error("it would be its own ancestor")]
    Cycle,
    /// It has too many ancestors to rule out a cycle.
    #[error("too many ancestors")]
    TooManyAncestors,
    /// The maximum number of transactions is reached.
    #[error("no room")]
    NoRoom,
}

/// Result of a delta.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Applied {
    /// The transaction was added.
    Added {
        /// Number of transactions that were removed because it spends their coins, or those of their ancestors.
        replaced: usize,
        /// Number of transactions that were dropped for the memory limit. It may be among them.
        dropped: usize,
    },
    /// The transaction was removed.
    Removed,
    /// The transaction to add was already there, or the one to remove was not.
    Unchanged,
    /// The memory is or was full: the transaction pays no more than a dropped one, or its parent was dropped. It counts
    /// as dropped.
    TurnedAway,
    /// The transaction to add is invalid.
    Refused(Refusal),
    /// The delta was not about a transaction, and was applied.
    Noted,
}

/// Sum of amounts, if it is a valid amount.
fn sum(mut values: impl Iterator<Item = Sats>) -> Option<Sats> {
    values.try_fold(0, |sum: Sats, value| sum.checked_add(value).filter(|sum| *sum <= MAX_MONEY))
}

/// Checks that a transaction is possible, so that later sums fit their types.
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
