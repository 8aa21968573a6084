//! Whole transactions, from the raw bytes of blocks or from the node.

use std::cell::RefCell;

use bitcoin::{Transaction, consensus::deserialize, hashes::Hash};
use cairn_http::ApiError;
use cairn_model::{BlockHash, FilePos, MempoolTx, Txid};
use cairn_reader::{StoredTx, View};
use cairn_tables::headers::HeaderRow;

use crate::{
    context::Ctx,
    node::{NodeAccess, Unreachable},
};

/// Why a transaction's raw bytes are not available.
pub(crate) const NO_SOURCE: &str = "neither block files nor a node are available";
const UNREADABLE: &str = "the block file cannot be read, or no longer contains the block";
const UNREACHABLE: &str = "no block files are available, and the node is unreachable";
const NOT_THERE: &str = "no block files are available, and the node does not have the transaction";
const ONE_ONLY: &str = "no block files are available, and a request may ask the node for only one transaction";
const NO_NODE: &str = "no node is available";

/// A request to the node: a transaction in a block, or in the mempool if no block is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wanted {
    txid: Txid,
    block: Option<BlockHash>,
}

/// A confirmed transaction with the header of its block.
pub(crate) type InBlock = Box<(StoredTx, HeaderRow)>;

/// A transaction, and its bytes.
type Whole = (Transaction, Vec<u8>);

/// The node's answer. Bytes of another transaction count as missing.
pub(crate) struct Brought {
    wanted: Wanted,
    whole: Result<Option<Whole>, Unreachable>,
}

impl Brought {
    /// True if the node had the bytes.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.whole, Ok(Some(_)))
    }
}

impl Wanted {
    /// Asks the node. May take seconds; must not be called while a lock is held.
    pub(crate) fn fetch(self, node: &dyn NodeAccess) -> Brought {
        let bytes = node.raw_transaction(&self.txid, self.block.as_ref());
        let whole = |bytes: Vec<u8>| {
            let decoded = decode(&bytes, &self.txid);
            if decoded.is_none() {
                tracing::error!(txid = %self.txid, "the node sent something other than the requested transaction");
            }
            decoded.map(|tx| (tx, bytes))
        };
        Brought { wanted: self, whole: bytes.map(|bytes| bytes.and_then(whole)) }
    }
}

/// Bytes from the node. A request may hold the mempool, which blocks its writer, so it does not ask the node itself.
/// Its operation declares beforehand what it needs, and the node is asked while no lock is held. A request gets at most
/// one transaction.
#[derive(Default)]
pub(crate) struct NodeBytes<'a> {
    brought: Option<&'a Brought>,
    /// A transaction that was found without the node before the operation ran, so that it is not read twice.
    at_hand: RefCell<Option<(Txid, Whole)>>,
    found: RefCell<Option<(Txid, Option<InBlock>)>>,
}

impl<'a> NodeBytes<'a> {
    /// With the node's answer, if it was asked.
    pub(crate) fn with(brought: Option<&'a Brought>) -> Self {
        NodeBytes { brought, ..NodeBytes::default() }
    }

    fn get(&self, wanted: Wanted) -> Result<Whole, &'static str> {
        match self.brought {
            None => Err(UNREACHABLE),
            Some(brought) if brought.wanted != wanted => Err(ONE_ONLY),
            Some(brought) => match &brought.whole {
                Ok(Some(whole)) => Ok(whole.clone()),
                Ok(None) => Err(NOT_THERE),
                Err(Unreachable) => Err(UNREACHABLE),
            },
        }
    }

    /// A confirmed transaction with the header of its block; `None` if no block has it. A transaction that is kept from
    /// before is not read again.
    ///
    /// # Errors
    /// The index cannot be read.
    pub(crate) fn find(&self, view: &View<'_>, txid: &Txid) -> Result<Option<InBlock>, ApiError> {
        if let Some((_, found)) = self.found.borrow_mut().take_if(|(of, _)| of == txid) {
            return Ok(found);
        }
        let Some(tx) = view.tx_by_id(txid)? else { return Ok(None) };
        let header = view.header(tx.height)?.ok_or_else(ApiError::internal)?;
        Ok(Some(Box::new((tx, header))))
    }

    /// Keeps a transaction that was found before the operation ran.
    pub(crate) fn keep(&self, txid: Txid, found: Option<InBlock>) {
        self.found.replace(Some((txid, found)));
    }

    fn at_hand(&self, txid: &Txid) -> Option<Whole> {
        let mut at_hand = self.at_hand.borrow_mut();
        at_hand.take_if(|(of, _)| of == txid).map(|(_, whole)| whole)
    }
}

/// The request to the node for the bytes of a confirmed transaction; `None` if they are available without it.
pub(crate) fn wanted_of(ctx: &Ctx<'_>, view: &View<'_>, tx: &StoredTx, header: &HeaderRow) -> Option<Wanted> {
    match raw_tx(view, tx, header.position) {
        Ok(whole) => {
            ctx.node_bytes.at_hand.replace(Some((tx.txid(), whole)));
            None
        }
        Err(_) => Some(Wanted { txid: tx.txid(), block: Some(header.hash) }),
    }
}

/// The request to the node for the bytes of an unconfirmed transaction; `None` if the mempool has them.
pub(crate) fn wanted_unconfirmed(tx: &MempoolTx) -> Option<Wanted> {
    let is_known = tx.raw.as_ref().is_some_and(|bytes| decode(bytes, &tx.txid).is_some());
    (!is_known).then_some(Wanted { txid: tx.txid, block: None })
}

/// A confirmed transaction with scripts and witnesses, and its bytes: from the block files, otherwise from the node.
/// Its txid is checked. One transaction of a request may come from the node.
///
/// # Errors
/// The reason why there is none. It never contains a path.
pub(crate) fn raw_of(ctx: &Ctx<'_>, tx: &StoredTx, header: &HeaderRow) -> Result<Whole, &'static str> {
    if let Some(whole) = ctx.node_bytes.at_hand(&tx.txid()) {
        return Ok(whole);
    }
    let view = ctx.index.ok_or(NO_SOURCE)?;
    let reason = match raw_tx(view, tx, header.position) {
        Ok(found) => return Ok(found),
        Err(reason) => reason,
    };
    if ctx.node.is_none() {
        return Err(reason);
    }
    ctx.node_bytes.get(Wanted { txid: tx.txid(), block: Some(header.hash) })
}

/// An unconfirmed transaction with scripts and witnesses, and its bytes: from the mempool, otherwise from the node. Its
/// txid is checked. One transaction of a request may come from the node.
///
/// # Errors
/// The reason why there is none.
pub(crate) fn raw_unconfirmed(ctx: &Ctx<'_>, tx: &MempoolTx) -> Result<Whole, &'static str> {
    let known = tx.raw.as_ref().and_then(|bytes| Some((decode(bytes, &tx.txid)?, bytes.to_vec())));
    match known {
        Some(whole) => Ok(whole),
        None if ctx.node.is_none() => Err(NO_NODE),
        None => ctx.node_bytes.get(Wanted { txid: tx.txid, block: None }),
    }
}

fn decode(bytes: &[u8], txid: &Txid) -> Option<Transaction> {
    let decoded: Transaction = deserialize(bytes).ok()?;
    (decoded.compute_txid().to_byte_array() == txid.0).then_some(decoded)
}

/// A transaction with scripts and witnesses, and its bytes, from the block files only.
///
/// # Errors
/// The reason why there is none. It never contains a path.
pub(crate) fn raw_tx(view: &View<'_>, tx: &StoredTx, position: Option<FilePos>) -> Result<Whole, &'static str> {
    let (raw, position) = view.raw().zip(position).ok_or(NO_SOURCE)?;
    let bytes = raw.read(position, tx.raw_offset, tx.meta().size as usize).map_err(|error| {
        tracing::warn!(%error, "cannot read the raw bytes of a transaction");
        UNREADABLE
    })?;
    Ok((decode(&bytes, &tx.txid()).ok_or(UNREADABLE)?, bytes))
}
