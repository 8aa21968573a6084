//! Unconfirmed transactions: alone, in the histories and coins of scripts, and in the numbers of the mempool.

use std::collections::BTreeSet;

use bitcoin::{OutPoint, ScriptBuf, consensus::serialize};
use cairn_link::Absent;
use cairn_model::RemoveReason;
use serde_json::{Value, json as value};

use super::{by_hash, esplora, found, get, json, list, refused, text, txids, txs::check_json};
use crate::{
    mempool_ops::settle,
    support::{World, everything_world, get_ok, hex, script_hash},
    unconfirmed::{SEEN, Waiting, output},
    unconfirmed_wallets::spoil,
};

const UNCONFIRMED: &str = r#"{"confirmed":false}"#;

fn script(tag: u8) -> ScriptBuf {
    ScriptBuf::from_bytes([&[0, 20][..], &[tag; 20]].concat())
}

/// A chain of three transactions, one that pays a script twice, and one that only pays data.
async fn filled(world: &World) -> Waiting<'_> {
    let mut pool = Waiting::at_tip(world);
    let coins: Vec<OutPoint> = pool.coins(100_000).take(4).collect();
    let first = pool.send(&coins[..2], &[(script(0xd1), 10_000), (script(0xd2), 20_000)], 1_000);
    let second = pool.send(&[output(&first, 1)], &[(script(0xd1), 7_000), (script(0xd1), 8_000)], 2_000);
    pool.send(&[output(&second, 0), coins[2]], &[(script(0xd3), 3_000)], 9_000);
    pool.send(&[coins[3]], &[(ScriptBuf::new_op_return([7; 9]), 0)], 5_000);
    settle(&pool).await;
    pool
}

/// The outputs that a transaction of the pool spends.
fn spent(world: &World, pool: &Waiting<'_>, at: usize) -> Vec<(u64, ScriptBuf)> {
    let coin = |at: &OutPoint| match world.oracle.coins().get(at) {
        Some(coin) => (coin.value_sats, coin.script.clone()),
        None => {
            let (parent, _) = pool.made.iter().find(|(tx, _)| tx.compute_txid() == at.txid).unwrap();
            let out = &parent.output[at.vout as usize];
            (out.value.to_sat(), out.script_pubkey.clone())
        }
    };
    pool.made[at].0.input.iter().map(|input| coin(&input.previous_output)).collect()
}

/// The effect of the pool on a script, naively: outputs, their sum, inputs, their sum, transactions.
fn effect(world: &World, pool: &Waiting<'_>, script: &ScriptBuf) -> Value {
    let (mut outputs, mut received, mut inputs, mut sent, mut txs) = (0, 0, 0, 0, 0);
    for (at, (tx, _)) in pool.made.iter().enumerate() {
        let paid: Vec<u64> =
            tx.output.iter().filter(|out| out.script_pubkey == *script).map(|out| out.value.to_sat()).collect();
        let spent = spent(world, pool, at);
        let spent: Vec<u64> = spent.iter().filter(|(_, of)| of == script).map(|(sats, _)| *sats).collect();
        outputs += paid.len();
        received += paid.iter().sum::<u64>();
        inputs += spent.len();
        sent += spent.iter().sum::<u64>();
        txs += usize::from(!paid.is_empty() || !spent.is_empty());
    }
    value!({
        "funded_txo_count": outputs,
        "funded_txo_sum": received,
        "spent_txo_count": inputs,
        "spent_txo_sum": sent,
        "tx_count": txs,
    })
}

#[tokio::test]
async fn every_unconfirmed_transaction_in_all_its_forms() {
    let world = &everything_world();
    let router = esplora(world, None);
    let pool = filled(world).await;
    for (at, (tx, _)) in pool.made.iter().enumerate() {
        let txid = tx.compute_txid();
        let found_json = json(&router, &format!("/tx/{txid}")).await;
        let spent = spent(world, &pool, at);
        let spent: Vec<_> = spent.iter().map(|(sats, script)| (*sats, &**script)).collect();
        check_json(&found_json, tx, &spent);
        assert_eq!(found_json["status"].to_string(), UNCONFIRMED);
        assert_eq!(json(&router, &format!("/tx/{txid}/status")).await.to_string(), UNCONFIRMED);
        assert_eq!(text(&router, &format!("/tx/{txid}/hex")).await, hex(&serialize(tx)));
        assert_eq!(found(&router, &format!("/tx/{txid}/raw")).await.bytes, serialize(tx));
        let proof = format!("/tx/{txid}/merkle-proof");
        refused(&router, &proof, 404, "Transaction not found or is unconfirmed").await;
        let spends = json(&router, &format!("/tx/{txid}/outspends")).await;
        assert_eq!(list(&spends).len(), tx.output.len());
        for (vout, row) in list(&spends).iter().enumerate() {
            let place = OutPoint::new(txid, vout as u32);
            let by = pool.made.iter().find_map(|(by, _)| {
                Some((by.compute_txid(), by.input.iter().position(|input| input.previous_output == place)?))
            });
            let expected = match by {
                None => value!({"spent": false}),
                Some((by, vin)) => {
                    value!({"spent": true, "txid": by.to_string(), "vin": vin, "status": {"confirmed": false}})
                }
            };
            assert_eq!(*row, expected);
            assert_eq!(json(&router, &format!("/tx/{txid}/outspend/{vout}")).await, expected);
        }
    }
    // Confirmed outputs that only the pool spends.
    for (by, _) in &pool.made {
        for (vin, input) in by.input.iter().enumerate() {
            let at = input.previous_output;
            let spend = json(&router, &format!("/tx/{}/outspend/{}", at.txid, at.vout)).await;
            assert_eq!((&spend["txid"], &spend["vin"]), (&by.compute_txid().to_string().into(), &vin.into()));
        }
    }
}

#[tokio::test]
async fn scripts_with_unconfirmed_transactions() {
    let world = &everything_world();
    let router = esplora(world, None);
    let pool = filled(world).await;
    let own = world.open_router();
    let mut scripts: BTreeSet<ScriptBuf> = (0xd1..=0xd3).map(script).collect();
    for at in 0..pool.made.len() {
        scripts.extend(spent(world, &pool, at).into_iter().map(|(_, script)| script));
    }
    let spends: BTreeSet<OutPoint> =
        pool.made.iter().flat_map(|(tx, _)| tx.input.iter().map(|input| input.previous_output)).collect();
    for script in &scripts {
        let path = by_hash(script);
        let stats = json(&router, &path).await;
        let expected = effect(world, &pool, script);
        assert_eq!(stats["mempool_stats"], expected);
        let overview = format!("/v1/wallets/{}/overview", script_hash(script));
        let overview = get_ok(&own, "/v1/wallets/{address}/overview", &overview).await;
        assert_eq!(overview["unconfirmed_tx_count"], expected["tx_count"]);
        assert_eq!(overview["unconfirmed_received_sats"], expected["funded_txo_sum"]);
        assert_eq!(overview["unconfirmed_sent_sats"], expected["spent_txo_sum"]);
        // Newest first; then the confirmed ones.
        let touches = |at: usize| {
            let (tx, _) = &pool.made[at];
            tx.output.iter().any(|out| out.script_pubkey == *script)
                || spent(world, &pool, at).iter().any(|(_, of)| of == script)
        };
        let unconfirmed: Vec<String> = (0..pool.made.len())
            .rev()
            .filter(|at| touches(*at))
            .map(|at| pool.made[at].0.compute_txid().to_string())
            .collect();
        assert_eq!(txids(&json(&router, &format!("{path}/txs/mempool")).await), unconfirmed);
        let confirmed = txids(&json(&router, &format!("{path}/txs/chain")).await);
        let all = txids(&json(&router, &format!("{path}/txs")).await);
        assert_eq!(all, [unconfirmed.clone(), confirmed.clone()].concat());
        if let Some(first) = unconfirmed.first() {
            let rest = txids(&json(&router, &format!("{path}/txs?after_txid={first}")).await);
            assert_eq!(rest, [unconfirmed[1..].to_vec(), confirmed].concat());
        }
        // Coins of the chain that nobody spends, and outputs of the pool.
        let mut expected: BTreeSet<(String, u64, u64, bool)> = BTreeSet::new();
        for (at, coin) in
            world.oracle.coins().iter().filter(|(at, coin)| coin.script == *script && !spends.contains(at))
        {
            expected.insert((at.txid.to_string(), at.vout.into(), coin.value_sats, true));
        }
        for (tx, _) in &pool.made {
            for (vout, out) in tx.output.iter().enumerate().filter(|(_, out)| out.script_pubkey == *script) {
                let at = OutPoint::new(tx.compute_txid(), vout as u32);
                if !spends.contains(&at) {
                    expected.insert((at.txid.to_string(), at.vout.into(), out.value.to_sat(), false));
                }
            }
        }
        let unspent = json(&router, &format!("{path}/utxo")).await;
        let row = |row: &Value| {
            let number = |name: &str| row[name].as_u64().unwrap();
            let confirmed = row["status"]["confirmed"].as_bool().unwrap();
            (row["txid"].as_str().unwrap().to_owned(), number("vout"), number("value"), confirmed)
        };
        assert_eq!(list(&unspent).len(), expected.len());
        assert_eq!(list(&unspent).iter().map(row).collect::<BTreeSet<_>>(), expected);
    }
}

#[tokio::test]
async fn too_many_coins_are_refused() {
    let world = &everything_world();
    let router = esplora(world, None);
    let mut pool = Waiting::at_tip(world);
    let script = ScriptBuf::from_bytes(vec![0x51, 0x51, 0x51]);
    let path = format!("{}/utxo", by_hash(&script));
    let mut coins = pool.coins(1_000_000);
    let most = pool.send(&[coins.next().unwrap()], &vec![(script.clone(), 100); 5_000], 1_000);
    assert_eq!(list(&json(&router, &path).await).len(), 5_000);
    pool.send(&[coins.next().unwrap()], &[(script.clone(), 100)], 1_000);
    refused(&router, &path, 400, "Too many unspent outputs").await;
    // Unspent outputs count, not all that were received.
    pool.send(&[output(&most, 0), output(&most, 1)], &[(script, 100)], 100);
    assert_eq!(list(&json(&router, &path).await).len(), 5_000);
}

#[tokio::test]
async fn the_numbers_of_the_mempool() {
    let world = &everything_world();
    let router = esplora(world, None);
    // Without a mempool that anybody watches.
    let nothing = value!({"count": 0, "vsize": 0, "total_fee": 0, "fee_histogram": []});
    assert_eq!(json(&router, "/mempool").await, nothing);
    for path in ["/mempool/txids", "/mempool/recent", "/mempool/txids/page", "/v1/fees/mempool-blocks"] {
        assert_eq!(json(&router, path).await, value!([]));
    }
    assert_eq!(json(&router, "/fee-estimates").await, value!({}));
    refused(&router, "/v1/fees/recommended", 503, "Service Unavailable").await;

    let mut pool = filled(world).await;
    let stats = json(&router, "/mempool").await;
    let sum = |of: fn(&cairn_model::MempoolTx) -> u64| pool.made.iter().map(|(_, tx)| of(tx)).sum::<u64>();
    assert_eq!(stats["count"], pool.made.len());
    assert_eq!(stats["vsize"], sum(|tx| tx.adjusted_vsize()));
    assert_eq!(stats["total_fee"], sum(|tx| tx.fee_sats));
    let bins: Vec<(f64, u64)> = serde_json::from_value(stats["fee_histogram"].clone()).unwrap();
    assert!(bins.windows(2).all(|pair| pair[0].0 > pair[1].0), "{bins:?}");
    assert_eq!(bins.iter().map(|(_, vsize)| vsize).sum::<u64>(), sum(|tx| tx.adjusted_vsize()));

    let expected: BTreeSet<String> = pool.made.iter().map(|(tx, _)| tx.compute_txid().to_string()).collect();
    let ids = |value: &Value| list(value).iter().map(|id| id.as_str().unwrap().to_owned()).collect::<Vec<_>>();
    let all = ids(&json(&router, "/mempool/txids").await);
    assert_eq!((all.len(), all.into_iter().collect::<BTreeSet<_>>()), (expected.len(), expected.clone()));
    let page = ids(&json(&router, "/mempool/txids/page").await);
    assert_eq!(page.iter().cloned().collect::<BTreeSet<_>>(), expected);
    assert_eq!(ids(&json(&router, &format!("/mempool/txids/page/{}", page[0])).await), page[1..]);

    let recent = json(&router, "/mempool/recent").await;
    for (row, (at, (tx, of_pool))) in list(&recent).iter().zip(pool.made.iter().enumerate().rev()) {
        let value: u64 = spent(world, &pool, at).iter().map(|(sats, _)| sats).sum();
        let expected = value!({
            "txid": tx.compute_txid().to_string(),
            "fee": of_pool.fee_sats,
            "vsize": tx.weight().to_wu() / 4,
            "value": value,
        });
        assert_eq!(*row, expected);
    }
    assert_eq!(list(&recent).len(), pool.made.len());
    // A transaction that leaves is not recent any more.
    let last = std::sync::Arc::clone(&pool.made.last().unwrap().1);
    pool.leave(&last, RemoveReason::Expired);
    assert_eq!(list(&json(&router, "/mempool/recent").await).len(), pool.made.len() - 1);
}

#[tokio::test]
async fn feerates_follow_from_the_projection_if_no_node_is_there() {
    let world = &everything_world();
    let router = esplora(world, None);
    let pool = filled(world).await;
    let own = get_ok(&world.open_router(), "/v1/fees/recommended", "/v1/fees/recommended").await;
    let precise = json(&router, "/v1/fees/precise").await;
    let rounded = json(&router, "/v1/fees/recommended").await;
    for (name, of_own) in [
        ("fastestFee", "fastest_fee_sat_vb"),
        ("halfHourFee", "half_hour_fee_sat_vb"),
        ("hourFee", "hour_fee_sat_vb"),
        ("economyFee", "economy_fee_sat_vb"),
        ("minimumFee", "minimum_fee_sat_vb"),
    ] {
        assert_eq!(precise[name].as_f64(), own[of_own].as_f64(), "{name}");
        assert_eq!(rounded[name].as_f64().unwrap(), precise[name].as_f64().unwrap().ceil());
    }
    let estimates = json(&router, "/fee-estimates").await;
    let estimates = estimates.as_object().unwrap();
    assert_eq!(estimates.len(), 28);
    assert_eq!((&estimates["1"], &estimates["6"]), (&precise["fastestFee"], &precise["hourFee"]));
    assert_eq!(estimates["1008"], precise["minimumFee"]);
    let blocks = json(&router, "/v1/fees/mempool-blocks").await;
    let [block] = list(&blocks) else { panic!("{blocks}") };
    assert_eq!(block["nTx"], pool.made.len());
    assert_eq!(list(&block["feeRange"]).len(), 7);
    let fees: u64 = pool.made.iter().map(|(_, tx)| tx.fee_sats).sum();
    assert_eq!(block["totalFees"], fees);
}

#[tokio::test]
async fn relatives_and_times() {
    let world = &everything_world();
    let router = esplora(world, None);
    let pool = filled(world).await;
    let ids: Vec<String> = pool.made.iter().map(|(tx, _)| tx.compute_txid().to_string()).collect();
    let of = |found: &Value, name: &str| txids(&found[name]).into_iter().collect::<BTreeSet<_>>();
    let set = |ids: &[String]| ids.iter().cloned().collect::<BTreeSet<_>>();
    for (at, (above, below)) in [(0, (0..0, 1..3)), (1, (0..1, 2..3)), (2, (0..2, 0..0)), (3, (0..0, 0..0))] {
        let found = json(&router, &format!("/v1/cpfp/{}", ids[at])).await;
        assert_eq!((of(&found, "ancestors"), of(&found, "descendants")), (set(&ids[above]), set(&ids[below])));
        let tx = &pool.made[at].1;
        assert_eq!((&found["fee"], &found["adjustedVsize"]), (&tx.fee_sats.into(), &tx.adjusted_vsize().into()));
        let rate = pool.slot.projection().unwrap().position(&tx.txid).unwrap().rate;
        assert_eq!(found["effectiveFeePerVsize"].as_f64().unwrap(), rate.0 as f64 / 1_000.0);
    }
    let none = "33".repeat(32);
    assert_eq!(json(&router, &format!("/v1/cpfp/{none}")).await, value!({"ancestors": []}));
    let path = format!("/v1/transaction-times?txId[]={}&txId%5B%5D={none}&txId[]={}", ids[0], ids[3]);
    assert_eq!(json(&router, &path).await, value!([SEEN / 1_000, 0, SEEN / 1_000 + 3]));
    let path = format!("/v1/outspends?txId[]={}&txId[]={none}", ids[1]);
    let spends = json(&router, &path).await;
    assert_eq!((&spends[0], &spends[1]), (&json(&router, &format!("/tx/{}/outspends", ids[1])).await, &value!([])));
}

#[tokio::test]
async fn a_mempool_that_cannot_be_read_stops_only_what_needs_it() {
    let world = &everything_world();
    let router = esplora(world, None);
    let blocks = world.oracle.blocks();
    let (tip, coinbase) = (blocks.last().unwrap(), blocks[1].txdata[0].compute_txid());
    let script = by_hash(&blocks[1].txdata[0].output[0].script_pubkey);
    let unknown = "07".repeat(32);
    for absent in [Absent::Lost, Absent::OtherTip, Absent::Loading] {
        let mut pool = Waiting::at_tip(world);
        spoil(&mut pool, absent);
        assert_eq!(text(&router, "/blocks/tip/hash").await, tip.block_hash().to_string());
        for path in [
            "/blocks".to_owned(),
            "/v1/blocks".to_owned(),
            format!("/block/{}/txs", tip.block_hash()),
            format!("/tx/{coinbase}"),
            format!("/tx/{coinbase}/status"),
            format!("/tx/{coinbase}/merkle-proof"),
            format!("{script}/txs/chain"),
            format!("{script}/txs/summary"),
        ] {
            found(&router, &path).await;
        }
        for path in [
            "/mempool".to_owned(),
            "/mempool/recent".to_owned(),
            "/fee-estimates".to_owned(),
            "/v1/fees/recommended".to_owned(),
            format!("/v1/cpfp/{unknown}"),
            format!("/tx/{unknown}"),
            script.clone(),
            format!("{script}/txs"),
            format!("{script}/utxo"),
        ] {
            let said = get(&router, &path).await;
            assert_eq!(said.status, 503, "{absent:?} {path}: {}", said.text());
            assert_eq!(said.header("retry-after"), "2", "{path}");
        }
    }
}
