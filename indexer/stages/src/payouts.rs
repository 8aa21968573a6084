//! `payouts`: the scripts that the coinbase of each block pays. It needs no other row, so that pools can be identified
//! without reading transactions.

use std::cmp::Reverse;

use cairn_domain::script_sha256;
use cairn_model::{Block, OutputMeta};
use cairn_tables::payouts::{MAX_PAYOUTS, Payout, Payouts, PayoutsRow};

use crate::{
    deltas::{Lane, Spread},
    lanes::{Emitter, RowLane, Sink},
    stage::{MapContext, Stage, identity},
};

pub(crate) struct PayoutsStage;

const LANES: [Lane; 1] = [Lane::put::<Payouts>(Spread::Ascending)];

const PAYOUTS: RowLane<Payouts> = RowLane::of(&LANES);

impl Stage for PayoutsStage {
    identity!(PAYOUTS, LANES);

    fn map(&self, block: &Block, _: &MapContext<'_>, sink: &mut Sink<'_>) {
        let outputs = block.txs.first().map_or(&[][..], |coinbase| block.outputs_of(coinbase));
        let mut spendable: Vec<&OutputMeta> = outputs.iter().filter(|output| output.spendable).collect();
        let count = u32::try_from(spendable.len()).unwrap_or(u32::MAX);
        // Stable: of equal values the order stays that of the outputs.
        spendable.sort_by_key(|output| Reverse(output.value));
        let payout = |output: &&OutputMeta| Payout { value: output.value, script: script_sha256(block.script(output)) };
        let largest = spendable.iter().take(MAX_PAYOUTS).map(payout).collect();
        Emitter::new(sink).row(&PAYOUTS, &block.height, &PayoutsRow { outputs: count, largest });
    }
}
