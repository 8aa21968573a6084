//! Proofs that a block has a transaction.

use bitcoin::{
    MerkleBlock,
    block::Header,
    consensus::{deserialize, serialize},
    hashes::Hash,
};
use cairn_chain::{Pinned, branch};
use cairn_http::ApiError;
use cairn_model::Txid;
use cairn_reader::StoredTx;
use serde::Serialize;

use crate::answer::{Age, Answer, Refusal};

/// The hashes that lead from a transaction to the root of its block, as Electrum's protocol has them.
#[derive(Debug, Serialize)]
struct MerkleProof {
    block_height: u32,
    merkle: Vec<String>,
    pos: u32,
}

/// A confirmed transaction, the ids of its block, and how long a proof may be kept.
fn in_block(at: &Pinned<'_>, txid: &Txid) -> Result<(StoredTx, Vec<Txid>, Age), Refusal> {
    let stored = at.view.transactions().by_txid(txid)?;
    let stored = stored.ok_or_else(|| Refusal::not_found("Transaction not found or is unconfirmed"))?;
    let block = at.view.transactions().brief(stored.height, 0, u32::MAX)?;
    let age = Age::of_depth(stored.height, at.view.tip().height);
    Ok((stored, block.iter().map(|tx| tx.txid).collect(), age))
}

/// The proof in the form of Electrum's protocol.
pub(crate) fn merkle_proof(at: &Pinned<'_>, txid: &Txid) -> Result<Answer, Refusal> {
    let (stored, txids, age) = in_block(at, txid)?;
    let leaves: Vec<[u8; 32]> = txids.iter().map(|txid| txid.0).collect();
    let merkle = branch(&leaves, stored.index as usize).into_iter().map(|hash| Txid(hash).to_string()).collect();
    Answer::json(&MerkleProof { block_height: stored.height, merkle, pos: stored.index }, age)
}

/// The proof in the form of Bitcoin Core's `gettxoutproof`, in hexadecimal.
pub(crate) fn merkle_block(at: &Pinned<'_>, txid: &Txid) -> Result<Answer, Refusal> {
    let (stored, txids, age) = in_block(at, txid)?;
    let header: Header = deserialize(&at.header(stored.height)?.header).map_err(ApiError::from)?;
    let txids: Vec<bitcoin::Txid> = txids.iter().map(|txid| bitcoin::Txid::from_byte_array(txid.0)).collect();
    let proof = MerkleBlock::from_header_txids_with_predicate(&header, &txids, |id| id.to_byte_array() == txid.0);
    Ok(Answer::text(hex::encode(serialize(&proof)), age))
}
