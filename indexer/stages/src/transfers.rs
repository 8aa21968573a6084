//! `transfers`: transactions that move much, and those that gather many coins.

use cairn_domain::transfers::{self, Consolidation, LargeTransfer};
use cairn_model::Block;
use cairn_tables::transfers::{Consolidations, GatheredRow, LargeRow, LargeTransfers};

use crate::{
    deltas::{Lane, Spread},
    lanes::{Emitter, RowLane, Sink},
    stage::{MapContext, Stage, identity},
};

pub(crate) struct TransfersStage;

const LANES: [Lane; 2] =
    [Lane::put::<LargeTransfers>(Spread::Ascending), Lane::put::<Consolidations>(Spread::Ascending)];

const LARGE: RowLane<LargeTransfers> = RowLane::of(&LANES);
const GATHERED: RowLane<Consolidations> = RowLane::of(&LANES);

// A change of the rules must also raise the version of this stage and of `clusters`.
const _: () = assert!(transfers::RULES == 1);

impl Stage for TransfersStage {
    identity!(TRANSFERS, LANES);

    fn map(&self, block: &Block, _: &MapContext<'_>, sink: &mut Sink<'_>) {
        let mut emit = Emitter::new(sink);
        for (i, tx) in block.txs.iter().enumerate() {
            if let Some(LargeTransfer { sats, coinjoin }) = LargeTransfer::of(block, tx) {
                emit.row(&LARGE, &block.tx_num(i), &LargeRow { sats, coinjoin });
            }
            if let Some(Consolidation { inputs, outputs, sats }) = Consolidation::of(block, tx) {
                emit.row(&GATHERED, &block.tx_num(i), &GatheredRow { inputs, outputs, sats });
            }
        }
    }
}
