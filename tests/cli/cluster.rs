//! `cairn cluster`, against the ledger.

use std::collections::BTreeSet;

use bitcoin::{Address, Block, Network, ScriptBuf, hashes::Hash};
use cairn_chaingen::EverythingOptions;
use cairn_support::{World, cospending::clusters_of, fails};
use cairn_testkit::{Clusters, Oracle};
use serde_json::Value;

use crate::CAIRN;

fn name(script: &ScriptBuf) -> String {
    let hash = bitcoin::hashes::sha256::Hash::hash(script.as_bytes());
    Address::from_script(script, Network::Regtest)
        .map_or_else(|_| format!("scripthash:{}", hex::encode(hash.to_byte_array())), |address| address.to_string())
}

fn shown(world: &World, arguments: &str) -> Value {
    serde_json::from_str(&world.stdout(&format!("cluster --datadir data --json {arguments}"))).unwrap()
}

/// The largest cluster.
fn largest(clusters: &Clusters) -> Vec<ScriptBuf> {
    clusters.all().max_by_key(Vec::len).unwrap().into_iter().cloned().collect()
}

#[test]
fn a_cluster_is_shown_as_of_any_height() {
    let options = EverythingOptions { blocks: 150, max_txs: 8, forks: vec![2], showpieces: false };
    let chain = cairn_chaingen::everything(11, &options).unwrap();
    let world = World::with(CAIRN, &chain);
    world.index();
    let blocks: Vec<Block> = chain.active().into_iter().map(|mined| mined.block.clone()).collect();
    let oracle = Oracle::of(cairn_model::Network::Regtest, &blocks);
    let tip = chain.tip().height;
    let mut ids = BTreeSet::new();
    for height in [tip / 2 + 50, tip - 1, tip] {
        let clusters = clusters_of(&oracle, height);
        let members = largest(&clusters);
        assert!(members.len() > 5);
        let expected: BTreeSet<String> = members.iter().map(name).collect();
        let at = if height == tip { String::new() } else { format!("--at {height}") };
        let answer = shown(&world, &format!("{} {at} --limit 10000", name(&members[0])));
        assert_eq!(answer["height"], height);
        assert_eq!(answer["scripts"], members.len());
        assert_eq!(answer["transactions"], clusters.transactions(&members[0]).len());
        assert_eq!(answer["balance_sats"], clusters.balance(&members[0]));
        assert_eq!((&answer["next"], &answer["unknown"]), (&Value::Null, &Value::Null));
        let found: BTreeSet<String> =
            answer["members"].as_array().unwrap().iter().map(|m| m.as_str().unwrap().to_owned()).collect();
        assert_eq!(found, expected);
        // A cluster is named after one of its transactions.
        let id = answer["cluster"].as_str().unwrap().to_owned();
        let txids =
            clusters.transactions(&members[0]).into_iter().map(|tx| oracle.txs()[tx.0 as usize].txid.to_string());
        assert!(txids.into_iter().any(|txid| txid == id));
        ids.insert(id);

        // Page by page.
        let (mut paged, mut from) = (BTreeSet::new(), String::new());
        loop {
            let page = shown(&world, &format!("{} {at} --limit 3 {from}", name(&members[1])));
            let page_members = page["members"].as_array().unwrap();
            assert!(page_members.len() <= 3);
            paged.extend(page_members.iter().map(|m| m.as_str().unwrap().to_owned()));
            let Some(next) = page["next"].as_str() else { break };
            from = format!("--from {next}");
        }
        assert_eq!(paged, expected);

        // Why two of them are together.
        let (first, last) = (&members[0], members.last().unwrap());
        let answer = shown(&world, &format!("{} {at} --explain {}", name(first), name(last)));
        let why = &answer["explanation"];
        assert_eq!(why["same_cluster"], true);
        let script_of = |text: &Value| members.iter().find(|m| *text == name(m)).unwrap().clone();
        let number = |txid: &Value| {
            let tx = oracle.txs().iter().position(|tx| *txid == tx.txid.to_string()).unwrap();
            cairn_model::TxNum(tx as u64)
        };
        let steps: Vec<_> = why["steps"].as_array().unwrap().iter().collect();
        assert!(!steps.is_empty());
        let steps: Vec<_> = steps
            .iter()
            .map(|step| {
                assert!(step["height"].as_u64().unwrap() <= height.into());
                (script_of(&step["from"]), number(&step["txid"]), script_of(&step["to"]))
            })
            .collect();
        clusters.explains(&steps, first, last).unwrap();
    }
    assert!(!ids.is_empty());

    // A script that was never spent together with others is a cluster of its own, one that the chain has not seen is
    // empty.
    let clusters = clusters_of(&oracle, tip);
    let single = clusters.all().find(|members| members.len() == 1).unwrap()[0].clone();
    let hash = bitcoin::hashes::sha256::Hash::hash(single.as_bytes()).to_byte_array();
    let id = format!("scripthash:{}", hex::encode(hash));
    for asked in [name(&single), id.clone()] {
        let answer = shown(&world, &asked);
        assert_eq!(answer["cluster"], id);
        assert_eq!((&answer["scripts"], &answer["transactions"]), (&1.into(), &0.into()));
        assert_eq!(answer["balance_sats"], clusters.balance(&single));
        assert_eq!(answer["members"], serde_json::json!([name(&single)]));
    }
    let unseen = shown(&world, &format!("scripthash:{}", "ab".repeat(32)));
    assert_eq!((&unseen["scripts"], &unseen["members"]), (&0.into(), &serde_json::json!([])));
    let members = largest(&clusters);
    let apart = shown(&world, &format!("{} --explain {}", name(&members[0]), name(&single)));
    assert_eq!(apart["explanation"]["same_cluster"], false);

    let text = world.stdout(&format!(
        "cluster --datadir data {} --limit 2 --explain {}",
        name(&members[0]),
        name(&members[1])
    ));
    assert!(text.starts_with("cluster ") && text.contains(" scripts\n") && text.contains("more: --from "), "{text}");
    assert!(text.contains("is in the same cluster:"), "{text}");

    let address = name(&members[0]);
    for (arguments, expected) in [
        (format!("{address} --at {}", tip + 1), "above the tip"),
        (format!("{address} --from 999999.0"), "no such place"),
        (format!("{address} --from x"), "numbers with dots"),
        ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa".to_owned(), "does not belong to the network"),
        ("nonsense".to_owned(), "neither a Bitcoin address"),
        (format!("{address} --limit 0"), "a whole number from 1 to 10000"),
    ] {
        fails(world.run(&format!("cluster --datadir data {arguments}")), 2, &[expected]);
    }
}
