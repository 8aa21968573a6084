//! Times the pages of an address with a very long history, of one with a hundred transactions, which fill a page, too,
//! and of one with three, in one run, over the router, without the network: page after page in turns. Printed for each:
//! median and 99th percentile, the ratios of the median of the long one to the others, and the rows of the index that
//! each read.
//!
//! `CAIRN_BENCH_PAYMENTS` (1,300,000) is the number of transactions of the busy address, `CAIRN_BENCH_TIMES` (200) how
//! often each page is asked for.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, dead_code)]

#[path = "support/questions.rs"]
mod questions;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use bitcoin::{Amount, OutPoint, ScriptBuf, TxOut};
use cairn_chaingen::{
    BlockSpec, Chain, ChainBuilder, Lock, Style,
    corefiles::{FileOptions, Layout, write_chain},
};
use cairn_domain::address_of;
use cairn_http::{HttpConfig, Metrics};
use cairn_link::IndexSlot;
use cairn_model::Network;
use cairn_operations::{ApiConfig, ApiState, router_with};
use cairn_pipeline::{Engine, NoProgress, SyncOptions};
use cairn_reader::Facts;
use cairn_sources::BlockFiles;
use cairn_support::setting;
use prometheus::Registry;
use questions::{LocalApi, Question};

/// Transactions of a block.
const PER_BLOCK: u64 = 2_000;
/// Satoshis of a payment.
const PAID: u64 = 5_000;
/// Coins that an address keeps, or one more: those of a short history and of a long one have as many coins, so that
/// only the history differs.
const KEPT: usize = 3;
/// The pages, after the address.
const PAGES: [&str; 4] = ["", "/transactions", "/flow", "/cluster"];

/// A chain in which scripts are paid and pay on, one of them over and over; its address, and those of the ones with 100
/// and with 3 transactions.
fn chain(payments: u64) -> (Chain, [String; 3]) {
    let mut builder = ChainBuilder::new(54);
    let mut script = |key| builder.keyring().script(&Lock::P2wpkh { key }).unwrap();
    let (busy, payer, short) = (script(0), script(2), [script(1), script(3)]);
    builder.mine(&BlockSpec::paying(payer.clone())).unwrap();
    for _ in 0..101 {
        builder.mine(&BlockSpec::default()).unwrap();
    }
    let funds = *builder.spendable().iter().find(|at| builder.coin(at).unwrap().txout.script_pubkey == payer).unwrap();
    let output = |script: &ScriptBuf, sats| TxOut { value: Amount::from_sat(sats), script_pubkey: script.clone() };
    let mut funds = (funds, builder.coin(&funds).unwrap().txout.value.to_sat());
    let mut pay = |builder: &mut ChainBuilder, to: &ScriptBuf| {
        let left = funds.1 - PAID - 200;
        let outputs = vec![output(to, PAID), output(&payer, left)];
        let txid = builder.spend(&[funds.0], outputs, &Style::default()).and_then(|tx| builder.add(tx)).unwrap();
        funds = (OutPoint { txid, vout: 1 }, left);
        OutPoint { txid, vout: 0 }
    };
    for (script, count, per_block) in [(&short[0], 100, 1), (&short[1], 3, 1), (&busy, payments, PER_BLOCK)] {
        let mut own = VecDeque::new();
        for made in 1..=count {
            // It is paid until it has enough coins, and then pays on as often as it is paid.
            if own.len() <= KEPT {
                own.push_back(pay(&mut builder, script));
            } else {
                let coin = own.pop_front().unwrap();
                let outputs = vec![output(&payer, PAID - 500)];
                builder.spend(&[coin], outputs, &Style::default()).and_then(|tx| builder.add(tx)).unwrap();
            }
            if made % per_block == 0 {
                builder.mine(&BlockSpec::default()).unwrap();
            }
        }
    }
    builder.mine(&BlockSpec::default()).unwrap();
    let address = |script: &ScriptBuf| address_of(script.as_bytes(), Network::Regtest).unwrap();
    let addresses = [address(&busy), address(&short[0]), address(&short[1])];
    (builder.into_chain(), addresses)
}

fn index(folder: &std::path::Path, chain: &Chain) -> Engine {
    let blocks = folder.join("blocks");
    std::fs::create_dir(&blocks).unwrap();
    let files = FileOptions::new(bitcoin::Network::Regtest, [1, 2, 3, 4, 5, 6, 7, 8]);
    write_chain(&blocks, chain, &Layout::tidy(files)).unwrap();
    let facts = Facts { blocks_dir: Some(blocks.clone()), ..Facts::of(Network::Regtest) };
    let mut engine = Engine::open(&folder.join("data"), &facts).unwrap();
    let files = BlockFiles::open(&blocks, Network::Regtest).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    engine.sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
    engine.follow_up(&NoProgress, true).unwrap();
    engine.settle().unwrap();
    engine
}

/// Rows that each operation has read so far.
fn rows(registry: &Registry) -> BTreeMap<String, u64> {
    let all = registry.gather();
    let of = all.iter().filter(|family| family.name() == "cairn_http_rows_read_total");
    of.flat_map(|family| family.get_metric())
        .map(|metric| (metric.get_label()[0].value().to_owned(), metric.get_counter().get_value() as u64))
        .collect()
}

fn percentile(millis: &mut [f64], percent: usize) -> f64 {
    millis.sort_by(f64::total_cmp);
    millis[(millis.len() - 1) * percent / 100]
}

fn main() {
    let payments = setting("CAIRN_BENCH_PAYMENTS", 1_300_000);
    let times = setting("CAIRN_BENCH_TIMES", 200) as usize;
    let folder = cairn_testkit::temp_dir();
    let (chain, addresses) = chain(payments);
    let engine = index(folder.path(), &chain);
    drop(chain);
    let registry = Registry::new();
    let config = ApiConfig::from(HttpConfig { rate_limit: 0, gates_enabled: false, ..ApiConfig::default().http });
    let state = ApiState::new(Arc::new(IndexSlot::with(engine.reader())), config);
    let state = ApiState { metrics: Arc::new(Metrics::of(registry.clone())), ..state };
    let pages = |api: &cairn_http::Api| cairn_web::routes(Arc::new(api.clone()), cairn_web::Options::default());
    let api = LocalApi::over(router_with(state, pages));
    println!("addresses with {payments}, 100 and 3 transactions; {times} times each, in turns\n");
    println!("| page | ms, median | 99 % | of 100 | 99 % | of 3 | 99 % | ratio to 100 | to 3 | rows | of 100 | of 3 |");
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    let mut by_operation = Vec::new();
    for page in PAGES {
        let questions = addresses.each_ref().map(|address| Question::get(format!("/address/{address}{page}")));
        // The first time warms.
        let read = questions.each_ref().map(|question| {
            api.ask(question);
            let before = rows(&registry);
            api.ask(question);
            let mut read = rows(&registry);
            read.iter_mut().for_each(|(operation, rows)| *rows -= before.get(operation).unwrap_or(&0));
            read.retain(|_, rows| *rows > 0);
            read
        });
        let mut millis = [const { Vec::new() }; 3];
        for _ in 0..times {
            for (question, taken) in questions.iter().zip(&mut millis) {
                taken.push(api.ask(question).millis);
            }
        }
        let [busy, full, few] = millis.each_mut().map(|taken| (percentile(taken, 50), percentile(taken, 99)));
        let ([ms, ms_99], [to_full, to_few]) = ([busy.0, busy.1], [busy.0 / full.0, busy.0 / few.0]);
        println!(
            "| /address/…{page} | {ms:.1} | {ms_99:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {to_full:.2} | {to_few:.2} | {} | {} | {} |",
            full.0,
            full.1,
            few.0,
            few.1,
            read[0].values().sum::<u64>(),
            read[1].values().sum::<u64>(),
            read[2].values().sum::<u64>()
        );
        by_operation.push((page, read));
    }
    println!("\nrows by operation, of the busy one, of 100 and of 3 transactions:");
    for (page, read) in by_operation {
        let operations: BTreeSet<&String> = read.iter().flat_map(BTreeMap::keys).collect();
        for operation in operations {
            let [busy, full, few] = read.each_ref().map(|read| read.get(operation).copied().unwrap_or(0));
            println!("/address/…{page} {operation}: {busy}, {full}, {few}");
        }
    }
}
