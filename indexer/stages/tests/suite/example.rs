//! The example of the documentation of `Stage`: the number of outputs of each day, in a table of its own.

use cairn_model::{Block, day_of};
use cairn_stages::{Emitter, FoldDirection, Lane, MapContext, RowLane, Sink, Spread, Stage, StageInfo};
use cairn_tables::{Home, Origin, Table, TableInfo, sums::Sums};

use crate::{
    driver::{Tables, apply},
    toy::{Toy, ToyOptions},
};

/// The table: day → sums by position. A real one is a module of the tables and a line of their registry.
struct OutputDays;

impl Table for OutputDays {
    const NAME: &'static str = "output_days";
    const HOME: Home = Home::Shared(b'!');
    const ORIGIN: Origin = Origin::Stage("output_days");
    type Key = u32;
    type Value = Sums;
}

/// Position of the number of outputs.
const OUTPUTS: u32 = 0;

/// The stage. A real one is a module of the stages and a line of their registry.
struct OutputDaysStage;

/// Its only lane: deltas of one key are added up, and taken off again if a block is disconnected.
const LANES: [Lane; 1] = [Lane::add::<OutputDays>(Spread::Few)];

/// The same lane with the types of the table.
const OUTPUT_DAYS: RowLane<OutputDays> = RowLane::of(&LANES);

impl Stage for OutputDaysStage {
    fn info(&self) -> StageInfo {
        let tables = const { &[TableInfo::of::<OutputDays>()] };
        StageInfo { name: "output_days", version: 1, depends_on: &[], tables }
    }

    fn lanes(&self) -> &'static [Lane] {
        &LANES
    }

    fn map(&self, block: &Block, _: &MapContext<'_>, sink: &mut Sink<'_>) {
        // The block alone decides what is emitted: drivers map blocks in any order, and again to undo them.
        let outputs = Sums::of([(OUTPUTS, block.outputs.len() as i128)]).unwrap();
        Emitter::new(sink).row(&OUTPUT_DAYS, &day_of(block.mono_time), &outputs);
    }
}

#[test]
fn a_stage_maps_blocks_to_deltas_that_drivers_add_up() {
    let (blocks, mut tables) = (Toy::chain(12, 20, &ToyOptions::default()), Tables::default());
    apply(&OutputDaysStage, &blocks, FoldDirection::Forward, &mut tables).unwrap();
    let counted = tables.0.values().map(|row| OutputDays::decode_value(row).unwrap().get(OUTPUTS)).sum::<i128>();
    assert_eq!(counted, blocks.iter().map(|block| block.outputs.len() as i128).sum::<i128>());
    // The same deltas undo what they did.
    apply(&OutputDaysStage, &blocks, FoldDirection::Back, &mut tables).unwrap();
    assert!(tables.0.is_empty());
}
