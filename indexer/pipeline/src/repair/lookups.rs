//! Makes `tx_nums` again from the journal, as bulk indexing makes it.

use cairn_model::Block;
use cairn_stages::{FoldDirection, Group, Lane, Merge, Order, Prior, Rows, Settings, Spread, Stage, StageError};
use cairn_tables::{KeyCodec, Table, keys::HashPrefix, stages::StageInfo, tx_nums::TxNums};

/// The part of the chain stage that finds transactions by id.
pub(crate) struct TxNumsAlone;

const LANES: [Lane; 1] = [Lane {
    name: TxNums::NAME,
    group_len: usize::MAX,
    spread: Spread::Hash { skip: 0 },
    merge: Merge::Put,
    families: &[TxNums::FAMILY],
}];

impl Stage for TxNumsAlone {
    fn info(&self) -> StageInfo {
        StageInfo { name: TxNums::NAME, version: 1, order: Order::Free, depends_on: &[], tables: &[] }
    }

    fn lanes(&self) -> &'static [Lane] {
        &LANES
    }

    fn map(&self, block: &Block, settings: &Settings, emit: &mut dyn FnMut(usize, &[u8], &[u8])) {
        let mut key = Vec::with_capacity(13);
        for (i, tx) in block.txs.iter().enumerate() {
            key.clear();
            (HashPrefix::of_txid(&tx.txid, settings.txid_prefix), block.tx_num(i)).encode(&mut key);
            emit(0, &key, &[]);
        }
    }

    fn fold(
        &self,
        _: usize,
        _: &Group<'_>,
        _: FoldDirection,
        _: &dyn Prior,
        _: &mut dyn Rows,
    ) -> Result<(), StageError> {
        Err(StageError::Contradiction { stage: TxNums::NAME, what: "its lane has only put deltas" })
    }
}
