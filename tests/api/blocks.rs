//! Blocks against the chain.

use cairn_chaingen::{BlockSpec, ChainBuilder};
use serde_json::Value;

use crate::support::{World, assert_problem, everything_world, get, get_ok};

const BLOCK: &str = "/v1/blocks/{height_or_hash}";
const RECENT: &str = "/v1/chain/recent-blocks";

#[tokio::test]
async fn every_block_by_height_and_by_hash() {
    let world = &everything_world();
    let router = world.open_router();
    let oracle = &world.oracle;
    let tip = oracle.blocks().len() - 1;
    for (height, block) in oracle.blocks().iter().enumerate() {
        let by_height = get_ok(&router, BLOCK, &format!("/v1/blocks/{height}?tx_limit=100")).await;
        let by_hash = get_ok(&router, BLOCK, &format!("/v1/blocks/{}?tx_limit=100", block.block_hash())).await;
        assert_eq!(by_height, by_hash);
        let body = by_height;
        assert_eq!(body["hash"], block.block_hash().to_string());
        assert_eq!(body["merkle_root"], block.header.merkle_root.to_string());
        assert_eq!(body["size"], block.total_size());
        assert_eq!(body["weight"], block.weight().to_wu());
        assert_eq!(body["time_unix"], block.header.time);
        assert_eq!(body["bits"], format!("{:08x}", block.header.bits.to_consensus()));
        assert_eq!(body["next_hash"].is_null(), height == tip);
        assert_eq!(body["previous_hash"].is_null(), height == 0);
        assert_eq!(body["confirmations"], tip + 1 - height);
        let reward: u64 = block.txdata[0].output.iter().map(|o| o.value.to_sat()).sum();
        assert_eq!(body["coinbase"]["reward_sats"], reward);
        let first = oracle.headers()[height].first_tx.0 as usize;
        let fees: u64 = (0..block.txdata.len()).map(|i| oracle.txs()[first + i].fee_sats).sum();
        assert_eq!(body["totals"]["fees_sats"], fees);
        // Regtest halves every 150 blocks.
        let subsidy = 5_000_000_000u64 >> (height / 150);
        let claimed =
            [("subsidy_sats", subsidy), ("coinbase_sats", reward), ("unclaimed_sats", subsidy + fees - reward)];
        for (field, value) in claimed {
            assert_eq!(body["totals"][field], value, "{field} of {height}");
        }
        // Satoshi-seconds of all spent coins.
        let now = u64::from(oracle.monotone_time(height as u32));
        let spent = (0..block.txdata.len()).flat_map(|i| oracle.spent(cairn_model::TxNum((first + i) as u64)));
        let destroyed: u128 = spent
            .map(|coin| u128::from(coin.value_sats) * u128::from(now - u64::from(oracle.monotone_time(coin.height))))
            .sum();
        let days = body["totals"]["coin_days_destroyed"].as_f64().unwrap();
        assert!((days - (destroyed / 86_400) as f64 / 1e8).abs() < 1e-7 * days.max(1.0), "{days} of {height}");
        assert_eq!(body["fee_percentiles"].is_null(), block.txdata.len() == 1);
        let shown = body["transactions"].as_array().unwrap();
        assert_eq!(shown.len(), block.txdata.len().min(100));
        for (row, tx) in shown.iter().zip(&block.txdata) {
            assert_eq!(row["txid"], tx.compute_txid().to_string());
            assert_eq!(row["output_count"], tx.output.len());
        }
    }
}

#[tokio::test]
async fn transactions_of_a_block_by_the_page() {
    let world = &everything_world();
    let router = world.open_router();
    let (height, block) = world.oracle.blocks().iter().enumerate().max_by_key(|(_, block)| block.txdata.len()).unwrap();
    let mut seen = Vec::new();
    let mut next = Some(0);
    while let Some(offset) = next {
        let body = get_ok(&router, BLOCK, &format!("/v1/blocks/{height}?tx_limit=7&tx_offset={offset}")).await;
        seen.extend(body["transactions"].as_array().unwrap().iter().map(|t| t["txid"].as_str().unwrap().to_owned()));
        next = body["next_tx_offset"].as_u64();
    }
    assert_eq!(seen, block.txdata.iter().map(|t| t.compute_txid().to_string()).collect::<Vec<_>>());
    let beyond = get_ok(&router, BLOCK, &format!("/v1/blocks/{height}?tx_offset=100000")).await;
    assert_eq!((&beyond["transactions"], &beyond["next_tx_offset"]), (&Value::Array(vec![]), &Value::Null));
}

#[tokio::test]
async fn transactions_of_a_block_by_cursor() {
    let world = &everything_world();
    let router = world.open_router();
    let (height, block) = world.oracle.blocks().iter().enumerate().max_by_key(|(_, block)| block.txdata.len()).unwrap();
    let names = [height.to_string(), block.block_hash().to_string()];
    let (mut seen, mut cursor, mut pages) = (Vec::new(), None::<String>, 0);
    loop {
        let more = cursor.as_ref().map_or_else(String::new, |cursor| format!("&cursor={cursor}"));
        // A cursor holds for both names of its block.
        let body = get_ok(&router, BLOCK, &format!("/v1/blocks/{}?tx_limit=3{more}", names[pages % 2])).await;
        seen.extend(body["transactions"].as_array().unwrap().iter().map(|t| t["txid"].as_str().unwrap().to_owned()));
        pages += 1;
        match body["next_cursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    assert!(pages > 2);
    assert_eq!(seen, block.txdata.iter().map(|t| t.compute_txid().to_string()).collect::<Vec<_>>());
    let cursor = cursor.unwrap();
    for query in [format!("/v1/blocks/{}?cursor={cursor}", height - 1), format!("{RECENT}?cursor={cursor}")] {
        assert_problem(&get(&router, &query).await, 422, "validation_error");
    }
    let both = format!("/v1/blocks/{height}?cursor={cursor}&tx_offset=1");
    assert_problem(&get(&router, &both).await, 422, "validation_error");
    assert!(get(&router, &format!("/v1/blocks/{height}?tx_limit=0")).await.body["next_cursor"].is_null());
}

#[tokio::test]
async fn recent_blocks_lead_back_to_genesis() {
    let world = &everything_world();
    let router = world.open_router();
    let mut heights = Vec::new();
    let mut cursor = None::<String>;
    loop {
        let more = cursor.map_or_else(String::new, |c| format!("&cursor={c}"));
        let body = get_ok(&router, RECENT, &format!("{RECENT}?limit=37{more}")).await;
        for row in body["blocks"].as_array().unwrap() {
            let height = row["height"].as_u64().unwrap() as usize;
            let block = &world.oracle.blocks()[height];
            assert_eq!(row["hash"], block.block_hash().to_string());
            assert_eq!(row["tx_count"], block.txdata.len());
            assert_eq!(row["fee_range"].is_null(), block.txdata.len() == 1);
            heights.push(height);
        }
        cursor = body["next_cursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(heights, (0..world.oracle.blocks().len()).rev().collect::<Vec<_>>());
}

#[tokio::test]
async fn blocks_that_are_not_there() {
    let world = &everything_world();
    let router = world.open_router();
    let above = world.oracle.blocks().len();
    for name in [above.to_string(), "99999999999".to_owned(), "ab".repeat(32)] {
        assert_problem(&get(&router, &format!("/v1/blocks/{name}")).await, 404, "block_not_found");
    }
    for name in ["-1", "abc", "0x10", "1.0"] {
        assert_problem(&get(&router, &format!("/v1/blocks/{name}")).await, 400, "invalid_hash");
    }
}

/// A coinbase that takes nothing, or not all; the values at a halving.
#[tokio::test]
async fn what_a_coinbase_leaves_is_told() {
    let mut builder = ChainBuilder::new(7);
    let mut unclaimed = vec![0];
    for height in 1..=151u64 {
        let subsidy = if height < 150 { 5_000_000_000 } else { 2_500_000_000 };
        let left = match height {
            3 => 1,
            149 | 150 => subsidy,
            _ => 0,
        };
        builder.mine(&BlockSpec { unclaimed: left, ..BlockSpec::default() }).unwrap();
        unclaimed.push(left);
    }
    let router = World::of(builder.into_chain()).open_router();
    let newest = get_ok(&router, "/v1/chain/recent-blocks", "/v1/chain/recent-blocks?limit=50").await;
    for height in [1usize, 3, 148, 149, 150, 151] {
        let body = get_ok(&router, BLOCK, &format!("/v1/blocks/{height}")).await;
        let subsidy = if height < 150 { 5_000_000_000u64 } else { 2_500_000_000 };
        let expected = [subsidy, subsidy - unclaimed[height], unclaimed[height]];
        let of =
            |row: &Value| ["subsidy_sats", "coinbase_sats", "unclaimed_sats"].map(|field| row[field].as_u64().unwrap());
        assert_eq!(of(&body["totals"]), expected, "block {height}");
        if let Some(row) = newest["blocks"].as_array().unwrap().iter().find(|row| row["height"] == height) {
            assert_eq!(of(row), expected, "row {height}");
        }
    }
}
