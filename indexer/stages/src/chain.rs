//! `chain`: the journal itself (headers, transactions, what they spend) and the look-ups into it.

use cairn_model::Block;
use cairn_tables::{
    KeyCodec, Table, ValueCodec,
    block_log::{self, BlockLog},
    encode_key, encode_value,
    headers::{HeaderRow, Headers},
    heights::{HeightByHash, HeightByTime},
    journal::{OverwrittenCoins, OverwrittenRow},
    keys::HashPrefix,
    prevouts::{self, Prevouts},
    stages::{self, StageInfo},
    tx_nums::TxNums,
};

use crate::stage::{FoldDirection, Group, Lane, Merge, Prior, Rows, Settings, Spread, Stage, StageError};

/// The stage.
pub(crate) struct ChainStage;

const fn put<T: Table>(spread: Spread) -> Lane {
    // Every row is its own group.
    Lane { name: T::NAME, group_len: usize::MAX, spread, merge: Merge::Put, families: const { &[T::FAMILY] } }
}

const LANES: [Lane; 7] = [
    put::<Headers>(Spread::Ascending),
    put::<BlockLog>(Spread::Ascending),
    put::<Prevouts>(Spread::Ascending),
    put::<TxNums>(Spread::Hash { skip: 0 }),
    put::<HeightByHash>(Spread::Hash { skip: 1 }),
    put::<HeightByTime>(Spread::Ascending),
    put::<OverwrittenCoins>(Spread::Ascending),
];

impl Stage for ChainStage {
    fn info(&self) -> StageInfo {
        stages::CHAIN
    }

    fn lanes(&self) -> &'static [Lane] {
        &LANES
    }

    fn map(&self, block: &Block, settings: &Settings, emit: &mut dyn FnMut(usize, &[u8], &[u8])) {
        let height = block.height;
        emit(0, &encode_key::<Headers>(&height), &encode_value::<Headers>(&HeaderRow::of(block)));
        block_log::encode_block(block, |first, value| emit(1, &first.to_be5(), value));
        prevouts::encode_block(block, |first, row| emit(2, &first.to_be5(), &encode_value::<Prevouts>(&row)));
        let mut key = Vec::with_capacity(13);
        for (i, tx) in block.txs.iter().enumerate() {
            key.clear();
            (HashPrefix::of_txid(&tx.txid, settings.txid_prefix), block.tx_num(i)).encode(&mut key);
            emit(3, &key, &[]);
        }
        emit(4, &encode_key::<HeightByHash>(&(HashPrefix::of_block(&block.hash), height)), &[]);
        emit(5, &encode_key::<HeightByTime>(&(block.mono_time, height)), &[]);
        if !block.overwritten.is_empty() {
            let mut value = Vec::new();
            OverwrittenRow(block.overwritten.clone()).encode(&mut value);
            emit(6, &encode_key::<OverwrittenCoins>(&height), &value);
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
        Err(StageError::Contradiction { stage: self.name(), what: "its lanes have only put deltas" })
    }
}
