//! One ZMQ message of the node: topic, data, number.

use bitcoin::hashes::Hash;
use bitcoincore_zmq::SequenceMessage;
use cairn_model::{BlockHash, Txid};

use super::topic::Topic;
use crate::blocks::hash_of;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) topic: Topic,
    pub(crate) number: u32,
    pub(crate) content: Content,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Tip(BlockHash),
    Block { hash: BlockHash, raw: Vec<u8> },
    Tx(Vec<u8>),
    Connected(BlockHash),
    Disconnected(BlockHash),
    Accepted { txid: Txid, mempool_sequence: u64 },
    Removed { txid: Txid, mempool_sequence: u64 },
}

/// A message that does not read, with its topic if that much is clear.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Garbled(pub(crate) Option<Topic>);

impl Message {
    pub(crate) fn read(parts: Vec<Vec<u8>>) -> Result<Message, Garbled> {
        let topic = parts.first().and_then(|name| Topic::of_name(name)).ok_or(Garbled(None))?;
        let garbled = Garbled(Some(topic));
        let Ok([_, data, number]) = <[Vec<u8>; 3]>::try_from(parts) else { return Err(garbled) };
        let Ok(number) = number.as_slice().try_into().map(u32::from_le_bytes) else { return Err(garbled) };
        let content = match topic {
            Topic::HashBlock => {
                // Hashes are sent in the order in which people read them.
                let Ok(mut hash) = <[u8; 32]>::try_from(data) else { return Err(garbled) };
                hash.reverse();
                Content::Tip(BlockHash(hash))
            }
            Topic::RawBlock => match data.get(..80).map(hash_of) {
                Some(hash) => Content::Block { hash, raw: data },
                None => return Err(garbled),
            },
            Topic::RawTx if data.is_empty() => return Err(garbled),
            Topic::RawTx => Content::Tx(data),
            Topic::Sequence => match SequenceMessage::from_byte_slice(data) {
                Ok(message) => change(message),
                Err(_) => return Err(garbled),
            },
        };
        Ok(Message { topic, number, content })
    }
}

fn change(message: SequenceMessage) -> Content {
    match message {
        SequenceMessage::BlockConnect { blockhash } => Content::Connected(BlockHash(blockhash.to_byte_array())),
        SequenceMessage::BlockDisconnect { blockhash } => Content::Disconnected(BlockHash(blockhash.to_byte_array())),
        SequenceMessage::MempoolAcceptance { txid, mempool_sequence } => {
            Content::Accepted { txid: Txid(txid.to_byte_array()), mempool_sequence }
        }
        SequenceMessage::MempoolRemoval { txid, mempool_sequence } => {
            Content::Removed { txid: Txid(txid.to_byte_array()), mempool_sequence }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(topic: &str, data: &[u8], number: &[u8]) -> Result<Message, Garbled> {
        Message::read(vec![topic.as_bytes().to_vec(), data.to_vec(), number.to_vec()])
    }

    #[test]
    fn messages_read() {
        let shown: Vec<u8> = (0..32).collect();
        let hash = BlockHash(std::array::from_fn(|i| 31 - i as u8));
        let message = read("hashblock", &shown, &[5, 1, 0, 0]).unwrap();
        assert_eq!(message, Message { topic: Topic::HashBlock, number: 261, content: Content::Tip(hash) });
        let change = |label: u8, rest: &[u8]| {
            read("sequence", &[&shown[..], &[label], rest].concat(), &[0; 4]).map(|message| message.content)
        };
        assert_eq!(change(b'C', &[]), Ok(Content::Connected(hash)));
        assert_eq!(change(b'D', &[]), Ok(Content::Disconnected(hash)));
        let txid = Txid(hash.0);
        assert_eq!(change(b'A', &[2, 0, 0, 0, 0, 0, 0, 0]), Ok(Content::Accepted { txid, mempool_sequence: 2 }));
        assert_eq!(change(b'R', &[3, 0, 0, 0, 0, 0, 0, 0]), Ok(Content::Removed { txid, mempool_sequence: 3 }));
        assert_eq!(change(b'A', &[]), Err(Garbled(Some(Topic::Sequence))));
        assert_eq!(change(b'X', &[]), Err(Garbled(Some(Topic::Sequence))));
    }

    #[test]
    fn raw_blocks_carry_their_hash() {
        let block = bitcoin::constants::genesis_block(bitcoin::Network::Bitcoin);
        let raw = bitcoin::consensus::serialize(&block);
        let message = read("rawblock", &raw, &[0; 4]).unwrap();
        let hash = BlockHash(block.block_hash().to_byte_array());
        assert_eq!(message.content, Content::Block { hash, raw });
        assert_eq!(read("rawblock", &[0; 79], &[0; 4]), Err(Garbled(Some(Topic::RawBlock))));
    }

    #[test]
    fn garbage_is_none() {
        assert_eq!(Message::read(vec![]), Err(Garbled(None)));
        assert_eq!(Message::read(vec![b"rawtx".to_vec()]), Err(Garbled(Some(Topic::RawTx))));
        assert_eq!(read("rawtx", b"", &[0; 4]), Err(Garbled(Some(Topic::RawTx))));
        assert_eq!(read("rawtx", b"x", &[0; 3]), Err(Garbled(Some(Topic::RawTx))));
        assert_eq!(read("hashblock", &[0; 31], &[0; 4]), Err(Garbled(Some(Topic::HashBlock))));
        assert_eq!(read("whatever", &[0; 31], &[0; 4]), Err(Garbled(None)));
        assert_eq!(Message::read(vec![b"rawtx".to_vec(); 4]), Err(Garbled(Some(Topic::RawTx))));
    }
}
