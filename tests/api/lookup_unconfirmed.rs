//! The unconfirmed part of a whole wallet against sums over what waits.

use std::{collections::BTreeSet, sync::Arc};

use bitcoin::{OutPoint, Script, ScriptBuf};
use cairn_chaingen::{BlockSpec, ChainBuilder};
use cairn_link::Absent;
use cairn_model::{MempoolTx, RemoveReason};
use serde_json::{Value, json};

use crate::{
    lookup::{Wallet, addr, ask, raw},
    lookup_gaps::{Account, VPUB},
    support::{World, address, everything_world},
    unconfirmed::{Waiting, output},
    unconfirmed_wallets::{fresh, seen},
};

/// Satoshis that some scripts get from a transaction and that it spends of theirs; `None` if it has none of the
/// scripts.
fn effect(tx: &MempoolTx, own: &BTreeSet<&Script>) -> Option<(u64, u64)> {
    let is_own = |script: &[u8]| own.contains(Script::from_bytes(script));
    let spent: Vec<u64> = tx.inputs.iter().filter(|input| is_own(&input.script)).map(|input| input.value).collect();
    let got: Vec<u64> = tx.outputs.iter().filter(|output| is_own(&output.script)).map(|output| output.value).collect();
    (spent.len() + got.len() > 0).then(|| (got.iter().sum(), spent.iter().sum()))
}

/// Compares balance, addresses and first pages of a wallet with the sums over what waits.
async fn check(world: &World, waiting: &[Arc<MempoolTx>], scripts: &[ScriptBuf]) {
    let router = world.open_router();
    let wallet = Wallet::of(world, scripts.iter().map(|script| script.as_script()));
    let mut mine: Vec<(&Arc<MempoolTx>, (u64, u64))> =
        waiting.iter().filter_map(|tx| Some((tx, effect(tx, &wallet.own)?))).collect();
    mine.sort_by_key(|(tx, _)| std::cmp::Reverse((tx.first_seen_ms, tx.txid)));
    let items: Vec<String> =
        scripts.iter().map(|script| if script.len() % 2 == 0 { raw(script) } else { addr(script) }).collect();

    let body = ask(&router, &json!({"wallet": items})).await;
    let (sats, count) = wallet.coins();
    let net: i64 = mine.iter().map(|(_, (got, spent))| *got as i64 - *spent as i64).sum();
    let told = ["confirmed_sats", "unconfirmed_sats", "total_sats"].map(|name| body["balance"][name].as_i64().unwrap());
    assert_eq!(told, [sats as i64, net, sats as i64 + net]);
    assert_eq!((&body["unconfirmed_tx_count"], &body["utxo_count"]), (&json!(mine.len()), &json!(count)));
    let is_used = |script: &&ScriptBuf| {
        let waits = waiting.iter().any(|tx| effect(tx, &BTreeSet::from([script.as_script()])).is_some());
        waits || world.oracle.totals(script).is_some()
    };
    let rows: Vec<Value> = scripts
        .iter()
        .filter(is_used)
        .map(|script| {
            let totals = world.oracle.totals(script);
            json!([address(script), totals.map_or(0, |of| of.tx_count), totals.map_or(0, |of| of.balance_sats())])
        })
        .collect();
    let told = body["addresses"].as_array().unwrap().iter();
    let told: Vec<Value> = told.map(|row| json!([row["address"], row["tx_count"], row["balance_sats"]])).collect();
    assert_eq!(told, rows);

    for limit in [1, 2, 3, 100].into_iter().chain((mine.len() > 3).then_some(mine.len())) {
        let mut body = json!({"wallet": items, "include": ["transactions"], "limit": limit});
        let (mut pending, mut confirmed) = (Vec::new(), Vec::new());
        for page in 0.. {
            let told = ask(&router, &body).await["transactions"].clone();
            assert_eq!(told["total"], wallet.rows.len());
            assert_eq!(told["unconfirmed_omitted"], mine.len().saturating_sub(limit));
            for row in told["transactions"].as_array().unwrap() {
                if row["status"]["state"] == "mempool" {
                    assert!(page == 0 && confirmed.is_empty(), "unconfirmed ones are at the head of the first page");
                    pending.push(row.clone());
                } else {
                    confirmed.push(row.clone());
                }
            }
            body["cursor"] = told["next_cursor"].clone();
            if body["cursor"].is_null() {
                break;
            }
        }
        wallet.assert_rows(&confirmed, &body);
        assert_eq!(pending.len(), mine.len().min(limit));
        for (row, (tx, (got, spent))) in pending.iter().zip(&mine) {
            let expected = json!([
                tx.txid.to_string(),
                got,
                spent,
                *got as i64 - *spent as i64,
                tx.fee_sats,
                seen(tx.first_seen_ms)
            ]);
            let names = ["txid", "received_sats", "sent_sats", "net_sats", "fee_sats", "mempool_first_seen"];
            assert_eq!(json!(names.map(|name| &row[name])), expected);
            let own = |script: &[u8]| wallet.own.contains(Script::from_bytes(script));
            let is_within = tx.inputs.iter().all(|i| own(&i.script)) && tx.outputs.iter().all(|o| own(&o.script));
            let way = match got.cmp(spent) {
                _ if *spent == 0 => "in",
                _ if is_within => "self",
                std::cmp::Ordering::Greater => "in",
                std::cmp::Ordering::Equal => "self",
                std::cmp::Ordering::Less => "out",
            };
            assert_eq!(row["direction"], way, "{row}");
        }
    }
}

#[tokio::test]
async fn lookup_counts_what_waits_once() {
    let world = &everything_world();
    let mut pool = Waiting::at_tip(world);
    let owner = |at: &OutPoint| world.oracle.coins()[at].script.clone();
    // Coins of different scripts that descriptors can have.
    let mut owners = BTreeSet::new();
    let coins: Vec<OutPoint> =
        pool.coins(60_000).filter(|at| owner(at).len() < 4_000 && owners.insert(owner(at))).take(6).collect();
    let [one, two, three, stranger, other, four] = coins[..] else { panic!("six scripts have coins") };
    let mut scripts = vec![owner(&one), fresh(1), owner(&two), fresh(2), owner(&three), fresh(3), owner(&four)];
    check(world, &[], &scripts).await;
    let mut present = Vec::new();
    // From two of its scripts to a third one and to a stranger; the change is of the first.
    let joint = pool.send(&[one, two], &[(fresh(1), 10_000), (fresh(50), 20_000)], 500);
    present.push(Arc::clone(&joint));
    check(world, &present, &scripts).await;
    // On from there, within the wallet and out of it.
    present.push(pool.send(&[output(&joint, 0)], &[(fresh(2), 9_000)], 1_000));
    present.push(pool.send(&[output(&joint, 2)], &[(fresh(50), 1_000)], 300));
    // A stranger pays two of its scripts.
    let paid = pool.send(&[stranger], &[(fresh(2), 3_000), (owner(&four), 4_000)], 200);
    present.push(Arc::clone(&paid));
    // A stranger and the wallet pay together, and strangers among themselves.
    present.push(pool.send(&[other, four], &[(fresh(2), 100_000)], 700));
    pool.send(&[output(&paid, 2)], &[(fresh(51), 1_000)], 200);
    check(world, &present, &scripts).await;
    scripts.reverse();
    check(world, &present, &scripts).await;
    for script in scripts.clone() {
        check(world, &present, &[script]).await;
    }
    // Evicted, with the one that builds on it.
    pool.leave(&present[1], RemoveReason::Evicted);
    present.remove(1);
    check(world, &present, &scripts).await;
    // Without a mempool, the answer has nothing of it.
    pool.slot.set_absent(Absent::Lost);
    let items: Vec<String> = scripts.iter().map(|script| raw(script)).collect();
    let body = ask(&world.open_router(), &json!({"wallet": items, "include": ["transactions"]})).await;
    for nothing in [
        &body["unconfirmed_tx_count"],
        &body["balance"]["unconfirmed_sats"],
        &body["balance"]["total_sats"],
        &body["transactions"]["unconfirmed_omitted"],
    ] {
        assert!(nothing.is_null(), "{body}");
    }
    assert_eq!(body["address_count"], 4, "fresh ones have no transaction any more");
}

#[tokio::test]
async fn lookup_goes_on_behind_an_address_that_waits() {
    let account = Account::new(3, 0);
    let mut builder = ChainBuilder::new(43);
    let script = |index| account.script(2, 0, index);
    builder.mine(&BlockSpec { payees: vec![(script(0), 1), (script(9), 1)], ..BlockSpec::default() }).unwrap();
    let world = &World::of(builder.into_chain());
    let router = world.open_router();
    let body = json!({"wallet": [account.with_prefix(VPUB)], "gap_limit": 5});
    let told = |body: &Value| {
        let indexes = body["addresses"].as_array().unwrap().iter().map(|row| row["index"].as_u64().unwrap());
        let row = &body["branches"][0];
        (indexes.collect::<Vec<_>>(), row["scanned"].as_u64().unwrap(), row["next_index"].as_u64().unwrap())
    };
    // From 1 to 5 nothing is used, so the last one is not found.
    assert_eq!(told(&ask(&router, &body).await), (vec![0], 6, 1));
    let mut pool = Waiting::at_tip(world);
    let coin = pool.coins(100_000).next().unwrap();
    let paying = pool.send(&[coin], &[(script(4), 50_000)], 500);
    assert_eq!(told(&ask(&router, &body).await), (vec![0, 4, 9], 15, 10));
    // One that was passed on is used as well.
    pool.send(&[output(&paying, 0)], &[(script(12), 40_000)], 500);
    let body = ask(&router, &body).await;
    assert_eq!(told(&body), (vec![0, 4, 9, 12], 18, 13));
    assert_eq!((&body["unconfirmed_tx_count"], &body["addresses"][1]["tx_count"]), (&json!(2), &json!(0)));
    assert_eq!(body["branches"][0]["next_address"], json!(address(&script(13))));
}
