//! All stages together.

use std::collections::BTreeSet;

use cairn_stages::{CHAIN, Merge, StageInfo, all};
use cairn_tables::stages::STAGES;

#[test]
fn the_stages_are_those_of_the_registry() {
    let identities: Vec<StageInfo> = all().iter().map(|stage| stage.info()).collect();
    assert_eq!(identities, STAGES);
    assert_eq!(all()[0].name(), CHAIN, "the journal comes first");
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
