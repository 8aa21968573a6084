//! The data of a transaction that the mempool keeps.

use std::sync::Arc;

use cairn_model::{MempoolTx, Sats, Txid};

/// A transaction in its slot, with the data for the projection.
#[derive(Clone, Debug)]
pub(super) struct GraphEntry {
    pub(super) tx: Arc<MempoolTx>,
    pub(super) txid: Txid,
    pub(super) fee: Sats,
    pub(super) vsize: u32,
    pub(super) weight: u32,
    pub(super) sigops: u32,
    pub(super) parents: Vec<u32>,
    pub(super) children: Vec<u32>,
}
