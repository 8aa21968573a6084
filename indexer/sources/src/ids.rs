//! Sources of the ids of a block's transactions and scripts.

use cairn_model::{ScriptPrefix, TxMeta, Txid};

use crate::hash::{merkle_root, sha256d};

/// Provides ids. If there is none, the bytes are not the expected block.
pub(crate) trait Ids {
    /// Id of the next transaction, which consists of these pieces.
    fn txid(&mut self, pieces: &[&[u8]]) -> Option<Txid>;

    /// Prefix of the next spendable output's script.
    fn prefix(&mut self, script: &[u8]) -> Option<ScriptPrefix>;

    /// Checks that the block with this header has exactly these transactions.
    fn are_all(&self, header: &[u8; 80], txs: &[TxMeta]) -> bool;
}

pub(crate) struct Hashed {
    /// Number of bytes of a script's hash in its id.
    pub(crate) prefix_len: usize,
}

impl Ids for Hashed {
    fn txid(&mut self, pieces: &[&[u8]]) -> Option<Txid> {
        Some(Txid(sha256d(pieces)))
    }

    fn prefix(&mut self, script: &[u8]) -> Option<ScriptPrefix> {
        Some(ScriptPrefix::of(script, self.prefix_len))
    }

    fn are_all(&self, header: &[u8; 80], txs: &[TxMeta]) -> bool {
        let root = merkle_root(txs.iter().map(|t| t.txid.0).collect());
        root.is_some_and(|root| root == header[36..68])
    }
}
