//! The way from the root of a batch to the header of a block: through the transaction that has the root in an output
//! with OP_RETURN, and through the Merkle tree of the block.

use bitcoin::{
    Transaction,
    consensus::{deserialize, serialize},
    hashes::{Hash, sha256d},
};
use thiserror::Error;

use crate::{
    attestation::Attestation,
    limits::MAX_MESSAGE_BYTES,
    operation::{HashFunction, Operation},
    proof::Step,
};

/// Script before the root: OP_RETURN, and a push of 32 bytes.
const MARK: [u8; 2] = [0x6a, 0x20];

/// Why a block does not anchor a root.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum AnchorError {
    /// The bytes are not a transaction.
    #[error("the bytes are not a transaction")]
    Transaction,
    /// No output has the root.
    #[error("no output of the transaction is OP_RETURN with the root")]
    NoRoot,
    /// An operation cannot have a message of this length.
    #[error("the transaction has {0} bytes without witness; a proof can lead through at most {max}", max = MAX_MESSAGE_BYTES)]
    TooLong(usize),
    /// The block does not have the transaction.
    #[error("the block does not have the transaction")]
    NotInBlock,
}

/// The steps from the root of a batch to the Merkle root of a block, which is attested. `raw` is the transaction, with
/// or without witness; `txids` are those of the block, in its order and in the order of their bytes.
///
/// # Errors
/// Fails if the transaction does not have the root, or if the block does not have the transaction.
pub fn anchor_steps(root: &[u8; 32], raw: &[u8], txids: &[[u8; 32]], height: u64) -> Result<Step, AnchorError> {
    let stripped = without_witness(raw)?;
    let at = place_of(root, &stripped)?;
    let txid = sha256d::Hash::hash(&stripped).to_byte_array();
    let index = txids.iter().position(|other| *other == txid).ok_or(AnchorError::NotInBlock)?;
    let (before, behind) =
        (stripped.get(..at).unwrap_or_default(), stripped.get(at + root.len()..).unwrap_or_default());
    let sha256 = Operation::Hash(HashFunction::Sha256);
    let mut operations =
        vec![Operation::Prepend(before.to_vec()), Operation::Append(behind.to_vec()), sha256.clone(), sha256.clone()];
    for sibling in block_branch(txids, index) {
        operations.extend([sibling, sha256.clone(), sha256.clone()]);
    }
    Ok(Step::attested_by(Attestation::Bitcoin { height }).after(operations))
}

/// Length in bytes of a transaction without its witness.
///
/// # Errors
/// Fails if the bytes are not a transaction.
pub fn stripped_length(raw: &[u8]) -> Result<usize, AnchorError> {
    without_witness(raw).map(|stripped| stripped.len())
}

fn without_witness(raw: &[u8]) -> Result<Vec<u8>, AnchorError> {
    let mut transaction: Transaction = deserialize(raw).map_err(|_| AnchorError::Transaction)?;
    transaction.input.iter_mut().for_each(|input| input.witness.clear());
    Ok(serialize(&transaction))
}

/// Offset of the root in the transaction.
fn place_of(root: &[u8; 32], stripped: &[u8]) -> Result<usize, AnchorError> {
    let script = [MARK.as_slice(), root].concat();
    let at = stripped.windows(script.len()).position(|window| window == script).ok_or(AnchorError::NoRoot)?;
    match stripped.len() {
        ..=MAX_MESSAGE_BYTES => Ok(at + MARK.len()),
        length => Err(AnchorError::TooLong(length)),
    }
}

/// The operations that join a transaction with its siblings, from below. The last one of a level without a
/// sibling is its own.
fn block_branch(txids: &[[u8; 32]], mut index: usize) -> Vec<Operation> {
    let (mut level, mut branch) = (txids.to_vec(), Vec::new());
    while level.len() > 1 {
        let sibling = level.get(index ^ 1).or_else(|| level.get(index)).map(|hash| hash.to_vec()).unwrap_or_default();
        branch.push(if index & 1 == 0 { Operation::Append(sibling) } else { Operation::Prepend(sibling) });
        let parent = |pair: &[[u8; 32]]| {
            let (left, right) = (pair.first().copied().unwrap_or_default(), pair.last().copied().unwrap_or_default());
            sha256d::Hash::hash(&[left, right].concat()).to_byte_array()
        };
        level = level.chunks(2).map(parent).collect();
        index >>= 1;
    }
    branch
}
