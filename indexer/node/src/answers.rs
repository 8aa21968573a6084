//! The node's answers, as far as we use them. Fields that some supported version does not send are optional.

use cairn_model::{BlockHash, Height, Sats, Txid};
use serde::{Deserialize, Deserializer};

use crate::amount;

/// `getblockchaininfo`.
#[derive(Deserialize, Clone, PartialEq, Debug)]
pub struct ChainInfo {
    /// The node's name of its network: main, test, testnet4, signet, regtest.
    pub chain: String,
    /// The challenge of its signet in hexadecimal digits (since v28).
    #[serde(default)]
    pub signet_challenge: Option<String>,
    /// Height of its tip.
    pub blocks: Height,
    /// Height of the best header that it knows.
    pub headers: Height,
    /// Hash of its tip.
    #[serde(rename = "bestblockhash", deserialize_with = "amount::block_hash")]
    pub best: BlockHash,
    /// Whether it is in its initial download (its tip is old).
    #[serde(rename = "initialblockdownload", default)]
    pub initial_download: bool,
    /// Whether it deletes old blocks.
    #[serde(default)]
    pub pruned: bool,
    /// Lowest height that it has in full, where it prunes.
    #[serde(rename = "pruneheight", default)]
    pub prune_height: Option<Height>,
    /// Its own estimate of how much of the chain it has verified, 0 to 1.
    #[serde(rename = "verificationprogress", default)]
    pub verification_progress: f64,
}

/// `getnetworkinfo`.
#[derive(Deserialize, Clone, PartialEq, Debug)]
pub struct NetworkInfo {
    /// Major × 10 000 + minor × 100 + patch.
    pub version: u32,
    /// As in `/Satoshi:30.0.0/`.
    #[serde(default)]
    pub subversion: String,
    /// Peers.
    #[serde(default)]
    pub connections: u32,
    /// Whether it takes part in the network.
    #[serde(rename = "networkactive", default)]
    pub network_active: bool,
    /// Lowest feerate that it relays, in satoshis per 1 000 virtual bytes.
    #[serde(rename = "relayfee", deserialize_with = "amount::optional_sats", default)]
    pub relay_fee: Option<Sats>,
    /// Warnings of the node for its operator.
    #[serde(default, deserialize_with = "warnings")]
    pub warnings: Vec<String>,
}

/// One text up to v27, a list since.
fn warnings<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        One(String),
        Many(Vec<String>),
    }
    Ok(match Either::deserialize(from)? {
        Either::One(text) if text.is_empty() => Vec::new(),
        Either::One(text) => vec![text],
        Either::Many(texts) => texts,
    })
}

/// `gettxoutsetinfo muhash`.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct TxOutSetInfo {
    /// Height of the block after which it holds.
    pub height: Height,
    /// Hash of that block.
    #[serde(rename = "bestblock", deserialize_with = "amount::block_hash")]
    pub best: BlockHash,
    /// Coins.
    pub txouts: u64,
    /// A size of the coin set that does not depend on the database, in bytes.
    pub bogosize: u64,
    /// MuHash3072 of the coins, in the node's order of digits (that of [`MuHashDigest`](cairn_model::MuHashDigest)'s
    /// display).
    pub muhash: String,
    /// Their value in satoshis.
    #[serde(deserialize_with = "amount::sats")]
    pub total_amount: Sats,
}

/// `getrawmempool` with its sequence.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct RawMempool {
    /// The transactions.
    #[serde(deserialize_with = "amount::txids")]
    pub txids: Vec<Txid>,
    /// The number that the next `sequence` message about the mempool will have.
    pub mempool_sequence: u64,
}

/// Fees in `getmempoolentry`, in satoshis.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct EntryFees {
    /// Its own.
    #[serde(deserialize_with = "amount::sats")]
    pub base: Sats,
    /// With `prioritisetransaction`. `None` where that makes it negative.
    #[serde(default, deserialize_with = "maybe_sats")]
    pub modified: Option<Sats>,
    /// With those of its ancestors.
    #[serde(default, deserialize_with = "maybe_sats")]
    pub ancestor: Option<Sats>,
    /// With those of its descendants.
    #[serde(default, deserialize_with = "maybe_sats")]
    pub descendant: Option<Sats>,
}

fn maybe_sats<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Sats>, D::Error> {
    // The number is read either way; only its sign decides.
    Ok(amount::sats(from).ok())
}

/// `getmempoolentry`.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct MempoolEntry {
    /// Size in virtual bytes, adjusted for sigops.
    pub vsize: u64,
    /// Weight in weight units.
    pub weight: u64,
    /// When the node took it in, seconds since 1970.
    pub time: u64,
    /// The node's height then.
    pub height: Height,
    /// Its fees.
    pub fees: EntryFees,
    /// Transactions that spend from it, directly or not, and itself.
    #[serde(rename = "descendantcount", default)]
    pub descendant_count: Option<u64>,
    /// Transactions that it spends from, directly or not, and itself.
    #[serde(rename = "ancestorcount", default)]
    pub ancestor_count: Option<u64>,
    /// Unconfirmed transactions that it spends from.
    #[serde(deserialize_with = "amount::txids")]
    pub depends: Vec<Txid>,
    /// Unconfirmed transactions that spend from it.
    #[serde(rename = "spentby", default, deserialize_with = "amount::txids")]
    pub spent_by: Vec<Txid>,
}

/// One result of `testmempoolaccept`.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Acceptance {
    /// True if the node would take the transaction into its mempool.
    #[serde(default)]
    pub(crate) allowed: bool,
    /// Why it would not.
    #[serde(default, rename = "reject-reason")]
    pub(crate) reject_reason: Option<String>,
}

/// `getmempoolinfo`. Feerates are in satoshis per 1 000 virtual bytes.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct MempoolInfo {
    /// Whether the mempool of the last run is loaded.
    #[serde(default)]
    pub loaded: Option<bool>,
    /// Transactions.
    pub size: u64,
    /// Their virtual bytes.
    pub bytes: u64,
    /// Memory that they take, in bytes.
    pub usage: u64,
    /// Their fees.
    #[serde(default, deserialize_with = "amount::optional_sats")]
    pub total_fee: Option<Sats>,
    /// Memory that they may take, in bytes.
    #[serde(rename = "maxmempool")]
    pub max_usage: u64,
    /// Lowest feerate that enters now.
    #[serde(rename = "mempoolminfee", deserialize_with = "amount::sats")]
    pub min_fee: Sats,
    /// Lowest feerate that is ever relayed.
    #[serde(rename = "minrelaytxfee", deserialize_with = "amount::sats")]
    pub min_relay_fee: Sats,
    /// Feerate that a replacement must add.
    #[serde(rename = "incrementalrelayfee", default, deserialize_with = "amount::optional_sats")]
    pub incremental_relay_fee: Option<Sats>,
    /// Whether replacement needs no signal.
    #[serde(rename = "fullrbf", default)]
    pub full_rbf: Option<bool>,
}

/// `getmininginfo`, as far as it says how blocks are filled.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
pub struct MiningInfo {
    /// Lowest feerate of a package in a block that this node makes, in satoshis per 1 000 virtual bytes (since v30).
    #[serde(rename = "blockmintxfee", default, deserialize_with = "amount::optional_sats")]
    pub block_min_fee: Option<Sats>,
}

/// One entry of `getzmqnotifications`.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct ZmqNotification {
    /// As in `pubrawblock`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where the node publishes it, as in `tcp://127.0.0.1:28332`.
    pub address: String,
    /// Messages that the node keeps for a slow subscriber.
    #[serde(default)]
    pub hwm: u64,
}
