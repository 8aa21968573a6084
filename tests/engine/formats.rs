//! Indexes of earlier versions: see `fixtures/README.md`.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use cairn_model::Network;
use cairn_pipeline::{Engine, NoProgress, PipelineError};
use cairn_reader::{Facts, ReadError, Reader, SecondaryReader};
use cairn_testkit::{temp_dir, workspace_root};
use tempfile::TempDir;

use crate::support::Index;

/// A copy of an index in `fixtures`, where a data folder has it.
fn held(name: &str) -> TempDir {
    let dir = temp_dir();
    let from = workspace_root().join("tests/engine/fixtures").join(name);
    let to = dir.path().join("index");
    fs::create_dir(&to).unwrap();
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
    dir
}

/// The table files and their bytes.
fn tables(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = fs::read_dir(dir.join("index")).unwrap().map(|file| file.unwrap().path());
    let tables = files.filter(|path| path.extension().is_some_and(|extension| extension == "sst"));
    tables.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

fn is_older_journal(error: &ReadError) -> bool {
    matches!(error, ReadError::StageVersion { stage: "chain", found: 1, expected: 2 })
        && error.to_string().contains("another datadir")
        && error.to_string().contains("nothing in this one was changed")
}

#[test]
fn a_journal_of_version_1_says_how_to_go_on_and_stays_as_it_is() {
    let dir = held("journal-1");
    let before = tables(dir.path());
    assert!(before.len() > 8, "{:?}", before.keys());

    let refused = Reader::open(&dir.path().join("index")).map(drop).unwrap_err();
    assert!(is_older_journal(&refused), "{refused}");
    let scratch = dir.path().join("serve");
    let refused = SecondaryReader::open(&dir.path().join("index"), &scratch, None, 8 << 20).map(drop).unwrap_err();
    assert!(is_older_journal(&refused), "{refused}");

    for open in [Engine::open_existing(dir.path()), Engine::open(dir.path(), &Facts::of(Network::Regtest))] {
        match open.map(drop) {
            Err(PipelineError::Read(refused)) => assert!(is_older_journal(&refused), "{refused}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(tables(dir.path()), before);
}

#[test]
fn an_index_of_four_stages_is_completed_by_the_next_command_that_writes() {
    let dir = held("four-stages");
    // A reader cannot make what is missing, and says what does.
    let path = dir.path().join("index");
    let scratch = dir.path().join("serve");
    let refused = [
        Reader::open(&path).map(drop).unwrap_err(),
        SecondaryReader::open(&path, &scratch, None, 8 << 20).map(drop).unwrap_err(),
    ];
    assert!(refused.iter().all(|error| error.to_string().contains("cairn index")), "{refused:?}");

    let engine = Engine::open_existing(dir.path()).unwrap();
    let mut index = Index { engine, dir };
    let unfinished = index.view(|view| view.unfinished().unwrap());
    assert_eq!(
        unfinished,
        [
            "scripts",
            "ages",
            "script_days",
            "clusters",
            "payouts",
            "transfers",
            "returns",
            "pings",
            "funding",
            "pubkeys"
        ]
    );
    index.engine.prepare(&NoProgress).unwrap();
    assert_eq!(index.height(), Some(130));
    assert!(index.view(|view| view.unfinished().unwrap()).is_empty());
    // Every row of every table is what the journal says.
    index.assert_sound();
    assert!(index.sums().rows("tx_sums") > 0 && index.sums().rows("script_days") > 0);
    assert!(index.sums().rows("cluster_days") > 0);
}

/// An index of before a stage gets it by the next command that writes.
#[test]
fn indexes_of_later_versions_are_completed_in_place() {
    for (name, lacks) in [("before-pubkeys", &["pubkeys"][..]), ("before-tweaks", &[])] {
        let dir = held(name);
        let journal = tables(dir.path());
        let engine = Engine::open_existing(dir.path()).unwrap();
        let mut index = Index { engine, dir };
        assert_eq!(index.view(|view| view.unfinished().unwrap()), lacks, "{name}");
        index.engine.prepare(&NoProgress).unwrap();
        assert!(index.view(|view| view.unfinished().unwrap()).is_empty(), "{name}");
        assert_eq!(index.height(), Some(130), "{name}");
        // Every row of every table is what the journal says.
        index.assert_sound();
        assert!(index.sums().rows("pubkeys") > 0, "{name}");
        // In place: no block was indexed again.
        let kept = tables(index.dir.path());
        assert!(journal.iter().filter(|(path, bytes)| kept.get(*path) == Some(*bytes)).count() > 8, "{name}");
    }
}
