//! Our block and undo files against those of Bitcoin Core: the same bytes, and readable by it.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::path::Path;

use bitcoin::Network;
use cairn_chaingen::corefiles::{FileOptions, Layout, write_chain};
use cairn_chaingen::{Chain, EverythingOptions, everything};
use common::Kernel;

fn chain(seed: u64) -> Chain {
    everything(seed, &EverythingOptions { blocks: 180, ..EverythingOptions::default() }).unwrap()
}

fn assert_prefix(ours: &Path, theirs: &Path) {
    let (ours, theirs) = (std::fs::read(ours).unwrap(), std::fs::read(theirs).unwrap());
    assert!(ours.len() > 10_000 && theirs.len() >= ours.len());
    let differs = ours.iter().zip(&theirs).position(|(a, b)| a != b);
    assert_eq!(differs, None, "first differing byte");
    assert!(theirs[ours.len()..].iter().all(|&byte| byte == 0), "the rest is preallocated zeros");
}

#[test]
fn block_and_undo_files_equal_those_the_kernel_writes() {
    let chain = chain(21);
    let folder = tempfile::tempdir().unwrap();
    let kernel = Kernel::open(&folder.path().join("kernel"));
    kernel.accept(&chain);
    drop(kernel);
    let theirs = folder.path().join("kernel/blocks");
    let key: [u8; 8] = std::fs::read(theirs.join("xor.dat")).unwrap().try_into().unwrap();
    assert_ne!(key, [0; 8]);
    let ours = folder.path().join("ours");
    let written = write_chain(&ours, &chain, &Layout::tidy(FileOptions::new(Network::Regtest, key))).unwrap();
    assert_eq!(written.blocks.len(), chain.arrivals().len());
    assert_prefix(&ours.join("blk00000.dat"), &theirs.join("blk00000.dat"));
    assert_prefix(&ours.join("rev00000.dat"), &theirs.join("rev00000.dat"));
}

#[test]
fn the_kernel_takes_in_an_untidy_folder() {
    let chain = chain(22);
    let folder = tempfile::tempdir().unwrap();
    let mut files = FileOptions::new(Network::Regtest, *b"\x01\x80\xff\x00Tz\x99\x10");
    files.max_file_size = 300_000;
    files.preallocate = true;
    let layout = Layout { shuffle: 30, seed: 5, duplicate_every: 17, stray_every: 29, ..Layout::tidy(files) };
    let written = write_chain(&folder.path().join("blocks"), &chain, &layout).unwrap();
    assert!(written.files > 4);
    let kernel = Kernel::reindex(folder.path());
    assert_eq!(kernel.height(), chain.tip().height as i32);
    assert_eq!(kernel.tip(), *<bitcoin::BlockHash as AsRef<[u8; 32]>>::as_ref(&chain.tip().hash()));
}
