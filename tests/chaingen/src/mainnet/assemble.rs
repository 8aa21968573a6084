//! Raw blocks: coinbase, Merkle trees, header and proof of work.

use bitcoin::hashes::{Hash, HashEngine, sha256d};

use crate::corefiles::write_compact_size;

/// Regtest's only target.
const BITS: u32 = 0x207f_ffff;

pub(super) fn sha256d(bytes: &[u8]) -> [u8; 32] {
    sha256d::Hash::hash(bytes).to_byte_array()
}

/// The Merkle root of the leaves, which are consumed.
pub(super) fn merkle_root(level: &mut Vec<[u8; 32]>) -> [u8; 32] {
    while level.len() > 1 {
        let pairs = level.len().div_ceil(2);
        for pair in 0..pairs {
            let mut engine = sha256d::Hash::engine();
            engine.input(&level[2 * pair]);
            engine.input(&level[(2 * pair + 1).min(level.len() - 1)]);
            level[pair] = sha256d::Hash::from_engine(engine).to_byte_array();
        }
        level.truncate(pairs);
    }
    level.first().copied().unwrap_or_default()
}

/// A coinbase without witness (the form its txid hashes) and its full form, which differs if it commits to witnesses.
pub(super) struct Coinbase {
    pub(super) base: Vec<u8>,
    pub(super) full: Vec<u8>,
}

/// Makes a coinbase that pays `sats` to `script`, with a tag and, if a root is given, the commitment to it.
pub(super) fn coinbase(height: u32, tag: &[u8], sats: u64, script: &[u8], witness_root: Option<[u8; 32]>) -> Coinbase {
    let mut script_sig = bitcoin::script::Builder::new().push_int(i64::from(height)).into_bytes();
    script_sig.push(tag.len() as u8);
    script_sig.extend_from_slice(tag);
    let mut middle = vec![1];
    middle.extend_from_slice(&[0; 32]);
    middle.extend_from_slice(&[0xff; 4]);
    middle.push(script_sig.len() as u8);
    middle.extend_from_slice(&script_sig);
    middle.extend_from_slice(&[0xff; 4]);
    middle.push(1 + u8::from(witness_root.is_some()));
    middle.extend_from_slice(&sats.to_le_bytes());
    write_compact_size(&mut middle, script.len() as u64);
    middle.extend_from_slice(script);
    if let Some(root) = witness_root {
        let mut committed = [0; 64];
        committed[..32].copy_from_slice(&root);
        middle.extend_from_slice(&[0; 8]);
        middle.extend_from_slice(&[38, 0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed]);
        middle.extend_from_slice(&sha256d(&committed));
    }
    let base = [&[2, 0, 0, 0], &middle[..], &[0; 4]].concat();
    let full = match witness_root {
        Some(_) => [&[2, 0, 0, 0, 0, 1], &middle[..], &[1, 32], &[0; 32], &[0; 4]].concat(),
        None => base.clone(),
    };
    Coinbase { base, full }
}

/// Makes a header with proof of work and returns it with its hash.
pub(super) fn mine(previous: &[u8; 32], merkle_root: &[u8; 32], time: u32) -> ([u8; 80], [u8; 32]) {
    let mut header = [0; 80];
    header[..4].copy_from_slice(&0x2000_0000u32.to_le_bytes());
    header[4..36].copy_from_slice(previous);
    header[36..68].copy_from_slice(merkle_root);
    header[68..72].copy_from_slice(&time.to_le_bytes());
    header[72..76].copy_from_slice(&BITS.to_le_bytes());
    let mut nonce = 0u32;
    loop {
        header[76..].copy_from_slice(&nonce.to_le_bytes());
        let hash = sha256d(&header);
        // The target is 7fffff followed by zeros: a top byte below 7f is always under it.
        if hash[31] < 0x7f {
            return (header, hash);
        }
        nonce = nonce.wrapping_add(1);
    }
}
