//! Script types, addresses, notation and difficulty against Bitcoin Core's own `getblock` output of real blocks.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::{fs::File, io::Read};

use cairn_domain::{address_of, asm, difficulty, script_type};
use cairn_model::Network;
use cairn_testkit::shared_data_or_skip;
use flate2::read::GzDecoder;
use serde_json::Value;

fn check(script_pub_key: &Value) {
    let script = hex::decode(script_pub_key["hex"].as_str().unwrap()).unwrap();
    assert_eq!(script_type(&script).name(), script_pub_key["type"], "{script_pub_key}");
    assert_eq!(asm(&script), script_pub_key["asm"], "{script_pub_key}");
    let address = address_of(&script, Network::Main);
    assert_eq!(address.as_deref(), script_pub_key.get("address").and_then(Value::as_str), "{script_pub_key}");
}

#[test]
fn scripts_of_real_blocks_as_core_shows_them() {
    let folder = shared_data_or_skip!().join("mainnet/blocks");
    let mut types = std::collections::BTreeSet::new();
    let (mut blocks, mut scripts) = (0, 0);
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "gz") {
            continue;
        }
        let mut text = String::new();
        GzDecoder::new(File::open(&path).unwrap()).read_to_string(&mut text).unwrap();
        let json: Value = serde_json::from_str(&text).unwrap();
        let block = json.get("result").unwrap_or(&json);
        blocks += 1;
        let bits = u32::from_str_radix(block["bits"].as_str().unwrap(), 16).unwrap();
        let theirs = block["difficulty"].as_f64().unwrap();
        // They print 16 digits.
        assert!((difficulty(bits).unwrap() / theirs - 1.0).abs() < 1e-15, "{bits:08x}");
        for tx in block["tx"].as_array().unwrap() {
            let spent = tx["vin"].as_array().unwrap().iter().filter_map(|input| input.get("prevout"));
            for output in tx["vout"].as_array().unwrap().iter().chain(spent) {
                check(&output["scriptPubKey"]);
                scripts += 1;
                types.insert(output["scriptPubKey"]["type"].as_str().unwrap().to_owned());
            }
        }
    }
    assert!(blocks >= 2 && scripts > 1000 && types.len() >= 2, "{blocks} blocks, {scripts} scripts: {types:?}");
}
