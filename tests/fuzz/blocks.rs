//! The block decoder against rust-bitcoin's, which knows nothing of ours.

use std::{fs, sync::OnceLock};

use bitcoin::{
    Block, Witness,
    consensus::{deserialize, serialize},
    hashes::Hash,
};
use cairn_chaingen::{EverythingOptions, everything};
use cairn_sources::{DecodeErrorKind, Decoded, decode_block};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::{
    mutate::{mutate, noise},
    run, within_bounds,
};

fn generated() -> &'static [Vec<u8>] {
    static BLOCKS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    BLOCKS.get_or_init(|| {
        let options = EverythingOptions { blocks: 135, max_txs: 6, forks: vec![], showpieces: false };
        let chain = everything(77, &options).unwrap();
        chain.active().iter().skip(100).map(|mined| serialize(&mined.block)).collect()
    })
}

/// What decoded must be what rust-bitcoin says.
fn assert_same(decoded: &Decoded, block: &Block) {
    assert_eq!(decoded.hash.0, block.block_hash().to_byte_array());
    assert_eq!(decoded.weight(), block.weight().to_wu());
    assert_eq!(decoded.txs.len(), block.txdata.len());
    assert_eq!(decoded.coinbase_script, block.txdata[0].input[0].script_sig.as_bytes());
    let mut spent = decoded.prevouts.iter();
    for (i, (ours, theirs)) in decoded.txs.iter().zip(&block.txdata).enumerate() {
        assert_eq!(ours.txid.0, theirs.compute_txid().to_byte_array());
        assert_eq!((ours.size as usize, ours.base_size as usize), (theirs.total_size(), theirs.base_size()));
        for input in theirs.input.iter().filter(|_| i > 0) {
            let prevout = spent.next().unwrap();
            let out = input.previous_output;
            assert_eq!((prevout.txid.0, prevout.vout), (out.txid.to_byte_array(), out.vout));
        }
        let outputs = &decoded.outputs[ours.outputs.start as usize..ours.outputs.end as usize];
        assert_eq!(outputs.len(), theirs.output.len());
        for (ours, theirs) in outputs.iter().zip(&theirs.output) {
            assert_eq!(ours.value, theirs.value.to_sat());
            assert_eq!(decoded.script(ours), theirs.script_pubkey.as_bytes());
        }
    }
    assert_eq!(spent.next(), None);
    assert_eq!(decoded.flags.len(), decoded.prevouts.len());
}

/// Rules that ours has and a mere deserializer has not.
fn is_stricter(kind: DecodeErrorKind) -> bool {
    use DecodeErrorKind::*;
    matches!(kind, BlockTooLarge | NoTransactions | NoInputs | NoOutputs | BadAmount | BadCoinbase | ExtraCoinbase)
}

/// Decodes; where rust-bitcoin reads a block, the header is first made to fit it, so that the Merkle root does not hide
/// everything behind it. Returns whether it was a block to us.
fn check(mut bytes: Vec<u8>) -> bool {
    let theirs = deserialize::<Block>(&bytes).ok().and_then(|mut block| {
        block.header.merkle_root = block.compute_merkle_root()?;
        bytes[..80].copy_from_slice(&serialize(&block.header));
        // What rust-bitcoin reads but would write otherwise is no canonical block.
        (serialize(&block) == bytes).then_some(block)
    });
    match (within_bounds(&bytes, |bytes| decode_block(bytes, 8)), theirs) {
        (Ok(decoded), Some(block)) => {
            assert_same(&decoded, &block);
            let theirs = block.check_witness_commitment();
            // Without any witness rust-bitcoin asks for none either.
            assert_eq!(decoded.check_witnesses(&bytes).is_ok(), theirs, "witness commitment");
            true
        }
        (Ok(_), None) => panic!("a block to us, but not to rust-bitcoin"),
        (Err(error), Some(block)) => {
            // Without outputs a transaction is smaller than any that counts are checked against.
            let empty = block.txdata.iter().any(|tx| tx.input.is_empty() || tx.output.is_empty());
            assert!(empty || is_stricter(error.kind), "no block to us ({error}), but one to rust-bitcoin");
            false
        }
        (Err(error), None) => {
            assert!(error.at <= bytes.len());
            false
        }
    }
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
        assert!(decode_block(&bytes, 8).unwrap().check_witnesses(&bytes).is_err());
        assert!(check(bytes));
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
