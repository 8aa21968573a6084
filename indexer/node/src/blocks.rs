//! Whole blocks, by binary REST if the node offers it, otherwise by RPC. All blocks are checked.

use std::sync::atomic::Ordering;

use cairn_model::{BlockHash, Height};
use cairn_sources::{Decoded, MAX_BLOCK_SIZE, decode_block};
use serde_json::json;

use crate::{
    amount::Bytes,
    client::NodeClient,
    error::{BlockFault, NodeError},
};

/// States of `Shared::rest`.
const UNKNOWN: u8 = 0;
const OFFERED: u8 = 1;
const NOT_OFFERED: u8 = 2;

/// A checked block of the node: it has the requested hash, it decodes, and its Merkle root matches its transactions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeBlock {
    /// Its height on the node's chain.
    pub height: Height,
    /// Its bytes.
    pub raw: Vec<u8>,
    /// The decoded block. `decoded.hash` is its hash.
    pub decoded: Decoded,
}

impl NodeBlock {
    /// Hash of the block.
    #[must_use]
    pub fn hash(&self) -> BlockHash {
        self.decoded.hash
    }

    /// Hash of the previous block.
    #[must_use]
    pub fn previous(&self) -> BlockHash {
        previous(&self.decoded.header)
    }

    /// Approximate memory in bytes.
    pub(crate) fn memory(&self) -> usize {
        let Decoded { txs, prevouts, flags, outputs, scripts, .. } = &self.decoded;
        self.raw.capacity()
            + size_of_val(txs.as_slice())
            + size_of_val(prevouts.as_slice())
            + size_of_val(flags.as_slice())
            + size_of_val(outputs.as_slice())
            + scripts.len()
    }
}

pub(crate) fn previous(header: &[u8; 80]) -> BlockHash {
    let mut hash = [0; 32];
    hash.copy_from_slice(&header[4..36]);
    BlockHash(hash)
}

pub(crate) fn hash_of(header: &[u8]) -> BlockHash {
    use bitcoin::hashes::Hash;
    BlockHash(bitcoin::hashes::sha256d::Hash::hash(header).to_byte_array())
}

impl NodeClient {
    /// Fetches the block with this hash and height.
    ///
    /// # Errors
    /// Returns [`NodeError::BlockMissing`], [`NodeError::Pruned`] or [`NodeError::BlockNotDownloaded`] if the node does
    /// not have the block; [`NodeError::BadBlock`] if it sends something else.
    pub fn block(&self, height: Height, hash: &BlockHash) -> Result<NodeBlock, NodeError> {
        if self.offers_rest()? {
            match self.block_by_rest(hash)? {
                Some(raw) => match self.checked(height, hash, raw) {
                    Ok(block) => return Ok(block),
                    Err(error) => tracing::warn!(%error, "REST failed, using RPC for this block"),
                },
                // Not found, or REST is no longer offered: the RPC interface knows the reason.
                None => self.forget_rest(),
            }
        }
        let raw = self.block_by_rpc(hash)?;
        self.checked(height, hash, raw)
    }

    /// Decodes a block's bytes and checks them against the expected hash.
    pub(crate) fn checked(&self, height: Height, hash: &BlockHash, raw: Vec<u8>) -> Result<NodeBlock, NodeError> {
        let bad = |fault| NodeError::BadBlock { hash: *hash, fault };
        match decode_block(&raw, self.shared.prefix_len) {
            Ok(decoded) if decoded.hash == *hash => Ok(NodeBlock { height, raw, decoded }),
            Ok(decoded) => Err(bad(BlockFault::OtherBlock(decoded.hash))),
            Err(fault) => Err(bad(BlockFault::NoBlock(fault))),
        }
    }

    /// True if the node offers blocks by REST; asks it once.
    pub fn offers_rest(&self) -> Result<bool, NodeError> {
        match self.shared.rest.load(Ordering::Relaxed) {
            OFFERED => return Ok(true),
            NOT_OFFERED => return Ok(false),
            _ => {}
        }
        let offered = self.retrying(|| {
            let answer = self.shared.http.get("/rest/chaininfo.json", self.limits(1 << 20))?;
            match answer.status {
                200 => Ok(answer.body.starts_with(b"{")),
                503 => Err(self.rest_unavailable(&answer.words())),
                _ => Ok(false),
            }
        })?;
        self.shared.rest.store(if offered { OFFERED } else { NOT_OFFERED }, Ordering::Relaxed);
        tracing::debug!(url = self.url(), rest = offered, "block fetch method");
        Ok(offered)
    }

    /// True if blocks are currently fetched by REST; `None` before the first request.
    #[must_use]
    pub fn uses_rest(&self) -> Option<bool> {
        match self.shared.rest.load(Ordering::Relaxed) {
            OFFERED => Some(true),
            NOT_OFFERED => Some(false),
            _ => None,
        }
    }

    pub(crate) fn forget_rest(&self) {
        self.shared.rest.store(UNKNOWN, Ordering::Relaxed);
    }

    fn rest_unavailable(&self, words: &str) -> NodeError {
        // "Service temporarily unavailable: Loading block index…"
        match words.split_once("unavailable:") {
            Some((_, message)) => NodeError::WarmingUp { message: message.trim().to_owned() },
            None => NodeError::Busy { url: self.url().to_owned(), message: words.to_owned() },
        }
    }

    fn block_by_rest(&self, hash: &BlockHash) -> Result<Option<Vec<u8>>, NodeError> {
        let path = format!("/rest/block/{hash}.bin");
        // One byte more than the largest block: longer is refused by the decoder with its own words.
        let limits = self.limits(u64::from(MAX_BLOCK_SIZE) + 1);
        self.retrying(|| {
            let answer = self.shared.http.get(&path, limits)?;
            match answer.status {
                200 => Ok(Some(answer.body)),
                500 | 502 | 503 | 504 => Err(self.rest_unavailable(&answer.words())),
                _ => Ok(None),
            }
        })
    }

    fn block_by_rpc(&self, hash: &BlockHash) -> Result<Vec<u8>, NodeError> {
        match self.call::<Bytes>("getblock", &json!([hash.to_string(), 0])) {
            Ok(bytes) => Ok(bytes.0),
            Err(NodeError::Rpc { code: -5, .. }) => Err(NodeError::BlockMissing { hash: *hash }),
            Err(NodeError::Rpc { code: -1, message, .. }) if message.contains("pruned") => {
                Err(NodeError::Pruned { needed: hash.to_string(), lowest: None })
            }
            Err(NodeError::Rpc { code: -1, message, .. }) => {
                Err(NodeError::BlockNotDownloaded { hash: *hash, message })
            }
            Err(error) => Err(error),
        }
    }
}
