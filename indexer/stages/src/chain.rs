//! `chain`: the journal itself (headers, transactions, what they spend) and the look-ups into it.

use cairn_model::Block;
use cairn_tables::{
    block_log::{self, BlockLog},
    headers::{HeaderRow, Headers},
    heights::{HeightByHash, HeightByTime},
    journal::{OverwrittenCoins, OverwrittenRow},
    keys::HashPrefix,
    prevouts::{self, Prevouts},
    tx_nums::TxNums,
};

use crate::{
    deltas::{Lane, Spread},
    lanes::{Emitter, RowLane, Sink},
    stage::{MapContext, Stage, identity},
};

pub(crate) struct ChainStage;

const LANES: [Lane; 7] = [
    Lane::put::<Headers>(Spread::Ascending),
    Lane::put::<BlockLog>(Spread::Ascending),
    Lane::put::<Prevouts>(Spread::Ascending),
    Lane::put::<TxNums>(Spread::Hash { skip: 0 }),
    Lane::put::<HeightByHash>(Spread::Hash { skip: 1 }),
    Lane::put::<HeightByTime>(Spread::Ascending),
    Lane::put::<OverwrittenCoins>(Spread::Ascending),
];

const HEADERS: RowLane<Headers> = RowLane::of(&LANES);
const BLOCK_LOG: RowLane<BlockLog> = RowLane::of(&LANES);
const PREVOUTS: RowLane<Prevouts> = RowLane::of(&LANES);
const TX_NUMS: RowLane<TxNums> = RowLane::of(&LANES);
const BY_HASH: RowLane<HeightByHash> = RowLane::of(&LANES);
const BY_TIME: RowLane<HeightByTime> = RowLane::of(&LANES);
const OVERWRITTEN: RowLane<OverwrittenCoins> = RowLane::of(&LANES);

impl Stage for ChainStage {
    identity!(CHAIN, LANES);

    fn map(&self, block: &Block, context: &MapContext<'_>, sink: &mut Sink<'_>) {
        let mut emit = Emitter::new(sink);
        let height = block.height;
        emit.row(&HEADERS, &height, &HeaderRow::of(block));
        block_log::encode_block(block, |first, value| {
            emit.row_bytes(&BLOCK_LOG, &first, |out| out.extend_from_slice(value));
        });
        prevouts::encode_block(block, |first, row| emit.row(&PREVOUTS, &first, &row));
        for (i, tx) in block.txs.iter().enumerate() {
            let prefix = HashPrefix::of_txid(&tx.txid, context.txid_prefix);
            emit.row(&TX_NUMS, &(prefix, block.tx_num(i)), &());
        }
        emit.row(&BY_HASH, &(HashPrefix::of_block(&block.hash), height), &());
        emit.row(&BY_TIME, &(block.mono_time, height), &());
        if !block.overwritten.is_empty() {
            emit.row(&OVERWRITTEN, &height, &OverwrittenRow(block.overwritten.clone()));
        }
    }
}
