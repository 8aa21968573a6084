//! The node's mempool from the node's own answers, and what follows from it for every script: the oracle of all that is
//! served of unconfirmed transactions.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    thread,
    time::{Duration, Instant},
};

use bitcoin::{Network, ScriptBuf, Transaction};
use serde_json::{Value, json};

use crate::{ledger::script_hash, node::Node, served::Served, wallet::sats};

/// Whatever changes in the node's mempool is served within this time, or the test fails.
const PATIENCE: Duration = Duration::from_secs(40);
/// Looks in a row at something that is said to be complete and is not: a reorganization is served in two steps, between
/// which few milliseconds lie.
const CLAIMS: u32 = 5;
/// Most transactions of one script to compare one by one: those of the first page.
const PAGE: usize = 100;

/// Satoshis that a script receives and sends in an unconfirmed transaction.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Effect {
    received: i64,
    sent: i64,
}

/// The mempool at one moment.
#[derive(Debug)]
pub(crate) struct NodeMempool {
    best: String,
    sequence: u64,
    info: Value,
    entries: BTreeMap<String, Value>,
    txs: BTreeMap<String, Transaction>,
    scripts: BTreeMap<ScriptBuf, BTreeMap<String, Effect>>,
}

/// `Err` says what differs.
type Compared = Result<(), String>;

fn same(what: impl Display, ours: &Value, theirs: impl Into<Value>) -> Compared {
    let theirs = theirs.into();
    if *ours == theirs { Ok(()) } else { Err(format!("{what}: served {ours}, the node says {theirs}")) }
}

fn texts(value: &Value) -> BTreeSet<String> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

impl NodeMempool {
    /// Asks the node, which must be at rest.
    #[track_caller]
    pub(crate) fn of(node: &Node) -> Self {
        let sequence = |node: &Node| node.rpc("getrawmempool", json!([false, true]))["mempool_sequence"].as_u64();
        let before = sequence(node);
        let entries: BTreeMap<String, Value> = node.ask("getrawmempool", json!([true]));
        let txs: BTreeMap<String, Transaction> =
            entries.keys().map(|txid| (txid.clone(), node.transaction(txid, None))).collect();
        let mut pool = NodeMempool {
            best: node.best(),
            sequence: before.unwrap(),
            info: node.rpc("getmempoolinfo", json!([])),
            entries,
            txs,
            scripts: BTreeMap::new(),
        };
        pool.find_effects(node);
        assert_eq!(sequence(node), before, "the node is not at rest");
        pool
    }

    #[track_caller]
    fn find_effects(&mut self, node: &Node) {
        for (txid, tx) in &self.txs {
            let mut effects: BTreeMap<ScriptBuf, Effect> = BTreeMap::new();
            for input in &tx.input {
                let (of, vout) = (input.previous_output.txid.to_string(), input.previous_output.vout);
                let (script, value) = match self.txs.get(&of) {
                    Some(parent) => {
                        let output = &parent.output[vout as usize];
                        (output.script_pubkey.clone(), output.value.to_sat() as i64)
                    }
                    None => {
                        let coin = node.rpc("gettxout", json!([of, vout, false]));
                        let hex = coin["scriptPubKey"]["hex"].as_str().unwrap();
                        (ScriptBuf::from_hex(hex).unwrap(), sats(&coin["value"]))
                    }
                };
                effects.entry(script).or_default().sent += value;
            }
            for output in tx.output.iter().filter(|output| !output.script_pubkey.is_op_return()) {
                effects.entry(output.script_pubkey.clone()).or_default().received += output.value.to_sat() as i64;
            }
            for (script, effect) in effects {
                self.scripts.entry(script).or_default().insert(txid.clone(), effect);
            }
        }
    }

    /// Ids of its transactions.
    pub(crate) fn txids(&self) -> BTreeSet<String> {
        self.entries.keys().cloned().collect()
    }

    /// Whether it holds a transaction.
    pub(crate) fn has(&self, txid: &str) -> bool {
        self.entries.contains_key(txid)
    }

    /// The node's entry of a transaction.
    pub(crate) fn entry(&self, txid: &str) -> &Value {
        &self.entries[txid]
    }

    /// Whether the served mempool claims to contain everything that the node announced up to this moment.
    fn is_reached(&self, served: &Served) -> bool {
        let (status, stats) = served.try_get("/v1/mempool/stats");
        status == 200 && stats["node_sequence"] == self.sequence && stats["_meta"]["tip"]["hash"] == *self.best
    }

    fn compare(&self, served: &Served) -> Compared {
        self.totals(served)?;
        self.entries.keys().try_for_each(|txid| self.transaction(served, txid))?;
        self.scripts.iter().try_for_each(|(script, effects)| self.script(served, script, effects))
    }

    fn totals(&self, served: &Served) -> Compared {
        let stats = ok(served, "/v1/mempool/stats")?;
        same("tip", &stats["_meta"]["tip"]["hash"], self.best.as_str())?;
        same("count", &stats["count"], self.info["size"].clone())?;
        same("vsize", &stats["vsize"], self.info["bytes"].clone())?;
        same("fees", &stats["fees_sats"], sats(&self.info["total_fee"]))?;
        same("weight", &stats["weight"], self.txs.values().map(|tx| tx.weight().to_wu()).sum::<u64>())
    }

    fn transaction(&self, served: &Served, txid: &str) -> Compared {
        let (entry, tx) = (&self.entries[txid], &self.txs[txid]);
        let ours = ok(served, &format!("/v1/mempool/tx/{txid}?relatives_limit=1000"))?;
        let number = |name: &str| entry[name].as_i64().unwrap();
        let fee = |name: &str| sats(&entry["fees"][name]);
        let of = |what: &str| format!("{what} of {txid}");
        for (name, theirs) in [("wtxid", entry["wtxid"].clone()), ("weight", entry["weight"].clone())] {
            same(of(name), &ours[name], theirs)?;
        }
        same(of("adjusted vsize"), &ours["adjusted_vsize"], entry["vsize"].clone())?;
        same(of("vsize"), &ours["vsize"], tx.vsize())?;
        same(of("size"), &ours["size"], tx.total_size())?;
        same(of("fee"), &ours["fee_sats"], fee("base"))?;
        // The node counts the transaction itself among its ancestors, and among its descendants.
        for (relatives, kind) in [("ancestors", "ancestor"), ("descendants", "descendant")] {
            let ours = &ours[relatives];
            same(of(relatives), &ours["count"], number(&format!("{kind}count")) - 1)?;
            let size = number(&format!("{kind}size")) - number("vsize");
            same(of(&format!("size of {relatives}")), &ours["vsize"], size)?;
            same(of(&format!("fees of {relatives}")), &ours["fees_sats"], fee(kind) - fee("base"))?;
            same(of(relatives), &ours["truncated"], false)?;
        }
        for (name, theirs) in [("parents", "depends"), ("children", "spentby")] {
            let (ours, theirs) = (texts(&ours[name]), texts(&entry[theirs]));
            if ours != theirs {
                return Err(format!("{name} of {txid}: served {ours:?}, the node says {theirs:?}"));
            }
        }
        let replaceable = &ours["bip125_replaceable"];
        same(of("BIP 125"), replaceable, self.is_replaceable(txid))?;
        // Old nodes say it themselves.
        if let Some(theirs) = entry.get("bip125-replaceable") {
            same(of("BIP 125"), replaceable, theirs.clone())?;
        }
        let looked_up = ok(served, &format!("/v1/tx/{txid}"))?;
        same(of("state"), &looked_up["status"]["state"], "mempool")?;
        same(of("fee"), &looked_up["fee_sats"], fee("base"))?;
        same(of("first seen"), &looked_up["status"]["mempool_first_seen"], ours["mempool_first_seen"].clone())?;
        let status = ok(served, &format!("/v1/tx/{txid}/status"))?;
        same(of("state"), &status["state"], "mempool")
    }

    fn is_replaceable(&self, txid: &str) -> bool {
        self.txs[txid].is_explicitly_rbf()
            || texts(&self.entries[txid]["depends"]).iter().any(|parent| self.is_replaceable(parent))
    }

    fn script(&self, served: &Served, script: &ScriptBuf, effects: &BTreeMap<String, Effect>) -> Compared {
        let address = bitcoin::Address::from_script(script, Network::Regtest).map(|address| address.to_string());
        let subject = address.unwrap_or_else(|_| script_hash(script));
        let of = |what: &str| format!("{what} of {subject}");
        let overview = ok(served, &format!("/v1/wallets/{subject}/overview"))?;
        let received: i64 = effects.values().map(|effect| effect.received).sum();
        let sent: i64 = effects.values().map(|effect| effect.sent).sum();
        let confirmed = overview["balance"]["confirmed_sats"].as_i64().unwrap();
        same(of("unconfirmed"), &overview["balance"]["unconfirmed_sats"], received - sent)?;
        same(of("total"), &overview["balance"]["total_sats"], confirmed + received - sent)?;
        same(of("unconfirmed received"), &overview["unconfirmed_received_sats"], received)?;
        same(of("unconfirmed sent"), &overview["unconfirmed_sent_sats"], sent)?;
        same(of("unconfirmed transactions"), &overview["unconfirmed_tx_count"], effects.len())?;
        let page = ok(served, &format!("/v1/wallets/{subject}/transactions?limit={PAGE}"))?;
        same(of("unconfirmed transactions"), &page["unconfirmed_total"], effects.len())?;
        let rows = page["transactions"].as_array().unwrap();
        let waiting = rows.iter().take_while(|row| row["status"]["state"] == "mempool").count();
        same(of("unconfirmed rows"), &waiting.into(), effects.len().min(PAGE))?;
        let (waiting, confirmed) = rows.split_at(waiting);
        if confirmed.iter().any(|row| row["status"]["state"] != "confirmed") {
            return Err(format!("unconfirmed after confirmed: {page}"));
        }
        let seen = waiting.iter().map(|row| row["mempool_first_seen"].as_str().unwrap());
        if !seen.is_sorted_by(|newer, older| newer >= older) {
            return Err(format!("newest first seen first: {page}"));
        }
        for row in waiting {
            let txid = row["txid"].as_str().unwrap();
            let Some(effect) = effects.get(txid) else { return Err(format!("{txid} does nothing to {subject}")) };
            same(of(txid), &row["received_sats"], effect.received)?;
            same(of(txid), &row["sent_sats"], effect.sent)?;
            same(of(txid), &row["net_sats"], effect.received - effect.sent)?;
            same(of(txid), &row["fee_sats"], sats(&self.entries[txid]["fees"]["base"]))?;
        }
        Ok(())
    }
}

/// An answer that is to be given.
fn ok(served: &Served, path: &str) -> Result<Value, String> {
    let (status, body) = served.try_get(path);
    if status == 200 { Ok(body) } else { Err(format!("{path}: {status} {body}")) }
}

/// Waits until the served mempool is the node's, and compares everything. Once it claims to know everything that the
/// node announced, nothing may differ. (A block moves the node's number without an announcement, so after one the
/// number may lag behind.)
#[track_caller]
pub(crate) fn agrees(node: &Node, served: &Served) -> NodeMempool {
    let pool = NodeMempool::of(node);
    let (started, mut claims) = (Instant::now(), 0);
    loop {
        claims = if pool.is_reached(served) { claims + 1 } else { 0 };
        let Err(difference) = pool.compare(served) else { return pool };
        assert!(claims < CLAIMS, "said to be complete at {}: {difference}\n{}", pool.sequence, served.said());
        assert!(started.elapsed() < PATIENCE, "waited too long: {difference}\n{}", served.said());
        thread::sleep(Duration::from_millis(50));
    }
}

/// When transactions were first seen.
#[track_caller]
pub(crate) fn first_seen(served: &Served, txids: &BTreeSet<String>) -> BTreeMap<String, String> {
    let seen = |txid: &String| {
        let tx = served.get(&format!("/v1/mempool/tx/{txid}"));
        (txid.clone(), tx["mempool_first_seen"].as_str().unwrap().to_owned())
    };
    txids.iter().map(seen).collect()
}

/// How a transaction left: its state, and why.
#[track_caller]
pub(crate) fn left(served: &Served, txid: &str) -> (String, String) {
    let status = served.get(&format!("/v1/tx/{txid}/status"));
    let (http, tx) = served.try_get(&format!("/v1/mempool/tx/{txid}"));
    assert_eq!(http, 404, "{tx}");
    assert_eq!(tx["departed"]["reason"], status["departed"]["reason"], "{tx}: {status}");
    assert!(status["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{status}");
    let reason = status["departed"]["reason"].as_str().unwrap_or("forgotten");
    (status["state"].as_str().unwrap().to_owned(), reason.to_owned())
}
