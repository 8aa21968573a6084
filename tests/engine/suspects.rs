//! Two large clusters that one transaction merges: no claim extends over it, and what the whole holds counts in no sum.

use std::collections::BTreeMap;

use bitcoin::{OutPoint, Transaction};
use cairn_events::{Body, Claim, ClaimList, ClaimType, Document, DocumentHash, EvidenceTier, Provenance};
use cairn_pipeline::{Driver, Engine, NoProgress};
use cairn_reader::{Inherited, SUSPECT_TRANSACTIONS};
use cairn_tables::{Origin, TABLES, checkpoints::Checkpoints, cluster_owners::ClusterOwners};
use cairn_testkit::temp_dir;
use cairn_writer::{WriteError, Writer};

use crate::{forge::*, support::*};

const PER_BLOCK: u32 = 5_000;
/// Satoshis of each coin.
const COIN: u64 = 1_000;

/// Adds blocks that make a cluster of two scripts, which `transactions` transactions show. Returns a coin of each
/// script that is left.
fn cluster(forge: &mut Forge, tag: u32, transactions: u32) -> [OutPoint; 2] {
    let outputs = (0..2 * transactions + 2).map(|n| pay(COIN, script(tag + n % 2))).collect();
    let first = coinbase(tag, outputs);
    forge.block(vec![first.clone()]);
    let txid = first.compute_txid();
    let coin = |vout: u32| OutPoint { txid, vout };
    let mut made = 0;
    while made < transactions {
        let height = forge.blocks.len() as u32;
        let mut block: Vec<Transaction> = vec![coinbase(1_000_000 + height, vec![pay(1, script(2))])];
        for n in made..transactions.min(made + PER_BLOCK) {
            block.push(spend(&[coin(2 * n), coin(2 * n + 1)], vec![pay(2 * COIN, script(tag + n % 2))]));
        }
        made = transactions.min(made + PER_BLOCK);
        forge.block(block);
    }
    [coin(2 * transactions), coin(2 * transactions + 1)]
}

/// A block with some transactions.
fn block(forge: &mut Forge, txs: &[Transaction]) {
    let height = forge.blocks.len() as u32;
    let own = coinbase(2_000_000 + height, vec![pay(1, script(2))]);
    forge.block([&[own], txs].concat());
}

fn document(number: u8, body: Body) -> Document {
    let provenance = Provenance {
        source: "a".parse().unwrap(),
        licence: "cc0-1.0".parse().unwrap(),
        origin: "a test".to_owned(),
        retrieved_at: 1_800_000_000 + u32::from(number),
        document: DocumentHash([number; 32]),
    };
    Document { provenance, received_at: None, body }
}

/// A list that says whose scripts are, and of other scripts of their clusters, but of those of three.
fn list(number: u8, name: &str, of: &[(u32, &str)]) -> Document {
    let rows = (1..).zip(of).map(|(row, (tag, entity))| Claim {
        level: 90,
        entity: Some(entity.parse().unwrap()),
        is_inherited: *entity != "three",
        ..Claim::bare(row, script(*tag).as_bytes().into(), ClaimType::ControlledBy, EvidenceTier::SelfDisclosed)
    });
    let list = ClaimList { name: name.parse().unwrap(), is_complete: false };
    document(number, Body::Claims { list, rows: rows.collect() })
}

fn inherited(index: &Index, entity: &str) -> Inherited {
    index.view(|view| {
        view.entities().get(&entity.parse().unwrap()).unwrap().map(|row| row.inherited).unwrap_or_default()
    })
}

/// The rows of the joined tables, which have no checksums.
fn joined_rows(index: &Index) -> BTreeMap<(&'static str, Vec<u8>), Vec<u8>> {
    let mut rows = BTreeMap::new();
    index.view(|view| {
        for table in TABLES.iter().filter(|table| table.origin == Origin::Joined) {
            let add = |key: &[u8], value: &[u8]| drop(rows.insert((table.name, key.to_vec()), value.to_vec()));
            view.tables().rows(table, add).unwrap();
        }
    });
    rows
}

/// The joined tables are those that a rebuild makes of the same claims and blocks.
fn same_when_made_again(index: Index, what: &str) -> Index {
    index.assert_sound();
    let rows = joined_rows(&index);
    for table in ["labels", "cluster_owners", "cluster_below", "entity_totals"] {
        assert!(rows.keys().any(|(of, _)| *of == table), "{what}: {table} has no row to compare");
    }
    let Index { engine, dir } = index;
    drop(engine);
    let writer = Writer::open(&dir.path().join("index")).unwrap();
    let forget = |batch: &mut cairn_writer::Batch<'_>| {
        batch.delete_row::<Checkpoints>(&"labels".to_owned());
        Ok(())
    };
    writer.commit::<WriteError>(forget).unwrap();
    writer.flush().unwrap();
    drop(writer);
    let mut index = Index { engine: Engine::open_existing(dir.path()).unwrap(), dir };
    index.engine.prepare(&NoProgress).unwrap();
    assert_eq!(joined_rows(&index), rows, "{what}");
    index
}

#[test]
fn nothing_is_inherited_over_a_merge_of_two_large_clusters() {
    let large = u32::try_from(SUSPECT_TRANSACTIONS).unwrap();
    let mut forge = Forge::new();
    let [a, a2] = cluster(&mut forge, 10, large);
    let [b, b2] = cluster(&mut forge, 20, large);
    let [c, c2] = cluster(&mut forge, 30, 3);
    let funded = coinbase(40, vec![pay(COIN, script(40)), pay(COIN, script(41))]);
    forge.block(vec![funded.clone()]);
    let before = forge.blocks.len() as u32 - 1;
    // The suspect merge; then a script that joins it, a payment out of it, and a small cluster that joins it.
    block(&mut forge, &[spend(&[a, b], vec![pay(2 * COIN, script(10))])]);
    block(&mut forge, &[spend(&[a2, out(&funded, 0)], vec![pay(2 * COIN, script(50))])]);
    block(&mut forge, &[spend(&[b2], vec![pay(COIN, script(51))])]);
    block(&mut forge, &[spend(&[c, out(&funded, 1)], vec![pay(2 * COIN, script(31))])]);
    let last = forge.blocks.last().unwrap().txdata[1].clone();
    let merged = spend(
        &[out(&last, 0), c2, out(&forge.blocks[before as usize + 1].txdata[1], 0)],
        vec![pay(4 * COIN, script(10))],
    );
    block(&mut forge, &[merged]);
    let blocks = temp_dir();
    forge.write(blocks.path());
    let mut index = Index::up_to(blocks.path(), Driver::Tip, before);
    let said = [(10, "one"), (20, "two"), (30, "one"), (40, "three")];
    for (number, of) in (1..).zip(&said) {
        index.engine.take_document(&list(number, &format!("l{number}"), &[*of]), 9).unwrap();
    }
    // The other script of each cluster has half of its coins, and one of those that are left.
    let half = u64::from(large / 2) * 2 * COIN + COIN;
    let alone = |scripts, balance, clusters| Inherited { scripts, balance, clusters, ..Inherited::default() };
    assert_eq!(inherited(&index, "two"), alone(1, half, 1));
    let small = 2 * COIN + COIN;
    assert_eq!(inherited(&index, "one"), alone(2, half + small, 2));
    index = same_when_made_again(index, "before the merge");

    index.sync(blocks.path(), Driver::Tip);
    let of = |entity| inherited(&index, entity);
    let (one, two) = (of("one"), of("two"));
    assert_eq!((one.scripts, one.left_out, two.scripts, two.left_out), (0, 1, 0, 1));
    assert_eq!(one.left_out_balance, two.left_out_balance);
    let owners = index.view(|view| view.scan::<ClusterOwners>(None).unwrap().map(Result::unwrap).collect::<Vec<_>>());
    let [(_, row)] = &owners[..] else { panic!("{owners:?}") };
    let names: Vec<String> = row.owners.iter().map(ToString::to_string).collect();
    assert!(row.is_suspect);
    assert_eq!(names, ["one", "two"]);
    index = same_when_made_again(index, "after all");
    // Each block undone and done again, with documents between.
    let tip = index.height().unwrap();
    for height in (before..tip).rev() {
        index.engine.unwind(height, &NoProgress).unwrap();
        index = same_when_made_again(index, &format!("unwound to {height}"));
        let number = 100 + (tip - height) as u8;
        let said = list(number, "late", &[(20, if height % 2 == 0 { "one" } else { "two" }), (51, "one")]);
        index.engine.take_document(&said, 9).unwrap();
        index.sync(blocks.path(), Driver::Tip);
        index = same_when_made_again(index, &format!("unwound to {height}, a document, and back"));
    }
    let withdrawn = Body::Withdrawal { document: DocumentHash([1; 32]), reason: "a test".to_owned() };
    index.engine.take_document(&document(200, withdrawn), 9).unwrap();
    same_when_made_again(index, "withdrawn");
}
