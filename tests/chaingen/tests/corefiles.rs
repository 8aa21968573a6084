//! The irregularities of real folders appear as the layout asks for them.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::{HashMap, HashSet};
use std::path::Path;

use bitcoin::consensus::{deserialize, serialize};
use bitcoin::hashes::{Hash, sha256d};
use bitcoin::{Block, BlockHash, Network};
use cairn_chaingen::corefiles::{FileOptions, Layout, Location, write_chain, write_undo};
use cairn_chaingen::{Chain, EverythingOptions, everything};

const KEY: [u8; 8] = [0x11, 0, 0xfe, 4, 5, 0xa6, 7, 0x80];

fn chain() -> Chain {
    let options = EverythingOptions { blocks: 130, max_txs: 5, forks: vec![3, 9], showpieces: false };
    everything(5, &options).unwrap()
}

fn plain(path: &Path) -> Vec<u8> {
    let mut bytes = std::fs::read(path).unwrap();
    for (offset, byte) in bytes.iter_mut().enumerate() {
        *byte ^= KEY[offset % 8];
    }
    bytes
}

/// Every offset at which a whole block starts behind a magic and its size.
fn blocks(folder: &Path, files: u32) -> Vec<(BlockHash, Location)> {
    let mut found = Vec::new();
    for file in 0..files {
        let bytes = plain(&folder.join(format!("blk{file:05}.dat")));
        for at in 0..bytes.len().saturating_sub(88) {
            if bytes[at..at + 4] == Network::Regtest.magic().to_bytes() {
                let size = u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
                if let Some(payload) = bytes.get(at + 8..at + 8 + size)
                    && let Ok(block) = deserialize::<Block>(payload)
                {
                    found.push((block.block_hash(), Location { file, offset: at as u64 + 8 }));
                }
            }
        }
    }
    found
}

#[test]
fn every_block_is_found_in_an_untidy_folder() {
    let chain = chain();
    let folder = tempfile::tempdir().unwrap();
    let mut files = FileOptions::new(Network::Regtest, KEY);
    files.max_file_size = 60_000;
    files.preallocate = true;
    let layout = Layout {
        shuffle: 20,
        seed: 8,
        duplicate_every: 10,
        half_every: 7,
        stray_every: 9,
        old_undo_every: 4,
        ..Layout::tidy(files)
    };
    let written = write_chain(folder.path(), &chain, &layout).unwrap();
    assert!(written.files > 1);
    assert_eq!(std::fs::read(folder.path().join("xor.dat")).unwrap(), KEY);

    let found = blocks(folder.path(), written.files);
    let places: HashSet<_> = found.iter().copied().collect();
    assert!(written.blocks.iter().all(|block| places.contains(block)), "locations are right");
    let hashes: HashSet<_> = found.iter().map(|(hash, _)| *hash).collect();
    assert_eq!(hashes, chain.arrivals().iter().map(|mined| mined.hash()).collect());
    assert!(found.len() > hashes.len() + 10, "duplicates");
    let order: Vec<u32> = written.blocks.iter().map(|(hash, _)| chain.get(hash).unwrap().height).collect();
    assert!(order.windows(2).filter(|pair| pair[1] < pair[0]).count() > 20, "out of order");

    let last = folder.path().join(format!("blk{:05}.dat", written.files - 1));
    let raw = std::fs::read(last).unwrap();
    assert_eq!(raw.len() % (16 << 20), 0);
    assert!(raw[1 << 20..].iter().all(|&byte| byte == 0), "preallocated zeros are not obfuscated");
}

#[test]
fn undo_records_bind_to_the_parent_and_lie_in_the_file_of_their_block() {
    let chain = chain();
    let folder = tempfile::tempdir().unwrap();
    let mut files = FileOptions::new(Network::Regtest, KEY);
    files.max_file_size = 60_000;
    let layout = Layout { shuffle: 40, seed: 2, ..Layout::tidy(files) };
    let written = write_chain(folder.path(), &chain, &layout).unwrap();
    let of_block: HashMap<_, _> = written.blocks.iter().copied().collect();
    let mut undone = HashSet::new();
    for (hash, at) in &written.undo {
        let mined = chain.get(hash).unwrap();
        assert_eq!(at.file, of_block[hash].file);
        let mut undo = Vec::new();
        write_undo(&mut undo, &mined.spent);
        let bytes = plain(&folder.path().join(format!("rev{:05}.dat", at.file)));
        let start = at.offset as usize;
        assert_eq!(bytes[start - 8..start - 4], Network::Regtest.magic().to_bytes());
        assert_eq!(bytes[start - 4..start], (undo.len() as u32).to_le_bytes());
        assert_eq!(bytes[start..start + undo.len()], undo);
        let bound = [mined.block.header.prev_blockhash.as_byte_array(), &undo[..]].concat();
        let checksum = sha256d::Hash::hash(&bound).to_byte_array();
        assert_eq!(bytes[start + undo.len()..start + undo.len() + 32], checksum);
        assert!(undone.insert(*hash));
    }
    // Every active block but genesis was connected.
    assert!(chain.active().iter().skip(1).all(|mined| undone.contains(&mined.hash())));
    assert!(!undone.contains(&chain.arrivals()[0].hash()));
    let ordered = |list: &[(BlockHash, Location)]| list.windows(2).all(|pair| pair[0].1 < pair[1].1);
    assert!(ordered(&written.blocks));
    assert!(!ordered(&written.undo), "connect order differs from file order");
}

#[test]
fn a_rival_that_never_was_connected_has_no_undo_record() {
    let options = EverythingOptions { blocks: 110, max_txs: 2, forks: vec![4], showpieces: false };
    let chain = everything(1, &options).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let files = FileOptions::new(Network::Regtest, KEY);
    let written = write_chain(folder.path(), &chain, &Layout::tidy(files)).unwrap();
    let stale = chain.stale();
    let was_active = stale.iter().find(|branch| branch.len() == 4).unwrap();
    let never_active = stale.iter().find(|branch| branch.len() == 1).unwrap();
    let has = |hash| written.undo.iter().any(|(other, _)| *other == hash);
    assert!(was_active.iter().all(|mined| has(mined.hash())));
    assert!(!has(never_active[0].hash()));
}

#[test]
fn options_leave_out_what_they_say() {
    let chain = chain();
    let folder = tempfile::tempdir().unwrap();
    let files = FileOptions {
        magic: Network::Bitcoin.magic().to_bytes(),
        xor_key: None,
        undo: false,
        ..FileOptions::new(Network::Regtest, [0; 8])
    };
    let layout = Layout { stale: false, ..Layout::tidy(files) };
    let written = write_chain(folder.path(), &chain, &layout).unwrap();
    assert_eq!(written.blocks.len(), chain.active().len());
    assert!(written.undo.is_empty());
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["blk00000.dat"]);
    let bytes = std::fs::read(folder.path().join("blk00000.dat")).unwrap();
    assert_eq!(bytes[..4], [0xf9, 0xbe, 0xb4, 0xd9]);
    let genesis = serialize(&chain.arrivals()[0].block);
    assert_eq!(bytes[8..8 + genesis.len()], genesis);
}
