//! The test vectors of BIP 352, which lie in the folder of the crate `bdk_sp`.

use std::{fs, str::FromStr};

use bitcoin::{
    Amount, Network, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Txid, Witness,
    absolute::LockTime,
    consensus::deserialize,
    secp256k1::{Secp256k1, SecretKey},
    transaction::Version,
};
use cairn_model::ScriptPrefix;
use serde_json::Value;

use super::{KeyHash, Scanner, SpentScript, output_prefix, tweak};

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_else(|| panic!("no text {name} in {value}"))
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().unwrap_or_else(|| panic!("no list {name} in {value}"))
}

fn bytes(value: &Value, name: &str) -> Vec<u8> {
    hex::decode(text(value, name)).unwrap()
}

fn vectors() -> Vec<Value> {
    let folder = cairn_testkit::crate_folder("bdk_sp");
    let json = fs::read(folder.join("tests/functional_tests/send_and_receive_test_vectors.json")).unwrap();
    serde_json::from_slice(&json).unwrap()
}

/// The transaction of a vector, and what its inputs spend.
fn transaction(given: &Value) -> (Transaction, Vec<ScriptBuf>) {
    let input = |vin: &Value| TxIn {
        previous_output: OutPoint {
            txid: Txid::from_str(text(vin, "txid")).unwrap(),
            vout: vin["vout"].as_u64().unwrap() as u32,
        },
        script_sig: bytes(vin, "scriptSig").into(),
        sequence: Sequence::MAX,
        witness: match bytes(vin, "txinwitness") {
            none if none.is_empty() => Witness::new(),
            witness => deserialize(&witness).unwrap(),
        },
    };
    let output = |key: &Value| TxOut {
        value: Amount::from_sat(1_000),
        script_pubkey: ScriptBuf::from([vec![0x51, 0x20], hex::decode(key.as_str().unwrap()).unwrap()].concat()),
    };
    let tx = Transaction {
        version: Version::TWO,
        lock_time: LockTime::ZERO,
        input: list(given, "vin").iter().map(input).collect(),
        output: list(given, "outputs").iter().map(output).collect(),
    };
    let spent = list(given, "vin").iter().map(|vin| bytes(&vin["prevout"]["scriptPubKey"], "hex").into()).collect();
    (tx, spent)
}

#[test]
fn tweaks_addresses_and_what_a_scanner_finds() {
    let (mut tweaks, mut found, mut by_prefix) = (0, 0, 0);
    let vectors = vectors();
    for (vector, of) in vectors.iter().flat_map(|vector| list(vector, "receiving").iter().map(move |of| (vector, of))) {
        let (given, expected, comment) = (&of["given"], &of["expected"], text(vector, "comment"));
        let (tx, spent) = transaction(given);
        let known: Vec<SpentScript> = spent.iter().map(|script| SpentScript::of(script)).collect();
        let tweaked = tweak(&tx, &known);
        let shown = tweaked.map(|tweak| tweak.to_string());
        assert_eq!(shown.as_deref(), expected["tweak"].as_str(), "{comment}");

        // An index knows a P2PKH script by its prefix only.
        let prefixes: Vec<SpentScript> = spent
            .iter()
            .zip(&known)
            .map(|(script, known)| match known {
                SpentScript::PubKeyHash(_) => {
                    by_prefix += 1;
                    SpentScript::PubKeyHash(KeyHash::Script(ScriptPrefix::of(script.as_bytes(), 8), 8))
                }
                other => *other,
            })
            .collect();
        assert_eq!(tweak(&tx, &prefixes), tweaked, "{comment}");

        let keys = &given["key_material"];
        let spend = SecretKey::from_str(text(keys, "spend_priv_key")).unwrap().public_key(&Secp256k1::new());
        let labels = list(given, "labels").iter().map(|label| label.as_u64().unwrap() as u32);
        let scanner = Scanner::read(text(keys, "scan_priv_key"), &spend.to_string(), labels).unwrap();
        assert_eq!(scanner.address(Network::Bitcoin), expected["addresses"][0], "{comment}");

        let outputs: Vec<_> = tx.output.iter().filter_map(|output| output_prefix(&output.script_pubkey)).collect();
        let is_found = tweaked.is_some_and(|tweak| scanner.finds(&tweak.serialize(), &outputs));
        let count = expected["n_outputs"].as_u64().or_else(|| Some(expected["outputs"].as_array()?.len() as u64));
        assert_eq!(is_found, count.unwrap() > 0, "{comment}");
        tweaks += u32::from(tweaked.is_some());
        found += u32::from(is_found);
    }
    // The file has not become empty, nor do all vectors have the same result.
    assert!(vectors.len() >= 28 && tweaks >= 25 && found >= 20 && by_prefix >= 10, "{tweaks} {found} {by_prefix}");
}
