//! The rows of a block that the table of pings must have: computed from the block and from the first payment of each
//! script.

use std::collections::BTreeSet;

use cairn_domain::dust::{MayPing, is_dust};
use cairn_model::{Block, ScriptId};
use cairn_reader::{ReadError, View};
use cairn_tables::{
    Table,
    pings::{PingRow, Pings},
    totals::TotalsTable,
};

use super::{damage::Damages, tally::Tallies};
use crate::PipelineError;

pub(super) fn expect(
    view: &View<'_>,
    block: &Block,
    tallies: &mut Tallies,
    damages: &mut Damages,
) -> Result<(), PipelineError> {
    if tallies.is_unknown(Pings::NAME) {
        return Ok(());
    }
    let Err(error) = expect_of(view, block, tallies) else { return Ok(()) };
    tallies.do_not_compare(Pings::NAME);
    match error {
        // Not finished: that is reported where stages are compared with the tip.
        ReadError::Unfinished(_) | ReadError::StageVersion { .. } => Ok(()),
        error => damages.take(error, TotalsTable::NAME, None),
    }
}

fn expect_of(view: &View<'_>, block: &Block, tallies: &mut Tallies) -> Result<(), ReadError> {
    for (i, tx) in block.txs.iter().enumerate() {
        let Some(MayPing { is_marked }) = MayPing::of(block, tx) else { continue };
        let tx_num = block.tx_num(i);
        let dust = block.outputs_of(tx).iter().filter(|output| output.spendable && is_dust(output.value));
        let mut paid: BTreeSet<ScriptId> = dust.map(|output| output.id).collect();
        for coin in block.inputs_of(tx) {
            paid.remove(&coin.script);
        }
        let firsts = view.scripts().first_txs(&Vec::from_iter(paid))?;
        let scripts = firsts.iter().filter(|first| first.is_some_and(|first| first < tx_num)).count() as u32;
        if scripts > 0 {
            tallies.expect_row::<Pings>(&tx_num, &PingRow { scripts, is_marked });
        }
    }
    Ok(())
}
