//! A commit adds a small table file for each family. They are merged, however long an index follows the chain.

use std::collections::BTreeMap;

use cairn_pipeline::{Driver, Engine, NoProgress, SyncOptions};
use cairn_reader::table_files_in;
use cairn_sources::BlockFiles;
use cairn_testkit::temp_dir;

use crate::{compare::assert_equal, support::*};

#[test]
fn files_stay_few() {
    few_files(false);
}

/// A program that indexes a block and ends, as `cairn index --once` does from a timer.
#[test]
fn files_stay_few_although_each_commit_has_a_process_of_its_own() {
    few_files(true);
}

fn few_files(reopens: bool) {
    let dir = temp_dir();
    let chain = small_chain(11);
    let blocks = dir.path().join("blocks");
    write_tidy(&blocks, &chain);
    let files = BlockFiles::open(&blocks, cairn_model::Network::Regtest).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    let mut engine = Engine::open(dir.path(), &facts(&blocks)).unwrap();
    let tip = survey.tip().unwrap().height;
    let mut most = 0;
    for height in 1..=tip {
        let to = SyncOptions { driver: Driver::Tip, to: Some(height), ..SyncOptions::default() };
        engine.sync(&files, &survey, &to, &NoProgress).unwrap();
        if reopens {
            drop(engine);
            engine = Engine::open_existing(dir.path()).unwrap();
        }
        let mut count = BTreeMap::new();
        for file in table_files_in(&dir.path().join("index")).unwrap() {
            *count.entry(file.table()).or_insert(0) += 1;
        }
        most = count.values().copied().max().unwrap_or(0).max(most);
    }
    assert!(tip > 150 && most < 30, "{most} files of a family after {tip} commits");
    assert_equal(&engine.reader().view().unwrap(), &oracle_of(&chain));
}
