//! Notices as messages: topic, body and the topic's own sequence number.

use bitcoin::consensus::serialize;
use bitcoin::hashes::Hash;
use bitcoin::{BlockHash, Transaction, Txid};

use crate::Topic;
use crate::notice::{Notice, printed};

/// One message, all of it but the sequence number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Body {
    pub(crate) topic: Topic,
    pub(crate) bytes: Vec<u8>,
}

/// The messages of a notice in Core's order: hashes before raw data, transactions before their block.
pub(crate) fn bodies(notice: &Notice, wanted: impl Fn(Topic) -> bool) -> Vec<Body> {
    let mut out = Vec::new();
    let mut push = |topic: Topic, bytes: &dyn Fn() -> Vec<u8>| {
        if wanted(topic) {
            out.push(Body { topic, bytes: bytes() });
        }
    };
    match notice {
        Notice::Tip(block) => {
            push(Topic::HashBlock, &|| printed(block.hash.as_byte_array()).to_vec());
            push(Topic::RawBlock, &|| block.raw.clone());
        }
        Notice::Connected(block) | Notice::Disconnected(block) => {
            for tx in &block.block.txdata {
                transaction(tx, None, &mut push);
            }
            let label = if matches!(notice, Notice::Connected(_)) { b'C' } else { b'D' };
            push(Topic::Sequence, &|| block_sequence(&block.hash, label));
        }
        Notice::Added { tx, txid, sequence } => {
            transaction(tx, Some(*txid), &mut push);
            push(Topic::Sequence, &|| tx_sequence(txid, b'A', *sequence));
        }
        Notice::Removed { txid, sequence } => push(Topic::Sequence, &|| tx_sequence(txid, b'R', *sequence)),
    }
    out
}

fn transaction(tx: &Transaction, txid: Option<Txid>, push: &mut impl FnMut(Topic, &dyn Fn() -> Vec<u8>)) {
    push(Topic::HashTx, &|| printed(txid.unwrap_or_else(|| tx.compute_txid()).as_byte_array()).to_vec());
    push(Topic::RawTx, &|| serialize(tx));
}

fn block_sequence(hash: &BlockHash, label: u8) -> Vec<u8> {
    let mut bytes = printed(hash.as_byte_array()).to_vec();
    bytes.push(label);
    bytes
}

fn tx_sequence(txid: &Txid, label: u8, sequence: u64) -> Vec<u8> {
    let mut bytes = printed(txid.as_byte_array()).to_vec();
    bytes.push(label);
    bytes.extend_from_slice(&sequence.to_le_bytes());
    bytes
}
