//! Blocks, against the blocks themselves.

use axum::Router;
use bitcoin::{Block, consensus::serialize};
use serde_json::{Value, json as value};

use super::{LONG, SHORT, esplora, found, json, list, refused, text, txids};
use crate::support::{World, everything_world, hex};

/// The median of the times of a block and the ten before it.
fn median_time(blocks: &[Block], height: usize) -> u32 {
    let mut times: Vec<u32> =
        blocks[height.saturating_sub(10)..=height].iter().map(|block| block.header.time).collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn check_json(blocks: &[Block], height: usize, found: &Value) {
    let block = &blocks[height];
    let previous = (height > 0).then(|| block.header.prev_blockhash.to_string());
    let difficulty = found["difficulty"].as_f64().unwrap();
    assert!((difficulty / block.header.difficulty_float() - 1.0).abs() < 1e-9);
    let expected = value!({
        "id": block.block_hash().to_string(),
        "height": height,
        "version": block.header.version.to_consensus().cast_unsigned(),
        "timestamp": block.header.time,
        "tx_count": block.txdata.len(),
        "size": block.total_size(),
        "weight": block.weight().to_wu(),
        "merkle_root": block.header.merkle_root.to_string(),
        "previousblockhash": previous,
        "mediantime": median_time(blocks, height),
        "nonce": block.header.nonce,
        "bits": block.header.bits.to_consensus(),
        "difficulty": difficulty,
    });
    // In the order of electrs.
    assert_eq!(found.to_string(), expected.to_string());
}

/// Checks every route of every block.
pub(super) async fn check_all(world: &World, router: &Router) {
    let blocks = world.oracle.blocks();
    let tip = blocks.len() - 1;
    assert_eq!(text(router, "/blocks/tip/height").await, tip.to_string());
    assert_eq!(text(router, "/blocks/tip/hash").await, blocks[tip].block_hash().to_string());
    for (height, block) in blocks.iter().enumerate() {
        let hash = block.block_hash().to_string();
        let said = found(router, &format!("/block-height/{height}")).await;
        assert_eq!(said.text(), hash);
        assert_eq!(said.header("cache-control"), if height + 10 <= tip { LONG } else { SHORT });
        let said = found(router, &format!("/block/{hash}")).await;
        check_json(blocks, height, &said.json());
        assert_eq!(said.header("cache-control"), LONG);
        let next = blocks.get(height + 1).map(|next| next.block_hash().to_string());
        let status = json(router, &format!("/block/{hash}/status")).await;
        assert_eq!(status, value!({"in_best_chain": true, "height": height, "next_best": next}));
        assert_eq!(text(router, &format!("/block/{hash}/header")).await, hex(&serialize(&block.header)));
        let raw = found(router, &format!("/block/{hash}/raw")).await;
        assert_eq!(
            (raw.bytes, raw.headers["content-type"].to_str().unwrap()),
            (serialize(block), "application/octet-stream")
        );
        let expected: Vec<String> = block.txdata.iter().map(|tx| tx.compute_txid().to_string()).collect();
        assert_eq!(json(router, &format!("/block/{hash}/txids")).await, value!(expected));
        let last = expected.len() - 1;
        assert_eq!(text(router, &format!("/block/{hash}/txid/{last}")).await, expected[last]);
        refused(router, &format!("/block/{hash}/txid/{}", last + 1), 404, "tx index out of range").await;
        let mut paged = Vec::new();
        for start in (0..expected.len()).step_by(25) {
            let page = json(router, &format!("/block/{hash}/txs/{start}")).await;
            paged.extend(txids(&page));
            let time = block.header.time;
            let at = value!({"confirmed": true, "block_height": height, "block_hash": hash, "block_time": time});
            assert!(list(&page).iter().all(|tx| tx["status"] == at));
        }
        assert_eq!(paged, expected);
        let beyond = expected.len().next_multiple_of(25);
        refused(router, &format!("/block/{hash}/txs/{beyond}"), 400, "start index out of range").await;
    }
}

#[tokio::test]
async fn every_block_in_all_its_forms() {
    let world = &everything_world();
    let router = esplora(world, None);
    check_all(world, &router).await;
    let blocks = world.oracle.blocks();
    let tip = blocks.len() - 1;
    for start in [None, Some(tip), Some(tip - 3), Some(12), Some(9), Some(3), Some(0)] {
        let path = start.map_or("/blocks".to_owned(), |start| format!("/blocks/{start}"));
        let newest = start.unwrap_or(tip);
        let page = json(&router, &path).await;
        assert_eq!(list(&page).len(), 10.min(newest + 1));
        for (below, block) in list(&page).iter().enumerate() {
            check_json(blocks, newest - below, block);
        }
        // The longer list has the same fields, and more.
        let path = start.map_or("/v1/blocks".to_owned(), |start| format!("/v1/blocks/{start}"));
        let longer = json(&router, &path).await;
        assert_eq!(list(&longer).len(), 15.min(newest + 1));
        for (full, block) in list(&longer).iter().zip(list(&page)) {
            let fields = block.as_object().unwrap();
            assert!(fields.iter().all(|(name, value)| full[name] == *value));
            let height = full["height"].as_u64().unwrap() as usize;
            let coinbase = &blocks[height].txdata[0];
            let reward: u64 = coinbase.output.iter().map(|out| out.value.to_sat()).sum();
            assert_eq!(
                (&full["extras"]["reward"], &full["extras"]["coinbaseRaw"]),
                (&value!(reward), &value!(hex(coinbase.input[0].script_sig.as_bytes())),)
            );
            let fees: u64 =
                world.oracle.txs().iter().filter(|tx| tx.height as usize == height).map(|tx| tx.fee_sats).sum();
            assert_eq!(full["extras"]["totalFees"], fees);
        }
    }
    refused(&router, &format!("/blocks/{}", tip + 1), 404, "Block not found").await;
    refused(&router, &format!("/block-height/{}", tip + 1), 404, "Block not found").await;
    let several = blocks.iter().find(|block| block.txdata.len() > 1).unwrap();
    let path = format!("/block/{}/txs/1", several.block_hash());
    refused(&router, &path, 400, "start index must be a multiple of 25").await;
}
