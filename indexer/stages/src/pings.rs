//! `pings`: transactions that pay dust to others.

use cairn_domain::dust;
use cairn_model::Block;
use cairn_tables::{
    pings::{PingRow, Pings},
    stages::{self, StageInfo},
};

use crate::{
    deltas::{Lane, Spread},
    lanes::{Emitter, RowLane, Sink},
    stage::{MapContext, Stage},
};

/// The stage.
pub(crate) struct PingsStage;

const LANES: [Lane; 1] = [Lane::put::<Pings>(Spread::Ascending)];

const PINGS: RowLane<Pings> = RowLane::of(&LANES);

// Whoever changes the rules has to raise the version of this stage and of the late stage `dust`, too.
const _: () = assert!(dust::RULES == 1);

impl Stage for PingsStage {
    fn info(&self) -> StageInfo {
        stages::PINGS
    }

    fn lanes(&self) -> &'static [Lane] {
        &LANES
    }

    fn map(&self, block: &Block, _: &MapContext<'_>, sink: &mut Sink<'_>) {
        let mut emit = Emitter::new(sink);
        for (i, tx) in block.txs.iter().enumerate() {
            let outputs = dust::pings(block, tx);
            if outputs > 0 {
                emit.row(&PINGS, &block.tx_num(i), &PingRow { outputs });
            }
        }
    }
}
