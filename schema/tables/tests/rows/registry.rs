//! The registries are complete, and their names and tags distinguish tables and stages.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use cairn_tables::{
    Family, Origin, TABLES,
    stages::{CHAIN, LATE, STAGES},
};

/// The text behind `before` on each line that has it, up to `end`.
fn found<'t>(text: &'t str, before: &str, end: char) -> Vec<&'t str> {
    text.lines().filter_map(|line| line.split_once(before)?.1.split(end).next()).collect()
}

#[test]
fn every_table_in_the_sources_is_registered() {
    let mut in_sources = BTreeSet::new();
    let mut impls = 0;
    for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap() {
        let path = file.unwrap().path();
        // Tables are files; the folder `table` has what they are made of.
        if path.is_dir() {
            continue;
        }
        let text = fs::read_to_string(path).unwrap();
        let names =
            [found(&text, "    const NAME: &'static str = \"", '"'), found(&text, "    pub struct ", ' ')].concat();
        let of_macro = |name: &str| name.split_once("(\"").map(|(_, name)| name.trim_end_matches("\":").to_owned());
        impls += text.lines().filter(|line| line.starts_with("impl Table for ") || *line == "table! {").count();
        in_sources.extend(names.into_iter().filter_map(|name| match name.contains('(') {
            true => of_macro(name),
            false => Some(name.to_owned()),
        }));
    }
    let registered: BTreeSet<String> = TABLES.iter().map(|t| t.name.to_owned()).collect();
    assert_eq!(in_sources, registered);
    assert_eq!(impls, TABLES.len(), "names are unique");
}

#[test]
fn tags_tell_the_tables_of_a_family_apart() {
    let mut by_family: BTreeMap<Family, Vec<_>> = BTreeMap::new();
    TABLES.iter().for_each(|table| by_family.entry(table.family).or_default().push(table));
    for (family, tables) in &by_family {
        let tags: BTreeSet<Option<u8>> = tables.iter().map(|t| t.tag).collect();
        assert_eq!(tags.len(), tables.len(), "two tables of {} have one tag", family.name());
        assert!(tables.len() == 1 || !tags.contains(&None), "a table of {} has no tag", family.name());
        assert!(tables.len() > 1 || tables[0].name == family.name(), "a family has its table's name");
    }
    assert_eq!(by_family.len(), Family::ALL.len(), "a family without a table costs a file at each commit");
}

#[test]
fn families_keep_their_names_and_places() {
    let names: Vec<&str> = Family::ALL.iter().map(|f| f.name()).collect();
    // Names are in every database, places in the manifests of bulk indexing: both only grow.
    let expected = "headers block_log prevouts tx_nums spenders coins coins_by_script history totals small mempool tx_sums spent_by_age dormant_spends cluster_of clusters cluster_children events quote_versions claims labels entity_scripts names large_transfers consolidations large_change returns exchange_flows funding pings tweaks";
    assert_eq!(names.join(" "), expected);
    assert!(Family::ALL.iter().enumerate().all(|(i, f)| f.index() == i));
    let filters = Family::ALL.iter().map(|f| f.tuning()).filter(|t| t.filter_prefix > 0);
    assert!(filters.into_iter().all(|t| t.filter_bits > 0));
}

#[test]
fn the_rows_of_blocks_have_one_owner_each_and_other_rows_none() {
    for table in &TABLES {
        let owners: Vec<&str> =
            STAGES.iter().chain(LATE).filter(|stage| stage.tables.contains(table)).map(|stage| stage.name).collect();
        match table.origin {
            Origin::Stage(owner) | Origin::Late(owner) => {
                assert_eq!(owners, [owner], "{}: no stage has this name", table.name)
            }
            _ => assert!(owners.is_empty(), "{} of {owners:?}", table.name),
        }
        assert_eq!(table.is_summed(), !owners.is_empty());
    }
    assert!(STAGES.iter().chain(LATE).all(|stage| !stage.tables.is_empty()), "a stage without tables");
}

#[test]
fn a_stage_comes_after_those_that_it_depends_on() {
    assert_eq!(STAGES[0], CHAIN, "the journal comes first");
    let names: BTreeSet<&str> = STAGES.iter().map(|stage| stage.name).collect();
    assert_eq!(names.len(), STAGES.len(), "names are unique");
    assert!(LATE.iter().all(|late| late.depends_on.iter().all(|other| STAGES.contains(other))), "late comes last");
    assert!(LATE.iter().all(|late| !names.contains(late.name)), "names are unique");
    for (at, stage) in STAGES.iter().enumerate() {
        assert!(stage.depends_on.iter().all(|other| STAGES[..at].contains(other)), "{}", stage.name);
    }
}
