//! Bytes of transactions that only the node has: what a request asks for, and what the node said.

use std::cell::RefCell;

use bitcoin::{Transaction, consensus::deserialize, hashes::Hash};
use cairn_chain::{NodeAccess, Unreachable};
use cairn_http::ApiError;
use cairn_model::{BlockHash, Txid};
use cairn_reader::{StoredTx, View};
use cairn_tables::headers::HeaderRow;

const UNREACHABLE: &str = "no block files are available, and the node is unreachable";
const NOT_THERE: &str = "no block files are available, and the node does not have the transaction";
const ONE_ONLY: &str = "no block files are available, and a request may ask the node for only one transaction";

/// A request to the node: a transaction in a block, or in the mempool if no block is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TxRequest {
    pub(crate) txid: Txid,
    pub(crate) block: Option<BlockHash>,
}

/// A confirmed transaction with the header of its block.
pub(crate) type InBlock = Box<(StoredTx, HeaderRow)>;

/// A transaction, and its bytes.
pub(crate) type TxWithBytes = (Transaction, Vec<u8>);

/// The node's answer. Bytes of another transaction count as missing.
pub(crate) struct NodeAnswer {
    wanted: TxRequest,
    whole: Result<Option<TxWithBytes>, Unreachable>,
}

impl NodeAnswer {
    /// True if the node had the bytes.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.whole, Ok(Some(_)))
    }
}

impl TxRequest {
    /// Asks the node. May take seconds; must not be called while a lock is held.
    pub(crate) fn fetch(self, node: &dyn NodeAccess) -> NodeAnswer {
        let bytes = node.raw_transaction(&self.txid, self.block.as_ref());
        let whole = |bytes: Vec<u8>| {
            let decoded = decode(&bytes, &self.txid);
            if decoded.is_none() {
                tracing::error!(txid = %self.txid, "the node sent something other than the requested transaction");
            }
            decoded.map(|tx| (tx, bytes))
        };
        NodeAnswer { wanted: self, whole: bytes.map(|bytes| bytes.and_then(whole)) }
    }
}

/// Bytes from the node. A request may hold the mempool, which blocks its writer, so it does not ask the node itself.
/// Its operation declares beforehand what it needs, and the node is asked while no lock is held. A request gets at most
/// one transaction.
#[derive(Default)]
pub(crate) struct NodeBytes<'a> {
    brought: Option<&'a NodeAnswer>,
    /// A transaction that was found without the node before the operation ran, so that it is not read twice.
    at_hand: RefCell<Option<(Txid, TxWithBytes)>>,
    found: RefCell<Option<(Txid, Option<InBlock>)>>,
}

impl<'a> NodeBytes<'a> {
    /// With the node's answer, if it was asked.
    pub(crate) fn with(brought: Option<&'a NodeAnswer>) -> Self {
        NodeBytes { brought, ..NodeBytes::default() }
    }

    /// The node's answer.
    ///
    /// # Errors
    /// Returns why there is nothing: the node was not asked, was asked for something else, or does not have it.
    pub(crate) fn get(&self, wanted: TxRequest) -> Result<TxWithBytes, &'static str> {
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
    pub(crate) fn find(&self, view: &View<'_>, txid: &Txid) -> Result<Option<InBlock>, ApiError> {
        if let Some((_, found)) = self.found.borrow_mut().take_if(|(of, _)| of == txid) {
            return Ok(found);
        }
        let Some(tx) = view.transactions().by_txid(txid)? else { return Ok(None) };
        let header = view.header(tx.height)?.ok_or_else(ApiError::internal)?;
        Ok(Some(Box::new((tx, header))))
    }

    /// Keeps a transaction that was found before the operation ran.
    pub(crate) fn keep(&self, txid: Txid, found: Option<InBlock>) {
        self.found.replace(Some((txid, found)));
    }

    /// Keeps bytes that the look ahead found without the node.
    pub(crate) fn keep_bytes(&self, txid: Txid, whole: TxWithBytes) {
        self.at_hand.replace(Some((txid, whole)));
    }

    /// Those bytes, once.
    pub(crate) fn at_hand(&self, txid: &Txid) -> Option<TxWithBytes> {
        let mut at_hand = self.at_hand.borrow_mut();
        at_hand.take_if(|(of, _)| of == txid).map(|(_, whole)| whole)
    }
}

/// Parses a serialized transaction; `None` if it is invalid, or has another id.
pub(crate) fn decode(bytes: &[u8], txid: &Txid) -> Option<Transaction> {
    let decoded: Transaction = deserialize(bytes).ok()?;
    (decoded.compute_txid().to_byte_array() == txid.0).then_some(decoded)
}
