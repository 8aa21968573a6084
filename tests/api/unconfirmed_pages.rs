//! Pages of the transactions of a script, unconfirmed ones first, while the list moves.

use std::{
    collections::HashSet,
    sync::{Arc, LazyLock},
};

use bitcoin::{OutPoint, ScriptBuf, TxOut, hashes::Hash};
use cairn_chaingen::{BlockSpec, ChainBuilder, Lock, Style};
use cairn_http::HttpConfig;
use cairn_link::Absent;
use cairn_model::{BlockHash, MempoolDelta, MempoolTx, Network, RemoveReason};
use cairn_operations::ApiConfig;
use cairn_pipeline::{NoProgress, SyncOptions};
use cairn_sources::BlockFiles;
use jsonschema::Validator;
use serde_json::Value;

use crate::{
    support::{World, assert_problem, everything_world, get, open_config, script_hash, validator},
    unconfirmed::{SEEN, Waiting, output},
    unconfirmed_wallets::{TRANSACTIONS, fresh, listed, resolved, seen},
};

static SCHEMA: LazyLock<Validator> = LazyLock::new(|| validator(TRANSACTIONS));

/// A page, checked against its schema.
async fn page(router: &axum::Router, path: &str) -> Value {
    let reply = get(router, path).await;
    assert_eq!(reply.status, 200, "{path}: {}", reply.text);
    assert!(SCHEMA.is_valid(&reply.body), "{path}: {}", reply.text);
    reply.body
}

/// Ids on all pages from `path` on, by cursor.
async fn ids_by_cursor(router: &axum::Router, path: &str, mut cursor: Option<String>) -> Vec<String> {
    let mut ids = Vec::new();
    loop {
        let more = cursor.map_or_else(String::new, |c| format!("&cursor={c}"));
        let body = page(router, &format!("{path}{more}")).await;
        ids.extend(ids_of(&body));
        cursor = body["next_cursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            return ids;
        }
    }
}

pub fn ids_of(body: &Value) -> Vec<String> {
    body["transactions"].as_array().unwrap().iter().map(|row| row["txid"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn pages_join_both_parts() {
    let world = &everything_world();
    let router = world.open_router();
    let mut pool = Waiting::at_tip(world);
    let script = world.oracle.scripts().max_by_key(|s| world.oracle.history(s).len()).unwrap();
    let coin = pool.coins(100_000).next().unwrap();
    let mut tip = coin;
    for _ in 0..7 {
        let tx = pool.send(&[tip], &[(script.clone(), 1_000)], 200);
        tip = output(&tx, 1);
    }
    let waiting: Vec<_> = pool.made.iter().map(|(_, tx)| Arc::clone(tx)).collect();
    let confirmed = world.oracle.history(script);
    let mut expected: Vec<String> = listed(&waiting, script).iter().map(|tx| tx.txid.to_string()).collect();
    assert_eq!(expected.len(), 7);
    expected.extend(confirmed.iter().rev().map(|row| row.txid.to_string()));
    assert!(expected.len() > 20);
    let base = format!("/v1/wallets/{}/transactions", script_hash(script));
    for limit in [1, 2, 3, 6, 7, 8, 13, 100] {
        let path = format!("{base}?limit={limit}");
        assert_eq!(ids_by_cursor(&router, &path, None).await, expected, "by cursor, {limit}");
        let (mut by_offset, mut next) = (Vec::new(), Some(0));
        while let Some(offset) = next {
            let body = page(&router, &format!("{path}&offset={offset}")).await;
            assert_eq!(body["offset"], offset);
            by_offset.extend(ids_of(&body));
            next = body["next_offset"].as_u64();
        }
        assert_eq!(by_offset, expected, "by offset, {limit}");
    }
    // Offsets and cursors of a page agree, wherever it begins.
    for offset in 0..expected.len() {
        let body = page(&router, &format!("{base}?limit=2&offset={offset}")).await;
        let Some(cursor) = body["next_cursor"].as_str() else { continue };
        let next = page(&router, &format!("{base}?limit=2&cursor={cursor}")).await;
        assert_eq!(
            (&next["offset"], ids_of(&next)),
            (&(offset + 2).into(), expected[offset + 2..].iter().take(2).cloned().collect())
        );
    }
    let beyond = page(&router, &format!("{base}?offset={}", expected.len() + 3)).await;
    assert_eq!((ids_of(&beyond).len(), &beyond["next_cursor"]), (0, &Value::Null));
    // Later pages are gated, wherever they lie; a cursor that was tampered with does not count as one.
    let first = page(&router, &format!("{base}?limit=2")).await;
    let cursor = first["next_cursor"].as_str().unwrap();
    let gated = world.router(ApiConfig::from(HttpConfig { gates_enabled: true, ..open_config().http }));
    let reply = get(&gated, &format!("{base}?limit=2&cursor={cursor}")).await;
    assert_problem(&reply, 402, "wallet_session_required");
    for broken in [&cursor[..cursor.len() - 1], &cursor.replace('-', ""), &cursor.replace('-', "--"), "-"] {
        let reply = get(&router, &format!("{base}?limit=2&cursor={broken}")).await;
        assert_problem(&reply, 422, "validation_error");
    }
    let foreign = format!("/v1/wallets/{}/transactions?cursor={cursor}", script_hash(&fresh(7)));
    assert_problem(&get(&router, &foreign).await, 422, "validation_error");
    // Compact rows are rows with less in them.
    let compact = page(&router, &format!("{base}?limit=9&view=compact")).await;
    assert_eq!(ids_of(&compact), expected[..9]);
    assert!(compact["transactions"][0].get("mempool_first_seen").is_none());
}

/// A chain whose last block holds three transactions of one script, which is in earlier ones too.
fn chain_with_a_full_end() -> (World, ScriptBuf) {
    let mut builder = ChainBuilder::new(33);
    let busy = builder.keyring().script(&Lock::P2wpkh { key: 0 }).unwrap();
    for _ in 0..14 {
        builder.mine(&BlockSpec::paying(busy.clone())).unwrap();
    }
    for _ in 0..101 {
        builder.mine(&BlockSpec::default()).unwrap();
    }
    let mine = |builder: &ChainBuilder| -> Vec<OutPoint> {
        let own = |at: &&OutPoint| builder.coin(at).is_some_and(|coin| coin.txout.script_pubkey == busy);
        builder.spendable().iter().filter(own).copied().collect()
    };
    let coins = mine(&builder);
    for coin in &coins[..3] {
        let value = builder.coin(coin).unwrap().txout.value;
        let back = TxOut { value: value - bitcoin::Amount::from_sat(1_000), script_pubkey: busy.clone() };
        let tx = builder.spend(&[*coin], vec![back], &Style::default()).unwrap();
        builder.add(tx).unwrap();
    }
    builder.mine(&BlockSpec::default()).unwrap();
    (World::of(builder.into_chain()), busy)
}

#[tokio::test]
async fn what_confirms_between_two_pages_is_not_lost() {
    let (world, busy) = chain_with_a_full_end();
    let router = world.open_router();
    let (tip, last) = (world.oracle.blocks().len() as u32 - 1, world.oracle.blocks().last().unwrap());
    let before = &world.oracle.blocks()[tip as usize - 1];
    let files = BlockFiles::open(&world.blocks_dir, Network::Regtest).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    let path = |limit: usize| format!("/v1/wallets/{}/transactions?limit={limit}", script_hash(&busy));
    let mut repeated = 0;
    for limit in 1..=4 {
        for pages_before in 1..=4 {
            world.engine.lock().unwrap().unwind(tip - 1, &NoProgress).unwrap();
            let mut pool = Waiting::at_tip(&world);
            let hash = BlockHash(before.block_hash().to_byte_array());
            let height = tip - 1;
            let mut deltas = vec![MempoolDelta::Block { height, hash, time: before.header.time }];
            // The transactions of the last block wait, between others that stay.
            let confirming: Vec<_> = last.txdata[1..]
                .iter()
                .zip([500, 1_500, 3_500])
                .map(|(tx, later)| resolved(&world, tx, SEEN + later))
                .collect();
            deltas.extend(confirming.iter().map(|tx| MempoolDelta::Add(Arc::clone(tx))));
            let coins: Vec<_> = pool.coins(50_000).filter(|at| world.oracle.coins()[at].height < tip).take(4).collect();
            let staying: Vec<_> = coins.iter().map(|at| pool.make(&[*at], &[(busy.clone(), 5_000)], 100)).collect();
            deltas.extend(staying.iter().map(|tx| MempoolDelta::Add(Arc::clone(tx))));
            pool.tell(deltas);
            let mut all: HashSet<String> = world.oracle.history(&busy).iter().map(|row| row.txid.to_string()).collect();
            all.extend(staying.iter().map(|tx| tx.txid.to_string()));

            let (mut ids, mut cursor) = (Vec::new(), String::new());
            for _ in 0..pages_before {
                let body = page(&router, &format!("{}{cursor}", path(limit))).await;
                assert_eq!(body["unconfirmed_total"], 7);
                ids.extend(ids_of(&body));
                cursor = format!("&cursor={}", body["next_cursor"].as_str().unwrap());
            }
            world.engine.lock().unwrap().sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
            let taken = |tx: &Arc<MempoolTx>| MempoolDelta::Remove {
                txid: tx.txid,
                reason: RemoveReason::Confirmed { height: tip },
            };
            let hash = BlockHash(last.block_hash().to_byte_array());
            let mut deltas = vec![MempoolDelta::Block { height: tip, hash, time: last.header.time }];
            deltas.extend(confirming.iter().map(taken));
            pool.tell(deltas);
            let rest = ids_by_cursor(&router, &path(limit), Some(cursor.split_off("&cursor=".len()))).await;
            ids.extend(rest);
            let distinct: HashSet<String> = ids.iter().cloned().collect();
            assert_eq!(distinct, all, "limit {limit}, {pages_before} pages before the block");
            repeated += ids.len() - distinct.len();
            // The confirmed rows remember when they were first seen.
            let body = page(&router, &path(100)).await;
            for tx in &confirming {
                let row = body["transactions"].as_array().unwrap().iter().find(|r| r["txid"] == tx.txid.to_string());
                let row = row.unwrap();
                assert_eq!(
                    (&row["status"]["height"], &row["mempool_first_seen"]),
                    (&tip.into(), &seen(tx.first_seen_ms).into())
                );
            }
        }
    }
    assert!(repeated > 0, "some of them have to have been shown before the block and after it");
}

#[tokio::test]
async fn a_cursor_without_its_transaction_begins_the_unconfirmed_part_again() {
    let world = &everything_world();
    let router = world.open_router();
    let mut pool = Waiting::at_tip(world);
    let coins: Vec<_> = pool.coins(50_000).take(4).collect();
    let script = fresh(8);
    let sent: Vec<_> = coins.iter().map(|at| pool.send(&[*at], &[(script.clone(), 10_000)], 100)).collect();
    let id = |at: usize| sent[at].txid.to_string();
    let path = format!("/v1/wallets/{}/transactions?limit=2", script_hash(&script));
    let body = page(&router, &path).await;
    assert_eq!(ids_of(&body), [id(3), id(2)]);
    let next = format!("{path}&cursor={}", body["next_cursor"].as_str().unwrap());
    assert_eq!(ids_of(&page(&router, &next).await), [id(1), id(0)]);
    let warned = |body: &Value| body["_meta"]["warnings"].to_string().contains("cursor_restarted");
    // It left without being confirmed.
    pool.leave(&sent[2], RemoveReason::Evicted);
    let body = page(&router, &next).await;
    assert_eq!((ids_of(&body), warned(&body), &body["offset"]), (vec![id(3), id(1)], true, &0.into()));
    // It came back with another time: then those of the others may be others too.
    let later = MempoolTx { first_seen_ms: SEEN + 500, ..MempoolTx::clone(&sent[2]) };
    pool.tell(vec![MempoolDelta::Add(Arc::new(later))]);
    let body = page(&router, &next).await;
    assert_eq!((ids_of(&body), warned(&body)), (vec![id(3), id(1)], true));
    // It was confirmed: the list goes on.
    pool.leave(&sent[2], RemoveReason::Evicted);
    pool.tell(vec![MempoolDelta::Add(Arc::clone(&sent[2]))]);
    pool.leave(&sent[2], RemoveReason::Confirmed { height: 3 });
    let body = page(&router, &next).await;
    assert_eq!((ids_of(&body), warned(&body), &body["offset"]), (vec![id(1), id(0)], false, &1.into()));
    // The mempool is lost: the confirmed part follows, which is empty here.
    pool.slot.set_absent(Absent::Lost);
    let body = page(&router, &next).await;
    assert_eq!((ids_of(&body).len(), &body["unconfirmed_total"], &body["offset"]), (0, &Value::Null, &0.into()));
}
