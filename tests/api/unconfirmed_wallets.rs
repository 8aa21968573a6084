//! The unconfirmed part of wallets against naive sums over what waits.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{body::Body, http::Request};
use bitcoin::{OutPoint, Script, ScriptBuf, Transaction, TxOut, consensus::serialize, hashes::Hash};
use cairn_link::Absent;
use cairn_model::{
    BlockHash, MempoolDelta, MempoolInput, MempoolOutput, MempoolTx, RemoveReason, Txid, is_unspendable,
};
use serde_json::{Value, json};

use crate::{
    support::{World, address, assert_valid, everything_world, get, get_ok, script_hash, send},
    unconfirmed::{Waiting, output},
    unconfirmed_pages::ids_of,
};

const OVERVIEW: &str = "/v1/wallets/{address}/overview";
pub const TRANSACTIONS: &str = "/v1/wallets/{address}/transactions";

/// A script that no chain of these tests has seen.
pub fn fresh(number: u8) -> ScriptBuf {
    ScriptBuf::new_p2wpkh(&bitcoin::WPubkeyHash::from_byte_array([number; 20]))
}

/// A transaction of the world's chain as it was while it waited.
pub fn resolved(world: &World, tx: &Transaction, first_seen_ms: u64) -> Arc<MempoolTx> {
    let funding = |at: &OutPoint| -> (u32, TxOut) {
        for (height, block) in world.oracle.blocks().iter().enumerate() {
            if let Some(parent) = block.txdata.iter().find(|parent| parent.compute_txid() == at.txid) {
                return (height as u32, parent.output[at.vout as usize].clone());
            }
        }
        panic!("{at} is nowhere");
    };
    let coins: Vec<_> = tx.input.iter().map(|input| funding(&input.previous_output)).collect();
    let spent: u64 = coins.iter().map(|(_, out)| out.value.to_sat()).sum();
    let paid: u64 = tx.output.iter().map(|out| out.value.to_sat()).sum();
    let inputs = tx.input.iter().zip(&coins).map(|(input, (height, out))| MempoolInput {
        prev_txid: Txid(input.previous_output.txid.to_byte_array()),
        prev_vout: input.previous_output.vout,
        sequence: input.sequence.0,
        value: out.value.to_sat(),
        script: out.script_pubkey.as_bytes().into(),
        birth: Some(*height),
    });
    let outputs = tx
        .output
        .iter()
        .map(|out| MempoolOutput { value: out.value.to_sat(), script: out.script_pubkey.as_bytes().into() });
    Arc::new(MempoolTx {
        txid: Txid(tx.compute_txid().to_byte_array()),
        wtxid: Txid(tx.compute_wtxid().to_byte_array()),
        size: tx.total_size() as u32,
        base_size: tx.base_size() as u32,
        sigop_cost: 4,
        fee_sats: spent - paid,
        version: tx.version.0,
        lock_time: tx.lock_time.to_consensus_u32(),
        first_seen_ms,
        inputs: inputs.collect(),
        outputs: outputs.collect(),
        raw: Some(serialize(tx).into()),
    })
}

/// Changes of a script by a transaction: received, sent, and whether it touches it at all.
fn effect(tx: &MempoolTx, script: &Script) -> (u64, u64, bool) {
    let (mut received, mut sent, mut touched) = (0, 0, false);
    for input in &tx.inputs {
        if *input.script == *script.as_bytes() {
            (sent, touched) = (sent + input.value, true);
        }
    }
    for output in &tx.outputs {
        if *output.script == *script.as_bytes() && !is_unspendable(&output.script) {
            (received, touched) = (received + output.value, true);
        }
    }
    (received, sent, touched)
}

/// The transactions of a script among those that wait, as the list has them.
pub fn listed(waiting: &[Arc<MempoolTx>], script: &Script) -> Vec<Arc<MempoolTx>> {
    let mut listed: Vec<_> = waiting.iter().filter(|tx| effect(tx, script).2).cloned().collect();
    listed.sort_by_key(|tx| std::cmp::Reverse((tx.first_seen_ms, tx.txid)));
    listed
}

/// Compares overview and first page of a script with the sums over what waits.
async fn check(world: &World, router: &axum::Router, waiting: &[Arc<MempoolTx>], script: &Script) {
    let name = address(script).unwrap_or_else(|| script_hash(script));
    let reply = get(router, &format!("/v1/wallets/{name}/overview")).await;
    assert_eq!(reply.status, 200, "{name}: {}", reply.text);
    assert_valid(OVERVIEW, &reply.body);
    assert!(reply.rows_read() <= 8 + 12, "{name}: {} rows", reply.rows_read());
    let (body, mine) = (&reply.body, listed(waiting, script));
    let received: u64 = mine.iter().map(|tx| effect(tx, script).0).sum();
    let sent: u64 = mine.iter().map(|tx| effect(tx, script).1).sum();
    let confirmed = world.oracle.totals(script).map_or(0, |t| t.balance_sats());
    let net = i64::try_from(received).unwrap() - i64::try_from(sent).unwrap();
    assert_eq!(body["balance"]["confirmed_sats"], confirmed, "{name}");
    assert_eq!(body["balance"]["unconfirmed_sats"], net, "{name}");
    assert_eq!(body["balance"]["unconfirmed_reason"], Value::Null);
    assert_eq!(body["balance"]["total_sats"], i64::try_from(confirmed).unwrap() + net, "{name}");
    assert_eq!(body["unconfirmed_tx_count"], mine.len(), "{name}");
    assert_eq!((&body["unconfirmed_received_sats"], &body["unconfirmed_sent_sats"]), (&received.into(), &sent.into()));
    assert_eq!(body["tx_count"], world.oracle.history(script).len());
    assert_eq!(body["utxo_count"], world.oracle.totals(script).map_or(0, |t| t.funded_count - t.spent_count));

    let page = get_ok(router, TRANSACTIONS, &format!("/v1/wallets/{name}/transactions?limit=100")).await;
    assert_eq!(page["total"], world.oracle.history(script).len());
    assert_eq!((&page["unconfirmed_total"], &page["unconfirmed_reason"]), (&mine.len().into(), &Value::Null));
    let rows = page["transactions"].as_array().unwrap();
    let pending: Vec<_> = rows.iter().take_while(|row| row["status"]["state"] == "mempool").collect();
    assert_eq!(pending.len(), mine.len(), "{name}");
    assert!(rows[pending.len()..].iter().all(|row| row["status"]["state"] == "confirmed"));
    for (row, tx) in pending.into_iter().zip(mine) {
        let (received, sent, _) = effect(&tx, script);
        assert_eq!(row["txid"], tx.txid.to_string(), "{name}");
        assert_eq!((&row["received_sats"], &row["sent_sats"]), (&received.into(), &sent.into()));
        assert_eq!(row["net_sats"], received as i64 - sent as i64);
        assert_eq!(row["fee_sats"], tx.fee_sats);
        let status = json!({"state": "mempool", "height": null, "hash": null, "confirmations": 0});
        assert_eq!((&row["status"], &row["time"], &row["time_unix"]), (&status, &Value::Null, &Value::Null));
        assert_eq!(row["mempool_first_seen"], seen(tx.first_seen_ms));
        let scripts = tx.inputs.iter().map(|i| &i.script).chain(tx.outputs.iter().map(|o| &o.script));
        let only_own = scripts.into_iter().all(|other| **other == *script.as_bytes());
        let expected = match (sent, received) {
            _ if only_own => "self",
            (0, _) => "in",
            (sent, received) if sent > received => "out",
            (sent, received) if sent < received => "in",
            _ => "self",
        };
        assert_eq!(row["direction"], expected, "{row}");
    }
}

/// Milliseconds since 1970 as answers write them.
pub fn seen(milliseconds: u64) -> String {
    let time = date_and_time(milliseconds / 1000);
    format!("{time}.{:03}Z", milliseconds % 1000)
}

/// Seconds since 1970 as date and time, by counting days.
fn date_and_time(seconds: u64) -> String {
    let (mut days, of_day) = (seconds / 86_400, seconds % 86_400);
    let leap = |y: u64| y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}", month + 1, days + 1)
}

#[tokio::test]
async fn sums_and_lists_follow_every_change() {
    let world = &everything_world();
    let router = world.open_router();
    let mut pool = Waiting::at_tip(world);
    let owner = |at: &OutPoint| world.oracle.coins()[at].script.clone();
    let mut coins = pool.coins(50_000);
    let mut next = || coins.next().unwrap();
    let mut present: Vec<Arc<MempoolTx>> = Vec::new();
    let mut touched: BTreeSet<ScriptBuf> = BTreeSet::new();

    // Pays a stranger from a confirmed coin; the change comes back.
    let first = next();
    let paying = pool.send(&[first], &[(fresh(1), 10_000)], 500);
    present.push(Arc::clone(&paying));
    touched.extend([owner(&first), fresh(1)]);
    for script in &touched {
        check(world, &router, &present, script).await;
    }
    // A chain of unconfirmed ones: the stranger passes it on, twice.
    let second = pool.send(&[output(&paying, 0)], &[(fresh(2), 9_000)], 1_000);
    let third = pool.send(&[output(&second, 0), output(&paying, 1)], &[(fresh(1), 5_000)], 700);
    present.extend([second, Arc::clone(&third)]);
    // To oneself: everything comes back but the fee.
    let own = next();
    present.push(pool.send(&[own], &[], 300));
    // Two owners pay together, and something is burned.
    let (one, other) = (next(), next());
    let burn = ScriptBuf::new_op_return([1; 5]);
    let joint = pool.send(&[one, other], &[(fresh(3), 60_000), (burn.clone(), 10)], 400);
    present.push(Arc::clone(&joint));
    // One that empties its owner's coin entirely.
    let all = next();
    let value = world.oracle.coins()[&all].value_sats;
    present.push(pool.send(&[all], &[(fresh(4), value - 900)], 900));
    touched.extend([fresh(2), fresh(3), fresh(4), burn, owner(&own), owner(&one), owner(&other), owner(&all)]);
    for script in &touched {
        check(world, &router, &present, script).await;
    }
    // Replaced: the one in the middle of the chain, with what builds on it.
    let instead = pool.send(&[output(&paying, 0)], &[(fresh(5), 2_000)], 4_000);
    present.retain(|tx| !(tx.inputs.iter().any(|i| i.prev_txid == paying.txid) || tx.txid == third.txid));
    present.push(Arc::clone(&instead));
    touched.insert(fresh(5));
    for script in &touched {
        check(world, &router, &present, script).await;
    }
    // Evicted and expired; and one that a block took, as far as the mempool is concerned.
    for (gone, reason) in [
        (&joint, RemoveReason::Evicted),
        (&instead, RemoveReason::Expired),
        (&paying, RemoveReason::Confirmed { height: 1 }),
    ] {
        pool.leave(gone, reason);
        present.retain(|tx| tx.txid != gone.txid);
        for script in &touched {
            check(world, &router, &present, script).await;
        }
    }
    assert_eq!(present.len(), 2);
    for script in world.oracle.scripts() {
        check(world, &router, &present, script).await;
    }
}

#[tokio::test]
async fn a_script_only_seen_unconfirmed() {
    let world = &everything_world();
    let router = world.open_router();
    let mut pool = Waiting::at_tip(world);
    let coin = pool.coins(50_000).next().unwrap();
    let script = fresh(9);
    let tx = pool.send(&[coin], &[(script.clone(), 20_000)], 500);
    for name in [address(&script).unwrap(), script_hash(&script)] {
        let body = get_ok(&router, OVERVIEW, &format!("/v1/wallets/{name}/overview")).await;
        assert_eq!((&body["assessment"]["state"], &body["tx_count"]), (&"no_history".into(), &0.into()));
        assert_eq!(body["script_type"], "witness_v0_keyhash");
        assert_eq!(body["canonical_address"], address(&script).unwrap());
        assert_eq!((&body["first_seen"], &body["balance"]["total_sats"]), (&Value::Null, &20_000.into()));
        let page = get_ok(&router, TRANSACTIONS, &format!("/v1/wallets/{name}/transactions")).await;
        assert_eq!((&page["total"], &page["unconfirmed_total"]), (&0.into(), &1.into()));
        assert_eq!(page["transactions"][0]["txid"], tx.txid.to_string());
        assert_eq!((&page["next_offset"], &page["next_cursor"]), (&Value::Null, &Value::Null));
    }
    pool.leave(&tx, RemoveReason::Evicted);
    let body = get_ok(&router, OVERVIEW, &format!("/v1/wallets/{}/overview", script_hash(&script))).await;
    assert_eq!((&body["script_type"], &body["unconfirmed_tx_count"]), (&"unknown".into(), &0.into()));
}

/// Makes the mempool unreadable; returns the warning about it.
pub fn spoil(pool: &mut Waiting<'_>, absent: Absent) -> &'static str {
    match absent {
        Absent::NotWatched | Absent::Lost => pool.slot.set_absent(absent),
        Absent::Loading => pool.slot.apply(&[MempoolDelta::Reset { sequence: 5 }]),
        Absent::OtherTip => pool.tell(vec![MempoolDelta::Block { height: 7, hash: BlockHash([7; 32]), time: 7 }]),
    }
    match absent {
        Absent::NotWatched => "no_mempool_source",
        Absent::Lost => "mempool_lost",
        Absent::Loading => "mempool_loading",
        Absent::OtherTip => "mempool_behind",
    }
}

pub const ALL_ABSENT: [Absent; 4] = [Absent::NotWatched, Absent::Lost, Absent::OtherTip, Absent::Loading];

pub fn warned(body: &Value, code: &str) -> bool {
    body["_meta"]["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == code)
}

#[tokio::test]
async fn without_a_mempool_the_confirmed_part_stays() {
    let world = &everything_world();
    let router = world.open_router();
    for absent in ALL_ABSENT {
        let mut pool = Waiting::at_tip(world);
        let coin = pool.coins(50_000).next().unwrap();
        let script = &world.oracle.coins()[&coin].script;
        pool.send(&[coin], &[(fresh(1), 1_000)], 100);
        let base = format!("/v1/wallets/{}", script_hash(script));
        let with = get_ok(&router, OVERVIEW, &format!("{base}/overview")).await;
        assert_eq!((&with["unconfirmed_tx_count"], &with["_meta"]["source"]), (&1.into(), &"index+mempool".into()));
        let page = get_ok(&router, TRANSACTIONS, &format!("{base}/transactions?limit=1")).await;
        let cursor = page["next_cursor"].as_str().unwrap().to_owned();

        let code = spoil(&mut pool, absent);
        let began = Instant::now();
        let without = get_ok(&router, OVERVIEW, &format!("{base}/overview")).await;
        assert!(began.elapsed() < Duration::from_secs(5), "{absent:?}");
        assert!(warned(&without, code), "{}", without["_meta"]);
        for key in ["unconfirmed_sats", "unconfirmed_btc", "total_sats", "total_btc"] {
            assert_eq!(without["balance"][key], Value::Null, "{key}");
        }
        for key in ["unconfirmed_tx_count", "unconfirmed_received_sats", "unconfirmed_sent_sats"] {
            assert_eq!(without[key], Value::Null, "{key}");
        }
        assert!(without["balance"]["unconfirmed_reason"].is_string());
        assert_eq!(without["balance"]["confirmed_sats"], with["balance"]["confirmed_sats"]);
        assert_ne!(without["_meta"]["freshness"], with["_meta"]["freshness"]);
        let confirmed: Vec<_> = world.oracle.history(script).iter().rev().map(|row| row.txid.to_string()).collect();
        for more in [String::new(), format!("&cursor={cursor}")] {
            let page = get_ok(&router, TRANSACTIONS, &format!("{base}/transactions?limit=100{more}")).await;
            assert!(warned(&page, code));
            assert_eq!(ids_of(&page), confirmed[..confirmed.len().min(100)]);
            assert_eq!((&page["unconfirmed_total"], &page["offset"]), (&Value::Null, &0.into()));
            assert!(page["unconfirmed_reason"].is_string());
        }
    }
}

#[tokio::test]
async fn validators_follow_the_mempool() {
    let world = &everything_world();
    let router = world.open_router();
    let mut pool = Waiting::at_tip(world);
    let coins: Vec<_> = pool.coins(50_000).take(3).collect();
    let tx = pool.send(&[coins[0]], &[(fresh(1), 1_000)], 100);
    let wallet = format!("/v1/wallets/{}", script_hash(&fresh(1)));
    let paths = [
        format!("{wallet}/overview"),
        format!("{wallet}/transactions"),
        format!("/v1/tx/{}", tx.txid),
        format!("/v1/tx/{}/status", tx.txid),
        format!("/v1/tx/{}/op-return", tx.txid),
    ];
    // The projection of the first states may still be to come.
    tokio::time::sleep(Duration::from_millis(600)).await;
    pool.slot.refresh();
    let conditional =
        |path: &str, tag: &str| Request::get(path).header("if-none-match", tag).body(Body::empty()).unwrap();
    let mut tags = Vec::new();
    for path in &paths {
        let tag = get(&router, path).await.header("etag").to_owned();
        assert_eq!(send(&router, conditional(path, &tag)).await.status, 304, "{path}");
        tags.push(tag);
    }
    // Confirmed history does not depend on it.
    let history = format!("{wallet}/balance-history");
    let history_tag = get(&router, &history).await.header("etag").to_owned();
    pool.send(&[coins[1]], &[(fresh(1), 2_000)], 100);
    for (path, tag) in paths.iter().zip(&tags) {
        let reply = send(&router, conditional(path, tag)).await;
        assert_eq!(reply.status, 200, "{path}");
        assert_ne!(reply.header("etag"), tag, "{path}");
    }
    assert_eq!(send(&router, conditional(&history, &history_tag)).await.status, 304);
}
