//! The parsers of what a node sends, without a connection: entry points for fuzzing.

use cairn_model::{BlockHash, Txid};
use serde::de::DeserializeOwned;

use crate::{
    amount::{Bytes, Hash},
    answers::{
        ChainInfo, MempoolEntry, MempoolInfo, MiningInfo, NetworkInfo, RawMempool, TxOutSetInfo, ZmqNotification,
    },
    error::NodeError,
    http::HttpAnswer,
    reply,
    zmq::{Content, Message, Sequences, Topic},
};

/// The request that an answer is read for; a batch begins with it.
pub const ID: u64 = 7;
/// Requests of the batch.
pub const BATCH: usize = 3;

/// A ZMQ message that reads: topic, number, and the bytes that it brings or the hash that it names.
pub struct ZmqMessage {
    /// The topic.
    pub topic: Topic,
    /// The number of the message.
    pub number: u32,
    /// Bytes of a block or transaction.
    pub raw: Option<Vec<u8>>,
    /// Hash of a block or transaction, in natural byte order.
    pub hash: Option<[u8; 32]>,
}

/// Reads the parts of a ZMQ message; the topic, if there is one, of a message that does not read.
///
/// # Errors
/// Returns the topic, if there is one, of a message that does not read.
pub fn zmq_message(parts: Vec<Vec<u8>>) -> Result<ZmqMessage, Option<Topic>> {
    let Message { topic, number, content } = Message::read(parts).map_err(|garbled| garbled.0)?;
    let (raw, hash) = match content {
        Content::Block { hash, raw } => (Some(raw), Some(hash.0)),
        Content::Tx(raw) => (Some(raw), None),
        Content::Tip(hash) | Content::Connected(hash) | Content::Disconnected(hash) => (None, Some(hash.0)),
        Content::Accepted { txid, .. } | Content::Removed { txid, .. } => (None, Some(txid.0)),
    };
    Ok(ZmqMessage { topic, number, raw, hash })
}

/// Counts the gaps that are reported while messages with these topics and numbers come after a connection was made.
#[must_use]
pub fn zmq_gaps(messages: &[(Topic, u32)]) -> usize {
    let mut sequences = Sequences::new(&Topic::ALL);
    sequences.connected().len() + messages.iter().filter_map(|(topic, n)| sequences.message(*topic, *n)).count()
}

/// Reads an HTTP answer as that of every method, single and in a batch. The errors, in the order of the methods.
#[must_use]
pub fn rpc_answer(status: u16, body: &[u8]) -> Vec<NodeError> {
    let answer = HttpAnswer { status, body: body.to_vec() };
    let mut errors = Vec::new();
    as_method::<ChainInfo>("getblockchaininfo", &answer, &mut errors);
    as_method::<NetworkInfo>("getnetworkinfo", &answer, &mut errors);
    as_method::<TxOutSetInfo>("gettxoutsetinfo", &answer, &mut errors);
    as_method::<RawMempool>("getrawmempool", &answer, &mut errors);
    as_method::<MempoolEntry>("getmempoolentry", &answer, &mut errors);
    as_method::<MempoolInfo>("getmempoolinfo", &answer, &mut errors);
    as_method::<MiningInfo>("getmininginfo", &answer, &mut errors);
    as_method::<Vec<ZmqNotification>>("getzmqnotifications", &answer, &mut errors);
    as_method::<Hash<BlockHash>>("getblockhash", &answer, &mut errors);
    as_method::<Hash<Txid>>("sendrawtransaction", &answer, &mut errors);
    as_method::<Bytes>("getrawtransaction", &answer, &mut errors);
    errors
}

fn as_method<T: DeserializeOwned>(method: &str, answer: &HttpAnswer, errors: &mut Vec<NodeError>) {
    let single = reply::single("http://node", method, ID, answer);
    errors.extend(single.and_then(|raw| reply::read::<T>(method, &raw)).err());
    match reply::batch("http://node", method, ID, BATCH, answer) {
        Ok(outcomes) => {
            let read = outcomes.into_iter().map(|outcome| outcome.and_then(|raw| reply::read::<T>(method, &raw)));
            errors.extend(read.filter_map(Result::err));
        }
        Err(error) => errors.push(error),
    }
}
