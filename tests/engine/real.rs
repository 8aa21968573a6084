//! Real data: the first 4,522 blocks of mainnet, and the block of the first BIP 30 pair.

use bitcoin::consensus::{deserialize, serialize};
use cairn_model::{BlockHash, Network};
use cairn_pipeline::{Driver, NoProgress, verify};
use cairn_reader::Facts;
use cairn_sources::decode_block;
use cairn_testkit::{Oracle, read_block_file, shared_data_or_skip, temp_dir};

use crate::{compare::assert_equal, support::*};

const MUHASH: &str = "ef572d992f09ddbab60d3ba06c4dcc9ccc6b9374fc1c884c0695fc8bc8c6d3bd";
const TIP: &str = "00000000ac08f7d984f6b36027395e654a5f1e3bb006cd9df9c60b9897ea4c40";

#[test]
fn the_first_blocks_of_mainnet() {
    let data = shared_data_or_skip!();
    let file = data.join("mainnet/blk00000.dat");
    let blocks = temp_dir();
    std::fs::copy(&file, blocks.path().join("blk00000.dat")).unwrap();
    let oracle = Oracle::of(Network::Main, &read_block_file(&file, Network::Main));
    assert_eq!(oracle.muhash().to_string(), MUHASH);
    let facts = Facts { blocks_dir: Some(blocks.path().to_owned()), ..Facts::of(Network::Main) };
    let mut bulk_sums = None;
    for driver in [Driver::Bulk, Driver::Tip] {
        let mut index = Index::new(&facts);
        index.sync(blocks.path(), driver);
        index.view(|view| {
            assert_equal(view, &oracle);
            let audit = verify::audit(view, &NoProgress).unwrap();
            assert!(audit.ok(), "{:#?}", audit.checks);
            assert_eq!((audit.height, audit.hash), (4521, TIP.parse::<BlockHash>().unwrap()));
            assert_eq!((audit.coins, audit.supply_sats), (4_348, 4_521 * 50 * 100_000_000));
            assert_eq!(audit.muhash.to_string(), MUHASH);
        });
        let sums = index.sums();
        sums.assert_equal(bulk_sums.get_or_insert(sums.clone()), "bulk and tip");
        index.engine.unwind(2_000, &NoProgress).unwrap();
        index.sync(blocks.path(), Driver::Auto);
        index.sums().assert_equal(&sums, "unwound and synced");
        for stage in rebuildable() {
            index.engine.reindex(&[stage], &NoProgress).unwrap();
        }
        index.sums().assert_equal(&sums, "rebuilt");
    }
}

#[test]
fn the_block_of_the_first_equal_coinbase_decodes() {
    let data = shared_data_or_skip!();
    let name = "mainnet/blocks/091722_00000000000271a2dc26e7667f8419f2e15416dc6955e5a6c6cdf3f2574dd08e.bin";
    let raw = std::fs::read(data.join(name)).unwrap();
    let expected: bitcoin::Block = deserialize(&raw).unwrap();
    let decoded = decode_block(&raw, 8).unwrap();
    assert_eq!(decoded.hash.to_string(), "00000000000271a2dc26e7667f8419f2e15416dc6955e5a6c6cdf3f2574dd08e");
    assert_eq!(decoded.txs.len(), expected.txdata.len());
    // Heights 91,722 and 91,880 hold this coinbase.
    let twin = "e3bf3d07d4b0375638d5f1db5255fe07ba2c4cb067cd81b84ee974b6585fb468";
    assert_eq!(decoded.txs[0].txid.to_string(), twin);
    assert_eq!(decoded.outputs[0].value, 5_000_000_000);
    assert_eq!(serialize(&expected), raw);
}
