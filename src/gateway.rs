//! Access to the node for requests that neither index nor mempool can answer.

use std::{sync::Arc, time::Duration};

use cairn_model::{BlockHash, CancelToken, Txid};
use cairn_node::{NodeClient, NodeError, RetryPolicy};
use cairn_operations::{BroadcastLimits, NodeAccess, Question, Refused, Unreachable};
use serde_json::Value;

use crate::{config::Node, exit::Failure};

/// How long a request waits for the node.
const PATIENCE: Duration = Duration::from_secs(8);
/// Bitcoin Core's error codes for a rejected transaction: undecodable, and the three of `sendrawtransaction`.
const REJECTIONS: [i64; 4] = [-22, -25, REJECTED, -27];
/// The transaction breaks a rule.
const REJECTED: i64 = -26;

/// A node that requests may ask.
pub(crate) struct Gateway(NodeClient);

impl Gateway {
    /// Returns the configured node; `None` if none is set. Sends no request yet.
    pub(crate) fn of(node: &Node) -> Result<Option<Arc<dyn NodeAccess>>, Failure> {
        let Some(config) = node.config(8)? else { return Ok(None) };
        // No retries here: the API request fails, and the client may retry it.
        let client =
            NodeClient::new(&config, CancelToken::never())?.with_retry(RetryPolicy::NONE).with_timeout(PATIENCE);
        Ok(Some(Arc::new(Gateway(client))))
    }
}

/// In satoshis per 1,000 virtual bytes.
fn max_feerate(limits: BroadcastLimits) -> Option<u64> {
    limits.max_fee_rate_sat_vb.map(|rate| u64::from(rate) * 1_000)
}

fn refused(what: &'static str, error: NodeError) -> Refused {
    match error {
        NodeError::Rpc { code, message, .. } if REJECTIONS.contains(&code) => {
            Refused::Rejected { code, reason: message }
        }
        other => {
            unreachable(what, &other);
            Refused::Unavailable
        }
    }
}

fn unreachable(what: &'static str, error: &NodeError) {
    tracing::warn!(%error, "request to the node failed: {what}");
}

impl NodeAccess for Gateway {
    fn broadcast(&self, raw: &[u8], limits: BroadcastLimits) -> Result<Txid, Refused> {
        let sent = self.0.send_raw_transaction(raw, max_feerate(limits), limits.max_burn_sats);
        sent.map_err(|error| refused("broadcast a transaction", error))
    }

    fn check(&self, raw: &[u8], limits: BroadcastLimits) -> Result<(), Refused> {
        match self.0.test_mempool_accept(raw, max_feerate(limits)) {
            Ok(None) => Ok(()),
            Ok(Some(reason)) => Err(Refused::Rejected { code: REJECTED, reason }),
            Err(error) => Err(refused("check a transaction", error)),
        }
    }

    fn raw_transaction(&self, txid: &Txid, block: Option<&BlockHash>) -> Result<Option<Vec<u8>>, Unreachable> {
        self.0.raw_transaction(txid, block).map_err(|error| {
            unreachable("get a transaction", &error);
            Unreachable
        })
    }

    fn raw_block(&self, hash: &BlockHash) -> Result<Option<Vec<u8>>, Unreachable> {
        self.0.raw_block(hash).map_err(|error| {
            unreachable("get a block", &error);
            Unreachable
        })
    }

    fn ask(&self, question: &Question) -> Result<Value, Refused> {
        match self.0.call(question.method(), &question.params()) {
            Err(NodeError::Rpc { code, message, .. }) => Err(Refused::Rejected { code, reason: message }),
            answer => answer.map_err(|error| refused(question.method(), error)),
        }
    }

    fn fee_estimates(&self, blocks: &[u16]) -> Result<Vec<Option<f64>>, Unreachable> {
        self.0.fee_estimates(blocks).map_err(|error| {
            unreachable("estimate feerates", &error);
            Unreachable
        })
    }
}
