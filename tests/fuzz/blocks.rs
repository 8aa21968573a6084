//! The block decoder over generated blocks and those of mainnet.

use std::{fs, sync::OnceLock};

use bitcoin::{
    Block, Witness,
    consensus::{deserialize, serialize},
};
use cairn_chaingen::{EverythingOptions, everything};
use cairn_sources::{DecodeErrorKind, decode_block};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::{
    mutate::{mutate, noise},
    run,
    targets::parsers::{blocks::check, bounds::within_bounds},
};

fn generated() -> &'static [Vec<u8>] {
    static BLOCKS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    BLOCKS.get_or_init(|| {
        let options = EverythingOptions { blocks: 135, max_txs: 6, forks: vec![], showpieces: false };
        let chain = everything(77, &options).unwrap();
        chain.active().iter().skip(100).map(|mined| serialize(&mined.block)).collect()
    })
}

fn mutated_of(corpus: &[Vec<u8>], rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = corpus[rng.random_range(0..corpus.len())].clone();
    let donor = &corpus[rng.random_range(0..corpus.len())];
    let head = bytes[..80].to_vec();
    mutate(rng, &mut bytes, donor);
    // The header is 80 arbitrary bytes; changes there teach nothing.
    if bytes.len() >= 80 && rng.random_ratio(9, 10) {
        bytes[..80].copy_from_slice(&head);
    }
    bytes
}

#[test]
fn originals_are_blocks() {
    assert!(generated().iter().all(|raw| check(raw.clone())));
}

/// The coinbase's witness is one item of 32 bytes; nothing else may pass for it, even if it ends the same.
#[test]
fn other_witnesses_of_the_coinbase_hold_no_commitment() {
    let blocks = generated().iter().map(|raw| deserialize::<Block>(raw).unwrap());
    let mut found = 0;
    for mut block in blocks.filter(|block| !block.txdata[0].input[0].witness.is_empty()) {
        let reserved = block.txdata[0].input[0].witness[0].to_vec();
        block.txdata[0].input[0].witness = Witness::from_slice(&[&[1][..], &reserved]);
        let bytes = serialize(&block);
        assert_eq!(decode_block(&bytes, 8).unwrap_err().kind, DecodeErrorKind::WitnessMismatch);
        assert!(!check(bytes));
        found += 1;
    }
    assert!(found > 0);
}

#[test]
fn mutated_blocks() {
    let corpus = generated();
    run(|rng| {
        check(mutated_of(corpus, rng));
    });
}

#[test]
fn noise_is_no_block() {
    run(|rng| {
        let mut bytes = noise(rng, 600);
        assert!(within_bounds(&bytes, |bytes| decode_block(bytes, 8)).is_err());
        // Behind a header.
        bytes.splice(0..0, [0x11; 80]);
        check(bytes);
    });
}

#[test]
fn mutated_blocks_of_mainnet() {
    let data = cairn_testkit::shared_data_or_skip!();
    let files = fs::read_dir(data.join("mainnet/blocks")).unwrap().map(|file| file.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "bin"));
    // The large ones take long; the small ones have what there is.
    let corpus: Vec<Vec<u8>> = files.map(|path| fs::read(path).unwrap()).filter(|raw| raw.len() < 300_000).collect();
    assert!(!corpus.is_empty() && corpus.iter().all(|raw| check(raw.clone())));
    let small: Vec<Vec<u8>> = corpus.iter().filter(|raw| raw.len() < 30_000).cloned().collect();
    run(|rng| {
        let of = if rng.random_ratio(1, 50) { &corpus } else { &small };
        check(mutated_of(of, rng));
    });
}
