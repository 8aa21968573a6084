//! The last day of the demo: each case is on the chain as it is described, by the blocks alone, and the page
//! `docs/risk-demo.md` has all of them.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fmt::Write,
    path::Path,
    sync::OnceLock,
};

use bitcoin::{Script, ScriptBuf, Transaction, Txid};
use cairn_chaingen::{
    Chain, Coin,
    demo::{self, END_TIME, Question, RiskCase},
};

const BTC: u64 = 100_000_000;
/// Blocks of a day: the window of the detectors.
const WINDOW: u32 = 144;

/// A transaction with what it spends.
struct Known<'c> {
    tx: &'c Transaction,
    spent: &'c [Coin],
    height: u32,
    time: u32,
}

impl Known<'_> {
    fn spends(&self, script: &Script) -> bool {
        self.spent.iter().any(|coin| coin.txout.script_pubkey.as_script() == script)
    }

    fn pays(&self, script: &Script) -> bool {
        self.paid(script) > 0
    }

    fn paid(&self, script: &Script) -> u64 {
        let outputs = self.tx.output.iter().filter(|output| output.script_pubkey.as_script() == script);
        outputs.map(|output| output.value.to_sat()).sum()
    }

    /// True if it spends an output of another one.
    fn follows(&self, other: &Known<'_>) -> bool {
        let txid = other.tx.compute_txid();
        self.tx.input.iter().any(|input| input.previous_output.txid == txid)
    }
}

/// The demo and its transactions.
struct World {
    chain: Chain,
    cases: Vec<RiskCase>,
}

fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let (chain, cases) = demo::chain_and_cases(1).unwrap();
        World { chain, cases }
    })
}

/// The transactions of the active chain, without coinbases.
fn known() -> &'static HashMap<Txid, Known<'static>> {
    static KNOWN: OnceLock<HashMap<Txid, Known<'static>>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let all = world().chain.active().into_iter().flat_map(|mined| {
            let (height, time) = (mined.height, mined.block.header.time);
            let txs = mined.block.txdata.iter().skip(1).zip(&mined.spent);
            txs.map(move |(tx, spent)| (tx.compute_txid(), Known { tx, spent, height, time }))
        });
        all.collect()
    })
}

/// The transactions of a script in the order of their blocks.
fn history(script: &Script) -> Vec<&'static Known<'static>> {
    static BY_SCRIPT: OnceLock<HashMap<ScriptBuf, HashSet<Txid>>> = OnceLock::new();
    let by_script = BY_SCRIPT.get_or_init(|| {
        let mut by_script: HashMap<ScriptBuf, HashSet<Txid>> = HashMap::new();
        for (txid, of) in known() {
            let spent = of.spent.iter().map(|coin| &coin.txout);
            for output in of.tx.output.iter().chain(spent) {
                by_script.entry(output.script_pubkey.clone()).or_default().insert(*txid);
            }
        }
        by_script
    });
    let mut all: Vec<_> = by_script.get(script).into_iter().flatten().map(|txid| &known()[txid]).collect();
    all.sort_by_key(|tx| tx.height);
    all
}

/// The `at`-th case with this id: its script, and its transactions.
fn case(id: &str, at: usize) -> (ScriptBuf, Vec<&'static Known<'static>>) {
    let case = world().cases.iter().filter(|case| case.id == id).nth(at).unwrap_or_else(|| panic!("{id} {at}"));
    let txs = case.txids.iter().map(|txid| known().get(txid).unwrap_or_else(|| panic!("{id}: {txid}"))).collect();
    (case.address.script_pubkey(), txs)
}

fn actor(name: &str, at: usize) -> ScriptBuf {
    let actors = demo::actors().unwrap().into_iter().chain(demo::labelled_cases().unwrap());
    actors.into_iter().find(|of| of.name == name).unwrap().addresses[at].script_pubkey()
}

/// Every script that labels name.
fn labelled() -> HashSet<ScriptBuf> {
    let actors = demo::actors().unwrap().into_iter().chain(demo::labelled_cases().unwrap());
    actors.flat_map(|of| of.addresses).map(|address| address.script_pubkey()).collect()
}

#[test]
fn all_are_there_and_concern_their_address() {
    let ids: Vec<&str> = world().cases.iter().map(|case| case.id).collect();
    let listings = ["not_examined", "before_listing", "after_listing"];
    let detectors = [
        "coinjoin_participation",
        "peel_chain",
        "address_reuse",
        "rapid_pass_through",
        "fan_in",
        "fan_out",
        "dust_recipient",
        "mixer_exposure",
        "sanctioned_direct",
        "sanctioned_indirect",
    ];
    let stops = ["service", "coinjoin", "coinbase", "busy", "unspendable", "hop_limit", "held"];
    for id in detectors.iter().chain(&listings).chain(&stops) {
        assert!(ids.contains(id), "{id}");
    }
    let named = labelled();
    for (at, of) in world().cases.iter().enumerate() {
        let nth = ids[..at].iter().filter(|id| **id == of.id).count();
        let (script, txs) = case(of.id, nth);
        assert!(txs.iter().any(|tx| tx.pays(&script) || tx.spends(&script)), "{}: {}", of.id, of.address);
        let is_labelled = of.id == "sanctioned_direct" || (of.id, nth) == ("fan_in", 1) || of.id == "not_examined";
        assert_eq!(named.contains(&script), is_labelled, "{}: {}", of.id, of.address);
    }
}

#[test]
fn patterns_of_payments() {
    let (script, txs) = case("peel_chain", 0);
    assert!(txs[0].spends(&script) && txs.len() >= 5);
    for (at, link) in txs.iter().enumerate() {
        let values: Vec<u64> = link.tx.output.iter().map(|output| output.value.to_sat()).collect();
        assert_eq!((link.tx.input.len(), values.len()), (1, 2));
        let larger = *values.iter().max().unwrap();
        assert!(larger * 100 >= (values[0] + values[1]) * 80, "{values:?}");
        if let Some(before) = at.checked_sub(1).map(|before| txs[before]) {
            let vout = link.tx.input[0].previous_output.vout as usize;
            let largest = before.tx.output.iter().map(|output| output.value).max().unwrap();
            assert!(link.follows(before) && before.tx.output[vout].value == largest);
            assert!(link.height - before.height <= WINDOW);
        }
    }
    let (script, _) = case("address_reuse", 0);
    let history_of = history(&script);
    let first = history_of.iter().position(|tx| tx.spends(&script)).unwrap();
    assert!(history_of[first + 1..].iter().any(|tx| tx.pays(&script)));

    let (script, _) = case("rapid_pass_through", 0);
    let [came, left] = &history(&script)[..] else { panic!("it is used once") };
    assert!(came.paid(&script) >= BTC / 10 && left.spends(&script) && left.height - came.height <= WINDOW);
    let away: u64 = left.tx.output.iter().map(|output| output.value.to_sat()).sum();
    assert!(!left.pays(&script) && away * 10 >= came.paid(&script) * 9);
}

#[test]
fn patterns_of_many() {
    let (script, txs) = case("fan_in", 0);
    let senders: BTreeSet<&ScriptBuf> =
        txs.iter().flat_map(|tx| tx.spent).map(|coin| &coin.txout.script_pubkey).collect();
    assert!(senders.len() >= 10 && txs.iter().all(|tx| tx.pays(&script)));
    // No transaction ties one of them to another script.
    let is_alone = |sender: &Script| {
        let spends = history(sender).into_iter().filter(|tx| tx.spends(sender));
        spends.flat_map(|tx| tx.spent).all(|coin| coin.txout.script_pubkey.as_script() == sender)
    };
    assert!(senders.iter().all(|sender| is_alone(sender)));
    assert!(txs.last().unwrap().height - txs[0].height < WINDOW);

    let (script, txs) = case("fan_out", 0);
    let payees: HashSet<&ScriptBuf> = txs[0].tx.output.iter().map(|output| &output.script_pubkey).collect();
    assert!(txs[0].spends(&script) && payees.len() > 20);

    // A shop that labels name is paid by many as well.
    let (script, txs) = case("fan_in", 1);
    let payers: BTreeSet<&ScriptBuf> = txs.iter().map(|tx| &tx.spent[0].txout.script_pubkey).collect();
    assert!(script == actor("merchant", 0) && payers.len() >= 10 && txs.iter().all(|tx| tx.pays(&script)));
    assert!(txs.last().unwrap().height - txs[0].height < WINDOW);
    let (script, _) = case("not_examined", 0);
    assert!(history(&script).len() > 1_000);

    let (script, txs) = case("dust_recipient", 0);
    let is_dust = |sats: u64| sats > 0 && sats <= 1_000;
    let pinged: Vec<&ScriptBuf> =
        txs[0].tx.output.iter().filter(|out| is_dust(out.value.to_sat())).map(|out| &out.script_pubkey).collect();
    let has_history = |script: &Script| history(script).first().is_some_and(|first| first.height < txs[0].height);
    assert!(pinged.len() >= 100 && pinged.contains(&&script) && pinged.iter().all(|script| has_history(script)));
    assert!(txs[0].tx.output.iter().any(|out| out.value.to_sat() > 1_000), "it pays more than dust");
    assert!(txs[1].spends(&script) && txs[1].spent.len() > 1, "spent together with other coins");
}

#[test]
fn rounds_and_listed_addresses() {
    let (script, txs) = case("coinjoin_participation", 0);
    let payers: HashSet<&ScriptBuf> = txs[0].spent.iter().map(|coin| &coin.txout.script_pubkey).collect();
    let most = |tx: &Transaction| {
        let count = |sats| tx.output.iter().filter(|out| out.value == sats).count();
        tx.output.iter().map(|out| count(out.value)).max().unwrap()
    };
    assert!(txs[0].spends(&script) && payers.len() >= 5 && most(txs[0].tx) == payers.len());

    let (mixer, courier) = (actor("mixer", 0), actor("courier", 0));
    for (id, from) in [("mixer_exposure", &mixer), ("sanctioned_indirect", &courier)] {
        let (script, txs) = case(id, 0);
        assert!(txs.len() == 1 && txs[0].spends(from) && txs[0].pays(&script), "{id}");
        let (script, txs) = case(id, 1);
        assert!(txs.len() == 2 && txs[0].spends(from) && !txs[0].pays(&script), "{id}");
        assert!(txs[1].follows(txs[0]) && txs[1].pays(&script) && !txs[1].spends(from), "{id}");
    }
    let (script, txs) = case("sanctioned_direct", 0);
    assert_eq!(script, courier);
    // The list of the demo names it half a day before the end.
    let listed_at = END_TIME - 43_200;
    assert!(txs[0].time < listed_at && txs[1].time > listed_at && txs.iter().all(|tx| tx.spends(&script)));
    let (script, txs) = case("before_listing", 0);
    assert!(txs[0].spends(&courier) && txs[0].time < listed_at && txs[1].follows(txs[0]) && txs[1].pays(&script));
    let (script, txs) = case("after_listing", 0);
    assert!(txs[0].spends(&courier) && txs[0].time > listed_at && txs[0].pays(&script));
}

#[test]
fn reasons_to_stop() {
    let (script, txs) = case("service", 0);
    assert!(txs[0].spends(&script) && txs[1].follows(txs[0]) && txs[1].pays(&actor("exchange", 2)));

    let (script, txs) = case("coinjoin", 0);
    assert!(txs[1].follows(txs[0]) && txs[1].pays(&script) && !txs[0].pays(&script) && txs[0].spent.len() >= 5);
    let (script, txs) = case("coinjoin", 1);
    assert!(txs[0].spends(&script) && txs[0].spent.len() >= 5);

    let (script, txs) = case("coinbase", 0);
    assert!(txs[0].pays(&script) && txs[0].spent.iter().all(|coin| coin.coinbase));

    let (script, txs) = case("busy", 0);
    let beacon = &txs[0].tx.output[0].script_pubkey;
    assert!(txs[0].spends(&script) && history(beacon).len() > 1_000 && !labelled().contains(beacon));

    let (script, txs) = case("unspendable", 0);
    let lost = txs[0].tx.output.iter().filter(|out| out.script_pubkey.is_op_return()).map(|out| out.value.to_sat());
    assert!(txs[0].spends(&script) && lost.sum::<u64>() > 0);

    let (script, txs) = case("hop_limit", 0);
    assert!(txs[0].spends(&script) && txs.len() > 2);

    let (script, txs) = case("held", 0);
    let holder = &txs[0].tx.output[0].script_pubkey;
    assert!(txs[0].spends(&script) && history(holder).iter().all(|tx| !tx.spends(holder)));
}

const HEAD: &str = "\
# Cases of the demo

The last day of the demo chain has a case for each detector of risk signals, and one for each reason at which a trace of
money stops. Everybody in it is invented. `cairn demo` serves all of them; addresses and transactions are the same on
every machine. A case shows what a detector observes. It judges nobody.

This page is generated from the chain: `CAIRN_UPDATE_DOCS=1 cargo test --release --workspace --test risk_cases`

| case | the address | transactions | request |
|---|---|---|---|
";

/// The request that shows a case.
fn request(case: &RiskCase) -> String {
    let wallet = format!("/v1/wallets/{}", case.address);
    match case.question {
        Question::Signals => format!("{wallet}/risk-signals"),
        Question::Sources(depth) => format!("{wallet}/risk-exposure?direction=sources&depth={depth}"),
        Question::Destinations(depth) => format!("{wallet}/risk-exposure?direction=destinations&depth={depth}"),
        Question::Sanctions(depth) => format!("{wallet}/sanctions-exposure?direction=sources&depth={depth}"),
    }
}

#[test]
fn the_page_has_all_of_them() {
    let mut page = HEAD.to_owned();
    for case in &world().cases {
        let shown = case.txids.iter().take(2).map(|txid| format!("`{txid}`")).collect::<Vec<_>>().join(", ");
        let more = case.txids.len().saturating_sub(2);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        writeln!(page, "| `{}` | {} | {shown}{more} | `{}` |", case.id, case.what, request(case)).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/risk-demo.md");
    if std::env::var_os("CAIRN_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let again = "CAIRN_UPDATE_DOCS=1 cargo test --release --workspace --test risk_cases";
    assert!(page == written, "docs/risk-demo.md is stale: {again}");
}
