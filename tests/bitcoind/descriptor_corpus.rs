//! The node answers to the descriptors of `query-api/keys/tests/descriptors.tsv` as it is recorded there.
//! `CAIRN_CORPUS_WRITE=1` records it again.

use std::{env, fs};

use serde_json::{Value, json};

use crate::node::{Node, Settings, bitcoind_or_skip};

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/query-api/keys/tests/descriptors.tsv");
/// The first version that knows all functions in it: `musig`.
const MIN_VERSION: u64 = 310_000;

/// The answers of the node: checksum and addresses, or errors.
fn answers(node: &Node, descriptor: &str, range: &str) -> (String, String) {
    let error = |error: String| format!("error: {}", error.replace(['\t', '\n'], " "));
    let info: Value = match node.outcome("getdescriptorinfo", json!([descriptor])) {
        Ok(info) => info,
        Err(message) => return (error(message), String::new()),
    };
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let checksum = text(&info["checksum"]);
    let full = if descriptor.contains('#') { descriptor.to_owned() } else { format!("{descriptor}#{checksum}") };
    let range: Vec<u64> = range.split(' ').filter_map(|index| index.parse().ok()).collect();
    let params = if range.is_empty() { json!([full]) } else { json!([full, range]) };
    let addresses = match node.outcome("deriveaddresses", params) {
        Err(message) => error(message),
        Ok(Value::Array(all)) => {
            let branches = if all.iter().all(Value::is_string) { vec![json!(all)] } else { all };
            let branch = |of: &Value| of.as_array().unwrap().iter().map(text).collect::<Vec<_>>().join(" ");
            branches.iter().map(branch).collect::<Vec<_>>().join("|")
        }
        Ok(other) => panic!("{other}"),
    };
    (checksum, addresses)
}

#[test]
fn descriptors_are_answered_as_recorded() {
    let program = bitcoind_or_skip!();
    let node = Node::start(&program, Settings { zmq: false, ..Settings::default() });
    let version = node.rpc("getnetworkinfo", json!([]))["version"].as_u64().unwrap();
    if version < MIN_VERSION {
        cairn_testkit::skip!("the node knows too few descriptors");
    }
    let is_written = env::var_os("CAIRN_CORPUS_WRITE").is_some_and(|it| it == "1");
    let (recorded, mut written) = (fs::read_to_string(CORPUS).unwrap(), String::new());
    // Errors get other words now and then.
    let without_words =
        |answer: &str| if answer.starts_with("error: ") { "error".to_owned() } else { answer.to_owned() };
    for line in recorded.lines() {
        if line.starts_with('#') {
            written.push_str(&format!("{line}\n"));
            continue;
        }
        let columns: Vec<&str> = line.split('\t').collect();
        let &[descriptor, range, info, addresses, differs] = columns.as_slice() else {
            panic!("five columns: {line}");
        };
        let now = answers(&node, descriptor, range);
        if !is_written {
            let then = (without_words(info), without_words(addresses));
            assert_eq!((without_words(&now.0), without_words(&now.1)), then, "{descriptor}");
        }
        written.push_str(&format!("{descriptor}\t{range}\t{}\t{}\t{differs}\n", now.0, now.1));
    }
    if is_written {
        fs::write(CORPUS, written).unwrap();
    }
}
