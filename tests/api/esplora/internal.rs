//! The routes of mempool.space's backend, against the public ones.

use std::sync::Arc;

use axum::Router;
use bitcoin::{OutPoint, ScriptBuf, script::PushBytesBuf};
use cairn_chain::Chain;
use cairn_link::IndexSource;
use cairn_operations::{ApiState, other_router};
use serde_json::{Value, json as value};

use super::{esplora, json, list, post, refused, txids};
use crate::{
    mempool_ops::settle,
    support::{World, everything_world, open_config},
    unconfirmed::{Waiting, output},
};

fn internal(world: &World) -> Router {
    let index = Arc::clone(&world.slot) as Arc<dyn IndexSource>;
    let state = ApiState::new(Arc::clone(&index), open_config());
    other_router(state, |api| (cairn_esplora::internal_routes(api, Chain::new(index, None)), cairn_esplora::DIALECT))
}

async fn ask(router: &Router, path: &str, body: &Value) -> Value {
    let said = post(router, path, body.to_string()).await;
    assert_eq!(said.status, 200, "{path}: {}", said.text());
    said.json()
}

#[tokio::test]
async fn whole_blocks_and_lists_have_the_public_form() {
    let world = &everything_world();
    let (router, public) = (internal(world), esplora(world, None));
    let block = world.oracle.blocks().iter().max_by_key(|block| block.txdata.len()).unwrap();
    let ids: Vec<String> = block.txdata.iter().map(|tx| tx.compute_txid().to_string()).collect();
    let whole = json(&router, &format!("/internal/block/{}/txs", block.block_hash())).await;
    assert_eq!(txids(&whole), ids);
    for (tx, id) in list(&whole).iter().zip(&ids) {
        assert_eq!(*tx, json(&public, &format!("/tx/{id}")).await);
    }
    let none = "44".repeat(32);
    let listed = ask(&router, "/internal/txs", &value!([ids[0], none, ids[1]])).await;
    assert_eq!(list(&listed), [whole[0].clone(), whole[1].clone()]);
    let spends = json(&public, &format!("/tx/{}/outspends", ids[1])).await;
    let found = ask(&router, "/internal/txs/outspends/by-txid", &value!([none, ids[1], "x"])).await;
    assert_eq!(found, value!([[], spends, []]));
    let places = value!([format!("{}:0", ids[1]), format!("{none}:7"), "x", format!("{}:-1", ids[1])]);
    let found = ask(&router, "/internal/txs/outspends/by-outpoint", &places).await;
    let unspent = value!({"spent": false});
    assert_eq!(found, value!([spends[0], unspent, unspent, unspent]));
    // Everything public is there, and nothing internal is public.
    assert_eq!(json(&router, "/api/blocks").await, json(&public, "/blocks").await);
    let path = format!("/internal/block/{}/txs", block.block_hash());
    refused(&public, &path, 404, &format!("endpoint does not exist {path:?}")).await;
    for wrong in ["", "{}", "[1]", "[\"x\"]"] {
        assert_eq!(post(&router, "/internal/txs", wrong).await.status, 400, "{wrong}");
    }
}

#[tokio::test]
async fn the_mempool_in_pages() {
    let world = &everything_world();
    let (router, public) = (internal(world), esplora(world, None));
    let mut pool = Waiting::at_tip(world);
    let coin = pool.coins(1_000_000).next().unwrap();
    let fan: Vec<(ScriptBuf, u64)> =
        (1..=5).map(|tag| (ScriptBuf::from_bytes([&[0, 20][..], &[tag; 20]].concat()), 20_000)).collect();
    let first = pool.send(&[coin], &fan, 1_000);
    for vout in 0..5 {
        pool.send(&[output(&first, vout)], &[], 500);
    }
    settle(&pool).await;
    let mut paged: Vec<Value> = Vec::new();
    loop {
        let last = paged.last().map_or(String::new(), |tx| format!("/{}", tx["txid"].as_str().unwrap()));
        let page = json(&router, &format!("/internal/mempool/txs{last}?max_txs=4")).await;
        paged.extend(list(&page).iter().cloned());
        if list(&page).len() < 4 {
            break;
        }
    }
    let all = json(&public, "/mempool/txids/page").await;
    assert_eq!(value!(txids(&value!(paged))), all);
    assert_eq!(list(&all).len(), 6);
    for tx in &paged {
        assert_eq!(*tx, json(&public, &format!("/tx/{}", tx["txid"].as_str().unwrap())).await);
    }
    let id = &paged[2]["txid"];
    let confirmed = world.oracle.txs()[0].txid.to_string();
    let found = ask(&router, "/internal/mempool/txs", &value!([id, confirmed])).await;
    assert_eq!(found, value!([paged[2]]));
    assert_eq!(list(&ask(&router, "/internal/txs", &value!([id, confirmed])).await).len(), 2);
}

/// Lists of the mempool that are larger than an answer end early, and continue after the last transaction.
#[tokio::test]
async fn large_transactions_of_the_mempool_come_in_several_answers() {
    let world = &everything_world();
    let router = internal(world);
    let mut pool = Waiting::at_tip(world);
    let coins: Vec<OutPoint> = pool.coins(200_000).take(40).collect();
    for coin in &coins {
        pool.send(&[*coin], &[(ScriptBuf::new_op_return(PushBytesBuf::try_from(vec![7; 250_000]).unwrap()), 0)], 500);
    }
    settle(&pool).await;
    let ids: Vec<String> = pool.made.iter().map(|(tx, _)| tx.compute_txid().to_string()).collect();
    let some = ask(&router, "/internal/mempool/txs", &value!(ids)).await;
    let some = txids(&some);
    assert!(!some.is_empty() && some.len() < ids.len(), "{}", some.len());
    assert_eq!(some, ids[..some.len()]);
    let mut paged: Vec<String> = Vec::new();
    loop {
        let last = paged.last().map_or(String::new(), |txid| format!("/{txid}"));
        let page = txids(&json(&router, &format!("/internal/mempool/txs{last}?max_txs=1000")).await);
        if page.is_empty() {
            break;
        }
        paged.extend(page);
    }
    paged.sort();
    let mut expected = ids;
    expected.sort();
    assert_eq!(paged, expected);
}
