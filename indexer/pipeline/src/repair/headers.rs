//! Mends `headers`: rows that cannot be read are made again from the blocks and the log.

use std::{collections::BTreeMap, path::Path};

use bitcoin::hashes::{Hash, sha256d};
use cairn_model::{Block, BlockHash, Height, InputFlags, Outpoint, SpentCoin, TxNum};
use cairn_tables::{
    Table,
    block_log::{BlockLog, Decoded as Logged, LogRow},
    encode_key,
    headers::{HeaderRow, Headers},
};
use cairn_writer::Writer;

use super::{Cannot, MendError, source::BlockSource, swap::Replacement};
use crate::resolve::{ChainPosition, unresolved};

/// The rows that can be read and prove themselves by their hash, and whether there are others.
pub(crate) fn readable(writer: &Writer) -> Result<(BTreeMap<Height, HeaderRow>, bool), MendError> {
    let (mut rows, mut others) = (BTreeMap::new(), false);
    let places = writer.salvage::<MendError>(Headers::FAMILY, |key, value| {
        match (Headers::decode_key(key), Headers::decode_value(value)) {
            (Ok(height), Ok(row)) if sha256d::Hash::hash(&row.header).to_byte_array() == row.hash.0 => {
                rows.insert(height, row);
            }
            _ => others = true,
        }
        Ok(())
    })?;
    let gap = rows.keys().zip(0..).any(|(height, expected)| *height != expected);
    Ok((rows, others || gap || places > 0))
}

/// Makes the missing rows up to `tip` again. Returns how many.
pub(crate) fn mend(
    writer: &Writer,
    datadir: &Path,
    tip: Height,
    mut rows: BTreeMap<Height, HeaderRow>,
    source: &dyn BlockSource,
) -> Result<u64, MendError> {
    rows.retain(|height, _| *height <= tip);
    let mut made = 0;
    for height in 0..=tip {
        if rows.contains_key(&height) {
            continue;
        }
        let before = height.checked_sub(1).and_then(|before| rows.get(&before));
        let row = row(writer, height, before, source)?;
        rows.insert(height, row);
        made += 1;
    }
    let mut previous = BlockHash::default();
    for (height, row) in &rows {
        if row.previous() != previous {
            return Err(Cannot(format!("the block at height {height} of the source does not follow ours")).into());
        }
        previous = row.hash;
    }
    let mut replacement = Replacement::begin(datadir, Headers::FAMILY)?;
    for (height, row) in &rows {
        let value = cairn_tables::encode_value::<Headers>(row);
        replacement.put(&encode_key::<Headers>(height), &value)?;
    }
    replacement.finish(writer)?;
    Ok(made)
}

fn row(
    writer: &Writer,
    height: Height,
    before: Option<&HeaderRow>,
    source: &dyn BlockSource,
) -> Result<HeaderRow, MendError> {
    let missing = || Cannot(format!("no source has the block at height {height}"));
    let (mut decoded, position) = source.block(height, None)?.ok_or_else(missing)?;
    let (first_tx, mono_time) =
        before.map_or((TxNum(0), 0), |row| (TxNum(row.first_tx.0 + u64::from(row.tx_count)), row.mono_time));
    let place = ChainPosition { height, first_tx, mono_time, position };
    let mut block = unresolved(&mut decoded, place);
    block.mono_time = block.time().max(mono_time);
    // Fees are the only sum for which the values of spent coins are needed.
    let logged = logged(writer, &block)?;
    let coin = |value| SpentCoin {
        outpoint: Outpoint::default(),
        value,
        script: cairn_model::ScriptId::default(),
        birth: height,
        flags: InputFlags::default(),
    };
    block.inputs = logged.inputs.iter().map(|input| coin(input.value)).collect();
    Ok(HeaderRow::of(&block))
}

/// A block's transactions in the log.
fn logged(writer: &Writer, block: &Block) -> Result<Logged, MendError> {
    let mut logged = Logged::default();
    while logged.txs.len() < block.txs.len() {
        let key = TxNum(block.first_tx.0 + logged.txs.len() as u64);
        let missing = || Cannot(format!("the log lacks transactions of height {}", block.height));
        let value = writer.get(BlockLog::FAMILY, &encode_key::<BlockLog>(&key))?.ok_or_else(missing)?;
        let before = logged.txs.len();
        let (height, ..) = LogRow::decode_into(&value, &mut logged).map_err(cairn_reader::ReadError::from)?;
        if height != block.height || logged.txs.len() == before {
            return Err(missing().into());
        }
    }
    if logged.txs.iter().map(|tx| tx.txid).eq(block.txs.iter().map(|tx| tx.txid)) {
        Ok(logged)
    } else {
        Err(Cannot(format!("the log has other transactions at height {}", block.height)).into())
    }
}
