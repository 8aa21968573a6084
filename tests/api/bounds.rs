//! The same few reads, however long a history is.

use std::sync::Arc;

use bitcoin::{Amount, ScriptBuf, TxOut};
use cairn_chaingen::{BlockSpec, Chain, ChainBuilder, Lock, Style};
use cairn_model::MempoolDelta;

use crate::{
    support::{World, get, script_hash},
    unconfirmed::{Waiting, output},
};

/// Transactions that touch the busy script.
const MANY: usize = 12_000;
/// Unconfirmed ones on top of them.
const WAITING: usize = 300;

/// A chain with one script that is in thousands of transactions: a long chain of spends to itself, 200 to a block.
fn busy_chain() -> (Chain, ScriptBuf) {
    let mut builder = ChainBuilder::new(21);
    let busy = builder.keyring().script(&Lock::P2wpkh { key: 0 }).unwrap();
    builder.mine(&BlockSpec::paying(busy.clone())).unwrap();
    for _ in 0..100 {
        builder.mine(&BlockSpec::default()).unwrap();
    }
    let mut coin = builder
        .spendable()
        .iter()
        .copied()
        .find(|c| builder.coin(c).is_some_and(|c| c.txout.script_pubkey == busy))
        .unwrap();
    let mut value = 5_000_000_000u64;
    let mut done = 1;
    while done < MANY {
        for _ in 0..200 {
            value -= 100;
            let output = TxOut { value: Amount::from_sat(value), script_pubkey: busy.clone() };
            let tx = builder.spend(&[coin], vec![output], &Style::default()).unwrap();
            coin = bitcoin::OutPoint { txid: builder.add(tx).unwrap(), vout: 0 };
            done += 1;
        }
        builder.mine(&BlockSpec::default()).unwrap();
    }
    (builder.into_chain(), busy)
}

#[tokio::test]
async fn a_busy_address_costs_no_more_than_a_quiet_one() {
    let (chain, busy) = busy_chain();
    let world = World::of(chain);
    let router = world.open_router();
    let base = format!("/v1/wallets/{}", script_hash(&busy));
    let overview = get(&router, &format!("{base}/overview")).await;
    assert!(overview.body["tx_count"].as_u64().unwrap() as usize >= MANY);
    assert!(overview.rows_read() <= 8, "overview: {} rows", overview.rows_read());
    let expected = world.oracle.history(&busy);
    for page in [1u64, 2, 100, 400] {
        let offset = (page - 1) * 25;
        let reply = get(&router, &format!("{base}/transactions?offset={offset}")).await;
        let rows = reply.body["transactions"].as_array().unwrap();
        let newest = &expected[expected.len() - 1 - offset as usize];
        assert_eq!(rows[0]["txid"], newest.txid.to_string());
        // The page itself: at most one row of the log and one header for each transaction.
        let heights: std::collections::BTreeSet<_> =
            rows.iter().map(|r| r["status"]["height"].as_u64().unwrap()).collect();
        let of_page = rows.len() as u64 + heights.len() as u64;
        assert!(reply.rows_read() <= 8 + of_page, "page {page}: {} rows", reply.rows_read());
    }
    let history = get(&router, &format!("{base}/balance-history")).await;
    let days = history.body["points"].as_array().unwrap();
    assert_eq!(days.len(), world.oracle.daily(&busy).len());
    assert!(history.rows_read() <= 4 + days.len() as u64, "{} rows for {} days", history.rows_read(), days.len());
    for (point, day) in days.iter().zip(world.oracle.daily(&busy)) {
        assert_eq!((&point["balance_sats"], &point["tx_count"]), (&day.balance_sats.into(), &day.tx_count.into()));
    }
    // A day in the middle of it: what came before is one read.
    let day = &world.oracle.daily(&busy)[days.len() / 2];
    let name = &days[days.len() / 2]["date"].as_str().unwrap();
    let history = get(&router, &format!("{base}/balance-history?from={name}&to={name}")).await;
    assert_eq!(history.body["points"].as_array().unwrap().len(), 1);
    assert_eq!(history.body["points"][0]["balance_sats"], day.balance_sats);
    assert!(history.rows_read() <= 6, "{} rows for a day", history.rows_read());
    // With a long chain of unconfirmed ones on top.
    let mut pool = Waiting::at_tip(&world);
    let mut coin = pool.coins(1_000_000).find(|at| world.oracle.coins()[at].script == busy).unwrap();
    let mut waiting = Vec::new();
    for _ in 0..WAITING {
        waiting.push(pool.make(&[coin], &[], 100));
        coin = output(waiting.last().unwrap(), 0);
    }
    pool.tell(waiting.iter().map(|tx| MempoolDelta::Add(Arc::clone(tx))).collect());
    let overview = get(&router, &format!("{base}/overview")).await;
    assert_eq!(overview.body["unconfirmed_tx_count"], WAITING);
    assert!(overview.rows_read() <= 8, "overview: {} rows", overview.rows_read());
    for offset in [0, WAITING - 30, WAITING - 5, 10_000] {
        let reply = get(&router, &format!("{base}/transactions?offset={offset}")).await;
        let rows = reply.body["transactions"].as_array().unwrap();
        let heights: std::collections::BTreeSet<_> =
            rows.iter().filter_map(|r| r["status"]["height"].as_u64()).collect();
        let confirmed = rows.iter().filter(|r| r["status"]["state"] == "confirmed").count();
        assert_eq!((rows.len(), confirmed), (25, (offset + 25).saturating_sub(WAITING).min(25)));
        let of_page = (confirmed + heights.len()) as u64;
        assert!(reply.rows_read() <= 8 + of_page, "offset {offset}: {} rows", reply.rows_read());
    }
}
