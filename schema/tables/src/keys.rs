//! Parts of keys.

use cairn_events::{DocumentHash, StatementHash};
use cairn_model::{BlockHash, Outpoint, ScriptId, ScriptPrefix, TxNum, Txid};

use crate::codec::{DecodeError, Input, KeyCodec, key_of_fields};

/// First 8 bytes of a hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct HashPrefix(pub [u8; 8]);

impl HashPrefix {
    /// Prefix of a txid, using its first `significant` bytes: always 8, except in tests of collisions.
    #[must_use]
    pub fn of_txid(txid: &Txid, significant: usize) -> Self {
        Self::cut(&txid.0, significant)
    }

    /// Prefix of a block hash. In protocol order the zeros of the proof of work are at the end, so the first bytes are
    /// random.
    #[must_use]
    pub fn of_block(hash: &BlockHash) -> Self {
        Self::cut(&hash.0, 8)
    }

    /// Prefix of a HASH160: of a public key or a script.
    #[must_use]
    pub fn of_hash160(hash: &[u8; 20]) -> Self {
        Self::cut(hash, 8)
    }

    fn cut(bytes: &[u8], significant: usize) -> Self {
        let mut prefix = [0u8; 8];
        let n = significant.min(8).min(bytes.len());
        prefix[..n].copy_from_slice(&bytes[..n]);
        HashPrefix(prefix)
    }
}

key_of_fields! {
    HashPrefix { 0 }
    ScriptPrefix { 0 }
    Txid { 0 }
    DocumentHash { 0 }
    StatementHash { 0 }
    Outpoint { tx_num, vout }
}

/// The key of a table with one row.
impl KeyCodec for () {
    #[inline]
    fn encode(&self, _: &mut Vec<u8>) {}

    #[inline]
    fn decode(_: &mut Input<'_>) -> Result<Self, DecodeError> {
        Ok(())
    }
}

impl KeyCodec for ScriptId {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_bytes());
    }

    #[inline]
    fn decode(bytes: &mut Input<'_>) -> Result<Self, DecodeError> {
        Ok(ScriptId::from_bytes(bytes.array()?))
    }
}

impl KeyCodec for TxNum {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_be5());
    }

    #[inline]
    fn decode(bytes: &mut Input<'_>) -> Result<Self, DecodeError> {
        bytes.tx_num()
    }
}

/// Numbers have all their bytes, the most significant one first.
macro_rules! key_of_number {
    ($($number:ty),*) => {$(
        impl KeyCodec for $number {
            #[inline]
            fn encode(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_be_bytes());
            }

            #[inline]
            fn decode(bytes: &mut Input<'_>) -> Result<Self, DecodeError> {
                Ok(<$number>::from_be_bytes(bytes.array()?))
            }
        }
    )*};
}

key_of_number!(u8, u16, u32, u64);

impl<const N: usize> KeyCodec for [u8; N] {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    #[inline]
    fn decode(bytes: &mut Input<'_>) -> Result<Self, DecodeError> {
        bytes.array()
    }
}

impl<A: KeyCodec, B: KeyCodec> KeyCodec for (A, B) {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
        self.1.encode(out);
    }

    #[inline]
    fn decode(bytes: &mut Input<'_>) -> Result<Self, DecodeError> {
        Ok((A::decode(bytes)?, B::decode(bytes)?))
    }
}

/// A text key of up to 255 bytes; sorts by its bytes.
impl KeyCodec for String {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }

    #[inline]
    fn decode(bytes: &mut Input<'_>) -> Result<Self, DecodeError> {
        let all = bytes.take(bytes.left())?;
        String::from_utf8(all.to_vec()).map_err(|_| bytes.error("not UTF-8"))
    }
}
