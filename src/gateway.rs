//! The node as requests reach it: for what neither index nor mempool can answer.

use std::{sync::Arc, time::Duration};

use cairn_model::{BlockHash, CancelToken, Txid};
use cairn_node::{NodeClient, NodeError, RetryPolicy};
use cairn_operations::{NodeAccess, Refused, Unreachable};

use crate::{config::Node, exit::Failure};

/// A request does not wait longer for the node.
const PATIENCE: Duration = Duration::from_secs(8);
/// Bitcoin Core's codes for a transaction that it looked at and does not take: undecodable, and the three of
/// `sendrawtransaction`.
const REJECTIONS: [i64; 4] = [-22, -25, -26, -27];

/// A node that requests may ask.
pub(crate) struct Gateway(NodeClient);

impl Gateway {
    /// The node of the settings; `None` if none is set. It is not asked anything yet.
    ///
    /// # Errors
    /// URL or credentials cannot be used.
    pub(crate) fn of(node: &Node) -> Result<Option<Arc<dyn NodeAccess>>, Failure> {
        let Some(config) = node.config(8)? else { return Ok(None) };
        // A request of ours that fails is an answer of ours that fails: the client may ask again.
        let client =
            NodeClient::new(&config, CancelToken::never())?.with_retry(RetryPolicy::NONE).with_timeout(PATIENCE);
        Ok(Some(Arc::new(Gateway(client))))
    }
}

fn unreachable(what: &'static str, error: &NodeError) {
    tracing::warn!(%error, "the node could not be asked to {what}");
}

impl NodeAccess for Gateway {
    fn broadcast(&self, raw: &[u8]) -> Result<Txid, Refused> {
        self.0.send_raw_transaction(raw, None).map_err(|error| match error {
            NodeError::Rpc { code, message, .. } if REJECTIONS.contains(&code) => {
                Refused::Rejected { code, reason: message }
            }
            other => {
                unreachable("send a transaction", &other);
                Refused::Unavailable
            }
        })
    }

    fn raw_transaction(&self, txid: &Txid, block: Option<&BlockHash>) -> Result<Option<Vec<u8>>, Unreachable> {
        self.0.raw_transaction(txid, block).map_err(|error| {
            unreachable("give a transaction", &error);
            Unreachable
        })
    }
}
