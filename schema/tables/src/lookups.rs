//! Small look-ups from what people know to what tables use.
//!
//! ```text
//! tx_nums         txid prefix (8) ‖ TxNum (5)                   → ∅
//! height_by_hash  'h' ‖ block hash prefix (8) ‖ height (4)      → ∅
//! height_by_time  't' ‖ monotone time (4) ‖ height (4)          → ∅
//! ```
//!
//! A prefix is a hint: several rows may share one, and the full hash is compared before one is believed.

use cairn_model::{BlockHash, Height, MonoTime, TxNum, Txid};

use crate::{
    codec::{DecodeError, Input},
    table::{Family, KeyCodec, Table},
};

/// First 8 bytes of a hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct HashPrefix(pub [u8; 8]);

impl HashPrefix {
    /// Of a txid, using its first `significant` bytes: 8 always, but for tests that want collisions.
    #[must_use]
    pub fn of_txid(txid: &Txid, significant: usize) -> Self {
        Self::cut(&txid.0, significant)
    }

    /// Of a block hash. Its last bytes (the zeros of the proof of work) come last in protocol order, so the first
    /// bytes are the random ones.
    #[must_use]
    pub fn of_block(hash: &BlockHash) -> Self {
        Self::cut(&hash.0, 8)
    }

    fn cut(bytes: &[u8; 32], significant: usize) -> Self {
        let mut prefix = [0u8; 8];
        let n = significant.min(8);
        prefix[..n].copy_from_slice(&bytes[..n]);
        HashPrefix(prefix)
    }
}

impl KeyCodec for HashPrefix {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn decode(bytes: &mut Input<'_>) -> Result<Self, DecodeError> {
        Ok(HashPrefix(bytes.array()?))
    }
}

/// txid to number.
pub struct TxNums;

impl Table for TxNums {
    const NAME: &'static str = "tx_nums";
    const FAMILY: Family = Family::TxNums;
    type Key = (HashPrefix, TxNum);
    type Value = ();
}

/// Block hash to height.
pub struct HeightByHash;

impl Table for HeightByHash {
    const NAME: &'static str = "height_by_hash";
    const FAMILY: Family = Family::Small;
    const TAG: Option<u8> = Some(b'h');
    type Key = (HashPrefix, Height);
    type Value = ();
}

/// Monotone time to height.
pub struct HeightByTime;

impl Table for HeightByTime {
    const NAME: &'static str = "height_by_time";
    const FAMILY: Family = Family::Small;
    const TAG: Option<u8> = Some(b't');
    type Key = (MonoTime, Height);
    type Value = ();
}
