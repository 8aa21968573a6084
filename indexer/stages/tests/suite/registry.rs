//! All stages together.

use std::collections::BTreeSet;

use cairn_stages::{CHAIN, Merge, all};
use cairn_tables::{TABLES, Table, journal};

use crate::TESTED;

#[test]
fn every_stage_is_tested() {
    let names: Vec<&str> = all().iter().map(|stage| stage.name()).collect();
    assert_eq!(names, TESTED);
    assert_eq!(names[0], CHAIN, "the journal comes first");
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "names are unique");
}

#[test]
fn each_table_has_one_owner() {
    let stages = all();
    let mut owned: Vec<&str> = stages.iter().flat_map(|stage| stage.tables()).map(|table| table.name).collect();
    // What the index knows of itself is no stage's.
    owned.extend([journal::Checkpoints::NAME, journal::Facts::NAME]);
    // Observations, which no stage folds.
    owned.extend([cairn_tables::mempool::KeptMempool::NAME, cairn_tables::mempool::MempoolSamples::NAME]);
    owned.sort_unstable();
    let mut tables: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
    tables.sort_unstable();
    assert_eq!(owned, tables);
}

#[test]
fn lanes_are_told_apart_by_their_names() {
    let stages = all();
    let lanes: Vec<_> = stages.iter().flat_map(|stage| stage.lanes()).collect();
    assert_eq!(lanes.iter().map(|lane| lane.name).collect::<BTreeSet<_>>().len(), lanes.len());
    for lane in lanes {
        assert!(lane.merge != Merge::Put || lane.families.len() == 1, "{} puts into several families", lane.name);
        assert!(lane.group_len > 0);
    }
}
