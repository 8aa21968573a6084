//! Makes `tx_nums` again from the journal, as bulk indexing makes it.

use cairn_model::Block;
use cairn_stages::{Emitter, Lane, MapContext, RowLane, Sink, Spread, Stage};
use cairn_tables::{Table, keys::HashPrefix, stages::StageInfo, tx_nums::TxNums};

/// The part of the chain stage that finds transactions by id.
pub(crate) struct TxNumsAlone;

const LANES: [Lane; 1] = [Lane::put::<TxNums>(Spread::Hash { skip: 0 })];
const TX_NUMS: RowLane<TxNums> = RowLane::of(&LANES);

impl Stage for TxNumsAlone {
    fn info(&self) -> StageInfo {
        StageInfo { name: TxNums::NAME, version: 1, depends_on: &[], tables: &[] }
    }

    fn lanes(&self) -> &'static [Lane] {
        &LANES
    }

    fn map(&self, block: &Block, context: &MapContext<'_>, sink: &mut Sink<'_>) {
        let mut emit = Emitter::new(sink);
        for (i, tx) in block.txs.iter().enumerate() {
            let prefix = HashPrefix::of_txid(&tx.txid, context.txid_prefix);
            emit.row(&TX_NUMS, &(prefix, block.tx_num(i)), &());
        }
    }
}
