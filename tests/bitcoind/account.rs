//! A wallet of the node beside others, and what the node says of it: the oracle of what is served of whole wallets.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::ScriptBuf;
use cairn_node::NodeClient;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    ledger::{Ledger, script_hash},
    node::Node,
    pool,
    served::Served,
    wallet::{btc, sats},
};

/// Where a whole wallet is asked for.
pub(crate) const LOOKUP: &str = "/v1/wallets/lookup";
/// More than one page in most tests.
const PAGE: usize = 40;

/// A wallet that the node has loaded.
pub(crate) struct Account {
    client: NodeClient,
}

/// Effect of a transaction on a wallet.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Row {
    net: i64,
    fee: i64,
    is_confirmed: bool,
}

impl Account {
    /// Makes a wallet.
    #[track_caller]
    pub(crate) fn create(node: &Node, name: &str, mut options: Value) -> Self {
        options["wallet_name"] = name.into();
        node.rpc("createwallet", options);
        Account { client: node.wallet_client(name) }
    }

    /// One that is loaded.
    pub(crate) fn of(node: &Node, name: &str) -> Self {
        Account { client: node.wallet_client(name) }
    }

    /// Calls a method that is to succeed.
    #[track_caller]
    pub(crate) fn ask<T: DeserializeOwned>(&self, method: &str, params: Value) -> T {
        self.client.call(method, &params).unwrap_or_else(|error| panic!("{method} {params}: {error}"))
    }

    /// Calls a method that is to succeed; its result as it is.
    #[track_caller]
    pub(crate) fn rpc(&self, method: &str, params: Value) -> Value {
        self.ask(method, params)
    }

    /// A new address.
    #[track_caller]
    pub(crate) fn new_address(&self, kind: &str) -> String {
        self.ask("getnewaddress", json!(["", kind]))
    }

    /// Pays; the transaction's id.
    #[track_caller]
    pub(crate) fn pay(&self, address: &str, amount: u64) -> String {
        self.ask("sendtoaddress", json!([address, btc(amount)]))
    }

    /// Imports descriptors, each with the range if it has a wildcard.
    #[track_caller]
    pub(crate) fn import(&self, descriptors: &[String], range: [u32; 2]) {
        let request = |text: &String| {
            let checksum = self.rpc("getdescriptorinfo", json!([text]))["checksum"].clone();
            let desc = format!("{text}#{}", checksum.as_str().unwrap());
            let mut request = json!({ "desc": desc, "timestamp": "now" });
            if text.contains('*') {
                request["range"] = json!(range);
            }
            request
        };
        let requests: Vec<Value> = descriptors.iter().map(request).collect();
        for (row, request) in self.rpc("importdescriptors", json!([requests])).as_array().unwrap().iter().zip(requests)
        {
            assert_eq!(row["success"], true, "{request}: {row}");
        }
    }

    /// Its descriptors as the node lists them.
    #[track_caller]
    pub(crate) fn listed(&self, is_private: bool) -> Vec<Value> {
        self.rpc("listdescriptors", json!([is_private]))["descriptors"].as_array().unwrap().clone()
    }

    /// Has the wallet forget its payments that the node dropped when blocks went: they spend coinbases that are too
    /// young again. Until then it counts their coins as spent, although nothing spends them.
    #[track_caller]
    pub(crate) fn abandon_dropped(&self, node: &Node) {
        let waiting: BTreeSet<String> = node.ask("getrawmempool", json!([]));
        let since = self.rpc("listsinceblock", json!({ "include_change": true }));
        for entry in since["transactions"].as_array().unwrap() {
            let is_payment = entry["category"] == "send" && entry["confirmations"] == 0 && entry["abandoned"] == false;
            if is_payment && !waiting.contains(&text(&entry["txid"])) {
                self.rpc("abandontransaction", json!([entry["txid"]]));
            }
        }
    }

    /// Everything that is served of the wallet is what the node says; the answer.
    #[track_caller]
    pub(crate) fn agrees(&self, node: &Node, served: &Served) -> Value {
        // Waits for the node's mempool at its tip.
        let pool = pool::agrees(node, served);
        // The node's wallets get to know of transactions after the mempool does.
        node.rpc("syncwithvalidationinterfacequeue", json!([]));
        let listed = self.listed(false);
        let (body, rows) = history(served, &json!({ "wallet": listed, "include": ["addresses", "transactions"] }));
        self.balance_agrees(&body);
        self.coins_agree(node, &body, &listed);
        assert_eq!(rows, self.rows(node, &pool.txids()), "{body}");
        let waiting = rows.values().filter(|row| !row.is_confirmed).count();
        assert_eq!(body["unconfirmed_tx_count"], waiting, "{body}");
        assert_eq!(body["transactions"]["total"], rows.len() - waiting, "{body}");
        branches_agree(node, &body, &listed, &used_addresses(node, &pool.txids()));
        body
    }

    #[track_caller]
    fn balance_agrees(&self, body: &Value) {
        let told = &self.rpc("getbalances", json!([]))["mine"];
        let all: i64 = ["trusted", "untrusted_pending", "immature"].iter().map(|name| sats(&told[*name])).sum();
        let balance = &body["balance"];
        assert_eq!(balance["total_sats"], all, "{told}: {balance}");
        let parts = [&balance["confirmed_sats"], &balance["unconfirmed_sats"]].map(|part| part.as_i64().unwrap());
        assert_eq!(parts[0] + parts[1], all, "{balance}");
    }

    /// Confirmed coins: all of them as the node finds them by a walk through its coin set, and of these what the wallet
    /// lists; it leaves out what unconfirmed transactions spend.
    #[track_caller]
    fn coins_agree(&self, node: &Node, body: &Value, listed: &[Value]) {
        let subjects: Vec<Value> = listed.iter().map(scan_object).collect();
        let scanned = node.rpc("scantxoutset", json!(["start", subjects]));
        let scanned = scanned["unspents"].as_array().unwrap();
        assert_eq!(body["utxo_count"], scanned.len(), "{body}");
        let mut sums: BTreeMap<String, i64> = BTreeMap::new();
        for coin in scanned {
            *sums.entry(hash_of(&coin["scriptPubKey"])).or_default() += sats(&coin["amount"]);
        }
        assert_eq!(body["balance"]["confirmed_sats"], sums.values().sum::<i64>(), "{body}");
        let served = body["addresses"].as_array().unwrap().iter();
        let served = served.map(|row| (text(&row["script_hash"]), row["balance_sats"].as_i64().unwrap()));
        assert_eq!(served.filter(|(_, sum)| *sum > 0).collect::<BTreeMap<_, _>>(), sums);

        let options = json!({ "minconf": 1, "query_options": { "include_immature_coinbase": true } });
        let of_wallet = self.rpc("listunspent", options);
        let outpoint = |coin: &Value| (text(&coin["txid"]), coin["vout"].as_u64().unwrap());
        let of_wallet: BTreeSet<_> = of_wallet.as_array().unwrap().iter().map(outpoint).collect();
        let is_unspent = |coin: &&Value| !node.rpc("gettxout", json!([coin["txid"], coin["vout"], true])).is_null();
        assert_eq!(of_wallet, scanned.iter().filter(is_unspent).map(outpoint).collect());
    }

    /// Changes of the wallet by its transactions: those of the chain and of the mempool. The node's wallet remembers
    /// others.
    #[track_caller]
    fn rows(&self, node: &Node, waiting: &BTreeSet<String>) -> BTreeMap<String, Row> {
        let since = self.rpc("listsinceblock", json!({ "include_change": true }));
        let mut rows = BTreeMap::new();
        for entry in since["transactions"].as_array().unwrap() {
            let txid = text(&entry["txid"]);
            let is_confirmed = entry["confirmations"].as_i64() > Some(0);
            if !is_confirmed && !waiting.contains(&txid) || rows.contains_key(&txid) {
                continue;
            }
            let told = self.rpc("gettransaction", json!([txid]));
            let is_young = told["details"].as_array().unwrap().iter().any(|part| part["category"] == "immature");
            let net = if is_young {
                // The node's wallet counts it later.
                told["details"].as_array().unwrap().iter().map(|part| sats(&part["amount"])).sum()
            } else {
                sats(&told["amount"]) + if told["fee"].is_null() { 0 } else { sats(&told["fee"]) }
            };
            let decoded = node.rpc("getrawtransaction", json!([txid, 2, told.get("blockhash")]));
            let fee = match &decoded["fee"] {
                Value::Null if is_confirmed => 0,
                Value::Null => sats(&node.rpc("getmempoolentry", json!([txid]))["fees"]["base"]),
                fee => sats(fee),
            };
            rows.insert(txid, Row { net, fee, is_confirmed });
        }
        rows
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// The hash of a script in hexadecimal digits, as answers have it.
fn hash_of(script: &Value) -> String {
    let hash = script_hash(&ScriptBuf::from_hex(script.as_str().unwrap()).unwrap());
    hash.trim_start_matches("scripthash:").to_owned()
}

/// An entry of the list for a walk through the node's coin set.
fn scan_object(entry: &Value) -> Value {
    match &entry["range"] {
        Value::Null => entry["desc"].clone(),
        range => json!({ "desc": entry["desc"], "range": range }),
    }
}

/// The first page, and all transactions of all pages, each of which comes once.
#[track_caller]
fn history(served: &Served, request: &Value) -> (Value, BTreeMap<String, Row>) {
    let mut request = request.clone();
    request["limit"] = PAGE.into();
    let (mut first, mut rows, mut last_height) = (Value::Null, BTreeMap::new(), u64::MAX);
    loop {
        let (status, body) = served.post(LOOKUP, &request);
        assert_eq!(status, 200, "{body}");
        let page = &body["transactions"];
        for row in page["transactions"].as_array().unwrap() {
            let number = |name: &str| row[name].as_i64().unwrap();
            assert_eq!(number("net_sats"), number("received_sats") - number("sent_sats"), "{row}");
            let height = row["status"]["height"].as_u64().unwrap_or(u64::MAX);
            assert!(height <= last_height, "newest first: {page}");
            last_height = height;
            let is_confirmed = row["status"]["state"] == "confirmed";
            let kept = Row { net: number("net_sats"), fee: number("fee_sats"), is_confirmed };
            assert!(rows.insert(text(&row["txid"]), kept).is_none(), "{row} comes twice");
        }
        request["cursor"] = page["next_cursor"].clone();
        if first.is_null() {
            first = body;
        }
        if request["cursor"].is_null() {
            return (first, rows);
        }
    }
}

/// All addresses that the chain or the mempool pays to.
#[track_caller]
fn used_addresses(node: &Node, waiting: &BTreeSet<String>) -> BTreeSet<String> {
    let mut used: BTreeSet<String> =
        Ledger::of(node).scripts.into_values().filter_map(|script| script.address).collect();
    for txid in waiting {
        let tx = node.rpc("getrawtransaction", json!([txid, 1]));
        let outputs = tx["vout"].as_array().unwrap().iter();
        used.extend(outputs.filter_map(|output| output["scriptPubKey"]["address"].as_str().map(str::to_owned)));
    }
    used
}

/// Each branch has as many used addresses as the node derives that are used, and the same fresh one.
#[track_caller]
fn branches_agree(node: &Node, body: &Value, listed: &[Value], used: &BTreeSet<String>) {
    let mut all_used: BTreeSet<&String> = BTreeSet::new();
    let branches = body["branches"].as_array().unwrap();
    assert!(branches.iter().map(|branch| branch["item"].as_u64()).is_sorted());
    let derived: Vec<Option<Vec<String>>> = listed.iter().map(|entry| derived(node, entry)).collect();
    for (item, (entry, derived)) in listed.iter().zip(&derived).enumerate() {
        let of_item: Vec<&Value> = branches.iter().filter(|branch| branch["item"] == item).collect();
        let is_combo = text(&entry["desc"]).starts_with("combo(");
        assert_eq!(of_item.len(), if is_combo { 4 } else { 1 }, "{entry}");
        // Scripts without an address: the sums of coins and transactions say that they are found.
        let Some(derived) = derived else { continue };
        // The first of a combo has no address.
        let with_address = if is_combo { &of_item[1..] } else { &of_item[..] };
        for (at, branch) in with_address.iter().enumerate() {
            let addresses: Vec<&String> = derived.iter().skip(at).step_by(with_address.len()).collect();
            all_used.extend(addresses.iter().filter(|address| used.contains(**address)));
            branch_agrees(branch, &entry["range"], &addresses, used);
        }
    }
    let rows = body["addresses"].as_array().unwrap().iter().filter_map(|row| row["address"].as_str());
    let rows: Vec<String> = rows.map(str::to_owned).collect();
    assert_eq!(rows.iter().collect::<BTreeSet<_>>(), all_used);
    assert_eq!(rows.len(), all_used.len(), "an address comes twice: {body}");
    assert_eq!(body["address_count"], body["addresses"].as_array().unwrap().len(), "{body}");
}

/// The addresses that the node derives from an entry of its list, if its scripts have any.
fn derived(node: &Node, entry: &Value) -> Option<Vec<String>> {
    let params = match &entry["range"] {
        Value::Null => json!([entry["desc"]]),
        range => json!([entry["desc"], range]),
    };
    match node.outcome("deriveaddresses", params) {
        Ok(addresses) => Some(addresses.as_array().unwrap().iter().map(text).collect()),
        Err(said) => {
            assert!(said.contains("does not have a corresponding address"), "{entry}: {said}");
            None
        }
    }
}

#[track_caller]
fn branch_agrees(branch: &Value, range: &Value, addresses: &[&String], used: &BTreeSet<String>) {
    let is_used = |address: &&&String| used.contains(**address);
    assert_eq!(branch["used"], addresses.iter().filter(is_used).count(), "{branch}");
    assert_eq!(branch["scanned"], addresses.len(), "{branch}");
    assert_eq!(branch["is_ranged"], !range.is_null(), "{branch}");
    let next = match addresses.iter().rposition(|address| used.contains(*address)) {
        _ if range.is_null() => None,
        None => Some(0),
        Some(last) => Some(last + 1).filter(|next| *next < addresses.len()),
    };
    let first = range[0].as_u64().unwrap_or(0) as usize;
    assert_eq!(branch["next_index"], json!(next.map(|next| next + first)), "{branch}");
    assert_eq!(branch["next_address"], json!(next.map(|next| addresses[next])), "{branch}");
}

/// The texts of a list, as somebody who knows no ranges gives them.
pub(crate) fn texts(listed: &[Value]) -> Vec<Value> {
    listed.iter().map(|entry| entry["desc"].clone()).collect()
}

/// The same wallet without the ranges of its list.
#[track_caller]
pub(crate) fn by_gap_limit_agrees(served: &Served, body: &Value, wallet: &[Value], gap_limit: u32) {
    let request = json!({ "wallet": wallet, "gap_limit": gap_limit, "include": ["transactions"], "limit": 40 });
    let (status, found) = served.post(LOOKUP, &request);
    assert_eq!(status, 200, "{found}");
    for name in ["address_count", "balance", "utxo_count", "unconfirmed_tx_count"] {
        assert_eq!(found[name], body[name], "{name}");
    }
    for name in ["total", "transactions"] {
        assert_eq!(found["transactions"][name], body["transactions"][name], "{name}");
    }
}
