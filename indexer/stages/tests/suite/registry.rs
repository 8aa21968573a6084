//! All stages together.

use std::collections::BTreeSet;

use cairn_stages::{CHAIN, ChainTimes, HearContext, Merge, NoPast, Spread, StageInfo, all};
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

#[test]
fn stages_that_hear_have_lanes_that_drivers_know() {
    let hearing: Vec<_> = all().into_iter().filter_map(|stage| stage.hears().map(|heard| (stage, heard))).collect();
    assert!(!hearing.is_empty());
    for (stage, heard) in hearing {
        let name = stage.name();
        let context = HearContext { times: &ChainTimes::default(), past: &NoPast };
        assert!(stage.listener(context).is_some(), "{name} hears without a listener");
        let mut ordered = false;
        for lane in stage.lanes() {
            let what = (lane.merge, lane.spread);
            let by_listener = [(Merge::Add, Spread::Few), (Merge::Put, Spread::Heard), (Merge::Ordered, Spread::TxNum)]
                .contains(&what);
            // An ordered fold emits only into lanes behind its own.
            let by_fold = ordered && [(Merge::Fold, Spread::TxNum), (Merge::Put, Spread::TxNum)].contains(&what);
            assert!(by_listener || by_fold, "{name}: {}", lane.name);
            ordered |= lane.merge == Merge::Ordered;
        }
        assert!(stage.info().depends_on.iter().any(|other| other.name == heard.stage.name()), "{name}");
        assert!(heard.stage.hears().is_none(), "{name} hears a stage that maps nothing");
        let lane = &heard.stage.lanes()[heard.lane];
        assert!(lane.merge != Merge::Ordered, "{name} hears a lane that is folded in order: it would hear nothing");
    }
}
