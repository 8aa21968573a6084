//! Random damages to every store of the data folder but the database of keys, which has its own test. After the remedy
//! of the operators' guide, ledger and tables equal those before, or the command ended with an error that names what is
//! missing. Nothing is lost in silence.

use std::{
    collections::BTreeMap,
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

use cairn_chaingen::{EverythingOptions, everything};
use cairn_events::{Document, DocumentHash};
use cairn_pipeline::{
    Driver, Engine, FileBlocks, NoProgress, PipelineError, Repaired, put_into_inbox, repair, set_aside,
    verify::{RawCheck, audit_archive, audit_folder},
};
use cairn_reader::{Assembler, ReadError, TableFile, table_files_in};
use cairn_tables::{Table, events::Events, mempool::KeptMempool};
use rand::{Rng, SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;
use tempfile::TempDir;

use crate::{
    damaged::{MEMORY, copy_folder},
    kept::txs,
    ledger::{checksums, documents},
    support::*,
};

/// Damages, each to one store; every fourth one is followed by another.
const DAMAGES: u64 = 160;
/// When documents come again: those of the archive keep the time at which they came first.
const AGAIN: u32 = 2_000_000_000;

/// A data folder with a ledger, a mempool and documents that wait, and an older copy of it.
struct World {
    blocks: TempDir,
    dir: TempDir,
    old: TempDir,
    /// The document of each file of the inbox.
    waiting: Vec<Document>,
    expected: State,
}

/// The state that must be there in the end.
struct State {
    /// Checksums of the tables that follow from the ledger.
    follows: [[u8; 32]; 5],
    /// Documents, each with the number of its last event.
    documents: BTreeMap<DocumentHash, (u64, Document)>,
}

fn state(index: &Index) -> State {
    let documents = index.view(|view| {
        let (mut found, mut assembler) = (BTreeMap::new(), Assembler::default());
        for row in view.scan::<Events>(None).unwrap() {
            let (seq, row) = row.unwrap();
            if let Some(document) = assembler.push(seq, row) {
                found.insert(document.provenance.document, (seq, document));
            }
        }
        found
    });
    State { follows: checksums(index), documents }
}

fn copy_all(from: &Path, to: &Path) {
    for folder in ["index", "ledger", "inbox"] {
        copy_folder(&from.join(folder), &to.join(folder));
    }
}

fn copied(from: &Path) -> TempDir {
    let to = scratch();
    copy_all(from, to.path());
    to
}

fn hand_in(dir: &Path, document: &Document) {
    put_into_inbox::<std::io::Error>(dir, |add| add(document)).unwrap();
}

fn take(index: &Index, documents: &[Document], now: u32) {
    for document in documents {
        index.engine.take_document(document, now).unwrap();
    }
}

/// Opens the index, lets it follow the blocks, and gives it what waits. Says what was refused.
fn opened(dir: TempDir, blocks: &Path, what: &str) -> (Index, Vec<String>) {
    let engine = Engine::open(dir.path(), &facts(blocks)).unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut index = Index { engine, dir };
    index.sync(blocks, Driver::Auto);
    let drained = index.engine.drain_inbox(AGAIN).unwrap();
    (index, drained.refused.into_iter().map(|refused| refused.reason).collect())
}

fn world() -> World {
    let blocks = cairn_testkit::temp_dir();
    let chain = everything(5, &EverythingOptions { blocks: 24, max_txs: 4, forks: vec![1], showpieces: false });
    write_tidy(blocks.path(), &chain.unwrap());
    let mut index = Index::up_to(blocks.path(), Driver::Bulk, 20);
    let mut all = documents(&mut ChaCha8Rng::seed_from_u64(200), 14);
    let waiting = all.split_off(12);
    take(&index, &all[..6], 1_900_000_000);
    index.engine.keep_mempool(&txs(0..40), &[]).unwrap();
    index.engine.settle().unwrap();
    let Index { engine, dir } = index;
    drop(engine);
    fs::create_dir_all(dir.path().join("inbox")).unwrap();
    let old = copied(dir.path());
    index = Index { engine: Engine::open_existing(dir.path()).unwrap(), dir };
    index.sync(blocks.path(), Driver::Tip);
    take(&index, &all[6..], 1_900_000_001);
    let Index { engine, dir } = index;
    drop(engine);
    waiting.iter().for_each(|document| hand_in(dir.path(), document));
    let (index, refused) = opened(copied(dir.path()), blocks.path(), "nothing damaged");
    assert!(refused.is_empty(), "{refused:?}");
    let expected = state(&index);
    assert_eq!(expected.documents.len(), 14);
    World { blocks, dir, old, waiting, expected }
}

/// Files of a folder whose names have this beginning and this end.
fn named(folder: &Path, begin: &str, end: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().map(|file| file.unwrap().path()).collect();
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    files.retain(|path| name(path).starts_with(begin) && name(path).ends_with(end));
    files.sort();
    files
}

/// Files of the stores, by store.
fn stores(dir: &Path) -> Vec<(&'static str, Vec<PathBuf>)> {
    let (index, ledger, inbox) = (dir.join("index"), dir.join("ledger"), dir.join("inbox"));
    let files = table_files_in(&index).unwrap_or_default();
    let of = |table: &str| {
        let files = files.iter().filter(|file| file.table() == table);
        files.map(TableFile::path).map(Path::to_owned).collect::<Vec<_>>()
    };
    vec![
        ("CURRENT", named(&index, "CURRENT", "")),
        ("MANIFEST", named(&index, "MANIFEST-", "")),
        ("OPTIONS", named(&index, "OPTIONS-", "")),
        ("ledger in the index", of(Events::NAME)),
        ("documents and other small tables", of("small")),
        ("mempool", of(KeptMempool::NAME)),
        ("archive", named(&ledger, "", ".events")),
        ("list of the archive", named(&ledger, "list", "")),
        ("facts of the archive", named(&ledger, "facts", "")),
        ("notes of the inbox", named(&ledger, "", ".waits")),
        ("inbox", named(&inbox, "", ".events")),
    ]
}

/// Damages a file of one of the stores. Says what it did.
fn damage(world: &World, dir: &Path, rng: &mut ChaCha8Rng) -> String {
    let stores: Vec<_> = stores(dir).into_iter().filter(|(_, files)| !files.is_empty()).collect();
    let (store, files) = stores.choose(rng).unwrap();
    let path = files.choose(rng).unwrap();
    let mut bytes = fs::read(path).unwrap();
    let at = rng.random_range(0..bytes.len().max(1));
    // The file that had this role before: lists have other numbers after each opening.
    let folder = world.old.path().join(path.parent().unwrap().file_name().unwrap());
    let name = path.file_name().unwrap().to_str().unwrap();
    let begin = name.split_once('-').filter(|(role, _)| ["MANIFEST", "OPTIONS"].contains(role));
    let older = named(&folder, begin.map_or(name, |(role, _)| role), "").into_iter().next();
    let how = match rng.random_range(0..5) {
        0 if !bytes.is_empty() => {
            bytes[at] ^= 1 << rng.random_range(0..8);
            format!("a bit of byte {at}")
        }
        1 => {
            bytes.truncate(at);
            format!("cut off at {at}")
        }
        2 => {
            bytes.clear();
            "emptied".to_owned()
        }
        3 if older.is_some() => {
            bytes = fs::read(older.unwrap()).unwrap();
            "an older copy".to_owned()
        }
        _ => {
            fs::remove_file(path).unwrap();
            return format!("{store}, {name}: removed");
        }
    };
    fs::write(path, bytes).unwrap();
    format!("{store}, {name}: {how}")
}

/// Runs `cairn verify` and the command that it prints. `Ok`: whether they reported anything. `Err`: the error that they
/// ended with.
fn remedy(dir: &Path, blocks: &Path) -> Result<bool, String> {
    let ended = |error: PipelineError| match error {
        PipelineError::EventsLost { missing } => missing.join("; "),
        other => panic!("{other}"),
    };
    match audit_folder(&dir.join("index"), RawCheck::Sample, &NoProgress) {
        // It says: the next command that writes the index makes it. That one may say which file is damaged.
        Err(PipelineError::Read(ReadError::Unusable(_))) if Engine::open(dir, &facts(blocks)).is_ok() => {
            return Ok(true);
        }
        Err(PipelineError::Read(ReadError::Unusable(_))) => {}
        Err(error) => panic!("{error}"),
        Ok((reader, mut audit)) => {
            if let Some(reader) = reader.filter(|_| !audit.checks.is_empty()) {
                audit_archive(dir, &reader.view().unwrap(), &mut audit).unwrap();
            }
            if audit.ok() {
                return Ok(false);
            }
            assert!(audit.damages.iter().any(|damage| damage.repair.command() == Some("cairn repair")), "{audit:#?}");
        }
    }
    let (files, survey) = survey(blocks, cairn_model::Network::Regtest);
    let source = FileBlocks::new(&files, &survey, 8);
    let done = repair(dir, &facts(blocks), options(MEMORY, 20, RawCheck::Sample), &source, &NoProgress);
    if let Repaired::Anew(_) = done.map_err(ended)? {
        set_aside(dir, false).map_err(ended)?;
    }
    Ok(true)
}

#[test]
fn no_damage_of_a_store_loses_anything_in_silence() {
    damages(0..DAMAGES / 2);
}

#[test]
fn no_further_damage_of_a_store_loses_anything_in_silence() {
    damages(DAMAGES / 2..if long() { 4 * DAMAGES } else { DAMAGES });
}

fn damages(seeds: Range<u64>) {
    let world = world();
    let blocks = world.blocks.path();
    let (mut quiet, mut told, mut named_missing) = (0, 0, 0);
    for seed in seeds {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let dir = copied(world.dir.path());
        let mut what = format!("seed {seed}: {}", damage(&world, dir.path(), rng));
        let twice = seed % 4 == 3;
        if twice {
            what += &format!("; {}", damage(&world, dir.path(), rng));
        }
        match remedy(dir.path(), blocks) {
            Ok(false) => quiet += 1,
            Ok(true) => told += 1,
            Err(missing) => {
                let names = ["document ", "the ledger as a whole", "places of the ledger", "what waited in "];
                assert!(names.iter().any(|name| missing.contains(name)), "{what}: {missing}");
                named_missing += 1;
                // Put back from a backup, as the message says, it goes on.
                copy_folder(&world.dir.path().join("ledger"), &dir.path().join("ledger"));
                copy_folder(&world.dir.path().join("inbox"), &dir.path().join("inbox"));
                remedy(dir.path(), blocks).unwrap_or_else(|missing| panic!("{what}: still {missing}"));
            }
        }
        let (index, refused) = opened(dir, blocks, &what);
        // A refused file is reported, with the reason beside it: it is imported again.
        if !refused.is_empty() {
            told += 1;
            world.waiting.iter().for_each(|document| hand_in(index.path(), document));
            index.engine.drain_inbox(AGAIN).unwrap();
        }
        let found = state(&index);
        let lacks: Vec<_> =
            world.expected.documents.keys().filter(|hash| !found.documents.contains_key(hash)).collect();
        assert!(lacks.is_empty(), "{what}: lost in silence: {lacks:?}");
        for (hash, (seq, document)) in &world.expected.documents {
            let (found_seq, found) = &found.documents[hash];
            // The time of a waiting document is when it is taken in.
            let waited = world.waiting.iter().any(|of| of.provenance.document == *hash);
            let received_at = if waited { document.received_at } else { found.received_at };
            assert!(*document == Document { received_at, ..found.clone() }, "{what}: another document {hash}");
            // Documents that came again by another way may have other numbers.
            assert!(twice || waited || seq == found_seq, "{what}: document {hash} is event {found_seq}");
        }
        assert_eq!(found.documents.len(), world.expected.documents.len(), "{what}");
        assert!(found.follows == world.expected.follows, "{what}: other rows follow from the ledger");
        index.assert_sound();
    }
    assert!(told > 20 && named_missing > 1, "{quiet}, {told}, {named_missing}");
}
