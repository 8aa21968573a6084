//! The descriptors that a real wallet lists give what the node says of the wallet: balance, coins, history, fresh
//! addresses.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::{Value, json};

use crate::{
    account::{Account, LOOKUP, by_gap_limit_agrees, texts},
    coins::{Coin, Draft},
    node::{Node, Settings, bitcoind_or_skip},
    served::Served,
    wallet::{KINDS, foreign, sats, script_of},
};

/// Letters of a descriptor in a row that must be nowhere: fewer are in the words of an error by chance.
const PIECE: usize = 12;

/// Fails unless the fresh address of each kind is the one that the wallet hands out next; returns these addresses.
#[track_caller]
fn fresh_addresses_agree(account: &Account, body: &Value) -> Vec<String> {
    let listed = account.listed(false);
    let mut fresh = Vec::new();
    for (kind, start) in KINDS.iter().zip(["pkh(", "sh(wpkh(", "wpkh(", "tr("]) {
        for (is_change, method) in [(false, "getnewaddress"), (true, "getrawchangeaddress")] {
            let is_it =
                |entry: &&Value| entry["internal"] == is_change && entry["desc"].as_str().unwrap().starts_with(start);
            let entry = listed.iter().find(is_it).unwrap();
            let item = listed.iter().position(|other| other == entry).unwrap();
            let branch = &body["branches"][item];
            assert_eq!(branch["step"], u8::from(is_change), "{branch}");
            // The wallet does not hand out again what nobody has paid to.
            if is_change && branch["next_index"] != entry["next_index"] {
                continue;
            }
            let params = if is_change { json!([kind]) } else { json!(["", kind]) };
            let handed: String = account.ask(method, params);
            assert_eq!(branch["next_address"], *handed, "{kind}: {branch}, {entry}");
            fresh.push(handed);
        }
    }
    fresh
}

/// Coins, also of coinbases, of a wallet with some of each kind.
fn fund(node: &Node) {
    for kind in KINDS {
        node.mine_to(3, &node.new_address(kind));
    }
    node.mine_to(5, &node.new_address("bech32m"));
    node.mine_to(100, &foreign(40));
}

/// Payments of every sort, none of them confirmed.
fn pay(node: &Node, account: &Account, coins: &[Coin]) {
    for (round, kind) in KINDS.iter().enumerate() {
        let amount = 10_000_000 + 1_111 * round as u64;
        // To itself; to others, with change; to many, some its own.
        account.pay(&account.new_address(kind), amount);
        account.pay(&foreign(50 + round as u8), amount);
        let [own, other] = [account.new_address(kind), account.new_address(KINDS[(round + 1) % 4])];
        let all = json!({ own: 0.125, other: 0.25, foreign(60): 0.0625, foreign(61): 0.03125 });
        account.rpc("sendmany", json!(["", all]));
    }
    // All of one payment, with the fee from what is paid; then what is not confirmed goes on.
    let kept = account.new_address("bech32m");
    account.rpc("sendtoaddress", json!({ "address": kept, "amount": 1, "subtractfeefromamount": true }));
    let rest = sats(&account.rpc("getbalances", json!([]))["mine"]["trusted"]);
    account.pay(&foreign(62), rest.cast_unsigned() / 2);
    // From others: one to the wallet only, one to it twice, one to a script that nobody has paid to.
    let to = |kind: &str, value: u64| (script_of(&account.new_address(kind)), value);
    let twice = to("legacy", 30_000);
    for (coin, others) in coins.iter().zip([
        vec![to("bech32", 500_000)],
        vec![twice.clone(), twice],
        vec![to("bech32m", 1_000), to("p2sh-segwit", 2_000)],
    ]) {
        node.send(&Draft { others, ..Draft::of(*coin, 2_000) }.make());
    }
}

/// Payments that are replaced: the wallet's own, several times, and one of others, which pays somebody else then.
fn replace(node: &Node, account: &Account, coin: Coin) {
    let mut txid = account.pay(&account.new_address("bech32"), 20_000_000);
    for rate in [40, 75] {
        let bumped = account.rpc("bumpfee", json!([txid, { "fee_rate": rate }]));
        txid = bumped["txid"].as_str().unwrap().to_owned();
    }
    let to = script_of(&account.new_address("bech32m"));
    node.send(&Draft { others: vec![(to, 700_000)], ..Draft::of(coin, 2_000) }.make());
    node.send(&Draft::of(coin, 20_000).make());
}

#[test]
fn a_wallet_of_all_types_as_the_node_lists_it() {
    let program = bitcoind_or_skip!();
    let node = Node::start(&program, Settings::default());
    node.create_wallet();
    let account = Account::of(&node, "cairn");
    // All pages, and the whole of profit and loss.
    let served = Served::one_process_with(&node, "--gates false");
    served.settle(&node);
    let body = account.agrees(&node, &served);
    assert_eq!((&body["address_count"], &body["balance"]["total_sats"]), (&json!(0), &json!(0)), "{body}");
    fresh_addresses_agree(&account, &body);
    fund(&node);
    let body = account.agrees(&node, &served);
    assert_eq!(body["utxo_count"], 17, "{body}");

    let coins = node.coins_for_anyone(8, 20_000_000);
    pay(&node, &account, &coins);
    account.agrees(&node, &served);
    replace(&node, &account, coins[4]);
    let body = account.agrees(&node, &served);
    by_gap_limit_agrees(&served, &body, &texts(&account.listed(false)), 20);
    node.mine_to(1, &foreign(41));
    let body = account.agrees(&node, &served);
    assert_eq!(body["unconfirmed_tx_count"], 0);

    // One of each kind is handed out; once it is used, the answer has the next one, and the wallet hands it out.
    for kind in KINDS {
        account.pay(&account.new_address(kind), 2_000_000);
    }
    let body = account.agrees(&node, &served);
    let fresh = fresh_addresses_agree(&account, &body);
    assert!(fresh.len() >= KINDS.len());
    for address in &fresh {
        account.pay(address, 100_000);
    }
    account.agrees(&node, &served);
    let first = node.mine_to(1, &account.new_address("legacy")).remove(0);
    let on_first = account.agrees(&node, &served);
    extended_keys_agree(&account, &served, &on_first);

    // Blocks go: their coinbases are nothing, their payments wait again. Others come, and go in favour of the first.
    pay(&node, &account, &coins[5..]);
    let second = node.mine_to(1, &account.new_address("bech32m")).remove(0);
    node.mine_to(2, &account.new_address("p2sh-segwit"));
    account.agrees(&node, &served);
    node.rpc("invalidateblock", json!([second]));
    account.abandon_dropped(&node);
    let body = account.agrees(&node, &served);
    assert_ne!(body["unconfirmed_tx_count"], 0);
    node.rpc("invalidateblock", json!([first]));
    account.abandon_dropped(&node);
    account.agrees(&node, &served);
    node.mine_to(3, &account.new_address("bech32"));
    account.agrees(&node, &served);
    node.rpc("reconsiderblock", json!([first]));
    node.mine_to(1, &foreign(42));
    let body = account.agrees(&node, &served);
    by_gap_limit_agrees(&served, &body, &texts(&account.listed(false)), 20);
}

/// The keys of the accounts alone stand for each kind, with receiving and change addresses; what other kinds have is
/// not used.
#[track_caller]
fn extended_keys_agree(account: &Account, served: &Served, body: &Value) {
    let mut keys = BTreeSet::new();
    for entry in account.listed(false) {
        let text = entry["desc"].as_str().unwrap();
        let (start, end) = (text.find('[').unwrap(), text.rfind("/*").unwrap() - "/0".len());
        keys.insert(text[start..end].to_owned());
    }
    assert_eq!(keys.len(), KINDS.len());
    let keys: Vec<Value> = keys.into_iter().map(Value::String).collect();
    by_gap_limit_agrees(served, body, &keys, 20);
}

/// All pieces of texts.
fn pieces(texts: &[String]) -> BTreeSet<&[u8]> {
    texts.iter().flat_map(|text| text.as_bytes().windows(PIECE)).collect()
}

#[track_caller]
fn has_none(what: &str, bytes: &[u8], pieces: &BTreeSet<&[u8]>) {
    let found = bytes.windows(PIECE).find(|piece| pieces.contains(piece)).map(String::from_utf8_lossy);
    assert_eq!(found, None, "{what}");
}

#[track_caller]
fn no_file_has(dir: &Path, pieces: &BTreeSet<&[u8]>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            no_file_has(&path, pieces);
        } else if path.is_file() {
            // Not the socket between processes.
            has_none(&path.display().to_string(), &fs::read(&path).unwrap(), pieces);
        }
    }
}

#[test]
fn private_descriptors_are_refused_and_nothing_of_a_descriptor_is_kept() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings::with(&["-keypool=20"]));
    let account = Account::of(&node, "cairn");
    account.pay(&account.new_address("bech32m"), 1_000_000);
    let mut served = Served::one_process_with(&node, "--gates false --log trace");
    served.settle(&node);
    let (private, public) = (account.listed(true), account.listed(false));
    let of = |listed: &[Value]| -> Vec<String> {
        listed.iter().map(|entry| entry["desc"].as_str().unwrap().to_owned()).collect()
    };
    let (of_private, of_public) = (of(&private), of(&public));
    let all = [of_private.clone(), of_public.clone()].concat();
    let all = pieces(&all);

    let mut requests = vec![json!({ "wallet": private }), json!({ "wallet": of_private })];
    for at in 0..private.len() {
        requests.push(json!({ "wallet": [private[at]] }));
        requests.push(json!({ "wallet": [of_private[at]] }));
        let without_checksum = of_private[at].split('#').next().unwrap();
        requests.push(json!({ "wallet": [public[at], without_checksum], "include": ["pnl"], "format": "csv" }));
        let key = &without_checksum[without_checksum.find("tprv").unwrap()..];
        requests.push(json!({ "wallet": [key.split('/').next()] }));
    }
    for request in &requests {
        let (status, body) = served.post(LOOKUP, request);
        assert_eq!((status, &body["error"]), (400, &json!("private_key_refused")), "{body}");
        has_none("an answer", body.to_string().as_bytes(), &all);
    }
    // A public one is answered, and not repeated; nor is one with a mistyped letter.
    let include = ["addresses", "transactions", "balance_history", "dashboard", "pnl"];
    let (status, body) = served.post(LOOKUP, &json!({ "wallet": public, "include": include }));
    assert_eq!(status, 200, "{body}");
    has_none("an answer", body.to_string().as_bytes(), &all);
    for text in &of_public {
        let mistyped = text.replacen("tpub", "tpuc", 1);
        let (status, body) = served.post(LOOKUP, &json!({ "wallet": [mistyped] }));
        assert_eq!((status, &body["error"]), (400, &json!("invalid_descriptor")), "{body}");
        has_none("an answer", body.to_string().as_bytes(), &all);
    }
    assert!(
        served.said().contains("/v1/wallets/lookup") || served.said().contains("wallet_lookup"),
        "it logs requests"
    );
    has_none("the log", served.said().as_bytes(), &all);
    let data = served.world.path("data");
    no_file_has(&data, &all);
    served.end_serving("TERM");
    no_file_has(&data, &all);
}
