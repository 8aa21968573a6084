//! Aggregation of keys by BIP 327, and the extended key of an aggregate by BIP 328.

use bitcoin::{
    NetworkKind,
    bip32::{ChainCode, ChildNumber, Fingerprint, Xpub},
    hashes::{Hash, HashEngine, sha256},
    secp256k1::{PublicKey, Scalar, Secp256k1, Verification},
};

/// The chain code that BIP 328 gives to aggregates.
const CHAIN_CODE: [u8; 32] = [
    0x86, 0x80, 0x87, 0xca, 0x02, 0xa6, 0xf9, 0x74, 0xc4, 0x59, 0x89, 0x24, 0xc3, 0x6b, 0x57, 0x76, 0x2d, 0x32, 0xcb,
    0x45, 0x71, 0x71, 0x67, 0xe3, 0x00, 0x62, 0x2c, 0x71, 0x67, 0xe3, 0x89, 0x65,
];

/// Aggregates keys in their order (`KeyAgg`). `None` without keys, and if the sum is the point at infinity or a
/// coefficient is not a scalar; nobody can find keys for either.
pub(crate) fn aggregate<C: Verification>(secp: &Secp256k1<C>, keys: &[PublicKey]) -> Option<PublicKey> {
    let first = keys.first()?;
    let second = keys.iter().find(|key| *key != first);
    let list = tagged("KeyAgg list", keys.iter().map(PublicKey::serialize));
    let mut weighted = Vec::with_capacity(keys.len());
    for key in keys {
        if Some(key) == second {
            weighted.push(*key);
            continue;
        }
        let mut engine = engine("KeyAgg coefficient");
        engine.input(&list);
        engine.input(&key.serialize());
        let coefficient = Scalar::from_be_bytes(sha256::Hash::from_engine(engine).to_byte_array()).ok()?;
        weighted.push(key.mul_tweak(secp, &coefficient).ok()?);
    }
    PublicKey::combine_keys(&weighted.iter().collect::<Vec<_>>()).ok()
}

/// Aggregates keys in the order of their bytes (`KeySort`), as BIP 390 does.
pub(crate) fn aggregate_sorted<C: Verification>(secp: &Secp256k1<C>, mut keys: Vec<PublicKey>) -> Option<PublicKey> {
    keys.sort_by_key(PublicKey::serialize);
    aggregate(secp, &keys)
}

/// Returns the extended key of an aggregate; the network is of no consequence.
pub(crate) fn extended(public_key: PublicKey) -> Xpub {
    Xpub {
        network: NetworkKind::Main,
        depth: 0,
        parent_fingerprint: Fingerprint::default(),
        child_number: ChildNumber::Normal { index: 0 },
        public_key,
        chain_code: ChainCode::from(CHAIN_CODE),
    }
}

/// Begins a tagged hash (BIP 340).
fn engine(tag: &str) -> sha256::HashEngine {
    let tag = sha256::Hash::hash(tag.as_bytes());
    let mut engine = sha256::Hash::engine();
    engine.input(tag.as_byte_array());
    engine.input(tag.as_byte_array());
    engine
}

fn tagged(tag: &str, parts: impl Iterator<Item = [u8; 33]>) -> [u8; 32] {
    let mut engine = engine(tag);
    parts.for_each(|part| engine.input(&part));
    sha256::Hash::from_engine(engine).to_byte_array()
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    const KEYS: [&str; 5] = [
        "02f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9",
        "03dff1d77f2a671c5f36183726db2341be58feae1da2deced843240f7b502ba659",
        "023590a94e768f8e1815c2f24b4d80a8e3149316c3518ce7b7ad338368d038ca66",
        "03935f972da013f80ae011890fa89b67a27b7be6ccb24d3274d18b2d4067f261a9",
        "02dff1d77f2a671c5f36183726db2341be58feae1da2deced843240f7b502ba659",
    ];

    fn sum(indices: &[usize]) -> PublicKey {
        let keys: Vec<_> = indices.iter().map(|&at| PublicKey::from_str(KEYS[at]).unwrap()).collect();
        aggregate(&Secp256k1::verification_only(), &keys).unwrap()
    }

    /// The vectors of BIP 327, `key_agg_vectors.json`.
    #[test]
    fn aggregates_as_bip_327_does() {
        for (keys, wanted) in [
            (&[0, 1, 2][..], "90539eede565f5d054f32cc0c220126889ed1e5d193baf15aef344fe59d4610c"),
            (&[2, 1, 0], "6204de8b083426dc6eaf9502d27024d53fc826bf7d2012148a0575435df54b2b"),
            (&[0, 0, 0], "b436e3bad62b8cd409969a224731c193d051162d8c5ae8b109306127da3aa935"),
            (&[0, 0, 1, 1], "69bc22bfa5d106306e48a20679de1d7389386124d07571d0d872686028c26a3e"),
        ] {
            assert_eq!(sum(keys).x_only_public_key().0.to_string(), wanted, "{keys:?}");
        }
        assert_eq!(aggregate(&Secp256k1::verification_only(), &[]), None);
    }

    /// The vectors of BIP 328.
    #[test]
    fn aggregates_have_the_extended_keys_of_bip_328() {
        for (keys, sum_of, key) in [
            (
                &[3, 0][..],
                "0354240c76b8f2999143301a99c7f721ee57eee0bce401df3afeaa9ae218c70f23",
                "xpub661MyMwAqRbcFt6tk3uaczE1y6EvM1TqXvawXcYmFEWijEM4PDBnuCXwwXEKGEouzXE6QLLRxjatMcLLzJ5LV5Nib1BN7vJg6yp45yHHRbm",
            ),
            (
                &[0, 1, 2],
                "0290539eede565f5d054f32cc0c220126889ed1e5d193baf15aef344fe59d4610c",
                "xpub661MyMwAqRbcFt6tk3uaczE1y6EvM1TqXvawXcYmFEWijEM4PDBnuCXwwVk5TFJk8Tw5WAdV3DhrGfbFA216sE9BsQQiSFTdudkETnKdg8k",
            ),
            (
                &[4, 2, 0, 3],
                "022479f134cdb266141dab1a023cbba30a870f8995b95a91fc8464e56a7d41f8ea",
                "xpub661MyMwAqRbcFt6tk3uaczE1y6EvM1TqXvawXcYmFEWijEM4PDBnuCXwwUvaZYpysLX4wN59tjwU5pBuDjNrPEJbfxjLwn7ruzbXTcUTHkZ",
            ),
        ] {
            let found = sum(keys);
            assert_eq!(found.to_string(), sum_of, "{keys:?}");
            assert_eq!(extended(found).to_string(), key, "{keys:?}");
        }
    }
}
