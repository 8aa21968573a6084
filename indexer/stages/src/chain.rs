//! `chain`: the journal itself (headers, transactions, what they spend) and the look-ups into it.

use cairn_model::Block;
use cairn_tables::{
    Family, KeyCodec, TableInfo, ValueCodec, block_log, encode_key, encode_value,
    headers::{HeaderRow, Headers},
    journal::{OverwrittenCoins, OverwrittenRow},
    lookups::{HashPrefix, HeightByHash, HeightByTime, TxNums},
    prevouts,
};

use crate::stage::{Group, Lane, Merge, Prior, Rows, Settings, Spread, Stage, StageError, Way};

/// The stage.
pub(crate) struct Chain;

const fn put(name: &'static str, spread: Spread, family: &'static [Family]) -> Lane {
    // Every row is its own group.
    Lane { name, group_len: usize::MAX, spread, merge: Merge::Put, families: family }
}

const LANES: [Lane; 7] = [
    put("headers", Spread::Ascending, &[Family::Headers]),
    put("block_log", Spread::Ascending, &[Family::BlockLog]),
    put("prevouts", Spread::Ascending, &[Family::Prevouts]),
    put("tx_nums", Spread::Hash { skip: 0 }, &[Family::TxNums]),
    put("height_by_hash", Spread::Hash { skip: 1 }, &[Family::Small]),
    put("height_by_time", Spread::Ascending, &[Family::Small]),
    put("overwritten", Spread::Ascending, &[Family::Small]),
];

const TABLES: [TableInfo; 8] = [
    TableInfo::of::<Headers>(),
    TableInfo::of::<block_log::BlockLog>(),
    TableInfo::of::<prevouts::Prevouts>(),
    TableInfo::of::<TxNums>(),
    TableInfo::of::<HeightByHash>(),
    TableInfo::of::<HeightByTime>(),
    TableInfo::of::<OverwrittenCoins>(),
    // Written by the resolver, which alone sees a script before it has an id.
    TableInfo::of::<cairn_tables::journal::Collisions>(),
];

impl Stage for Chain {
    fn name(&self) -> &'static str {
        crate::CHAIN
    }

    fn version(&self) -> u32 {
        1
    }

    fn tables(&self) -> &'static [TableInfo] {
        &TABLES
    }

    fn lanes(&self) -> &'static [Lane] {
        &LANES
    }

    fn map(&self, block: &Block, settings: &Settings, emit: &mut dyn FnMut(usize, &[u8], &[u8])) {
        let height = block.height;
        emit(0, &encode_key::<Headers>(&height), &encode_value::<Headers>(&HeaderRow::of(block)));
        block_log::encode_block(block, |first, value| emit(1, &first.to_be5(), value));
        prevouts::encode_block(block, |first, row| emit(2, &first.to_be5(), &encode_value::<prevouts::Prevouts>(&row)));
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

    fn fold(&self, _: usize, _: &Group<'_>, _: Way, _: &dyn Prior, _: &mut dyn Rows) -> Result<(), StageError> {
        Err(StageError::Contradiction { stage: self.name(), what: "its lanes only put" })
    }
}
