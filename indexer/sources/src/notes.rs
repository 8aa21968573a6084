//! Stored ids of a block's transactions and scripts, for decoding it again.
//!
//! Bulk indexing reads every block twice. SHA-256 is the largest cost of decoding, so the first pass writes a note, and
//! the second only compares a checksum, at memory speed.

use cairn_model::{ScriptPrefix, TxMeta, Txid};
use rapidhash::v3::{RapidSecrets, rapidhash_v3_seeded};

use crate::{
    decode::{Decoded, decode_with},
    ids::Ids,
};

/// Ids from a note.
struct Noted<'n> {
    txids: std::slice::Iter<'n, [u8; 32]>,
    prefixes: std::slice::Iter<'n, [u8; 8]>,
}

impl Ids for Noted<'_> {
    fn txid(&mut self, _: &[&[u8]]) -> Option<Txid> {
        self.txids.next().map(|txid| Txid(*txid))
    }

    fn prefix(&mut self, _: &[u8]) -> Option<ScriptPrefix> {
        self.prefixes.next().map(|prefix| ScriptPrefix(*prefix))
    }

    fn are_all(&self, _: &[u8; 80], _: &[TxMeta]) -> bool {
        self.txids.len() == 0 && self.prefixes.len() == 0
    }
}

/// Writes and reads notes of a block's ids: a checksum (8 bytes), its txids (32 each), and the prefixes of its
/// spendable outputs' scripts (8 each).
///
/// The checksum covers the block's bytes and the note. It is keyed: without the seed, nobody can construct other bytes
/// that match a note.
pub struct IdNotes {
    key: RapidSecrets,
}

impl IdNotes {
    /// Notes with one seed; notes with another seed do not match.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        IdNotes { key: RapidSecrets::seed(seed) }
    }

    /// Appends the note of a block that was decoded from `raw`.
    pub fn write(&self, raw: &[u8], block: &Decoded, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; 8]);
        block.txs.iter().for_each(|tx| out.extend_from_slice(&tx.txid.0));
        block.outputs.iter().filter(|o| o.spendable).for_each(|o| out.extend_from_slice(&o.id.prefix.0));
        let checksum = self.checksum(raw, &out[start + 8..]);
        out[start..start + 8].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Decodes a block of `tx_count` transactions with the ids of its note, and hashes only the header. `None` if the
    /// note does not match the bytes.
    #[must_use]
    pub fn decode(&self, raw: &[u8], note: &[u8], tx_count: u32) -> Option<Decoded> {
        let (checksum, ids) = note.split_first_chunk::<8>()?;
        if u64::from_le_bytes(*checksum) != self.checksum(raw, ids) {
            return None;
        }
        let (txids, prefixes) = ids.split_at_checked(tx_count as usize * 32)?;
        let (txids, prefixes) = (txids.as_chunks().0.iter(), prefixes.as_chunks().0.iter());
        decode_with(raw, Noted { txids, prefixes }).ok()
    }

    fn checksum(&self, raw: &[u8], ids: &[u8]) -> u64 {
        rapidhash_v3_seeded(raw, &self.key) ^ rapidhash_v3_seeded(ids, &self.key).rotate_left(32)
    }
}
