//! Times risk checks: of one address, and of a hundred deposit addresses of one exchange at once.
//!
//! A chain in which a bank with a listed script pays a hundred deposit addresses of an exchange in each round, and the
//! exchange sweeps them together. Sources label every third deposit address. Then, warm and over the router without the
//! network: checks of one address at depth 1 and 2, the batch of a hundred at depth 1, that of ten at depth 2, and the
//! batches of intelligence and signals. Printed for each: median and most of its time, the rows that it reads, and the
//! bytes; and the rows of a hundred single checks, to compare with those of the batch.
//!
//! `CAIRN_BENCH_ROUNDS` (20) is the number of rounds.
#![allow(missing_docs, dead_code, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

#[path = "support/questions.rs"]
mod questions;

use std::{env, path::Path};

use bitcoin::{Amount, OutPoint, ScriptBuf, TxOut};
use cairn_chaingen::{
    BlockSpec, Chain, ChainBuilder, Lock, Style,
    corefiles::{FileOptions, Layout, write_chain},
};
use cairn_domain::address_of;
use cairn_events::{
    self as events, Category, Claim, ClaimList, ClaimType, Document, DocumentHash, EvidenceTier, Provenance,
};
use cairn_model::Network;
use cairn_pipeline::{Engine, NoProgress, SyncOptions};
use cairn_reader::Facts;
use cairn_sources::BlockFiles;
use questions::{LocalApi, Question};
use serde_json::{Value, json};

/// Deposit addresses of the exchange.
const DEPOSITS: u32 = 100;
/// Satoshis of a deposit.
const DEPOSIT_SATS: u64 = 1_000_000;
/// How often each answer is asked for.
const TIMES: usize = 15;

struct Story {
    chain: Chain,
    bank: ScriptBuf,
    deposits: Vec<ScriptBuf>,
}

/// Coins of scripts, the largest first.
fn coins_of(builder: &ChainBuilder, scripts: &[ScriptBuf]) -> Vec<OutPoint> {
    let value = |at: &OutPoint| builder.coin(at).unwrap().txout.value;
    let is_own = |at: &&OutPoint| builder.coin(at).is_some_and(|coin| scripts.contains(&coin.txout.script_pubkey));
    let mut coins: Vec<OutPoint> = builder.spendable().iter().filter(is_own).copied().collect();
    coins.sort_by_key(|at| std::cmp::Reverse(value(at)));
    coins
}

/// Spends coins to outputs; what is left but for a fee goes to a script.
fn spend(builder: &mut ChainBuilder, coins: &[OutPoint], mut outputs: Vec<TxOut>, rest: &ScriptBuf) {
    let all: Amount = coins.iter().map(|at| builder.coin(at).unwrap().txout.value).sum();
    let paid: Amount = outputs.iter().map(|output| output.value).sum();
    outputs.push(TxOut { value: all - paid - Amount::from_sat(100_000), script_pubkey: rest.clone() });
    let tx = builder.spend(coins, outputs, &Style::default()).unwrap();
    builder.add(tx).unwrap();
    builder.mine(&BlockSpec::default()).unwrap();
}

fn story(rounds: u32) -> Story {
    let mut builder = ChainBuilder::new(41);
    let mut script = |key| builder.keyring().script(&Lock::P2wpkh { key }).unwrap();
    let (bank, hot) = (script(1), script(2));
    let deposits: Vec<ScriptBuf> = (0..DEPOSITS).map(|at| script(1_000 + at)).collect();
    for _ in 0..3 {
        builder.mine(&BlockSpec::paying(bank.clone())).unwrap();
    }
    for _ in 0..101 {
        builder.mine(&BlockSpec::default()).unwrap();
    }
    for _ in 0..rounds {
        let coin = coins_of(&builder, std::slice::from_ref(&bank))[0];
        let pays = deposits
            .iter()
            .map(|script| TxOut { value: Amount::from_sat(DEPOSIT_SATS), script_pubkey: script.clone() });
        let pays = pays.collect();
        spend(&mut builder, &[coin], pays, &bank);
        let paid = coins_of(&builder, &deposits);
        spend(&mut builder, &paid, Vec::new(), &hot);
    }
    Story { chain: builder.into_chain(), bank, deposits }
}

/// Labels of the exchange, and the listing of the bank.
fn labels(story: &Story) -> Document {
    let provenance = Provenance {
        document: DocumentHash([1; 32]),
        source: "bench".parse().unwrap(),
        licence: "mit".parse().unwrap(),
        origin: "a bench".to_owned(),
        retrieved_at: 1_600_000_000,
    };
    let list = ClaimList { name: "list".parse().unwrap(), is_complete: false };
    let of_exchange = |(row, script): (u32, &ScriptBuf)| Claim {
        level: 90,
        entity: Some("exchange".parse().unwrap()),
        entity_name: "Exchange".into(),
        category: Some(Category::Exchange),
        is_inherited: true,
        source_url: "https://lists.example/1".into(),
        ..Claim::bare(row, script.as_bytes().into(), ClaimType::ControlledBy, EvidenceTier::SelfDisclosed)
    };
    let listed = Claim {
        level: 100,
        behaviour: Some("sanctioned".parse().unwrap()),
        source_url: "https://lists.example/2".into(),
        ..Claim::bare(1, story.bank.as_bytes().into(), ClaimType::ListedBy, EvidenceTier::AuthorityListed)
    };
    let rows = (2..).zip(story.deposits.iter().step_by(3)).map(of_exchange);
    let rows = [listed].into_iter().chain(rows).collect();
    Document { provenance, received_at: None, body: events::Body::Claims { list, rows } }
}

fn index(folder: &Path, story: &Story) -> Engine {
    let blocks = folder.join("blocks");
    std::fs::create_dir(&blocks).unwrap();
    let files = FileOptions::new(bitcoin::Network::Regtest, [1, 2, 3, 4, 5, 6, 7, 8]);
    write_chain(&blocks, &story.chain, &Layout::tidy(files)).unwrap();
    let facts = Facts { blocks_dir: Some(blocks.clone()), ..Facts::of(Network::Regtest) };
    let mut engine = Engine::open(&folder.join("data"), &facts).unwrap();
    let files = BlockFiles::open(&blocks, Network::Regtest).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    engine.sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
    engine.take_document(&labels(story), 1_700_000_000).unwrap();
    engine.follow_up(&NoProgress, true).unwrap();
    engine.settle().unwrap();
    engine
}

fn posted(name: &str, path: &str, body: Value) -> Question {
    Question { name: name.to_owned(), path: path.to_owned(), body: Some(body) }
}

fn main() {
    let rounds = env::var("CAIRN_BENCH_ROUNDS").map_or(20, |text| text.parse().expect("CAIRN_BENCH_ROUNDS"));
    let story = story(rounds);
    let folder = cairn_testkit::temp_dir();
    let engine = index(folder.path(), &story);
    let all: Vec<String> =
        story.deposits.iter().map(|script| address_of(script.as_bytes(), Network::Regtest).unwrap()).collect();
    println!("\n{} deposit addresses of one exchange, {rounds} rounds", all.len());
    let api = LocalApi::of(engine.reader());
    let batch = "/v1/risk-check/batch";
    let questions = [
        Question::get(format!("/v1/risk-check/{}", all[0])),
        Question::get(format!("/v1/risk-check/{}?depth=2", all[0])),
        posted("risk-check, 100 at depth 1", batch, json!({"addresses": all})),
        posted("risk-check, 10 at depth 2", batch, json!({"addresses": all[..10], "depth": 2})),
        posted("intelligence, 100", "/v1/batch/intelligence", json!({"addresses": all})),
        posted("risk-signals, 100", "/v1/batch/risk-signals", json!({"addresses": all})),
    ];
    api.print(TIMES, &questions);
    let rows = |answer: questions::Answered| answer.rows.parse::<u64>().unwrap_or(0);
    let single: u64 = all.iter().map(|of| rows(api.ask(&Question::get(format!("/v1/risk-check/{of}"))))).sum();
    let together = rows(api.ask(&questions[2]));
    println!("\n{single} rows for 100 single checks, {together} for the batch");
}
