//! Records of a block file, with a key and without: blocks that are found are whole, in order, and within the file.

use std::fs;

use cairn_model::Network;
use cairn_sources::{BlockFiles, SourceError, Survey};
use tempfile::TempDir;

use super::bounds::within;

/// The key of the second folder.
const KEY: [u8; 8] = [0x6b, 0x01, 0xff, 0x00, 0x42, 0x17, 0x99, 0xc3];
/// Memory for windows of files, which are searched in pieces of 1 MiB, and one block.
const FREE_BYTES: u64 = 4 << 20;

/// Bytes under a key.
pub fn keyed(bytes: &[u8], key: [u8; 8]) -> Vec<u8> {
    bytes.iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key).collect()
}

/// The content of `blk00000.dat`, before the key is applied.
pub fn run(bytes: &[u8]) {
    thread_local! {
        static FOLDERS: [TempDir; 2] = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    }
    FOLDERS.with(|[plain, with_key]| {
        fs::write(plain.path().join("blk00000.dat"), bytes).unwrap();
        fs::write(with_key.path().join("xor.dat"), KEY).unwrap();
        fs::write(with_key.path().join("blk00000.dat"), keyed(bytes, KEY)).unwrap();
        for folder in [plain, with_key] {
            within(FREE_BYTES + 80 * bytes.len() as u64, || {
                // A folder that is not one of blocks has an error with a type.
                let _ = check(folder, bytes);
            });
        }
    });
}

fn check(folder: &TempDir, bytes: &[u8]) -> Result<(), SourceError> {
    let files = BlockFiles::open(folder.path(), Network::Regtest)?;
    let mut survey = files.survey(&|_| {})?;
    let stats = survey.stats();
    assert_eq!(stats.bytes, bytes.len() as u64);
    assert_eq!(stats.blocks, stats.chain_blocks + stats.stale_blocks + stats.orphan_blocks);
    assert!(stats.zero_bytes + stats.garbage_bytes <= stats.bytes, "{stats:?}");
    blocks_are_sound(&files, &survey, bytes);
    let again = survey.refresh(&files)?;
    assert!(!again.changed(), "a second look finds another chain: {again:?}");
    assert_eq!(survey.stats(), stats, "a second look counts otherwise");
    Ok(())
}

fn blocks_are_sound(files: &BlockFiles, survey: &Survey, bytes: &[u8]) {
    let (mut previous, mut buf) = (None, Vec::new());
    for (height, block) in survey.blocks(0..u32::MAX).enumerate() {
        assert_eq!(block.height as usize, height);
        assert!(previous.is_none_or(|hash| hash == block.previous), "block {height} has another parent");
        previous = Some(block.hash);
        let place = block.offset as usize..block.offset as usize + block.size as usize;
        let raw = bytes.get(place).unwrap_or_else(|| panic!("block {height} ends behind the file: {block:?}"));
        if let Ok(decoded) = files.read_decoded(&block, 8, &mut buf) {
            assert_eq!(
                (decoded.hash, decoded.size, decoded.txs.len()),
                (block.hash, block.size, block.tx_count as usize)
            );
            assert_eq!(raw, buf, "block {height} reads otherwise");
        }
    }
}
