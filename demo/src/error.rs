//! The error type of this crate.

use bitcoin::{BlockHash, OutPoint};

/// Why a block or a file could not be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The block is not part of the tree that this builder holds.
    #[error("block {0} is not in the tree")]
    UnknownBlock(BlockHash),
    /// The coin does not exist on this branch, or is spent already.
    #[error("coin {0} does not exist or is spent")]
    MissingCoin(OutPoint),
    /// The coin is a coinbase output with fewer than 100 blocks on top.
    #[error("coinbase coin {0} is not mature")]
    Immature(OutPoint),
    /// A transaction pays out more than it spends.
    #[error("outputs of {output} sat exceed inputs of {input} sat")]
    Overspent {
        /// Sum of the spent coins, in satoshis.
        input: u64,
        /// Sum of the outputs, in satoshis.
        output: u64,
    },
    /// A coinbase leaves more unclaimed than the block may claim.
    #[error("the coinbase leaves {unclaimed} sat unclaimed of {claimable} sat")]
    Unclaimed {
        /// Satoshis to leave unclaimed.
        unclaimed: u64,
        /// Subsidy and fees, in satoshis.
        claimable: u64,
    },
    /// The open block has no room (weight or signature operations) for this transaction.
    #[error("the open block is full")]
    BlockFull,
    /// The header time is not after the median of the previous eleven.
    #[error("block time {time} is not after the median time {median}")]
    TimeTooOld {
        /// The header time asked for, Unix seconds.
        time: u32,
        /// Median time past of the parent, Unix seconds.
        median: u32,
    },
    /// The coinbase script exceeds 100 bytes.
    #[error("coinbase tag of {0} bytes is too long")]
    TagTooLong(usize),
    /// A transaction without inputs or without outputs.
    #[error("a transaction needs inputs and outputs")]
    EmptyTransaction,
    /// The keyring does not know how to spend this script.
    #[error("no key for script {0:x}")]
    UnknownScript(bitcoin::ScriptBuf),
    /// A signature hash could not be computed.
    #[error("signature hash: {0}")]
    Sighash(String),
    /// The derivation of a key index is not a valid secret key (never seen; one in 2^127).
    #[error("key derivation: {0}")]
    Key(#[from] bitcoin::secp256k1::Error),
    /// A key of a wallet could not be derived: a step of its path is 2^31 or higher.
    #[error("key derivation: {0}")]
    Bip32(#[from] bitcoin::bip32::Error),
    /// A chain was asked for that the subsidy cannot pay for, or with contradictory parameters.
    #[error("parameters: {0}")]
    Parameters(&'static str),
    /// Bytes are not a transaction, or not one of this wallet.
    #[error("unusable transaction: {0}")]
    Encoding(String),
    /// A file could not be written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
