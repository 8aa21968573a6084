//! Labels and entities follow from documents and chain, in whatever order these came, and whatever was interrupted.

use std::{path::Path, sync::Arc};

use cairn_chaingen::Chain;
use cairn_events::{Body, Claim, ClaimList, ClaimType, Document, DocumentHash};
use cairn_model::Network;
use cairn_pipeline::{
    Applied, Driver, Engine, FileBlocks, LedgerError, NoProgress, Phase, Repaired, repair,
    verify::{RawCheck, Repair, audit_index},
};
use cairn_reader::Facts;
use cairn_tables::{
    Table,
    checkpoints::Checkpoints,
    cluster_claims::{ClaimChild, ClaimChildren, ClaimNodes, SCRIPTS_BELOW},
    cluster_owners::{BelowSum, ClusterBelow, ClusterOwners},
    entities::{EntityFacets, EntityScripts, EntitySum, EntityTotals},
    label_sources::{LabelSource, LabelSources},
    labels::{LabelDue, Labels, ScriptLabel, SeenScript},
    names::Names,
    sums::Sums,
};
use cairn_testkit::temp_dir;
use cairn_writer::{Batch, WriteError, Writer};
use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use crate::{contests::contest, labels_by_hand::*, support::*};

/// Documents in several orders, between blocks, reorganizations, rebuilds and restarts. Returns how many ties of
/// clusters with claims were compared, and how many clusters that are somebody's.
fn any_order(seed: u64, script_prefix: usize, orders: usize) -> (usize, usize) {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let chains = chains(seed);
    let scripts = scripts(rng, &chains);
    let documents = documents(rng, 30, &scripts);
    let (mut members, mut tied, mut owned) = (0, 0, 0);
    for order in 0..orders {
        let what = format!("seed {seed}, order {order}");
        let blocks = temp_dir();
        let mut chain = 0;
        write_tidy(blocks.path(), &chains[chain]);
        let facts = Facts { script_prefix, blocks_dir: Some(blocks.path().to_owned()), ..Facts::of(Network::Regtest) };
        let mut index = Index::new(&facts);
        index.sync(blocks.path(), [Driver::Bulk, Driver::Tip][order % 2]);
        let mut shuffled = documents.clone();
        if order > 0 {
            shuffled.shuffle(rng);
        }
        for (at, document) in shuffled.iter().enumerate() {
            index.engine.take_document(document, 1_900_000_000).unwrap();
            match rng.random_range(0..8) {
                0 | 1 if chain + 1 < chains.len() => {
                    chain += 1;
                    write_tidy(blocks.path(), &chains[chain]);
                    index.sync(blocks.path(), Driver::Auto);
                }
                2 => index = index.reopened(),
                3 | 4 => {
                    let to = index.height().unwrap() - rng.random_range(1..7);
                    index.engine.unwind(to, &NoProgress).unwrap();
                    assert_rows(&index, &chains[chain], &shuffled[..=at], &scripts, &format!("{what}, unwound"));
                    if rng.random() {
                        index.sync(blocks.path(), Driver::Auto);
                    }
                }
                5 => index.engine.reindex(&["scripts"], &NoProgress).unwrap(),
                _ => {}
            }
            assert_rows(&index, &chains[chain], &shuffled[..=at], &scripts, &format!("{what}, document {at}"));
            tied += index.view(|view| view.scan::<ClaimChildren>(None).unwrap().count());
            owned += index.view(|view| view.scan::<ClusterOwners>(None).unwrap().count());
        }
        let last = chains.last().unwrap();
        write_tidy(blocks.path(), last);
        index.sync(blocks.path(), Driver::Auto);
        index.assert_sound();
        assert_rows(&index, last, &documents, &scripts, &what);
        members += index.view(|view| view.scan::<EntityScripts>(None).unwrap().count());
    }
    assert!(members > 0, "seed {seed}: nothing to compare");
    (tied, owned)
}

#[test]
fn labels_do_not_depend_on_the_order_of_documents_and_blocks() {
    let (mut tied, mut owned) = (0, 0);
    for seed in 0..if long() { 30 } else { 3 } {
        let of_seed = any_order(seed, 8, 3);
        (tied, owned) = (tied + of_seed.0, owned + of_seed.1);
    }
    assert!(tied > 20 && owned > 20, "{tied} ties with claims, {owned} clusters that are somebody's");
}

#[test]
fn labels_of_scripts_whose_ids_collide_stay_apart() {
    for seed in 100..if long() { 110 } else { 101 } {
        any_order(seed, 1, 2);
    }
}

/// An index with many labels, and what they follow from.
fn world(seed: u64, count: u32) -> (tempfile::TempDir, Chain, Index, Vec<Document>, Vec<Script>) {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let chain = chains(seed).remove(1);
    let mut all = scripts(rng, std::slice::from_ref(&chain));
    all.extend((0..count).map(|n| [vec![0x51], n.to_be_bytes().to_vec()].concat().into()));
    let mut documents = documents(rng, 12, &all[..all.len() - count as usize]);
    let rows = (1..=count).map(|row| Claim {
        script: Arc::clone(&all[all.len() - row as usize]),
        claim_type: ClaimType::ControlledBy,
        entity: Some("one".parse().unwrap()),
        valid_to: None,
        ..claim(rng, row, &all)
    });
    let list = ClaimList { name: "z".parse().unwrap(), is_complete: true };
    let body = Body::Claims { list, rows: rows.collect() };
    documents.push(document(rng, body));
    let blocks = temp_dir();
    write_tidy(blocks.path(), &chain);
    let index = Index::of(blocks.path(), Driver::Bulk);
    for document in &documents {
        index.engine.take_document(document, 9).unwrap();
    }
    assert_rows(&index, &chain, &documents, &all, "at first");
    (blocks, chain, index, documents, all)
}

/// Writes into an index that nobody has open.
fn change(dir: &Path, change: impl FnOnce(&mut Batch<'_>)) {
    let writer = Writer::open(&dir.join("index")).unwrap();
    writer
        .commit::<WriteError>(|batch| {
            change(batch);
            Ok(())
        })
        .unwrap();
    writer.flush().unwrap();
}

fn close(index: Index) -> tempfile::TempDir {
    let Index { engine, dir } = index;
    drop(engine);
    dir
}

fn open(dir: tempfile::TempDir) -> Index {
    Index { engine: Engine::open_existing(dir.path()).unwrap(), dir }
}

/// Labels are made again where their checkpoint is missing, and what is interrupted goes on.
#[test]
fn labels_are_made_again_and_go_on_after_a_kill() {
    let (blocks, chain, index, documents, scripts) = world(7, 2_500);
    let mut dir = close(index);
    for after in 0..2 {
        change(dir.path(), |batch| batch.delete_row::<Checkpoints>(&"labels".to_owned()));
        let mut index = open(dir);
        let cut = Cut::die(after).of(Phase::Labels);
        assert!(is_cut(|| index.engine.prepare(&cut)), "{after}");
        index = index.reopened();
        // Some wait to be judged: what is there is right all the same.
        index.assert_sound();
        let waiting = index.view(|view| view.scan::<LabelDue>(None).unwrap().count());
        assert!(waiting > 0 && waiting < scripts.len(), "{after}: {waiting}");
        let what = format!("killed after {after} steps");
        if after % 2 == 0 {
            index.engine.unwind(chain.tip().height - 5, &NoProgress).unwrap();
            assert_rows(&index, &chain, &documents, &scripts, &what);
            index.sync(blocks.path(), Driver::Auto);
        } else {
            // A document that is known makes the rest follow, too.
            let again = index.engine.take_document(&documents[0], 10).unwrap();
            assert!(matches!(again, Applied::Known { .. }), "{again:?}");
        }
        assert_rows(&index, &chain, &documents, &scripts, &what);
        index.assert_sound();
        dir = close(index);
    }
}

/// Stops when it is asked to, and goes on.
#[test]
fn judging_can_be_stopped() {
    let (_blocks, chain, index, documents, scripts) = world(8, 2_500);
    let dir = close(index);
    change(dir.path(), |batch| batch.delete_row::<Checkpoints>(&"labels".to_owned()));
    let mut index = open(dir);
    assert!(is_cut(|| index.engine.prepare(&Cut::stop(1).of(Phase::Labels))));
    index.engine.prepare(&NoProgress).unwrap();
    assert_rows(&index, &chain, &documents, &scripts, "stopped once");
}

fn first<T: Table>(index: &Index) -> (T::Key, T::Value) {
    index.view(|view| view.scan::<T>(None).unwrap().next().expect(T::NAME).unwrap())
}

/// Changes a row.
type Forge = Box<dyn FnOnce(&mut Batch<'_>)>;

#[test]
fn wrong_labels_and_sums_are_found_and_made_again() {
    let (blocks, chain, index, documents, scripts) = world(9, 30);
    let (label, script, totals, facet) = (
        first::<Labels>(&index),
        first::<EntityScripts>(&index).0,
        first::<EntityTotals>(&index),
        first::<EntityFacets>(&index),
    );
    let unseen = ScriptLabel {
        seen: Some(SeenScript { ordinal: 0, last: cairn_model::TxNum(3) }),
        label: label.1.label.clone(),
        ..label.1.clone()
    };
    let owners = first::<ClusterOwners>(&index);
    let more_below = Sums::of([(BelowSum::Suspects.position(), 1)]).unwrap();
    let tx = cairn_model::TxNum(3);
    let (node, tie) = ((tx, label.0), ClaimChild { parent: tx, by: tx, child: tx });
    let one = Sums::of([(SCRIPTS_BELOW, 1)]).unwrap();
    let mut more = totals.1.clone();
    more.add(EntitySum::Spent.position(), 1).unwrap();
    let forged: Vec<(&str, Forge)> = vec![
        (Labels::NAME, Box::new(move |batch| batch.delete_row::<Labels>(&label.0))),
        (Labels::NAME, Box::new(move |batch| batch.put_row::<Labels>(&label.0, &unseen))),
        (Labels::NAME, Box::new(move |batch| batch.put(Labels::FAMILY, &[1; 32], b"x"))),
        (EntityScripts::NAME, Box::new(move |batch| batch.delete_row::<EntityScripts>(&script))),
        (EntityTotals::NAME, Box::new(move |batch| batch.put_row::<EntityTotals>(&totals.0, &more))),
        (EntityFacets::NAME, Box::new(move |batch| batch.delete_row::<EntityFacets>(&facet.0))),
        (ClaimNodes::NAME, Box::new(move |batch| batch.put_row::<ClaimNodes>(&node, &()))),
        (ClaimChildren::NAME, Box::new(move |batch| batch.put_row::<ClaimChildren>(&tie, &one))),
        (ClusterBelow::NAME, Box::new(move |batch| batch.put_row::<ClusterBelow>(&tx, &more_below))),
        (ClusterOwners::NAME, Box::new(move |batch| batch.delete_row::<ClusterOwners>(&owners.0))),
        (ClusterOwners::NAME, Box::new(move |batch| batch.put_row::<ClusterOwners>(&tx, &owners.1))),
        (LabelSources::NAME, Box::new(|batch| batch.delete_row::<LabelSources>(&LabelSource(None)))),
    ];
    let mut dir = close(index);
    for (round, (table, forge)) in forged.into_iter().enumerate() {
        change(dir.path(), forge);
        let engine = Engine::open_existing(dir.path()).unwrap();
        let audit = audit_index(&engine.reader(), RawCheck::None, &NoProgress).unwrap();
        let found: Vec<_> = audit.damages.iter().map(|damage| (damage.place.as_str(), damage.repair)).collect();
        assert_eq!(found, [(table, Repair::Labels)], "round {round}: {audit:#?}");
        drop(engine);
        let (files, survey) = survey(blocks.path(), Network::Regtest);
        let source = FileBlocks::new(&files, &survey, 8);
        let facts = facts(blocks.path());
        let done = repair(dir.path(), &facts, options(256 << 20, 20, RawCheck::None), &source, &NoProgress).unwrap();
        let told = |done: &[String]| done.iter().any(|line| line.starts_with("labels and entities"));
        assert!(matches!(&done, Repaired::Whole(done) if told(done)), "round {round}: {done:?}");
        let index = open(dir);
        assert_rows(&index, &chain, &documents, &scripts, &format!("round {round}"));
        index.assert_sound();
        dir = close(index);
    }
}

/// Lost parts of the ledger take their labels along, and small tables that are damaged come back with theirs.
#[test]
fn labels_follow_what_a_repair_leaves() {
    let (blocks, chain, index, documents, scripts) = world(10, 5);
    let dir = close(index);
    change(dir.path(), |batch| batch.put(LabelDue::FAMILY, &[0xfe, 1], b"no table has this tag"));
    let (files, survey) = survey(blocks.path(), Network::Regtest);
    let source = FileBlocks::new(&files, &survey, 8);
    let facts = facts(blocks.path());
    let done = repair(dir.path(), &facts, options(256 << 20, 20, RawCheck::None), &source, &NoProgress).unwrap();
    assert!(matches!(&done, Repaired::Whole(done) if !done.is_empty()), "{done:?}");
    let index = open(dir);
    assert_rows(&index, &chain, &documents, &scripts, "small tables made again");
    index.assert_sound();
}

/// Rows that a long list leaves behind when it ends would have to be stepped over by every search.
#[test]
fn a_list_that_ends_leaves_no_deleted_rows() {
    let (_blocks, _chain, index, ..) = world(12, 1);
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let list = |rng: &mut ChaCha8Rng, count: u32, retrieved_at: u32| {
        let rows = (1..=count).map(|row| Claim {
            claim_type: ClaimType::ControlledBy,
            valid_to: None,
            ..claim(rng, row, &[[vec![0x53], row.to_be_bytes().to_vec()].concat().into()])
        });
        let rows = rows.collect();
        let list = ClaimList { name: "long".parse().unwrap(), is_complete: true };
        let mut one = document(rng, Body::Claims { list, rows });
        one.provenance.source = "long".parse().unwrap();
        one.provenance.retrieved_at = retrieved_at;
        one
    };
    for document in [list(rng, 20_000, 1), list(rng, 1, 2)] {
        index.engine.take_document(&document, 9).unwrap();
    }
    index.assert_sound();
    let labels = index.view(|view| view.scan::<Labels>(None).unwrap().count());
    assert!((1..1_000).contains(&labels), "{labels}");
    let dir = close(index);
    let writer = Writer::open(&dir.path().join("index")).unwrap();
    let files = writer.db().live_files().unwrap();
    for family in [Labels::FAMILY, EntityScripts::FAMILY, Names::FAMILY] {
        let own = files.iter().filter(|file| file.column_family_name == family.name());
        let (rows, deleted) =
            own.fold((0, 0), |(rows, deleted), file| (rows + file.num_entries, deleted + file.num_deletions));
        assert!(rows > 0 && deleted == 0 && rows < 10_000, "{}: {rows} rows, {deleted} deleted", family.name());
    }
}

/// However many claims a document has of one script: the same again is nothing new.
#[test]
fn many_claims_of_one_script_repeat() {
    let (_blocks, _chain, index, ..) = world(11, 1);
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let script: Script = [0x52].into();
    let rows: Vec<Claim> = (1..=300)
        .map(|row| Claim { level: (row % 100) as u8, ..claim(rng, row, std::slice::from_ref(&script)) })
        .collect();
    let list = ClaimList { name: "many".parse().unwrap(), is_complete: false };
    let mut one = document(rng, Body::Claims { list, rows });
    index.engine.take_document(&one, 1).unwrap();
    one.provenance.document = DocumentHash(rng.random());
    one.provenance.retrieved_at += 1;
    let again = index.engine.take_document(&one, 2).unwrap();
    assert!(matches!(again, Applied::Taken { events: 0, repeated: 300, .. }), "{again:?}");
}

/// Blanked words stay in files as long as a request may read them. The document that blanks them is not done until
/// then; taking it again ends it.
#[test]
fn a_redaction_ends_in_files_once_nobody_reads_any_more() {
    const WORDS: &str = "jane-doe-of-nowhere";
    let (_blocks, _chain, index, ..) = world(13, 1);
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let one = Claim {
        claim_type: ClaimType::ControlledBy,
        entity: Some(WORDS.parse().unwrap()),
        valid_to: None,
        is_redacted: false,
        ..claim(rng, 1, &[[0x54].into()])
    };
    let list = ClaimList { name: "people".parse().unwrap(), is_complete: false };
    let said = document(rng, Body::Claims { list, rows: vec![one] });
    index.engine.take_document(&said, 9).unwrap();
    let blanked = loop {
        let body = contest(rng, std::slice::from_ref(&said)).unwrap();
        if body.redacts() {
            break document(rng, body);
        }
    };
    let has_words = |dir: &Path| {
        let folders = ["index", "ledger"].map(|folder| std::fs::read_dir(dir.join(folder)).unwrap());
        let files = folders.into_iter().flatten();
        let mut bytes = files.map(|file| std::fs::read(file.unwrap().path()).unwrap());
        bytes.any(|bytes| bytes.windows(WORDS.len()).any(|window| window == WORDS.as_bytes()))
    };
    let reader = index.engine.reader();
    let reads = reader.view().unwrap();
    assert!(matches!(index.engine.take_document(&blanked, 10), Err(LedgerError::StillRead)));
    let script = said_script(&said);
    assert!(index.view(|view| view.claims().of_script(&script, None).unwrap().lists.is_empty()));
    drop(reads);
    drop(reader);
    // Files that were replaced are removed when the index is opened next.
    let index = index.reopened();
    assert!(has_words(index.dir.path()));
    assert!(matches!(index.engine.take_document(&blanked, 11), Ok(Applied::Known { .. })));
    let index = index.reopened();
    assert!(!has_words(index.dir.path()));
    index.assert_sound();
}

/// The script of a document with one claim.
fn said_script(document: &Document) -> Script {
    match &document.body {
        Body::Claims { rows, .. } => Arc::clone(&rows[0].script),
        other => panic!("{other:?}"),
    }
}
