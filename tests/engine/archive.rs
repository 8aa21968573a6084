//! The ledger of input events survives the loss of everything else, and nothing of it is lost in silence.

use std::{
    fs,
    path::{Path, PathBuf},
};

use cairn_events::Document;
use cairn_pipeline::{Driver, Engine, PipelineError, set_aside};
use cairn_tables::{
    TableInfo,
    events::{Documents, Events},
};
use rand::{Rng, SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;

use crate::{
    damaged::{copy_folder, mend},
    ledger::{checksums, documents, world},
    support::*,
};

/// Rows of the ledger and of what follows from it.
fn ledger(index: &Index) -> Vec<[u8; 32]> {
    let own = [TableInfo::of::<Events>(), TableInfo::of::<Documents>()];
    let own = index.view(|view| own.each_ref().map(|table| view.tables().checksum(table).unwrap().sha256));
    own.into_iter().chain(checksums(index)).collect()
}

fn archived(datadir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(datadir.join("ledger")).unwrap().map(|file| file.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|e| e == "events"));
    found.sort();
    found
}

fn taken(seed: u64, count: usize) -> (tempfile::TempDir, Index, Vec<Document>) {
    let (blocks, index) = world();
    let documents = documents(&mut ChaCha8Rng::seed_from_u64(seed), count);
    for document in &documents {
        index.engine.take_document(document, 1_900_000_000).unwrap();
    }
    (blocks, index, documents)
}

/// Opens the index, or makes it again, and lets it take what waits.
fn opened(dir: tempfile::TempDir, blocks: &Path) -> Index {
    let mut index = Index { engine: Engine::open(dir.path(), &facts(blocks)).unwrap(), dir };
    index.sync(blocks, Driver::Auto);
    // Another time than before: what is taken again keeps the time at which it came first.
    index.engine.drain_inbox(2_000_000_000).unwrap();
    index
}

#[test]
fn the_ledger_survives_the_index() {
    for (round, lost) in ["CURRENT emptied", "MANIFEST emptied", "the folder removed"].into_iter().enumerate() {
        let (blocks, index, _) = taken(round as u64, 12);
        let before = ledger(&index);
        let Index { engine, dir } = index;
        drop(engine);
        let folder = dir.path().join("index");
        match round {
            0 => fs::write(folder.join("CURRENT"), "").unwrap(),
            1 => {
                let files = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
                let is_manifest = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("MANIFEST");
                files.filter(is_manifest).for_each(|path| fs::write(path, "").unwrap());
            }
            _ => fs::remove_dir_all(&folder).unwrap(),
        }
        mend(dir.path(), blocks.path());
        assert_eq!(dir.path().join("index.damaged").exists(), round != 2, "{lost}");
        let index = opened(dir, blocks.path());
        assert!(ledger(&index) == before, "{lost}: other rows than before");
        index.assert_sound();
    }
}

#[test]
fn what_neither_has_is_named_and_lost_only_if_told_so() {
    let (blocks, index, documents) = taken(7, 12);
    let Index { engine, dir } = index;
    drop(engine);
    fs::write(dir.path().join("index").join("CURRENT"), "").unwrap();
    let files = archived(dir.path());
    assert_eq!(files.len(), documents.len());
    // One is gone, one is damaged.
    fs::remove_file(&files[3]).unwrap();
    let mut bytes = fs::read(&files[5]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(&files[5], bytes).unwrap();
    let PipelineError::EventsLost { missing } = set_aside(dir.path(), false).unwrap_err() else { panic!() };
    let names = |at: usize| documents[at].provenance.document.to_string();
    assert_eq!(missing.len(), 2, "{missing:?}");
    assert!(missing[0].contains(&names(3)) && missing[1].contains(&names(5)), "{missing:?}");
    assert!(!dir.path().join("index.damaged").exists() && dir.path().join("index").exists(), "nothing has changed");
    let (_, named) = set_aside(dir.path(), true).unwrap();
    assert_eq!(named, missing);
    let index = opened(dir, blocks.path());
    index.view(|view| {
        for (at, document) in documents.iter().enumerate() {
            let known = view.ledger().document(&document.provenance.document).unwrap().is_some_and(|of| of.seq != 0);
            assert_eq!(known, ![3, 5].contains(&at), "document {at}");
        }
    });
    index.assert_sound();
    // They are missing no more: the next loss of the index names nothing.
    let Index { engine, dir } = index;
    drop(engine);
    fs::remove_dir_all(dir.path().join("index")).unwrap();
    assert_eq!(set_aside(dir.path(), false).unwrap().1, Vec::<String>::new());
}

#[test]
fn without_list_and_index_nobody_knows_what_there_was() {
    for damage in [None, Some("cairn")] {
        let (_blocks, index, _) = taken(8, 3);
        let Index { engine, dir } = index;
        drop(engine);
        fs::write(dir.path().join("index").join("CURRENT"), "").unwrap();
        let list = dir.path().join("ledger").join("list");
        match damage {
            None => fs::remove_file(list).unwrap(),
            Some(text) => fs::write(list, text).unwrap(),
        }
        let PipelineError::EventsLost { missing } = set_aside(dir.path(), false).unwrap_err() else { panic!() };
        assert!(missing[0].contains("the ledger as a whole"), "{missing:?}");
    }
}

#[test]
fn whatever_is_lost_of_the_archive_comes_back_from_the_index() {
    let (blocks, index, _) = taken(9, 16);
    let (before, files) = (ledger(&index), archived(index.path()));
    let whole: Vec<Vec<u8>> = files.iter().map(|path| fs::read(path).unwrap()).collect();
    let Index { engine, mut dir } = index;
    drop(engine);
    let rng = &mut ChaCha8Rng::seed_from_u64(9);
    for round in 0..if long() { 60 } else { 12 } {
        let folder = dir.path().join("ledger");
        match round % 6 {
            0 => fs::remove_dir_all(&folder).unwrap(),
            1 => fs::remove_file(folder.join("list")).unwrap(),
            2 => fs::remove_file(files.choose(rng).unwrap()).unwrap(),
            3 => fs::write(files.choose(rng).unwrap(), "").unwrap(),
            4 => {
                let path = files.choose(rng).unwrap();
                let mut bytes = fs::read(path).unwrap();
                let at = rng.random_range(0..bytes.len());
                bytes[at] ^= 1 << rng.random_range(0..8);
                fs::write(path, bytes).unwrap();
            }
            _ => {
                let (one, other) = (files.choose(rng).unwrap(), files.choose(rng).unwrap());
                fs::copy(one, other).map(drop).unwrap();
            }
        }
        // Names are compared at each start, contents by a repair.
        mend(dir.path(), blocks.path());
        let index = opened(dir, blocks.path());
        assert!(ledger(&index) == before, "round {round}");
        let found: Vec<Vec<u8>> = archived(index.path()).iter().map(|path| fs::read(path).unwrap()).collect();
        assert!(found == whole, "round {round}: other files than before");
        drop(index.engine);
        dir = index.dir;
    }
}

/// An index of an earlier program has no archive, and one from an older checkpoint lacks what came since.
#[test]
fn an_older_index_gets_what_came_since() {
    let (blocks, index, _) = taken(10, 6);
    let Index { engine, dir } = index;
    drop(engine);
    let old = scratch();
    copy_folder(&dir.path().join("index"), &old.path().join("index"));
    let index = Index { engine: Engine::open_existing(dir.path()).unwrap(), dir };
    for document in &documents(&mut ChaCha8Rng::seed_from_u64(11), 6) {
        index.engine.take_document(document, 1_900_000_001).unwrap();
    }
    let after = ledger(&index);
    let Index { engine, dir } = index;
    drop(engine);
    fs::remove_dir_all(dir.path().join("index")).unwrap();
    copy_folder(&old.path().join("index"), &dir.path().join("index"));
    assert!(ledger(&opened(dir, blocks.path())) == after);
}
