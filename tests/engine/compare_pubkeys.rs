//! The keys of P2PK outputs against the oracle.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{PublicKey, ScriptBuf, hashes::Hash};
use cairn_reader::View;
use cairn_tables::pubkeys::Pubkeys;
use cairn_testkit::Oracle;

/// Panics at the first difference.
pub fn assert_pubkeys_equal(view: &View<'_>, oracle: &Oracle) {
    let mut outputs: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    let all = oracle.blocks().iter().flat_map(|block| &block.txdata).flat_map(|tx| &tx.output);
    all.filter_map(|output| key_of(&output.script_pubkey)).for_each(|key| *outputs.entry(key).or_default() += 1);
    let mut expected: BTreeMap<[u8; 20], BTreeSet<(Vec<u8>, u64)>> = BTreeMap::new();
    for (key, count) in &outputs {
        for hash in hashes(key) {
            expected.entry(hash).or_default().insert((key.clone(), *count));
        }
    }
    for (hash, keys) in &expected {
        let found: BTreeSet<_> =
            view.scripts().pubkeys(hash).unwrap().into_iter().map(|found| (found.key, found.outputs)).collect();
        assert_eq!(&found, keys, "keys of {}", hex::encode(hash));
    }
    let rows = view.scan::<Pubkeys>(None).unwrap().collect::<Result<Vec<_>, _>>().unwrap().len();
    assert_eq!(rows, expected.values().map(BTreeSet::len).sum::<usize>(), "rows of pubkeys");
    assert_eq!(view.scripts().pubkeys(&[0x5a; 20]).unwrap(), []);
}

/// The key of a P2PK script: a push of 33 or 65 bytes that begin as keys do, and OP_CHECKSIG. As in Core, hybrid keys
/// (06, 07) are keys.
fn key_of(script: &ScriptBuf) -> Option<Vec<u8>> {
    match script.as_bytes() {
        [33, key @ .., 0xac] if key.len() == 33 && matches!(key[0], 2 | 3) => Some(key.to_vec()),
        [65, key @ .., 0xac] if key.len() == 65 && matches!(key[0], 4 | 6 | 7) => Some(key.to_vec()),
        _ => None,
    }
}

/// HASH160 of the key as it stands, and of its two standard forms.
fn hashes(key: &[u8]) -> BTreeSet<[u8; 20]> {
    let own = bitcoin::hashes::hash160::Hash::hash(key).to_byte_array();
    // A hybrid form (06, 07) is the uncompressed one, with the parity of y in its first byte.
    let mut plain = key.to_vec();
    if let [first @ (6 | 7), .., last] = &mut plain[..]
        && *first & 1 == *last & 1
    {
        *first = 4;
    }
    let forms = PublicKey::from_slice(&plain)
        .ok()
        .into_iter()
        .flat_map(|key| [true, false].map(|compressed| PublicKey { compressed, ..key }.pubkey_hash().to_byte_array()));
    forms.chain([own]).collect()
}
