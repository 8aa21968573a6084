//! The memory of reading: one cache for both handles of a server, with what open files and the chain leave.

use cairn_chaingen::{
    corefiles::Writer,
    mainnet::{MainnetOptions, mainnet_blocks},
};
use cairn_model::{TxNum, Txid};
use cairn_pipeline::{Driver, NoProgress};
use cairn_reader::SecondaryReader;
use cairn_testkit::temp_dir;

use crate::support::*;

/// Looks for ids that are not there and some that are: parts of every filter and index of the table pass the cache.
fn read_all(follower: &SecondaryReader) {
    let reader = follower.reader();
    let view = reader.view().unwrap();
    for n in 0..4_000u32 {
        let mut txid = Txid([0; 32]);
        txid.0[..4].copy_from_slice(&(n.wrapping_mul(1_073_741)).to_be_bytes());
        assert!(view.transactions().coin(&txid, 0).unwrap().is_none());
    }
    for height in 0..=view.tip().height {
        let row = view.header(height).unwrap().unwrap();
        let count = row.tx_count.min(20);
        for n in 0..count {
            view.transactions().get(TxNum(row.first_tx.0 + u64::from(n))).unwrap();
        }
    }
}

#[test]
fn both_handles_share_one_copy() {
    let blocks = temp_dir();
    let mut writer = Writer::create(blocks.path(), file_options()).unwrap();
    let options = MainnetOptions { empty_blocks: 10, ..MainnetOptions::new(3, 12 << 20) };
    mainnet_blocks(&options, |raw| {
        let place = writer.block(raw.block)?;
        raw.undo.map_or(Ok(()), |undo| writer.undo(place.file, &raw.previous, undo).map(drop))
    })
    .unwrap();
    writer.finish().unwrap();
    let mut index = Index::of(blocks.path(), Driver::Bulk);
    let scratch = temp_dir();
    let follower = SecondaryReader::open(&index.path().join("index"), scratch.path(), None, 64 << 20).unwrap();
    read_all(&follower);
    let (first, _) = follower.cached_bytes();
    assert!(first > 256 << 10, "{first}");
    // The other handle serves now.
    let tip = index.height().unwrap();
    index.engine.unwind(tip - 1, &NoProgress).unwrap();
    assert!(follower.advance(None).unwrap().moved);
    read_all(&follower);
    let (both, pinned) = follower.cached_bytes();
    println!("{first} bytes with one handle, {both} with two, {pinned} pinned");
    assert!(both < first + first / 8, "{first} with one handle, {both} with two");
}

#[test]
fn a_cache_that_is_too_small_is_refused_in_words() {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(17));
    let index = Index::of(blocks.path(), Driver::Bulk);
    let open = |bytes| SecondaryReader::open(&index.path().join("index"), temp_dir().path(), None, bytes);
    assert!(open(8 << 20).is_ok());
    let said = open(4 << 20).err().unwrap().to_string();
    assert!(said.contains("a read cache of 4 MiB is too small for this index") && said.contains("--cache 1"), "{said}");
}
