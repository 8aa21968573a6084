//! Shared by the tests of block files.
#![allow(dead_code, clippy::print_stdout)]

use std::{
    fs,
    path::{Path, PathBuf},
};

use bitcoin::{consensus::serialize, hashes::Hash};
use cairn_chaingen::{
    Chain, Mined,
    corefiles::{FileOptions, Layout},
};
use cairn_model::{BlockHash, Network};
use cairn_sources::{BlockFiles, Survey};

/// The folder of real chain data, if it is there.
pub(crate) fn shared_data(test: &str) -> Option<PathBuf> {
    let fallback = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let dir = std::env::var_os("CAIRN_SHARED_DATA").map_or_else(|| PathBuf::from(fallback), PathBuf::from);
    if dir.join("mainnet/blk00000.dat").is_file() {
        return Some(dir);
    }
    println!("skipped: {test} (no real data at {})", dir.display());
    None
}

pub(crate) fn hash_of(mined: &Mined) -> BlockHash {
    BlockHash(mined.hash().to_byte_array())
}

pub(crate) fn tidy(key: [u8; 8]) -> Layout {
    Layout::tidy(FileOptions::new(bitcoin::Network::Regtest, key))
}

pub(crate) fn open(dir: &Path) -> BlockFiles {
    BlockFiles::open(dir, Network::Regtest).unwrap()
}

pub(crate) fn survey(files: &BlockFiles) -> Survey {
    files.survey(&|_| {}).unwrap()
}

/// Compares a survey and everything it leads to with the chain that the files were written from: order, numbers,
/// times, every transaction, and every spent coin that has undo data. Returns how many blocks had theirs.
pub(crate) fn check_against(files: &BlockFiles, survey: &Survey, chain: &Chain) -> usize {
    let tip = survey.tip().unwrap();
    let mut expected = vec![];
    let mut at = chain.get(&bitcoin::BlockHash::from_byte_array(tip.hash.0)).expect("a block of the chain");
    assert_eq!(at.height, chain.tip().height);
    while at.height > 0 {
        expected.push(at);
        at = chain.get(&at.block.header.prev_blockhash).unwrap();
    }
    expected.push(at);
    expected.reverse();
    assert_eq!(survey.len(), expected.len());
    assert_eq!(survey.gap(), None, "the chain is whole");
    let (mut next_tx, mut time, mut with_undo) = (0, 0, 0);
    let (mut raw, mut undo_raw) = (vec![], vec![]);
    for (block, mined) in survey.blocks(0..u32::MAX).zip(expected) {
        assert_eq!((block.height, block.hash), (mined.height, hash_of(mined)));
        assert_eq!(survey.height_of(&block.hash), Some(block.height));
        assert_eq!(survey.block(block.height), Some(block));
        let header = &mined.block.header;
        assert_eq!((block.previous.0, block.bits), (header.prev_blockhash.to_byte_array(), header.bits.to_consensus()));
        assert_eq!((block.first_tx.0, block.tx_count as usize), (next_tx, mined.block.txdata.len()));
        next_tx += mined.block.txdata.len() as u64;
        time = time.max(mined.block.header.time);
        assert_eq!(block.mono_time, time);
        let decoded = files.read_decoded(&block, 8, &mut raw).unwrap();
        assert_eq!(raw, serialize(&mined.block));
        assert_eq!(decoded.hash, block.hash);
        assert_eq!(decoded.weight(), mined.block.weight().to_wu());
        let txids: Vec<_> = mined.block.txdata.iter().map(|t| t.compute_txid().to_byte_array()).collect();
        assert_eq!(decoded.txs.iter().map(|t| t.txid.0).collect::<Vec<_>>(), txids);
        for (flags, input) in decoded.flags.iter().zip(mined.block.txdata[1..].iter().flat_map(|t| &t.input)) {
            assert!(flags.anyone_can_pay || !anyone_can_pay(input));
            assert!(!flags.coinbase);
        }
        if let Some(undo) = files.read_undo(&block, &decoded, &mut undo_raw).unwrap() {
            with_undo += 1;
            let coins: Vec<_> = mined.spent.iter().flatten().collect();
            assert_eq!(undo.coins.len(), coins.len());
            assert_eq!(undo.coins.len(), decoded.prevouts.len());
            for (coin, made) in undo.coins.iter().zip(coins) {
                assert_eq!((coin.value, coin.birth), (made.txout.value.to_sat(), made.height), "{}", block.height);
                assert_eq!(coin.coinbase, made.coinbase);
                assert_eq!(undo.script(coin), made.txout.script_pubkey.as_bytes());
            }
        }
    }
    assert_eq!(survey.tip().map_or(0, |tip| tip.first_tx.0 + u64::from(tip.tx_count)), next_tx);
    with_undo
}

/// XORs a whole file, as it lies on disk, to or from plain bytes.
pub(crate) fn xor(bytes: &mut [u8], key: [u8; 8]) {
    bytes.iter_mut().zip(key.iter().cycle()).for_each(|(b, k)| *b ^= k);
}

/// A record as block files hold it.
pub(crate) fn record(raw: &[u8]) -> Vec<u8> {
    [&Network::Regtest.magic()[..], &(raw.len() as u32).to_le_bytes(), raw].concat()
}

pub(crate) fn write(dir: &Path, file: &str, bytes: &[u8]) {
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join(file), bytes).unwrap();
}

/// Whether an input has a signature with SIGHASH_ANYONECANPAY, as rust-bitcoin parses signatures.
pub(crate) fn anyone_can_pay(input: &bitcoin::TxIn) -> bool {
    let ecdsa =
        |bytes: &[u8]| bitcoin::ecdsa::Signature::from_slice(bytes).is_ok_and(|s| s.sighash_type.to_u32() & 0x80 != 0);
    let pushed = input.script_sig.instructions().map_while(Result::ok).any(|instruction| match instruction {
        bitcoin::script::Instruction::PushBytes(bytes) => ecdsa(bytes.as_bytes()),
        bitcoin::script::Instruction::Op(_) => false,
    });
    let key_path = input.witness.len() == 1
        && bitcoin::taproot::Signature::from_slice(&input.witness[0]).is_ok_and(|s| s.sighash_type as u8 & 0x80 != 0);
    pushed || input.witness.iter().any(ecdsa) || key_path
}
