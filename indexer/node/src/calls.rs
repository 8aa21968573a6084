//! Typed calls of the node's RPC methods.

use std::time::Duration;

use cairn_model::{BlockHash, Height, Txid};
use serde_json::{Value, json};

use crate::{
    amount::{Bytes, Hash},
    answers::{
        Acceptance, ChainInfo, MempoolEntry, MempoolInfo, MiningInfo, NetworkInfo, RawMempool, TxOutSetInfo,
        ZmqNotification,
    },
    client::{MAX_ANSWER, NodeClient},
    error::NodeError,
    reply::{Outcome, bad_answer, read},
};

/// `gettxoutsetinfo` scans the whole coin set: minutes on a fast disk, far longer on a slow one.
const COIN_SET_TIMEOUT: Duration = Duration::from_secs(3 * 3600);

/// Bitcoin Core: no such block, transaction or entry.
const NOT_FOUND: i64 = -5;
/// Bitcoin Core: a parameter is out of range.
const OUT_OF_RANGE: i64 = -8;

impl NodeClient {
    /// State of the node's chain.
    pub fn chain_info(&self) -> Result<ChainInfo, NodeError> {
        self.call("getblockchaininfo", &json!([]))
    }

    /// The node's version and peers.
    pub fn network_info(&self) -> Result<NetworkInfo, NodeError> {
        self.call("getnetworkinfo", &json!([]))
    }

    /// Hash of the node's tip.
    pub fn best_block_hash(&self) -> Result<BlockHash, NodeError> {
        self.call::<Hash<BlockHash>>("getbestblockhash", &json!([])).map(|hash| hash.0)
    }

    /// Hash of the block at a height of the node's best chain; `None` above its tip.
    pub fn block_hash(&self, height: Height) -> Result<Option<BlockHash>, NodeError> {
        absent(self.call::<Hash<BlockHash>>("getblockhash", &json!([height])), OUT_OF_RANGE)
            .map(|hash| hash.map(|hash| hash.0))
    }

    /// The same for many heights, in requests of some hundred each. The node's chain may change between requests.
    pub fn block_hashes(&self, heights: &[Height]) -> Result<Vec<Option<BlockHash>>, NodeError> {
        let params: Vec<Value> = heights.iter().map(|height| json!([height])).collect();
        let outcomes = self.batch("getblockhash", &params)?;
        outcomes.into_iter().map(|outcome| absent(hash(outcome), OUT_OF_RANGE)).collect()
    }

    /// The 80 bytes of headers, in requests of some hundred each; `None` for blocks that the node does not have.
    pub fn block_headers(&self, hashes: &[BlockHash]) -> Result<Vec<Option<[u8; 80]>>, NodeError> {
        const METHOD: &str = "getblockheader";
        let params: Vec<Value> = hashes.iter().map(|hash| json!([hash.to_string(), false])).collect();
        let header = |outcome: Outcome| {
            let bytes: Bytes = read(METHOD, &outcome?)?;
            bytes.0.try_into().map_err(|_| bad_answer(METHOD, "it is not 80 bytes long".to_owned()))
        };
        self.batch(METHOD, &params)?.into_iter().map(|outcome| absent(header(outcome), NOT_FOUND)).collect()
    }

    /// Counts, sum and MuHash3072 of the node's coins at its tip. Takes minutes.
    pub fn tx_out_set_info(&self) -> Result<TxOutSetInfo, NodeError> {
        self.call_long("gettxoutsetinfo", json!(["muhash"]), COIN_SET_TIMEOUT)
    }

    /// Bytes of a transaction in the mempool, in the given block, or anywhere if the node has `txindex=1`; `None` if
    /// it is not there.
    pub fn raw_transaction(&self, txid: &Txid, block: Option<&BlockHash>) -> Result<Option<Vec<u8>>, NodeError> {
        let params = match block {
            Some(block) => json!([txid.to_string(), false, block.to_string()]),
            None => json!([txid.to_string(), false]),
        };
        absent(self.call::<Bytes>("getrawtransaction", &params), NOT_FOUND).map(|bytes| bytes.map(|bytes| bytes.0))
    }

    /// Bytes of transactions in the mempool, in requests of some hundred each; `None` for those that left it.
    pub fn raw_transactions(&self, txids: &[Txid]) -> Result<Vec<Option<Vec<u8>>>, NodeError> {
        const METHOD: &str = "getrawtransaction";
        let params: Vec<Value> = txids.iter().map(|txid| json!([txid.to_string(), false])).collect();
        let bytes = |outcome: Outcome| read::<Bytes>(METHOD, &outcome?).map(|bytes| bytes.0);
        self.batch(METHOD, &params)?.into_iter().map(|outcome| absent(bytes(outcome), NOT_FOUND)).collect()
    }

    /// Bytes of a block; `None` if the node does not know it.
    pub fn raw_block(&self, hash: &BlockHash) -> Result<Option<Vec<u8>>, NodeError> {
        absent(self.call::<Bytes>("getblock", &json!([hash.to_string(), 0])), NOT_FOUND).map(|found| found.map(|b| b.0))
    }

    /// Broadcasts a transaction. A limit that is not given is the node's own; `max_burn_sats` needs Bitcoin Core 25.
    ///
    /// # Errors
    /// Returns [`NodeError::Rpc`] with code −25, −26 or −27 and the node's reason if the node rejects it.
    pub fn send_raw_transaction(
        &self,
        raw: &[u8],
        max_feerate_sats_per_kvb: Option<u64>,
        max_burn_sats: Option<u64>,
    ) -> Result<Txid, NodeError> {
        let mut params = vec![hex::encode(raw).into(), decimals(max_feerate_sats_per_kvb)];
        params.extend(max_burn_sats.map(|sats| decimals(Some(sats))));
        let params = Value::Array(params);
        self.call::<Hash<Txid>>("sendrawtransaction", &params).map(|txid| txid.0)
    }

    /// Asks if the node would accept a transaction into its mempool, without sending it. `None` if it would; otherwise
    /// its reject reason. A limit that is not given is the node's own.
    pub fn test_mempool_accept(
        &self,
        raw: &[u8],
        max_feerate_sats_per_kvb: Option<u64>,
    ) -> Result<Option<String>, NodeError> {
        const METHOD: &str = "testmempoolaccept";
        let params = json!([[hex::encode(raw)], decimals(max_feerate_sats_per_kvb)]);
        let mut said: Vec<Acceptance> = self.call(METHOD, &params)?;
        let said = said.pop().ok_or_else(|| bad_answer(METHOD, "it has no result".to_owned()))?;
        match said {
            Acceptance { allowed: true, .. } => Ok(None),
            Acceptance { reject_reason: Some(reason), .. } => Ok(Some(reason)),
            Acceptance { reject_reason: None, .. } => {
                Err(bad_answer(METHOD, "it has neither a permission nor a reason".to_owned()))
            }
        }
    }

    /// Txids in the mempool, and the number of its next `sequence` message. `expected` is about how many there are: an
    /// answer of more than twice as many, and some thousands, is refused.
    pub fn raw_mempool(&self, expected: u64) -> Result<RawMempool, NodeError> {
        self.call_within("getrawmempool", &json!([false, true]), mempool_bytes(expected))
    }

    /// Transactions in the mempool, in requests of some hundred each; `None` for those that are not there.
    pub fn mempool_entries(&self, txids: &[Txid]) -> Result<Vec<Option<MempoolEntry>>, NodeError> {
        const METHOD: &str = "getmempoolentry";
        let params: Vec<Value> = txids.iter().map(|txid| json!([txid.to_string()])).collect();
        let entry = |outcome: Outcome| read(METHOD, &outcome?);
        self.batch(METHOD, &params)?.into_iter().map(|outcome| absent(entry(outcome), NOT_FOUND)).collect()
    }

    /// Feerates in bitcoin per 1,000 virtual bytes at which a transaction confirms within each of these numbers of
    /// blocks, in one request; `None` where the node does not know enough.
    pub fn fee_estimates(&self, blocks: &[u16]) -> Result<Vec<Option<f64>>, NodeError> {
        const METHOD: &str = "estimatesmartfee";
        let params: Vec<Value> = blocks.iter().map(|blocks| json!([blocks])).collect();
        let feerate = |outcome: Outcome| {
            let estimate: Value = read(METHOD, &outcome?)?;
            // It is absent if there are too few transactions to judge by.
            Ok(estimate["feerate"].as_f64())
        };
        self.batch(METHOD, &params)?.into_iter().map(feerate).collect()
    }

    /// Size and limits of the mempool.
    pub fn mempool_info(&self) -> Result<MempoolInfo, NodeError> {
        self.call("getmempoolinfo", &json!([]))
    }

    /// The node's settings for block templates.
    pub fn mining_info(&self) -> Result<MiningInfo, NodeError> {
        self.call("getmininginfo", &json!([]))
    }

    /// The node's ZMQ publishers.
    pub fn zmq_notifications(&self) -> Result<Vec<ZmqNotification>, NodeError> {
        self.call("getzmqnotifications", &json!([]))
    }
}

/// Maximum size in bytes of `getrawmempool` for a mempool of about `expected` transactions. A txid takes 67 bytes.
fn mempool_bytes(expected: u64) -> u64 {
    expected.saturating_mul(2).saturating_add(20_000).saturating_mul(67).min(MAX_ANSWER)
}

fn hash(outcome: Outcome) -> Result<BlockHash, NodeError> {
    read::<Hash<BlockHash>>("getblockhash", &outcome?).map(|hash| hash.0)
}

/// Maps the "not found" error to `None`.
fn absent<T>(outcome: Result<T, NodeError>, means: i64) -> Result<Option<T>, NodeError> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(NodeError::Rpc { code, .. }) if code == means => Ok(None),
        Err(error) => Err(error),
    }
}

/// Satoshis as decimal bitcoin: the node accepts text for a number. Null means its default.
pub(crate) fn decimals(sats: Option<u64>) -> Value {
    match sats {
        Some(sats) => Value::String(format!("{}.{:08}", sats / 100_000_000, sats % 100_000_000)),
        None => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mempool_is_bounded_by_its_size() {
        assert_eq!(mempool_bytes(0), 1_340_000);
        assert_eq!(mempool_bytes(100_000), 14_740_000);
        assert_eq!(mempool_bytes(u64::MAX), MAX_ANSWER);
    }

    #[test]
    fn feerates_are_written_without_floats() {
        assert_eq!(decimals(None), Value::Null);
        assert_eq!(decimals(Some(0)), json!("0.00000000"));
        assert_eq!(decimals(Some(10_000_001)), json!("0.10000001"));
        assert_eq!(decimals(Some(123_456_789_012)), json!("1234.56789012"));
    }
}
