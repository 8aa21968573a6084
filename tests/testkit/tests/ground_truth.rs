//! Clusters of generated chains against the owners that the generator knows.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{Block, Script, ScriptBuf, Transaction, Txid};
use cairn_chaingen::{
    EverythingOptions, Joint, Owners, Truth,
    mainnet::{MainnetOptions, mainnet_blocks, mainnet_owners},
    owned_everything,
};
use cairn_model::Network;
use cairn_testkit::{BCubed, ClusterId, Clusters, Coin, Oracle, b_cubed, clusters_of_perfect_eligibility, needs_key};

fn chain(seed: u64, joint: &[Joint], keyless: bool) -> (Oracle, Truth) {
    let options = EverythingOptions { blocks: 150, max_txs: 8, forks: vec![3], showpieces: false };
    let owners = Owners { count: 15, joint: joint.to_vec(), keyless };
    let (chain, truth) = owned_everything(seed, &options, owners).unwrap();
    let blocks: Vec<Block> = chain.active().into_iter().map(|mined| mined.block.clone()).collect();
    (Oracle::of(Network::Regtest, &blocks), truth)
}

fn tip(oracle: &Oracle) -> u32 {
    oracle.blocks().len() as u32 - 1
}

/// Over the scripts that have an owner.
fn judged(clusters: &BTreeMap<ScriptBuf, ClusterId>, owner_of: &dyn Fn(&Script) -> Option<u32>) -> BCubed {
    b_cubed(clusters.iter().filter_map(|(script, cluster)| Some((cluster, owner_of(script)?))))
}

fn by_script(clusters: &Clusters) -> BTreeMap<ScriptBuf, ClusterId> {
    let scripts = clusters.all().flatten();
    scripts.map(|script| (script.clone(), clusters.cluster_of(script))).collect()
}

/// The transactions that unite scripts of different owners.
fn false_merges(oracle: &Oracle, clusters: &Clusters, truth: &Truth) -> BTreeSet<Txid> {
    let mixed = clusters.eligible().iter().filter(|(_, scripts)| {
        let owners: BTreeSet<Option<u32>> = scripts.iter().map(|script| truth.owner(script)).collect();
        owners.len() > 1
    });
    mixed.map(|(tx_num, _)| oracle.txs()[tx_num.0 as usize].txid).collect()
}

fn never(_: &Transaction, _: &[Coin]) -> bool {
    false
}

#[test]
fn precision_is_one_where_owners_do_not_mix() {
    let (oracle, truth) = chain(1, &[], false);
    let owner_of = |script: &Script| truth.owner(script);
    for height in [0, 110, 130, tip(&oracle)] {
        let clusters = Clusters::at(&oracle, height, &never, &needs_key);
        let found = judged(&by_script(&clusters), &owner_of);
        let best = judged(&clusters_of_perfect_eligibility(&oracle, height, &owner_of), &owner_of);
        assert_eq!((found.precision, best.precision), (1.0, 1.0));
        // Inputs with ANYONECANPAY are left out: what they would show is missing.
        assert!(found.recall <= best.recall && best.recall <= 1.0);
    }
    let clusters = Clusters::at(&oracle, tip(&oracle), &never, &needs_key);
    let found = judged(&by_script(&clusters), &owner_of);
    // Scripts that may need no key are many here, and left out.
    assert!(found.recall > 0.05 && found.recall < 1.0, "{found:?}");
    assert!(false_merges(&oracle, &clusters, &truth).is_empty());
}

#[test]
fn false_merges_are_those_that_nothing_tells() {
    let kinds = [Joint::CoinJoin, Joint::Pledge, Joint::PayJoin, Joint::Mixer];
    let (oracle, truth) = chain(2, &kinds, false);
    let owner_of = |script: &Script| truth.owner(script);
    let told: BTreeMap<Txid, Joint> = truth.joint().iter().copied().collect();
    let of_kinds = |wanted: &[Joint]| {
        let txids = oracle.txs().iter().map(|tx| tx.txid);
        txids.filter(|txid| told.get(txid).is_some_and(|kind| wanted.contains(kind))).collect::<BTreeSet<Txid>>()
    };
    // With a perfect detector of CoinJoins what is left are PayJoins and mixers; pledges show their ANYONECANPAY.
    let is_coinjoin = |tx: &Transaction, _: &[Coin]| told.get(&tx.compute_txid()) == Some(&Joint::CoinJoin);
    let clusters = Clusters::at(&oracle, tip(&oracle), &is_coinjoin, &needs_key);
    let missed = of_kinds(&[Joint::PayJoin, Joint::Mixer]);
    assert!(missed.len() >= 10);
    assert_eq!(false_merges(&oracle, &clusters, &truth), missed);
    let found = judged(&by_script(&clusters), &owner_of);
    assert!(found.precision < 0.9, "{found:?}");

    // With a perfect detector of all of them nothing is left.
    let is_joint = |tx: &Transaction, _: &[Coin]| told.contains_key(&tx.compute_txid());
    let clusters = Clusters::at(&oracle, tip(&oracle), &is_joint, &needs_key);
    assert_eq!(judged(&by_script(&clusters), &owner_of).precision, 1.0);
    // Perfect eligibility uses the joint transactions too, each side of its own.
    let best = judged(&clusters_of_perfect_eligibility(&oracle, tip(&oracle), &owner_of), &owner_of);
    assert_eq!(best.precision, 1.0);
    assert!(best.recall > judged(&by_script(&clusters), &owner_of).recall);
}

/// OP_TRUE and pay-to-anchor are spent by everyone. A rule that counts them as somebody's scripts unites strangers.
#[test]
fn keyless_scripts_unite_strangers_unless_they_are_left_out() {
    let (oracle, truth) = chain(3, &[], true);
    let owner_of = |script: &Script| truth.owner(script);
    let naive = Clusters::at(&oracle, tip(&oracle), &never, &|_| true);
    assert!(judged(&by_script(&naive), &owner_of).precision < 0.9);
    let clusters = Clusters::at(&oracle, tip(&oracle), &never, &needs_key);
    let found = judged(&by_script(&clusters), &owner_of);
    assert_eq!(found.precision, 1.0);
    assert!(false_merges(&oracle, &clusters, &truth).is_empty());
    let best = judged(&clusters_of_perfect_eligibility(&oracle, tip(&oracle), &owner_of), &owner_of);
    assert_eq!(best.precision, 1.0);
    assert!(found.recall <= best.recall && found.recall > 0.1, "{found:?}");
}

#[test]
fn precision_is_one_on_the_mainnet_shape() {
    let options = MainnetOptions { empty_blocks: 1, ..MainnetOptions::new(7, 3_000_000) };
    let owners = mainnet_owners(&options).unwrap();
    let mut blocks: Vec<Block> = Vec::new();
    mainnet_blocks(&options, |raw| {
        blocks.push(bitcoin::consensus::deserialize(raw.block).unwrap());
        Ok(())
    })
    .unwrap();
    let oracle = Oracle::of(Network::Regtest, &blocks);
    let owner_of = |script: &Script| owners.get(script).copied();
    let clusters = by_script(&Clusters::at(&oracle, tip(&oracle), &never, &needs_key));
    // Genesis made no coin, and a script with data belongs to nobody.
    assert!(clusters.keys().all(|script| owners.contains_key(script)));
    let found = judged(&clusters, &owner_of);
    let best = judged(&clusters_of_perfect_eligibility(&oracle, tip(&oracle), &owner_of), &owner_of);
    assert_eq!(found.precision, 1.0);
    // No input has ANYONECANPAY, and there is no CoinJoin.
    assert_eq!(found, best);
    assert!(found.recall > 0.2 && found.recall < 1.0, "{found:?}");
}
