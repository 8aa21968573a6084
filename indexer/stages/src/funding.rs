//! `funding`: what made the largest coin of each transaction.

use cairn_model::Block;
use cairn_tables::funding::{self, Funding};

use crate::{
    deltas::{Lane, Spread},
    lanes::{Emitter, RowLane, Sink},
    stage::{MapContext, Stage, identity},
};

pub(crate) struct FundingStage;

const LANES: [Lane; 1] = [Lane::put::<Funding>(Spread::Ascending)];

const FUNDING: RowLane<Funding> = RowLane::of(&LANES);

impl Stage for FundingStage {
    identity!(FUNDING, LANES);

    fn map(&self, block: &Block, _: &MapContext<'_>, sink: &mut Sink<'_>) {
        let mut emit = Emitter::new(sink);
        funding::rows_of(block).for_each(|(first, row)| emit.row(&FUNDING, &first, &row));
    }
}
