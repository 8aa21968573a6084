//! The stage trait, by stages that the index does not have: one that is folded in order, ones that put, ones that add.

use std::path::Path;

use cairn_chaingen::Everything;
use cairn_pipeline::{Driver, Engine, NoProgress, PipelineError};
use cairn_reader::TableSum;
use cairn_stages::{Stage, StageError};
use cairn_tables::stages::STAGES;
use cairn_testkit::temp_dir;
use tempfile::TempDir;

use crate::{interrupted::SMALL, support::*, toys::*};

/// An index with further stages.
struct Toys {
    engine: Option<Engine>,
    dir: TempDir,
}

type Sum = Vec<(&'static str, TableSum)>;

impl Toys {
    fn new(blocks: &Path, version: Option<u32>) -> Self {
        let mut toys = Toys { engine: None, dir: scratch() };
        toys.open(blocks, version);
        toys
    }

    /// Opens it (again), with the toy stages (of that version) or without.
    fn open(&mut self, blocks: &Path, version: Option<u32>) {
        self.engine = None;
        let mut stages = cairn_stages::all();
        if let Some(version) = version {
            stages.insert(1, Box::new(Record { version }));
            stages.push(Box::new(Plain) as Box<dyn Stage>);
        }
        let mut engine = Engine::open_with(self.dir.path(), Some(&facts(blocks)), stages).unwrap();
        engine.set_bulk_sizes(SMALL);
        self.engine = Some(engine);
    }

    fn engine(&mut self) -> &mut Engine {
        self.engine.as_mut().unwrap()
    }

    fn sync(&mut self, blocks: &Path, driver: Driver) {
        sync(self.engine(), blocks, driver);
    }

    fn sums(&mut self) -> Sum {
        let reader = self.engine().reader();
        let view = reader.view().unwrap();
        let tables = PLAINS.iter().chain([&RECORDS]);
        let sums: Sum = tables.map(|table| (table.name, view.tables().checksum(table).unwrap())).collect();
        assert!(sums.iter().all(|(_, sum)| sum.rows > 0), "{sums:?}");
        sums
    }
}

#[test]
fn any_kind_of_stage_passes_through_every_driver() {
    let mut making = Everything::new(81, 6, false);
    making.grow(125).unwrap();
    let before = making.chain().clone();
    making.fork(12, 14).unwrap();
    let blocks = temp_dir();
    write_tidy(blocks.path(), &before);
    let (mut bulk, mut tip) = (Toys::new(blocks.path(), Some(1)), Toys::new(blocks.path(), Some(1)));
    bulk.sync(blocks.path(), Driver::Bulk);
    tip.sync(blocks.path(), Driver::Tip);
    let first = bulk.sums();
    assert_eq!(tip.sums(), first, "tip");
    for stage in ["toy-record", "toy-plain"] {
        tip.engine().reindex(&[stage], &NoProgress).unwrap();
        assert_eq!(tip.sums(), first, "{stage} rebuilt");
    }

    // Back and forth.
    for height in [124, 100, 30, 1] {
        bulk.engine().unwind(height, &NoProgress).unwrap();
        let mut straight = Toys::new(blocks.path(), Some(1));
        let options = cairn_pipeline::SyncOptions { to: Some(height), ..Default::default() };
        sync_with(straight.engine(), blocks.path(), &options, &NoProgress).unwrap();
        assert_eq!(bulk.sums(), straight.sums(), "unwound to {height}");
    }
    bulk.sync(blocks.path(), Driver::Auto);
    assert_eq!(bulk.sums(), first, "unwound and synced");

    // A fork.
    write_tidy(blocks.path(), making.chain());
    let mut straight = Toys::new(blocks.path(), Some(1));
    straight.sync(blocks.path(), Driver::Bulk);
    for index in [&mut bulk, &mut tip] {
        index.sync(blocks.path(), Driver::Auto);
        assert_eq!(index.sums(), straight.sums(), "after a fork");
    }
}

#[test]
fn stages_that_are_new_or_of_another_version_are_built_with_the_next_sync() {
    let mut making = Everything::new(82, 6, false);
    making.grow(120).unwrap();
    let before = making.chain().clone();
    making.fork(6, 9).unwrap();
    let blocks = temp_dir();
    write_tidy(blocks.path(), &before);
    let mut straight = Toys::new(blocks.path(), Some(1));
    straight.sync(blocks.path(), Driver::Bulk);
    let expected = straight.sums();

    let mut late = Toys::new(blocks.path(), None);
    late.sync(blocks.path(), Driver::Bulk);
    late.open(blocks.path(), Some(1));
    let missing: Vec<_> =
        late.engine().stages().unwrap().into_iter().filter(|(_, c)| c.is_none()).map(|(s, _)| s.name).collect();
    assert_eq!(missing, ["toy-record", "toy-plain"]);
    late.sync(blocks.path(), Driver::Auto);
    assert_eq!(late.sums(), expected, "stages that came later");

    late.open(blocks.path(), Some(2));
    late.sync(blocks.path(), Driver::Auto);
    assert_eq!(late.sums(), expected, "another version");
    let versions: Vec<_> = late.engine().stages().unwrap().into_iter().map(|(_, c)| c.unwrap().version).collect();
    let mut expected: Vec<u32> = STAGES.iter().map(|stage| stage.version).collect();
    // The toys stand behind the journal and at the end.
    expected.insert(1, 2);
    expected.push(1);
    assert_eq!(versions, expected);

    // Left out while the chain went another way, and taken in again.
    late.open(blocks.path(), None);
    write_tidy(blocks.path(), making.chain());
    late.sync(blocks.path(), Driver::Auto);
    late.open(blocks.path(), Some(2));
    late.sync(blocks.path(), Driver::Auto);
    straight.sync(blocks.path(), Driver::Auto);
    let mut anew = Toys::new(blocks.path(), Some(1));
    anew.sync(blocks.path(), Driver::Bulk);
    assert_eq!(straight.sums(), anew.sums());
    assert_eq!(late.sums(), anew.sums(), "left out during a fork");
}

#[test]
fn a_stage_folded_in_order_that_is_cut_short_goes_on() {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(83));
    let mut straight = Toys::new(blocks.path(), Some(1));
    straight.sync(blocks.path(), Driver::Tip);
    let expected = straight.sums();
    for dies in [false, true] {
        let mut cuts = 0;
        // Until it is done before the cut.
        for after in (0..).step_by(5) {
            let mut index = Toys::new(blocks.path(), None);
            index.sync(blocks.path(), Driver::Bulk);
            index.open(blocks.path(), Some(1));
            let cut = if dies { Cut::die(after) } else { Cut::stop(after) };
            if !is_cut(|| index.engine().reindex(&["toy-record"], &cut)) {
                break;
            }
            cuts += 1;
            index.open(blocks.path(), Some(1));
            index.sync(blocks.path(), Driver::Auto);
            assert_eq!(index.sums(), expected, "cut after {after} steps (dies: {dies})");
        }
        assert!(cuts > 3, "{cuts} cuts only");
    }
}

#[test]
fn a_row_that_is_put_twice_is_refused() {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(84));
    let dir = temp_dir();
    let mut stages = cairn_stages::all();
    stages.push(Box::new(Twice));
    let mut engine = Engine::open_with(dir.path(), Some(&facts(blocks.path())), stages).unwrap();
    let refused = sync_with(&mut engine, blocks.path(), &Default::default(), &NoProgress);
    let expected =
        |e: &PipelineError| matches!(e, PipelineError::Stage(StageError::Contradiction { stage: "toy-twice", .. }));
    assert!(refused.as_ref().is_err_and(expected), "{refused:?}");
    assert_eq!(engine.tip().unwrap(), None);
}
