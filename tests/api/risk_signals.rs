//! Risk signals of addresses: each detector over transactions made for it, its states, and the labels.

use bitcoin::{Amount, OutPoint, ScriptBuf, TxOut, Txid};
use cairn_chaingen::{BlockSpec, ChainBuilder, Lock, Style};
use cairn_events::{Category, Claim};
use serde_json::{Value, json};

use crate::{
    claims::{claim, contest, listed, take},
    support::{World, address, assert_valid, get_ok, post},
    surveillance::campaign_world,
};

const SIGNALS: &str = "/v1/wallets/{address}/risk-signals";
const BATCH: &str = "/v1/batch/risk-signals";

const DETECTORS: [&str; 10] = [
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

/// A chain in the making, with a bank that funds whoever needs coins.
struct Story {
    builder: ChainBuilder,
    bank: ScriptBuf,
    keys: u32,
}

fn pay(sats: u64, script: &ScriptBuf) -> TxOut {
    TxOut { value: Amount::from_sat(sats), script_pubkey: script.clone() }
}

impl Story {
    fn new() -> Self {
        let mut story = Story { builder: ChainBuilder::new(92), bank: ScriptBuf::new(), keys: 0 };
        story.bank = story.script();
        for _ in 0..5 {
            story.builder.mine(&BlockSpec::paying(story.bank.clone())).unwrap();
        }
        story.blocks(101);
        story
    }

    fn blocks(&mut self, count: u32) {
        for _ in 0..count {
            self.builder.mine(&BlockSpec::default()).unwrap();
        }
    }

    fn script(&mut self) -> ScriptBuf {
        self.keys += 1;
        self.builder.keyring().script(&Lock::P2wpkh { key: self.keys }).unwrap()
    }

    fn scripts(&mut self, count: u32) -> Vec<ScriptBuf> {
        (0..count).map(|_| self.script()).collect()
    }

    /// Unspent coins of a script, the largest first.
    fn coins(&self, script: &ScriptBuf) -> Vec<OutPoint> {
        let is_own = |at: &&OutPoint| self.builder.coin(at).is_some_and(|coin| coin.txout.script_pubkey == *script);
        let mut coins: Vec<OutPoint> = self.builder.spendable().iter().filter(is_own).copied().collect();
        coins.sort_by_key(|at| std::cmp::Reverse(self.builder.coin(at).unwrap().txout.value));
        coins
    }

    fn value(&self, coin: &OutPoint) -> u64 {
        self.builder.coin(coin).unwrap().txout.value.to_sat()
    }

    /// Spends coins in a block of its own; what is left is the fee.
    fn spend(&mut self, coins: &[OutPoint], outputs: Vec<TxOut>) -> Txid {
        let tx = self.builder.spend(coins, outputs, &Style::default()).unwrap();
        let txid = self.builder.add(tx).unwrap();
        self.blocks(1);
        txid
    }

    /// The bank pays scripts with one transaction.
    fn fund(&mut self, paid: &[(&ScriptBuf, u64)]) -> Txid {
        let coin = self.coins(&self.bank)[0];
        let out: u64 = paid.iter().map(|(_, sats)| sats).sum();
        let rest = self.value(&coin) - out - 10_000;
        let bank = self.bank.clone();
        let outputs = paid.iter().map(|(script, sats)| pay(*sats, script)).chain([pay(rest, &bank)]);
        let outputs = outputs.collect();
        self.spend(&[coin], outputs)
    }

    /// A script sends all that it has to another.
    fn send_all(&mut self, from: &ScriptBuf, to: &ScriptBuf) -> Txid {
        let coins = self.coins(from);
        let all: u64 = coins.iter().map(|coin| self.value(coin)).sum();
        self.spend(&coins, vec![pay(all - 2_000, to)])
    }

    /// A chain of spends that take a small part off; returns its scripts.
    fn peel(&mut self, links: u32) -> Vec<ScriptBuf> {
        let mut scripts = self.scripts(1);
        self.fund(&[(&scripts[0], 100_000_000)]);
        for _ in 0..links {
            let (to, back) = (self.script(), self.script());
            let coin = self.coins(scripts.last().unwrap())[0];
            let rest = self.value(&coin) - 5_000_000 - 2_000;
            self.spend(&[coin], vec![pay(5_000_000, &to), pay(rest, &back)]);
            scripts.push(back);
        }
        scripts
    }

    /// A script that `count` others pay, each in a block of its own.
    fn gather(&mut self, count: u32) -> ScriptBuf {
        let (target, senders) = (self.script(), self.scripts(count));
        let funds: Vec<(&ScriptBuf, u64)> = senders.iter().map(|sender| (sender, 1_000_000)).collect();
        self.fund(&funds);
        for sender in &senders {
            self.send_all(sender, &target);
        }
        target
    }

    fn world(self) -> World {
        World::of(self.builder.into_chain())
    }
}

fn path(script: &ScriptBuf) -> String {
    SIGNALS.replace("{address}", &address(script).unwrap())
}

async fn signals(world: &World, script: &ScriptBuf) -> Value {
    let body = get_ok(&world.open_router(), SIGNALS, &path(script)).await;
    let ids: Vec<&str> = rows(&body).iter().map(|signal| signal["id"].as_str().unwrap()).collect();
    assert_eq!(ids, DETECTORS);
    for signal in rows(&body) {
        let found = ["fired", "suppressed"].contains(&signal["state"].as_str().unwrap());
        assert_eq!(signal["level"].is_null(), !found, "{signal}");
        assert_eq!(signal["strength"].is_null(), !found, "{signal}");
        assert_eq!(signal["base_rate"].is_null(), signal["base_rate_reason"].is_string(), "{signal}");
        let (shown, total) =
            (signal["txids"].as_array().unwrap().len() as u64, signal["txids_total"].as_u64().unwrap());
        assert!(shown == total.min(10), "{signal}");
        assert!(!signal["benign_explanations"].as_array().unwrap().is_empty(), "{signal}");
    }
    body
}

fn rows(body: &Value) -> &Vec<Value> {
    body["signals"].as_array().unwrap()
}

fn row<'b>(body: &'b Value, id: &str) -> &'b Value {
    rows(body).iter().find(|signal| signal["id"] == id).unwrap()
}

fn states(body: &Value, ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| row(body, id)["state"].as_str().unwrap().to_owned()).collect()
}

/// The transactions that a signal names.
fn txids(signal: &Value) -> Vec<&str> {
    signal["txids"].as_array().unwrap().iter().map(|txid| txid.as_str().unwrap()).collect()
}

fn service(script: &ScriptBuf, category: Category) -> Claim {
    Claim { category: Some(category), ..claim(script, "somebody") }
}

#[tokio::test]
async fn structures_fire_with_their_transactions() {
    let mut story = Story::new();
    let peeled = story.peel(6);
    let target = story.gather(10);
    // Passes on.
    let (through, away) = (story.script(), story.script());
    let came = story.fund(&[(&through, 20_000_000)]);
    let went = story.send_all(&through, &away);
    // Pays many.
    let payer = story.script();
    story.fund(&[(&payer, 100_000_000)]);
    let staff = story.scripts(20);
    let coin = story.coins(&payer)[0];
    let paid = staff.iter().map(|script| pay(1_000_000, script)).collect();
    let wide = story.spend(&[coin], paid);
    // Is paid again after a spend.
    let reused = story.script();
    story.fund(&[(&reused, 1_000_000)]);
    story.send_all(&reused, &away);
    let again = story.fund(&[(&reused, 2_000_000)]);
    // A round of Whirlpool.
    let mixing = story.scripts(5);
    let funds: Vec<(&ScriptBuf, u64)> =
        mixing.iter().enumerate().map(|(at, script)| (script, if at < 2 { 1_010_000 } else { 1_000_000 })).collect();
    story.fund(&funds);
    let coins: Vec<OutPoint> = mixing.iter().map(|script| story.coins(script)[0]).collect();
    let mixed = story.scripts(5);
    let round = story.spend(&coins, mixed.iter().map(|script| pay(1_000_000, script)).collect());
    let world = &story.world();

    let body = signals(world, &peeled[3]).await;
    let signal = row(&body, "peel_chain");
    assert_eq!(
        (&signal["state"], &signal["level"], &signal["observed"]["links"]),
        (&json!("fired"), &json!(10), &json!(6))
    );
    assert_eq!(txids(signal).len(), 6);
    for txid in txids(signal) {
        let status = get_ok(&world.open_router(), "/v1/tx/{txid}/status", &format!("/v1/tx/{txid}/status")).await;
        assert_eq!(status["state"], "confirmed");
    }
    let body = signals(world, &target).await;
    let signal = row(&body, "fan_in");
    assert_eq!((&signal["state"], &signal["observed"]["senders"]), (&json!("fired"), &json!(10)));
    let body = signals(world, &through).await;
    let signal = row(&body, "rapid_pass_through");
    assert_eq!((&signal["state"], txids(signal)), (&json!("fired"), vec![&*went.to_string(), &*came.to_string()]));
    let body = signals(world, &payer).await;
    let signal = row(&body, "fan_out");
    assert_eq!((&signal["state"], txids(signal)), (&json!("fired"), vec![&*wide.to_string()]));
    assert_eq!(signal["parameters"]["min_recipients"], 20);
    let body = signals(world, &reused).await;
    let signal = row(&body, "address_reuse");
    assert_eq!(
        (&signal["state"], &signal["level"], txids(signal)),
        (&json!("fired"), &json!(100), vec![&*again.to_string()])
    );
    for script in [&mixing[0], &mixed[0]] {
        let body = signals(world, script).await;
        let signal = row(&body, "coinjoin_participation");
        assert_eq!((&signal["state"], txids(signal)), (&json!("fired"), vec![&*round.to_string()]));
        assert_eq!((&signal["observed"]["whirlpool"], &signal["level"]), (&json!(1), &json!(96)));
    }
    // Without labels, claims are not examined.
    assert_eq!(body["examined"]["labels_loaded"], false);
    for id in ["mixer_exposure", "sanctioned_direct", "sanctioned_indirect"] {
        assert_eq!(
            (&row(&body, id)["state"], &row(&body, id)["reason_code"]),
            (&json!("not_examined"), &json!("no_labels"))
        );
    }
}

#[tokio::test]
async fn a_known_service_suppresses_unless_its_claim_is_contested() {
    let mut story = Story::new();
    let target = story.gather(12);
    let world = &story.world();
    let of = service(&target, Category::Shop);
    take(world, "labels", 1_700_000_000, true, std::slice::from_ref(&of));
    let body = signals(world, &target).await;
    let signal = row(&body, "fan_in");
    assert_eq!((&signal["state"], &signal["reason_code"]), (&json!("suppressed"), &json!("known_service")));
    assert_eq!((&signal["txids_total"], txids(signal).len()), (&json!(12), 10));
    let [by] = &signal["suppressed_by"].as_array().unwrap()[..] else { panic!("{signal}") };
    assert_eq!((&by["entity"], &by["category"], &by["level"]), (&json!("somebody"), &json!("shop"), &json!(40)));
    let [label] = &body["labels"].as_array().unwrap()[..] else { panic!("{body}") };
    assert_eq!((&label["claim_id"], &label["contested"]), (&by["claim_id"], &json!(false)));
    // A person does not suppress.
    contest(world, &of, "labels");
    let body = signals(world, &target).await;
    assert_eq!(row(&body, "fan_in")["state"], "fired");
    let [label] = &body["labels"].as_array().unwrap()[..] else { panic!("{body}") };
    assert_eq!((&label["contested"], &label["claim_type"]), (&json!(true), &json!("controlled_by")));
    take(world, "labels", 1_770_000_000, true, &[service(&target, Category::User)]);
    assert_eq!(row(&signals(world, &target).await, "fan_in")["state"], "fired");
}

#[tokio::test]
async fn claims_near_an_address_are_found_and_end() {
    let mut story = Story::new();
    let scripts = story.scripts(6);
    story.fund(&[(&scripts[0], 50_000_000)]);
    for at in 1..6 {
        story.send_all(&scripts[at - 1], &scripts[at]);
    }
    let world = &story.world();
    let both = ["sanctioned_direct", "sanctioned_indirect"];
    take(world, "ofac", 1_700_000_000, true, &[listed(&scripts[2])]);
    let expected = [
        ["not_fired", "fired"],
        ["not_fired", "fired"],
        ["fired", "not_fired"],
        ["not_fired", "fired"],
        ["not_fired", "fired"],
        ["not_fired", "not_fired"],
    ];
    for (script, expected) in scripts.iter().zip(expected) {
        let body = signals(world, script).await;
        assert_eq!(states(&body, &both), expected, "{body}");
    }
    let body = signals(world, &scripts[2]).await;
    let direct = row(&body, "sanctioned_direct");
    assert_eq!((&direct["level"], &direct["strength"]), (&json!(100), &json!("strong")));
    assert_eq!(direct["claim_ids"][0], body["labels"][0]["claim_id"]);
    let near = row(&signals(world, &scripts[0]).await, "sanctioned_indirect").clone();
    assert_eq!((txids(&near).len(), &near["observed"]["destinations"]), (2, &json!(1)));
    assert_eq!(near["claim_ids"], direct["claim_ids"]);
    // A contest does not change a listing; that it is off the list does.
    contest(world, &listed(&scripts[2]), "ofac");
    assert_eq!(states(&signals(world, &scripts[2]).await, &both), ["fired", "not_fired"]);
    take(world, "ofac", 1_710_000_000, true, &[listed(&story_other())]);
    assert_eq!(states(&signals(world, &scripts[2]).await, &both), ["not_fired", "not_fired"]);
    assert_eq!(states(&signals(world, &scripts[3]).await, &both), ["not_fired", "not_fired"]);
    let quiet = signals(world, &scripts[2]).await;
    assert!(quiet["caveat_codes"].as_array().unwrap().iter().any(|code| code["code"] == "delisted"), "{quiet}");

    // A mixer is a stop: its neighbours' neighbours do not reach through it.
    let mixer = service(&scripts[3], Category::Mixer);
    take(world, "labels", 1_700_000_000, true, &[mixer.clone(), listed(&scripts[4])]);
    let body = signals(world, &scripts[2]).await;
    assert_eq!(states(&body, &["mixer_exposure", "sanctioned_indirect"]), ["fired", "not_fired"]);
    // A contested claim of a mixer does not count, and is no stop.
    contest(world, &mixer, "labels");
    let body = signals(world, &scripts[2]).await;
    assert_eq!(states(&body, &["mixer_exposure", "sanctioned_indirect"]), ["not_fired", "fired"]);
}

/// A script that no block has.
fn story_other() -> ScriptBuf {
    ScriptBuf::from_bytes([&[0x00, 0x14][..], &[0x77; 20]].concat())
}

#[tokio::test]
async fn what_was_not_examined_is_never_quiet() {
    let mut story = Story::new();
    let busy = story.script();
    for _ in 0..1_001 {
        story.builder.mine(&BlockSpec::paying(busy.clone())).unwrap();
    }
    let calm = story.script();
    story.fund(&[(&calm, 1_000_000)]);
    let world = &story.world();
    take(world, "labels", 1_700_000_000, true, &[listed(&story_other())]);
    let body = signals(world, &busy).await;
    assert_eq!((&body["examined"]["transactions"], &body["examined"]["of"]), (&json!(1_000), &json!(1_001)));
    for signal in rows(&body).iter().filter(|signal| signal["id"] != "sanctioned_direct") {
        assert_eq!(
            (&signal["state"], &signal["reason_code"]),
            (&json!("not_examined"), &json!("history_cut")),
            "{signal}"
        );
        assert!(signal["reason"].as_str().unwrap().contains("1000 of 1001"), "{signal}");
    }
    let body = signals(world, &calm).await;
    for signal in rows(&body) {
        assert_eq!((&signal["state"], &signal["reason_code"]), (&json!("not_fired"), &json!("examined")), "{signal}");
        let names = signal["id"] == "sanctioned_direct" || signal["reason"].as_str().unwrap().contains("1 of 1");
        assert!(names, "{signal}");
    }
    let body = signals(world, &story_other()).await;
    for signal in rows(&body).iter().filter(|signal| signal["id"] != "sanctioned_direct") {
        assert_eq!(
            (&signal["state"], &signal["reason_code"]),
            (&json!("not_examined"), &json!("no_history")),
            "{signal}"
        );
    }
    assert_eq!(row(&body, "sanctioned_direct")["state"], "fired");
}

#[tokio::test]
async fn dust_of_a_campaign_fires_once_it_is_known() {
    let (world, victim) = campaign_world();
    let ask = async || {
        let router = world.open_router();
        get_ok(&router, SIGNALS, &SIGNALS.replace("{address}", &victim)).await
    };
    let body = ask().await;
    let signal = row(&body, "dust_recipient");
    assert_eq!((&signal["state"], &signal["txids_total"]), (&json!("fired"), &json!(1)));
    world.engine.lock().unwrap().reindex(&["dust"], &cairn_pipeline::NoProgress).unwrap();
    let body = ask().await;
    let signal = row(&body, "dust_recipient");
    assert_eq!((&signal["state"], &signal["reason_code"]), (&json!("not_examined"), &json!("unfinished")));
    world.engine.lock().unwrap().follow_up(&cairn_pipeline::NoProgress, true).unwrap();
    assert_eq!(row(&ask().await, "dust_recipient")["state"], "fired");
}

#[tokio::test]
async fn a_batch_has_a_row_for_each_address() {
    let mut story = Story::new();
    let target = story.gather(10);
    let world = &story.world();
    let known = address(&target).unwrap();
    let reply = post(&world.open_router(), BATCH, &json!({"addresses": [known, "nonsense"]})).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_valid(BATCH, &reply.body);
    let single = signals(world, &target).await;
    assert_eq!(reply.body["results"][0]["signals"], single["signals"]);
    assert_eq!(reply.body["results"][1]["error"], "invalid_address");
}

#[tokio::test]
async fn every_definition_that_a_signal_names_exists() {
    let story = Story::new();
    let bank = story.bank.clone();
    let world = &story.world();
    let body = signals(world, &bank).await;
    for id in rows(&body).iter().map(|signal| &signal["definition"]).chain([&body["definition"]]) {
        let reply =
            crate::support::get(&world.open_router(), &format!("/api/reference/definitions/{}", id.as_str().unwrap()));
        assert_eq!(reply.await.status, 200, "{id}");
    }
}
