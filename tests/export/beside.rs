//! Exports beside a writer, and what does not follow from blocks alone.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use cairn_model::{CancelToken, ScriptId, ScriptPrefix};

use crate::support::*;

/// Late stages follow a block some time after it is there: these do not wait for them.
const OF_BLOCKS: [&str; 12] = [
    "blocks",
    "transactions",
    "inputs",
    "outputs",
    "coins",
    "scripts",
    "clusters",
    "cluster_scripts",
    "daily",
    "balance_bands",
    "supply_changes",
    "prices",
];

#[test]
fn beside_a_writer_it_is_of_one_tip() {
    let mut world = World::of(&chain(14, 120));
    let tip = world.height();
    // The export at each height.
    let mut expected = BTreeMap::new();
    for height in [tip, tip - 7, tip - 20] {
        world.unwind(world.height() - height);
        let name = format!("at-{height}");
        world.export(&name, &only(&OF_BLOCKS));
        expected.insert(height, files(&world.out(&name)));
    }
    let ended = AtomicBool::new(false);
    let (index, outs) = (world.dir.path().join("data/index"), world.dir.path().to_owned());
    let seen = thread::scope(|scope| {
        let exporter = scope.spawn(|| {
            let mut seen = BTreeSet::new();
            for at in 0..12 {
                let (out, work) = (outs.join(format!("beside-{at}")), outs.join(format!("data/exports/beside-{at}")));
                let made = export(&index, &out, &work, &only(&OF_BLOCKS), &CancelToken::never(), &|_| {}).unwrap();
                if let Some(expected) = expected.get(&made.manifest.tip_height) {
                    assert!(files(&out) == *expected, "at {}", made.manifest.tip_height);
                }
                seen.insert(made.manifest.tip_height);
            }
            ended.store(true, Ordering::Relaxed);
            seen
        });
        while !ended.load(Ordering::Relaxed) && !exporter.is_finished() {
            for height in [tip - 7, tip, tip - 20] {
                if height > world.height() {
                    world.sync(Some(height));
                } else {
                    world.unwind(world.height() - height);
                }
            }
        }
        exporter.join().unwrap()
    });
    assert!(!seen.is_empty());
}

#[test]
fn clusters_are_those_of_the_reader() {
    let world = World::of(&cairn_chaingen::demo::chain(1).unwrap());
    let made = world.export("out", &only(&["clusters", "cluster_scripts", "scripts"]));
    let read = |name: &str| Rows::read(&world.out("out"), &made, name).0;
    let of: BTreeMap<Vec<u8>, i128> =
        read("cluster_scripts").iter().map(|row| (bytes(row, "script_id"), number(row, "cluster"))).collect();
    let reader = world.engine.reader();
    let view = reader.view().unwrap();
    let (mut scripts, mut balances): (BTreeMap<i128, i128>, BTreeMap<i128, i128>) = Default::default();
    for row in read("scripts") {
        let id = bytes(&row, "script_id");
        let script = ScriptId { prefix: ScriptPrefix(id[..8].try_into().unwrap()), ordinal: id[8] };
        let root = view.clusters().of_script(script, view.as_of_tip()).unwrap().root;
        assert_eq!(of.get(&id).copied(), root.map(|root| root.0.0.into()), "{}", text(&row, "address"));
        if let Some(root) = of.get(&id) {
            *scripts.entry(*root).or_default() += 1;
            *balances.entry(*root).or_default() += number(&row, "balance_sats");
        }
    }
    let clusters = read("clusters");
    assert!(clusters.len() > 20 && clusters.len() == scripts.len());
    for row in clusters {
        let root = number(&row, "cluster");
        assert_eq!((number(&row, "scripts"), number(&row, "balance_sats")), (scripts[&root], balances[&root]));
    }
}

#[test]
fn alerts_are_those_of_the_tables() {
    let world = World::of(&cairn_chaingen::demo::chain(1).unwrap());
    let made = world.export("out", &only(&["alerts"]));
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let rows = Rows::read(&world.out("out"), &made, "alerts").0;
    for row in &rows {
        *counts.entry(text(row, "kind")).or_default() += 1;
    }
    let reader = world.engine.reader();
    let view = reader.view().unwrap();
    let mut whales = BTreeMap::new();
    if let Some(mut walk) = view.movements().transfers_before(cairn_model::TxNum(u64::MAX >> 25)).unwrap() {
        while let Some(found) = walk.older().unwrap() {
            whales.insert(found.tx_num.0, found.net_external);
        }
    }
    let found: BTreeMap<u64, u64> = rows
        .iter()
        .filter(|row| text(row, "kind") == "whale_tx")
        .map(|row| (number(row, "tx_num") as u64, number(row, "value_sats") as u64))
        .collect();
    assert!(!found.is_empty());
    assert_eq!(found, whales.into_iter().filter(|(_, sats)| *sats >= 10_000_000_000).collect());
    for kind in ["consolidation", "old_movement", "dormancy_flush", "whale_wakeup"] {
        assert!(counts.contains_key(kind), "{counts:?}");
    }
}
