//! Random and mutated bytes: typed errors, never a panic, never memory out of proportion.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use bitcoin::{Amount, ScriptBuf, TxOut, consensus::serialize};
use cairn_chaingen::{Coin, EverythingOptions, corefiles::write_undo, everything};
use cairn_sources::{IdNotes, decode_block, decode_undo};
use proptest::prelude::*;

fn block_bytes() -> Vec<Vec<u8>> {
    let options = EverythingOptions { blocks: 125, max_txs: 6, forks: vec![], showpieces: false };
    let chain = everything(21, &options).unwrap();
    chain.active().iter().skip(100).map(|m| serialize(&m.block)).collect()
}

fn script() -> impl Strategy<Value = Vec<u8>> {
    let key = any::<[u8; 32]>().prop_filter_map("a secret key", |bytes| {
        bitcoin::secp256k1::SecretKey::from_slice(&bytes).ok().map(|secret| {
            bitcoin::secp256k1::PublicKey::from_secret_key(&bitcoin::secp256k1::Secp256k1::new(), &secret)
        })
    });
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..120),
        proptest::collection::vec(any::<u8>(), 9_990..=10_000),
        any::<[u8; 20]>().prop_map(|h| [&[0x76, 0xa9, 20][..], &h, &[0x88, 0xac]].concat()),
        any::<[u8; 20]>().prop_map(|h| [&[0xa9, 20][..], &h, &[0x87]].concat()),
        key.clone().prop_map(|k| [&[33][..], &k.serialize(), &[0xac]].concat()),
        key.clone().prop_map(|k| [&[65][..], &k.serialize_uncompressed(), &[0xac]].concat()),
        // Hybrid keys and points off the curve stay as they are.
        key.prop_map(|k| {
            let mut s = [&[65][..], &k.serialize_uncompressed(), &[0xac]].concat();
            s[1] = 6;
            s
        }),
        any::<[u8; 32]>().prop_map(|x| [&[65, 4][..], &x, &x, &[0xac]].concat()),
    ]
}

fn coin() -> impl Strategy<Value = Coin> {
    let value = prop_oneof![0..=Amount::MAX_MONEY.to_sat(), (0u64..21_000_000).prop_map(|n| n * 100_000_000)];
    (value, script(), 0u32..(1 << 30), any::<bool>()).prop_map(|(value, script, height, coinbase)| Coin {
        txout: TxOut { value: Amount::from_sat(value), script_pubkey: ScriptBuf::from_bytes(script) },
        height,
        coinbase,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn undo_round_trip(spent in proptest::collection::vec(proptest::collection::vec(coin(), 1..5), 0..6)) {
        let mut bytes = Vec::new();
        write_undo(&mut bytes, &spent);
        let undo = decode_undo(&bytes).unwrap();
        let counts: Vec<u32> = spent.iter().map(|tx| tx.len() as u32).collect();
        prop_assert_eq!(&undo.tx_inputs, &counts);
        prop_assert_eq!(undo.coins.len(), spent.iter().flatten().count());
        for (read, made) in undo.coins.iter().zip(spent.iter().flatten()) {
            prop_assert_eq!((read.value, read.birth), (made.txout.value.to_sat(), made.height));
            prop_assert_eq!(read.coinbase, made.coinbase);
            prop_assert_eq!(undo.script(read), made.txout.script_pubkey.as_bytes());
        }
        prop_assert_eq!(undo.heights_known(), spent.iter().flatten().all(|c| c.height > 0));
        for cut in 0..bytes.len().min(300) {
            prop_assert!(decode_undo(&bytes[..cut]).is_err());
        }
    }

    #[test]
    fn random_bytes_are_errors(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(decode_block(&bytes, 8).is_err());
        // Undo data has no magic and no checksum of its own, so some random bytes are valid.
        if let Ok(undo) = decode_undo(&bytes) {
            prop_assert!(undo.coins.len() * 3 <= bytes.len());
        }
    }

    #[test]
    fn mutated_undo_never_panics(
        spent in proptest::collection::vec(proptest::collection::vec(coin(), 1..4), 1..4),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = Vec::new();
        write_undo(&mut bytes, &spent);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(undo) = decode_undo(&bytes) {
            prop_assert_eq!(undo.tx_inputs.iter().sum::<u32>() as usize, undo.coins.len());
        }
    }
}

#[test]
fn mutated_blocks_are_errors_or_other_blocks() {
    use rand::{Rng, SeedableRng};
    let blocks = block_bytes();
    let mut kinds = std::collections::BTreeSet::new();
    for seed in 0..30_000u64 {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
        let original = &blocks[rng.random_range(0..blocks.len())];
        let mut bytes = original.clone();
        for _ in 0..rng.random_range(1..4) {
            let at = rng.random_range(80..bytes.len());
            match rng.random_range(0..4) {
                0 => bytes[at] = [0, 1, 0xfd, 0xfe, 0xff, 0x7f][rng.random_range(0..6)],
                1 => bytes[at] = rng.random(),
                2 => bytes.truncate(at.max(90)),
                _ => bytes.insert(at, rng.random()),
            }
        }
        match decode_block(&bytes, 8) {
            Ok(_) => assert_eq!(bytes, *original, "seed {seed}"),
            Err(error) => {
                assert!(error.at <= bytes.len(), "seed {seed}");
                kinds.insert(format!("{:?}", error.kind));
            }
        }
    }
    // The mutations reach the checks, not only the first of them.
    assert!(kinds.len() >= 9, "{kinds:?}");
}

/// A note gives the same ids as hashing, and holds only for the bytes that it was written for.
#[test]
fn notes_hold_for_their_own_block_only() {
    use rand::{Rng, SeedableRng};
    let (notes, others) = (IdNotes::new(7), IdNotes::new(8));
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    let mut before: Option<Vec<u8>> = None;
    for raw in block_bytes() {
        let hashed = decode_block(&raw, 8).unwrap();
        let count = hashed.txs.len() as u32;
        let mut note = vec![0xee; 3];
        notes.write(&raw, &hashed, &mut note);
        let note = note.split_off(3);
        assert_eq!(notes.decode(&raw, &note, count).unwrap(), hashed);
        assert_eq!(others.decode(&raw, &note, count), None);
        assert!([count - 1, count + 1, u32::MAX].iter().all(|n| notes.decode(&raw, &note, *n).is_none()));
        let cut = rng.random_range(0..note.len());
        assert_eq!(notes.decode(&raw, &note[..cut], count), None);
        assert_eq!(before.replace(note.clone()).and_then(|other| notes.decode(&raw, &other, count)), None);
        for _ in 0..200 {
            let (mut raw, mut note) = (raw.clone(), note.clone());
            let bytes = if rng.random() { &mut raw } else { &mut note };
            let at = rng.random_range(0..bytes.len());
            bytes[at] ^= 1 << rng.random_range(0..8);
            assert_eq!(notes.decode(&raw, &note, count), None);
        }
    }
}
